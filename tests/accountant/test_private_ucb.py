"""Counts of PRIVATE-UCB: changes enumerated, the printed noise's true epsilon, calibration, refusals."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import TargetError
from dpproof.accountant.guarantees.notions import BoundedLoss
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.noise.laplace import LaplaceParameters
from dpproof.accountant.noise.laplace import account as composed_laplace
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.rl.private_ucb.central_counts import account as central
from dpproof.accountant.rl.private_ucb.central_counts import moved
from dpproof.accountant.rl.private_ucb.changes import (
    FAMILIES,
    Sizes,
    added,
    other_costs,
    replaced,
    same_start,
)
from dpproof.accountant.rl.private_ucb.local_counts import account as local
from dpproof.accountant.rl.private_ucb.noise import pure_epsilon
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from tests.rows import rows, tiered

REPLACE, ADD = Adjacency.REPLACE, Adjacency.ADD_REMOVE
SIZES = {"states": 6, "actions": 2, "horizon": 20, "episodes": 20000}


def tables(sizes, trajectory):
    """One user's three families of counts, each as a vector."""
    states, actions, costs = trajectory
    T, S, A = (1 if sizes.pooled else sizes.horizon), sizes.states, sizes.actions
    found = {
        "visits": np.zeros((T, S, A)),
        "costs": np.zeros((T, S, A)),
        "transitions": np.zeros((T, S, A, S)),
    }
    for h, (s, a, c, after) in enumerate(zip(states, actions, costs, states[1:], strict=False)):
        t = 0 if sizes.pooled else h
        found["visits"][t, s, a] += 1
        found["costs"][t, s, a] += c
        found["transitions"][t, s, a, after] += 1
    return {name: array.ravel() for name, array in found.items()}


def trajectories(sizes):
    """All trajectories with costs 0 or 1."""
    H = sizes.horizon
    return list(
        itertools.product(
            itertools.product(range(sizes.states), repeat=H + 1),
            itertools.product(range(sizes.actions), repeat=H),
            itertools.product((0, 1), repeat=H),
        )
    )


def pairs(sizes, relation):
    """Differences of the families over all pairs of a relation, as arrays (pairs, entries)."""
    users = trajectories(sizes)
    if relation == "drawn":  # both users meet the same actions, which the algorithm draws
        kept = [(x, y) for x, y in itertools.product(users, repeat=2) if x[0][0] == y[0][0] and x[1] == y[1]]
    elif relation == "same":
        kept = [
            (x, y) for x, y in itertools.product(users, repeat=2) if (x[0][0], x[1][0]) == (y[0][0], y[1][0])
        ]
    elif relation == "costs":
        kept = [(x, y) for x, y in itertools.product(users, repeat=2) if x[:2] == y[:2]]
    elif relation == "any":
        kept = list(itertools.product(users, repeat=2))
    else:
        kept = [(x, None) for x in users]
    known = {x: tables(sizes, x) for x in users}
    zero = {name: 0 * table for name, table in known[users[0]].items()}
    return {name: np.array([known[x][name] - known.get(y, zero)[name] for x, y in kept]) for name in FAMILIES}


SMALL = [
    Sizes(states, actions, horizon, pooled)
    for states, actions, horizon in [
        (1, 1, 1),
        (1, 1, 3),
        (1, 2, 2),
        (2, 1, 1),
        (2, 1, 3),
        (2, 2, 1),
        (2, 2, 2),
    ]
    for pooled in (False, True)
]
CLAIMED = {
    "none": added,
    "any": replaced,
    "costs": other_costs,
    "same": lambda sizes: same_start(sizes, own_actions=True),
    "drawn": lambda sizes: same_start(sizes, own_actions=False),
}


def packs(difference, boxes):
    """Whether rises and falls, each as a whole, fit into boxes by size, or all into one."""
    if abs(difference).sum() <= max((size for size, _ in boxes), default=0):
        return True
    sums = sorted((difference[difference > 0].sum(), -difference[difference < 0].sum()), reverse=True)
    room = sorted((size for size, count in boxes for _ in range(count)), reverse=True)
    return all(a <= b for a, b in zip(sums, [*room, 0, 0], strict=False))


@rows("relation", CLAIMED)
@rows("sizes", SMALL, ids=str)
def test_the_changes_are_the_largest_of_all_pairs(sizes, relation):
    claimed, found = CLAIMED[relation](sizes), pairs(sizes, relation)
    sums = {name: abs(d).sum(axis=1) for name, d in found.items()}
    squares = {name: (d**2).sum(axis=1) for name, d in found.items()}
    for name in FAMILIES:
        assert sums[name].max() == claimed[name].total
        assert squares[name].max() == claimed[name].squares
        if sizes.pooled:
            assert all(packs(d, claimed[name].dominating) for d in np.unique(found[name], axis=0))
    at_once = np.ones(len(sums["visits"]), bool)
    for name in FAMILIES:
        at_once &= (sums[name] == claimed[name].total) & (squares[name] == claimed[name].squares)
    assert at_once.any()


def test_a_smaller_claim_would_be_refuted():
    sizes = Sizes(2, 1, 3)
    assert abs(pairs(sizes, "drawn")["costs"]).sum(axis=1).max() > 3


@pytest.mark.parametrize(
    ("adjacency", "base", "factor"),
    [
        (REPLACE, "natural", 117 * 15 / (60 * math.log(20000))),
        (REPLACE, "binary", 117 * 15 / (60 * math.log2(20000))),
        (ADD, "natural", 15 / math.log(20000)),
        (ADD, "binary", 15 / math.log2(20000)),
    ],
)
def test_the_printed_noise_of_the_central_privatizer(adjacency, base, factor):
    found = central(CentralCountsParameters(**SIZES, printed_epsilon=1.0, log_base=base), adjacency)
    bound = found.guarantee.epsilon(0)
    assert bound.lower <= factor * (1 + 1e-14)
    assert bound.upper >= factor * (1 - 1e-14)
    assert bound.relative_width < 1e-15
    assert 1 < bound.lower < 3.03
    assert found.published.epsilon(0).upper == 1.0
    assert found.attained.guarantee.epsilon(0) == bound


@pytest.mark.parametrize(
    "words",
    [
        {"pooled": True},
        {"visits": "summed"},
        {"cost_factor": 2.0},
        {"counter": "honaker"},
        {"noise": "gaussian"},
    ],
)
def test_nothing_is_published_of_what_the_paper_does_not_have(words):
    assert central(CentralCountsParameters(**SIZES, **words), REPLACE).published is None


def test_any_two_trajectories_cost_twice_as_much():
    parameters = CentralCountsParameters(**SIZES, start="any", log_base="binary", printed_epsilon=1.0)
    assert central(parameters, REPLACE).guarantee.epsilon(0).upper == pytest.approx(30 / math.log2(20000))


@pytest.mark.parametrize("episodes", [2, 3, 4, 5, 8, 9, 1024, 1025, 10**12])
def test_the_levels_are_the_digits_of_the_leaves(episodes):
    parameters = CentralCountsParameters(6, 2, 20, episodes, scale=1.0)
    assert parameters.levels == math.ceil(math.log2(episodes))
    assert moved(parameters, ADD).total() == 60 * parameters.levels


@pytest.mark.parametrize(
    ("adjacency", "start", "epsilon"), [(REPLACE, "any", 2.0), (REPLACE, "same", 1.95), (ADD, "any", 1.0)]
)
def test_the_printed_noise_of_the_local_privatizer(adjacency, start, epsilon):
    found = local(LocalCountsParameters(**SIZES, printed_epsilon=1.0, start=start), adjacency)
    assert found.guarantee.epsilon(0).upper == pytest.approx(epsilon, rel=1e-14)
    assert found.guarantee.epsilon(0).lower <= epsilon <= math.nextafter(found.guarantee.epsilon(0).upper, 9)


def test_the_sheet_s_example():
    """H = 2 with s_1 and a_1 fixed: 1.5; over all pairs 2."""
    for start, epsilon in (("same", 1.5), ("any", 2.0)):
        parameters = LocalCountsParameters(2, 2, 2, 9, printed_epsilon=1.0, start=start)
        assert local(parameters, REPLACE).guarantee.epsilon(0).upper == epsilon


def test_at_a_delta_it_is_that_many_laplace_pairs():
    parameters = CentralCountsParameters(2, 1, 2, 9, scale=40.0)
    ours = central(parameters, REPLACE).guarantee
    theirs = composed_laplace(LaplaceParameters(40.0, compositions=9 * 4)).guarantee
    for delta in ("1e-6",):
        assert ours.epsilon(delta).lower <= theirs.epsilon(delta).upper
        assert theirs.epsilon(delta).lower <= ours.epsilon(delta).upper
    for epsilon in ("0.1", "0.5", "0.9"):
        assert ours.delta(epsilon).upper >= theirs.delta(epsilon).lower
    assert ours.delta("0.9").upper == 0


def test_pooled_laplace_lies_between_its_pair_and_its_boxes():
    """The pair moves 3, 2 and 1 transitions, the boxes hold 3 and 3; at delta 0 both are exact."""
    found = local(LocalCountsParameters(2, 1, 3, 9, scale=30.0, pooled=True, start="same"), REPLACE)
    low, high = found.attained.guarantee, found.guarantee
    assert low.epsilon(0) == high.epsilon(0)
    assert low.epsilon("1e-3").lower < high.epsilon("1e-3").upper < 1.1 * low.epsilon("1e-3").upper


@pytest.mark.parametrize("counter", ["tree", "honaker"])
@pytest.mark.parametrize("pooled", [False, True])
def test_gaussian_noise_has_the_norm_of_all_entries(counter, pooled):
    parameters = CentralCountsParameters(
        6,
        2,
        3,
        9,
        scale=7.0,
        noise="gaussian",
        counter=counter,
        visits="summed",
        pooled=pooled,
        cost_factor=2.0,
    )
    squares = (9 + 4) / 4 + (9 + 4 + 1) if pooled else 5 / 4 + 6
    mu = central(parameters, REPLACE).guarantee.mu
    assert mu.lower <= math.sqrt(4 * squares) / 7 * (1 + 1e-14)
    assert mu.upper >= math.sqrt(4 * squares) / 7 * (1 - 1e-14)


def test_the_square_root_costs_the_norm_of_its_first_column():
    parameters = CentralCountsParameters(6, 2, 1, 4, scale=1.0, noise="gaussian", counter="square-root")
    norm = 1 + 1 / 4 + 9 / 64
    mu = central(parameters, ADD).guarantee.mu
    assert mu.upper == pytest.approx(math.sqrt(3 * norm), rel=1e-14)
    banded = central(replace(parameters, bands=1), ADD).guarantee.mu
    assert banded.upper == pytest.approx(math.sqrt(3), rel=1e-14)


def test_one_state_leaves_costs_alone():
    parameters = CentralCountsParameters(1, 3, 5, 9, scale=10.0)
    assert central(parameters, REPLACE).guarantee.epsilon(0).upper == 4 * 5 / 10


TARGETS = [
    ("central-counts", {}, "1", "0"),
    ("central-counts", {"printed_epsilon": 1.0, "visits": "summed"}, "0.5", "0"),
    ("central-counts", {"noise": "gaussian"}, "1", "1e-6"),
    ("central-counts", {"noise": "gaussian", "counter": "square-root", "pooled": True}, "1", "1e-6"),
    ("local-counts", {}, "1", "0"),
    ("local-counts", {"horizon": 3, "scale": 5.0}, "1", "1e-3"),
    ("local-counts", {"noise": "gaussian"}, "1", "1e-6"),
]


@pytest.mark.parametrize(("name", "words", "epsilon", "delta"), tiered(TARGETS, fast=1))
@pytest.mark.parametrize("adjacency", [REPLACE, ADD])
def test_calibration_is_certified_from_both_sides(name, words, epsilon, delta, adjacency):
    accountant = accountant_for(name)
    meets, misses = accountant.least_noise(
        accountant.parameters(**{**SIZES, **words}), adjacency, epsilon, delta
    )
    good, bad = (accountant.account(p, adjacency).guarantee for p in (meets, misses))
    assert Fraction(good.epsilon(delta).upper) <= Fraction(epsilon) or good.delta(epsilon).upper <= float(
        delta
    )
    assert bad.epsilon(delta).lower > float(epsilon)
    assert misses.scale < meets.scale < misses.scale * (1 + 1e-6)


def test_the_corrected_scales_are_those_of_the_statements():
    found = accountant_for("central-counts").least_noise(CentralCountsParameters(**SIZES), REPLACE, 1, 0)[0]
    assert found.scale == 117 * 15
    found = accountant_for("local-counts").least_noise(LocalCountsParameters(**SIZES), REPLACE, 1, 0)[0]
    assert found.scale == 120


@pytest.mark.parametrize(
    ("name", "words", "epsilon", "delta"),
    [
        ("central-counts", {}, 0, 0),
        ("central-counts", {"noise": "gaussian"}, 1, 0),
        ("local-counts", {"noise": "gaussian"}, 1, 0),
        ("central-counts", {}, 1e-320, 0),
    ],
)
def test_targets_that_no_noise_meets_are_refused(name, words, epsilon, delta):
    accountant = accountant_for(name)
    with pytest.raises(TargetError, match=r"needs a noise scale|cannot be met"):
        accountant.least_noise(accountant.parameters(**{**SIZES, **words}), REPLACE, epsilon, delta)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"episodes": 1}, r"episodes \(1\) must be .*. With one episode, log K and the printed noise are 0"),
        ({"episodes": 1, "scale": 1.0}, r"episodes \(1\)"),
        ({"scale": 0.0}, r"scale \(0.0\) must be a number above 0"),
        ({"scale": -2.0}, r"scale \(-2.0\)"),
        ({"scale": math.nan}, r"scale \(nan\)"),
        ({"printed_epsilon": 0.0}, r"printed_epsilon \(0.0\)"),
        ({"scale": 1.0, "printed_epsilon": 1.0}, r"scale \(1.0\) must be left out"),
        ({"noise": "cauchy"}, r"noise \('cauchy'\) must be one of"),
        ({"counter": "square-root"}, r"noise \('laplace'\) must be gaussian"),
        ({"bands": 3}, r"bands \(3\) must be left out"),
        ({"counter": "square-root", "noise": "gaussian", "bands": 20000}, r"bands \(20000\) must be below"),
        ({"counter": "square-root", "noise": "gaussian", "episodes": 10**9}, r"episodes \(1000000000\)"),
        ({"cost_factor": 0.0}, r"cost_factor \(0.0\)"),
        ({"states": 0}, r"states \(0\)"),
        ({"horizon": 2.5}, r"horizon \(2.5\)"),
    ],
)
def test_bad_parameters_are_refused_by_name(words, message):
    with pytest.raises(ValueError, match=message):
        CentralCountsParameters(**{**SIZES, **words})


@pytest.mark.parametrize("adjacency", [Adjacency.EXPERT, Adjacency.BY_SENSITIVITY])
def test_a_relation_without_a_proof_is_refused(adjacency):
    with pytest.raises(UnprovedAdjacencyError, match="central-counts"):
        central(CentralCountsParameters(**SIZES), adjacency)
    with pytest.raises(UnprovedAdjacencyError, match="local-counts"):
        local(LocalCountsParameters(**SIZES), adjacency)


def test_a_bad_delta_is_refused_by_the_published_value_too():
    found = central(CentralCountsParameters(**SIZES), REPLACE)
    with pytest.raises(ValueError, match="delta"):
        found.published.epsilon(1)


def test_a_loss_capped_between_two_doubles_is_never_too_small():
    class Half(Profile):
        def _delta_at(self, _point):
            return Bound(0.5, 0.5)

        def _epsilon_at(self, _target):
            return Bound(3.0, 3.0)

    capped = BoundedLoss(Bound(1.0, 2.0), Half())
    assert capped.delta(0.5) == Bound(0.5, 0.5)
    assert capped.delta(1.5) == Bound(0.0, 0.5)
    assert capped.delta(2) == Bound(0.0, 0.0)
    assert capped.epsilon("0.1") == Bound(1.0, 2.0)


def test_an_extreme_scale_keeps_the_pure_guarantee():
    parameters = LocalCountsParameters(2, 2, 1, 9, scale=1e-3)
    found = local(parameters, REPLACE)
    assert found.guarantee.epsilon("1e-6").upper <= found.guarantee.epsilon(0).upper
    assert found.attained is None
    assert pure_epsilon(moved(CentralCountsParameters(2, 2, 1, 9, scale=1.0), ADD)) == 12
