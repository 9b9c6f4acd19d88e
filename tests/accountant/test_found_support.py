"""Transitions found by thresholds: the exact hockey-stick divergence of small cases against the account.

All visits of both users are enumerated, with every set of open pairs and several counts of the other users. An open
pair moves Gaussian counters. A pair without a counter is opened or not, which is one biased coin.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import UnreachableTargetError
from dpproof.accountant.guarantees.failing import WithFailure
from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP
from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.rl.private_ucb.batched_counts import ACCOUNTANT, account
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.accountant.rl.private_ucb.encoder import encoder, squared_column
from dpproof.accountant.rl.private_ucb.openings import failure_probability
from dpproof.accountant.rl.private_ucb.thresholds import least_threshold, with_openings
from dpproof.accountant.theorems.mixed_composition import compose_guarantees
from tests.rows import rows

ADD, REPLACE, REWARDS = Adjacency.ADD_REMOVE, Adjacency.REPLACE, Adjacency.REWARDS_ONLY
EPSILONS = (0, 0.1, 0.5, 1.0, 2.0, 4.0)
ROUNDING = 1e-11


def small(**given):
    sizes = {"episodes": 9, "sigma": 4.0, "opening_sigma": 3.0, "threshold": 6, **given}
    return BatchedCountsParameters(2, 1, 2, **sizes)


def users(p):
    """The counted visits of every user, as a list of pairs of a cell and a next state."""
    for states in itertools.product(range(p.states), repeat=p.horizon + 1):
        visits, seen = [], {}
        for h, (s, after) in enumerate(itertools.pairwise(states)):
            cell = s if p.pooled else (h, s)
            seen[cell] = seen.get(cell, 0) + 1
            if seen[cell] <= p.cap:
                visits.append((cell, after))
        yield visits


def tail(x):
    return math.erfc(x / math.sqrt(2)) / 2


@lru_cache
def column(p):
    with precision(100):
        return float(squared_column(p))


def passes(p, count):
    """The probability that a pair with this count is opened."""
    return tail((p.threshold - 0.5 - count) / p.opening_sigma) if count else 0.0


def gaussian(mu, tilt):
    """E (dP - e^tilt dQ)_+ of N(mu, 1) against N(0, 1), for any real tilt."""
    if mu == 0:
        return max(0.0, -math.expm1(tilt)) if tilt < 700 else 0.0
    return tail(tilt / mu - mu / 2) - math.exp(tilt) * tail(tilt / mu + mu / 2)


def divergence(p, one, other, paid, opened, others, epsilon):
    """The exact divergence of one world from the other: counters as one Gaussian, and one coin for each closed pair."""
    counts = [{pair: user.count(pair) for pair in {*one, *other}} for user in (one, other)]
    squared = sum((counts[0][pair] - counts[1][pair]) ** 2 for pair in counts[0] if pair in opened)
    squared += payoffs(one, other, paid, opened) / p.cost_factor**2
    mu = math.sqrt(squared * column(p)) / p.sigma
    coins = [
        tuple(passes(p, counts[world][pair] + others.get(pair, 0)) for world in (0, 1))
        for pair in counts[0]
        if pair not in opened
    ]
    total = 0.0
    for sides in itertools.product((True, False), repeat=len(coins)):
        a, b = (
            math.prod(
                coin[world] if side else 1 - coin[world] for coin, side in zip(coins, sides, strict=True)
            )
            for world in (0, 1)
        )
        if a:
            total += a if not b else a * gaussian(mu, epsilon + math.log(b / a))
    return total


def payoffs(one, other, paid, opened):
    """The squared distance of the payoffs of open pairs, for payoffs that are all `paid[0]` or all `paid[1]`."""
    cells = {cell for cell, _ in [*one, *other]}
    sums = [
        {cell: sum(paid[world] for pair in user if pair[0] == cell and pair in opened) for cell in cells}
        for world, user in enumerate((one, other))
    ]
    return sum((sums[0][cell] - sums[1][cell]) ** 2 for cell in cells)


def worlds(p, relation):
    """Both users, their payoffs, the open pairs and the counts of all others: what the past and the others decide."""
    pairs = sorted({pair for user in users(p) for pair in user})
    for one, other in itertools.product(users(p), [[]] if relation is ADD else users(p)):
        touched = [pair for pair in pairs if pair in one or pair in other]
        for opened in itertools.chain(*(itertools.combinations(touched, k) for k in range(len(touched) + 1))):
            closed = [pair for pair in touched if pair not in opened]
            for paid in ((1, 1), (1, 0)):
                for near in itertools.product((0, p.threshold - 1), repeat=len(closed)):
                    others = dict(zip(closed, near, strict=True))
                    yield one, other, paid, opened, others
                    yield other, one, paid, opened, others


def worst(p, relation, epsilon):
    return max(divergence(p, *world, epsilon) for world in worlds(p, relation))


SHAPES = [
    {},
    {"cap": 2},
    {"pooled": False},
    {"threshold": 12, "opening_sigma": 2.0},
    {"threshold": 1, "opening_sigma": 0.7, "cap": 2},
    {"sigma": 1.5, "opening_sigma": 9.0, "threshold": 30},
    {"sigma": 30.0, "cost_factor": 3.0, "opening_sigma": 1.0, "threshold": 4},
]


@pytest.mark.slow
@rows("shape", SHAPES, ids=str)
@rows("relation", [ADD, REPLACE])
def test_no_pair_of_worlds_is_further_apart_than_the_account_says(shape, relation):
    p = small(**shape)
    guarantee = account(p, relation).guarantee
    for epsilon in EPSILONS:
        found = worst(p, relation, epsilon)
        stated = guarantee.delta(epsilon).upper
        assert found <= stated + ROUNDING, (epsilon, found, stated)
        if (
            relation is ADD and "opening_sigma" not in shape
        ):  # with less noise, one bit tells less than the Gaussian
            assert found >= 0.25 * stated - ROUNDING, (epsilon, found, stated)


def test_a_user_alone_attains_the_failure_probability():
    """At a large epsilon only openings count. Two visits, of one pair or of two, are opened in one world only."""
    for shape, user in (({}, [(0, 1), (1, 0)]), ({"cap": 2, "threshold": 14}, [(0, 0), (0, 0)])):
        p = small(**shape)
        stated = failure_probability(p)
        found = divergence(p, user, [], (1, 1), (), {}, 60.0)
        assert found == pytest.approx(stated.upper, rel=1e-9)
        assert account(p, ADD).guarantee.delta(60).upper == pytest.approx(found, rel=1e-9)


def test_the_failure_probability_is_the_largest_over_all_counts_of_a_user():
    for cap, threshold, sigma in itertools.product((1, 2, 3, 7), (1, 4, 9, 20), (0.5, 2.0, 8.0)):
        p = BatchedCountsParameters(9, 2, 7, 50, sigma=1.0, cap=cap, opening_sigma=sigma, threshold=threshold)
        sums = [
            counts
            for size in range(1, 8)
            for counts in itertools.combinations_with_replacement(range(1, cap + 1), size)
            if sum(counts) <= 7
        ]
        found = max(1 - math.prod(1 - passes(p, count) for count in counts) for counts in sums)
        stated = failure_probability(p)
        assert found <= stated.upper * (1 + 1e-9) + 1e-15
        if 7 % cap == 0:
            assert found == pytest.approx(stated.lower, rel=1e-8, abs=1e-15)


def test_control_a_threshold_without_delta_is_violated():
    """The account without openings claims the Gaussian part alone. The exact divergence refutes it."""
    p = small(threshold=1)
    claimed = account(replace(p, threshold=None, opening_sigma=None), ADD).guarantee
    assert worst(p, ADD, 1.0) > 3 * claimed.delta(1.0).upper
    assert account(p, ADD).guarantee.epsilon("1e-5").upper == math.inf


def test_control_counts_before_the_opening_would_need_more_noise():
    """If a visit moved its opening and its counter, two Gaussians would be seen, and the account would be violated."""
    p = small(threshold=60, sigma=4.0, opening_sigma=2.0)
    both = math.sqrt(column(p) * 4 / p.sigma**2 + 2 / p.opening_sigma**2)
    assert gaussian(both, 1.0) > account(p, ADD).guarantee.delta(1.0).upper


@rows("relation", [ADD, REPLACE])
def test_the_exact_law_on_a_lattice_is_no_less_private_than_the_account(relation):
    """Two batches. One pair is open and counted on a lattice, the other user or nobody visits a closed pair alone."""
    p = replace(small(threshold=4, opening_sigma=1.5, sigma=2.0), episodes=3, bits=2, grains=1)
    grid = np.arange(-60, 61)
    laws = [[np.ones(1)], [np.ones(1)]]
    for shift in encoder(p):  # the releases of the open pair, in units of 2^-bits: one visit against none
        for world, moved in enumerate((shift, 0)):
            edges = (np.array([grid - 0.5, grid + 0.5]) - moved) / (p.sigma * 4)
            laws[world].append(np.diff(stats.norm.cdf(edges), axis=0)[0])
    alone = passes(p, 1)
    laws[0].append(np.array([alone, 1 - alone]))
    laws[1].append(np.array([0.0, 1.0]))
    if relation is REPLACE:
        laws[0].append(np.array([0.0, 1.0]))
        laws[1].append(np.array([alone, 1 - alone]))
    first, second = (_product(law) for law in laws)
    guarantee = account(p, relation).guarantee
    for epsilon, (a, b) in itertools.product(EPSILONS, ((first, second), (second, first))):
        assert np.maximum(0, a - math.exp(epsilon) * b).sum() <= guarantee.delta(epsilon).upper + 1e-9


def _product(laws):
    found = np.ones(1)
    for law in laws:
        found = np.outer(found, law).ravel()
    return found


@rows("relation", [ADD, REPLACE])
@rows("cap", [1, 5])
def test_calibration_meets_the_target_and_openings_need_at_most_half_of_delta(relation, cap):
    sizes = BatchedCountsParameters(50, 2, 20, 2000, 1.0, cap=cap, every=20, bits=12, grains=16)
    for epsilon, delta in ((1, "1e-6"), (5, 1e-5), (0.1, "0.01")):
        chosen = with_openings(sizes, relation, epsilon, delta)
        meets, misses = ACCOUNTANT.least_noise(chosen, relation, epsilon, delta)
        assert account(chosen, relation).guarantee.epsilon(delta).upper <= epsilon
        assert account(misses, relation).guarantee.epsilon(delta).lower > epsilon
        assert misses.sigma < meets.sigma <= chosen.sigma * (1 + 1e-9)
        assert failure_probability(chosen).upper <= float(delta) / 2
        one_less = replace(chosen, threshold=chosen.threshold - 1)
        assert failure_probability(one_less).lower > float(delta) / 2
        plain = ACCOUNTANT.least_noise(sizes, relation, epsilon, delta)[0].sigma
        assert plain < chosen.sigma < 1.25 * plain


def test_rewards_only_costs_nothing_for_openings():
    p = small()
    assert (
        account(p, REWARDS).guarantee
        == account(replace(p, threshold=None, opening_sigma=None), REWARDS).guarantee
    )


def test_parameters_that_do_not_fit_are_refused_by_name():
    for given, message in (
        ({"opening_sigma": None}, "opening_sigma is missing"),
        ({"threshold": None}, "threshold is missing"),
        ({"counter": "tree"}, "needs counter square-root"),
        ({"counter": "tree", "noise": "laplace"}, "needs counter square-root"),
        ({"public_transitions": True}, "transitions are public"),
        ({"threshold": 0}, "threshold"),
    ):
        with pytest.raises(ValueError, match=message):
            small(**given)
    plain = small(threshold=None, opening_sigma=None)
    with pytest.raises(UnprovedAdjacencyError, match="public"):
        with_openings(plain, REWARDS, 1, "1e-6")
    with pytest.raises(UnreachableTargetError, match="above 0"):
        with_openings(plain, REPLACE, 1, 0)
    with pytest.raises(UnreachableTargetError, match="larger threshold"):
        ACCOUNTANT.least_noise(small(threshold=1), REPLACE, 1, "1e-6")
    with pytest.raises(ValueError, match="must be given"):
        failure_probability(plain)
    assert least_threshold(small(), "1e-3") < least_threshold(small(), "1e-9")


def test_failure_in_closed_form_is_the_composition_with_approximate_privacy():
    closed = WithFailure(GaussianDP("0.7"), "1e-4")
    general = compose_guarantees(GaussianDP("0.7"), ApproxDP(0, "1e-4"))
    for epsilon in (0, "0.5", 2):
        assert closed.delta(epsilon).upper == pytest.approx(general.delta(epsilon).upper, rel=1e-3)
        assert closed.delta(epsilon).upper <= general.delta(epsilon).upper
    assert WithFailure(GaussianDP(1), 1).epsilon("0.9").upper == math.inf
    with pytest.raises(ValueError, match="failure"):
        WithFailure(GaussianDP(1), 2)


@pytest.mark.parametrize(
    ("opening_sigma", "threshold", "least"), [(1e-3, 1, 1.0), (1e-300, 2, 0.0), (1e-300, 1 << 62, 0.0)]
)
def test_openings_that_are_certain_or_impossible_have_a_bound(
    opening_sigma: float, threshold: int, least: float
) -> None:
    """The failure probability is a number in [0, 1] also where its enclosure reaches an end."""
    given = BatchedCountsParameters(
        6,
        2,
        20,
        1000,
        sigma=9.0,
        cap=1,
        opening_sigma=opening_sigma,
        threshold=threshold,
        bits=16,
        grains=1024,
    )
    found = failure_probability(given)
    assert 0 <= found.lower <= found.upper <= 1
    assert found.upper >= least
    assert account(given, Adjacency.REPLACE).guarantee.delta(5).upper >= found.lower
