"""The tree with Laplace noise: profiles by enumeration, losses against closed forms and dp-accounting."""

import functools
import itertools
import math
from dataclasses import replace
from fractions import Fraction

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.counting.laplace_tree import (
    ACCOUNTANT,
    LaplaceTreeParameters,
    account,
    pure_epsilon,
    worst_profiles,
)
from dpproof.accountant.counting.sensitivity import absolute_replacement, absolute_sensitivity

P = LaplaceTreeParameters(16384, 15.0, sensitivity=1.0)


def all_nodes(leaves):
    sizes = [2**level for level in range(leaves.bit_length())]
    return [set(range(s, s + size)) for size in sizes for s in range(0, leaves - size + 1, size)]


def subsets(leaves, most):
    return [set(s) for n in range(most + 1) for s in itertools.combinations(range(leaves), n)]


def items(profile):
    return [c for c, n in enumerate(profile, 1) for _ in range(n)]


def packable(changes, boxes):
    """Whether the changes fit into the boxes, by trying everything."""
    if not changes:
        return True
    change, rest = changes[-1], changes[:-1]
    for room in {box for box in boxes if box >= change}:
        left = sorted([*boxes, room - change])
        left.remove(room)
        if packable(rest, left):
            return True
    return False


@pytest.mark.parametrize("leaves", [1, 2, 3, 6, 8, 11])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_every_profile_is_dominated_by_a_listed_one(leaves, most):
    moved = [[len(node & s) for node in all_nodes(leaves)] for s in subsets(leaves, most)]
    every = {tuple(row.count(c) for c in range(1, most + 1)) for row in moved}
    listed = worst_profiles(leaves, most)
    assert set(listed) <= every
    for profile in every:
        assert any(packable(items(profile), items(worst)) for worst in listed)
    totals = [sum(c * n for c, n in enumerate(p, 1)) for p in listed]
    assert max(totals) == absolute_sensitivity(leaves, most)


@pytest.mark.parametrize(("leaves", "most"), [(1, 1), (5, 1), (8, 1), (6, 2), (8, 2), (7, 3)])
def test_absolute_replacement_by_enumeration(leaves, most):
    every, sets = all_nodes(leaves), subsets(leaves, most)
    worst = max(sum(abs(len(n & a) - len(n & b)) for n in every) for a in sets for b in sets)
    assert absolute_replacement(leaves, most) == worst


def test_one_leaf_is_one_laplace_pair():
    for epsilon in ("0", "0.1", "0.3"):
        found = account(LaplaceTreeParameters(1, 2.0)).guarantee.delta(epsilon)
        exact = 1 - math.exp((float(epsilon) - 0.5) / 2)
        assert found.lower <= exact * (1 + 1e-14)
        assert found.upper >= exact * (1 - 1e-14)
        assert found.relative_width < 1e-9


@pytest.mark.parametrize("relation", [Adjacency.BY_SENSITIVITY, Adjacency.REPLACE])
def test_against_a_pessimistic_and_an_optimistic_accountant(relation):
    found = account(P, relation).guarantee.epsilon("1e-6")
    count = 15
    shift = {Adjacency.BY_SENSITIVITY: 1, Adjacency.REPLACE: 2}[relation]
    high, low = (
        pld.from_laplace_mechanism(15.0, shift, value_discretization_interval=1e-4, pessimistic_estimate=side)
        .self_compose(count)
        .get_epsilon_for_delta(1e-6)
        for side in (True, False)
    )
    assert low <= found.upper
    assert found.lower <= high
    assert found.relative_width < 1e-6
    fewer = account(replace(P, leaves=8192), relation).guarantee.epsilon("1e-6")  # a level less: too little
    assert fewer.upper < found.lower


@pytest.mark.parametrize("leaves", [1, 2, 3, 4])
def test_replacing_one_leaf_by_enumeration(leaves):
    """Signed changes: every pair of values at two leaves, composed by another accountant, costs no more."""
    worst = account(LaplaceTreeParameters(leaves, 5.0, sensitivity=1.0), Adjacency.REPLACE).guarantee.epsilon(
        "1e-3"
    )
    counts = LaplaceTreeParameters(leaves, 5.0, sensitivity=1.0, contributions="nonnegative")
    fewer = account(counts, Adjacency.REPLACE).guarantee.epsilon("1e-3")
    pairs = {
        shift: pld.from_laplace_mechanism(
            5.0, shift, value_discretization_interval=1e-3, pessimistic_estimate=False
        )
        for shift in (0.5, 1, 1.5, 2)
    }

    def composed(change):
        moved = [abs(sum(change[leaf] for leaf in node)) for node in all_nodes(leaves)]
        found = [pairs[m] for m in moved if m]
        return functools.reduce(lambda x, y: x.compose(y), found).get_epsilon_for_delta(1e-3) if found else 0

    values = (-1, -0.5, 0.5, 1)
    changes = [
        tuple((v if i == b else 0) - (u if i == a else 0) for i in range(leaves))
        for a, b in itertools.product(range(leaves), repeat=2)
        for u, v in itertools.product(values, repeat=2)
    ]
    assert max(map(composed, changes)) <= worst.upper + 1e-9
    assert max(map(composed, changes)) > fewer.upper  # with either sign the smaller one is false
    positive = [x for x in changes if max(x, default=0) <= 1 and sum(v < 0 for v in x) <= 1 and min(x) >= -1
                and not any(abs(v) > 1 for v in x) and len([v for v in x if v > 0]) <= 1]  # fmt: skip
    assert max(map(composed, positive)) <= fewer.upper + 1e-9


def test_two_leaves_are_the_worst_of_their_profiles():
    found = account(LaplaceTreeParameters(8, 20.0, participations=2)).guarantee.epsilon("1e-4")
    one, two = (
        pld.from_laplace_mechanism(20.0 / c, value_discretization_interval=1e-4, pessimistic_estimate=True)
        for c in (1, 2)
    )
    highs = [
        one.self_compose(n).compose(two.self_compose(m)).get_epsilon_for_delta(1e-4) if m else math.nan
        for n, m in worst_profiles(8, 2)
    ]
    assert found.lower <= max(high for high in highs if not math.isnan(high)) * (1 + 1e-9)
    assert found.relative_width < 1e-3
    assert found.upper <= pure_epsilon(
        LaplaceTreeParameters(8, 20.0, sensitivity=1.0, participations=2), Adjacency.ADD_REMOVE
    )


@pytest.mark.parametrize(("parts", "scale"), [((1, 1), 5.0), ((1, 2), 3.0), ((1, 1, 2), 8.0)])
def test_one_shift_costs_more_than_its_parts(parts, scale):
    """A Laplace pair of a shift dominates the composition of pairs whose shifts add up to it."""
    split = functools.reduce(
        lambda x, y: x.compose(y),
        [
            pld.from_laplace_mechanism(
                scale, part, value_discretization_interval=1e-4, pessimistic_estimate=False
            )
            for part in parts
        ],
    )
    whole = account(LaplaceTreeParameters(1, scale, sensitivity=float(sum(parts)))).guarantee
    for epsilon in (0, 0.1, 0.3, 0.5, 0.9):
        assert split.get_delta_for_epsilon(epsilon) <= whole.delta(epsilon).upper + 1e-12


def test_long_streams_and_far_scales_are_answered():
    many = account(LaplaceTreeParameters(2**40, 300.0, participations=4)).guarantee
    assert many.epsilon("1e-6").upper < many.epsilon(0).upper
    for scale, sensitivity in ((1e-300, 1e300), (1e300, 1e-300), (1e13, 1.0), (1e-3, 1.0)):
        p = LaplaceTreeParameters(1000, scale, sensitivity=sensitivity)
        found = account(p)
        assert Fraction(min(found.guarantee.epsilon(0).upper, 1e308)) >= min(
            pure_epsilon(p, Adjacency.ADD_REMOVE), Fraction(1e308)
        )
        assert "too far" in found.notes[0]
        assert 0 <= found.guarantee.delta(0).upper <= 1
    with pytest.raises(ValueError, match="restarts"):
        LaplaceTreeParameters(1000, 15.0, restarts=10**400)


def test_pure_guarantees():
    assert account(P).guarantee.epsilon(0).upper == 1.0
    assert pure_epsilon(P, Adjacency.REPLACE) == 2
    assert pure_epsilon(replace(P, contributions="nonnegative"), Adjacency.REPLACE) == Fraction(28, 15)
    assert pure_epsilon(replace(P, restarts=2), Adjacency.ADD_REMOVE) == 3
    many = account(replace(P, participations=100))
    assert many.notes
    assert many.attained is None
    assert many.guarantee.epsilon(0).upper >= absolute_sensitivity(16384, 100) / 15
    assert "fixed before the run" in account(replace(P, restarts=3, participations=2)).notes[0]
    with pytest.raises(UnprovedAdjacencyError, match="by-sensitivity, add-remove, replace"):
        account(P, Adjacency.REWARDS_ONLY)


def test_sensitivity_that_does_not_divide_the_scale():
    third = account(LaplaceTreeParameters(100, 10.0, sensitivity=3.0)).guarantee.epsilon("1e-6")
    near = account(LaplaceTreeParameters(100, 10.0 / 3)).guarantee.epsilon("1e-6")
    assert third.lower <= near.upper
    assert near.lower <= third.upper
    assert third.relative_width < 1e-6


@pytest.mark.slow
def test_calibration_meets_and_a_little_less_misses():
    meets, misses = ACCOUNTANT.least_noise(P, Adjacency.BY_SENSITIVITY, "1", "1e-6")
    assert account(meets).guarantee.epsilon("1e-6").upper <= 1
    assert account(misses).guarantee.epsilon("1e-6").lower > 1
    assert meets.scale == pytest.approx(misses.scale, rel=1e-6)


@pytest.mark.parametrize(
    ("values", "named"),
    [({"leaves": 0}, "leaves"), ({"scale": math.nan}, "scale"), ({"scale": 0.0}, "scale"),
     ({"participations": 0}, "participations"), ({"restarts": -1}, "restarts")],
)  # fmt: skip
def test_bad_parameters_are_named(values, named):
    with pytest.raises(ValueError, match=named):
        LaplaceTreeParameters(**{"leaves": 8, "scale": 1.0} | values)
    for bad in (0, 9, True, 1.5):
        with pytest.raises(ValueError, match="participations"):
            worst_profiles(8, bad)
