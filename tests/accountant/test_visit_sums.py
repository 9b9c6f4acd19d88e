"""The accountant of noise on visits and sums of returns.

References: all pairs of short trajectories in exact fractions, and simulations of the ratio for the bound on its error.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.noise.gaussian import GaussianParameters
from dpproof.accountant.rl.policy_evaluation.visit_sums import EVEN, SURVEY, VisitSums, _square_error
from dpproof.mechanisms.rl.policy_evaluation.returns import Log, ReturnRange
from tests.mechanisms.test_policy_evaluation_release import batch_of

REPLACE, ADD_REMOVE = Adjacency.REPLACE, Adjacency.ADD_REMOVE
STATES, LONGEST = 3, 3
DISCOUNT, TOP = 0.5, 1.75


def trajectories(longest):
    """All trajectories of up to `longest` steps, as exact contributions: centred first-visit returns by state."""
    found = set()
    for length in range(1, longest + 1):
        for walk in itertools.product(range(STATES), repeat=length):
            for paid in itertools.product((0, Fraction(1, 2), 1), repeat=length):
                value, returns = Fraction(0), {}
                for state, reward in zip(reversed(walk), reversed(paid), strict=True):
                    value = reward + value / 2
                    returns[state] = value
                found.add(frozenset((s, v / Fraction(TOP) - Fraction(1, 2)) for s, v in returns.items()))
    return [dict(one) for one in found]


def squared_distance(design, shares, one, other):
    """Of the two releases on neighbours, in standard deviations of the noise, exactly."""
    total = Fraction(0)
    for state, share in enumerate(shares):
        count = (state in one) - (state in other)
        moved = one.get(state, Fraction(0)) - other.get(state, Fraction(0))
        on_sum, on_count = design.variances(share)
        total += count**2 / design.survey_variance + moved**2 / on_sum + count**2 / on_count
    return total


def surveys(design):
    """Surveys that favour each set of states, and one that sees no state."""
    small = 3 * Fraction(math.isqrt(math.ceil(design.survey_variance)) + 1)
    return list(itertools.product((Fraction(-5), small, Fraction(10**6)), repeat=STATES))


def changes(known, others):
    """All different pairs of contributions in a state, and all different changes (STATES pairs) of a batch.

    A change of a state is a number: the index of its pair of contributions, of which there are few.
    """
    kinds = [*sorted({one.get(s) for one in (*known, *others) for s in range(STATES)} - {None}), None]
    number = {kind: place for place, kind in enumerate(kinds)}
    rows, columns = (
        np.array([[number[one.get(s)] for s in range(STATES)] for one in group]) for group in (known, others)
    )
    pairs = rows[:, None, :] * len(kinds) + columns[None, :, :]
    return kinds, np.unique(np.sort(pairs.reshape(-1, STATES), axis=1), axis=0)


@pytest.mark.parametrize("longest", [1, 2, pytest.param(LONGEST, marks=pytest.mark.slow)])
def test_no_neighbours_are_further_apart_than_the_guarantee_says(longest):
    """Exhaustive, in fractions; at `longest` 1 only two of the three states can change.

    States can be exchanged, so each change is tried with one order of its states, and each survey with all orders.
    """
    known = trajectories(longest)
    for adjacency in (REPLACE, ADD_REMOVE):
        design = VisitSums(STATES, 1.0, adjacency, longest)
        kinds, found = changes(known, known if adjacency is REPLACE else [{}])
        parts = [{0: kind} if kind is not None else {} for kind in kinds]
        largest = Fraction(0)
        for shares in {tuple(design.shares(survey)) for survey in surveys(design)}:
            table = [
                [squared_distance(design, [share], one, other) for one in parts for other in parts]
                for share in shares
            ]
            worst = max(sum(table[s][at] for s, at in enumerate(change)) for change in found.tolist())
            largest = max(largest, worst)
        assert largest <= 1
        assert largest > Fraction(3, 5)


def test_the_worst_pair_attains_the_guarantee_and_a_forgotten_state_breaks_it():
    design = VisitSums(4, 2.0, REPLACE)
    (half,) = {Fraction(1, 2)}
    one, other = {0: half, 1: -half}, {2: half, 3: half}
    shares = design.shares([Fraction(10**6)] * 4)
    found = squared_distance(design, shares, one, other)
    assert Fraction(1, 4) * (1 - Fraction(1, 10**9)) < found <= Fraction(1, 4)

    class OneState(VisitSums):
        touched = 1

    wrong = OneState(4, 2.0, REPLACE)
    assert squared_distance(wrong, wrong.shares([Fraction(10**6)] * 4), one, other) > Fraction(1, 2)


def test_the_statistics_are_those_of_the_definition():
    """The compiled sums against the definition, on all trajectories of up to two steps at once."""
    walks = [
        (walk, paid)
        for length in (1, 2)
        for walk in itertools.product(range(STATES), repeat=length)
        for paid in itertools.product((0.0, 0.5, 1.0), repeat=length)
    ]
    visits, sums = Log.of(batch_of(walks), STATES).sums(STATES, ReturnRange(DISCOUNT, 0.0, 2.0))
    want_visits, want = [0] * STATES, [Fraction(0)] * STATES
    for walk, paid in walks:
        for state in set(walk):
            first = walk.index(state)
            value = sum(Fraction(reward) / 2**t for t, reward in enumerate(paid[first:]))
            want_visits[state] += 1
            want[state] += value / 2 - Fraction(1, 2)
    assert (visits, sums) == (want_visits, want)


@pytest.mark.parametrize("adjacency", [REPLACE, ADD_REMOVE])
def test_the_guarantee_is_that_of_one_gaussian(adjacency):
    design = VisitSums.calibrated(16, 1, "1e-5", adjacency, 100)
    found = design.account()
    assert 0.999999 < found.epsilon("1e-5").upper <= 1
    plain = accountant_for("gaussian").account(
        GaussianParameters(sigma=design.multiplier, sensitivity=1.0), adjacency
    )
    assert found.epsilon("1e-5") == plain.epsilon("1e-5")
    assert (found.adjacency, found.statement) == (adjacency, "classic.adaptive_gaussians")
    assert found.covers_released_bits


@pytest.mark.parametrize(
    ("states", "longest", "adjacency", "touched"),
    [(16, None, REPLACE, 16), (16, 3, REPLACE, 6), (16, 3, ADD_REMOVE, 3), (4, 9, ADD_REMOVE, 4)],
)
def test_states_that_neighbours_can_change(states, longest, adjacency, touched):
    assert VisitSums(states, 1.0, adjacency, longest).touched == touched


@given(
    st.lists(st.integers(-(10**4), 10**7), min_size=5, max_size=40),
    st.integers(1, 50),
    st.sampled_from([REPLACE, ADD_REMOVE]),
)
def test_shares_add_up_to_one_and_none_is_below_the_even_part(counts, longest, adjacency):
    design = VisitSums(len(counts), 3.7, adjacency, longest)
    shares = design.shares([Fraction(count) for count in counts])
    assert sum(sorted(shares)[-design.touched :]) <= 1
    assert min(shares) >= EVEN / design.touched * (1 - Fraction(1, 2**39))


def test_rare_states_get_the_larger_shares():
    design = VisitSums(3, 3.7, REPLACE)
    common, rare, unseen = design.shares([Fraction(5000), Fraction(100), Fraction(-3)])
    assert rare > common > unseen
    assert design.variances(rare)[0] < design.variances(common)[0]
    on_sum, on_count = design.variances(rare)
    assert on_count == on_sum * 4 / 3
    assert on_sum == Fraction(3.7) ** 2 / ((1 - SURVEY) * rare)


@pytest.mark.parametrize(("visits", "noise"), [(300, 25.0), (60, 25.0), (5, 25.0), (1000, 3.0)])
def test_the_bound_on_the_squared_error_holds_and_is_close(visits, noise):
    """400,000 draws for the worst returns, all 0 or all 1: the mean is not above the bound by five standard errors."""
    rng, on_count = np.random.default_rng(5), noise / math.sqrt(0.75)
    bound = _square_error(visits, noise, on_count)
    count = visits + on_count * rng.normal(size=400_000)
    total = -visits / 2 + noise * rng.normal(size=400_000)
    ratio = np.clip(0.5 + total / np.where(count > 0, count, 1), 0, 1)
    square = np.where(count > 0, ratio, 0.5) ** 2
    mean, error = square.mean(), square.std() / math.sqrt(len(square))
    assert mean - 5 * error <= bound
    if visits >= 300:  # far from 0, half of the errors are clipped away and the bound does not use it
        assert bound <= 2.5 * (mean + 5 * error)


def test_error_bounds_fall_with_visits_and_with_the_batch():
    design = VisitSums.calibrated(16, 1, "1e-5", REPLACE)
    assert design.error_bound([5000] * 16) < design.error_bound([300] * 16) < 0.1
    assert design.error_bound([300] * 15 + [0]) > 0.2
    few, more, many = (design.error_bound_of_any(count) for count in (10, 5_000, 500_000))
    assert few == 1.0
    assert 1 > more > many > 0
    # a batch in which one state has all the visits is one of those that the bound is about
    assert many >= design.error_bound([500_000])


@pytest.mark.parametrize("relation", [Adjacency.REWARDS_ONLY, Adjacency.EXPERT, Adjacency.BY_SENSITIVITY])
def test_other_relations_are_refused(relation):
    with pytest.raises(UnprovedAdjacencyError, match="Use replace or add-remove"):
        VisitSums(4, 1.0, relation)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"states": 0}, r"states \(0\) must be an integer at least 1"),
        ({"max_length": 0}, r"max_length \(0\) must be an integer at least 1"),
        ({"multiplier": 0.0}, r"sigma \(0\.0\) must be a number above 0"),
    ],
)
def test_parameters_outside_their_domain_are_refused(given, told):
    with pytest.raises(ValueError, match=told):
        VisitSums(**({"states": 4, "multiplier": 1.0, "adjacency": REPLACE} | given))
