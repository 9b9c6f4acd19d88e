"""Shuffled randomised response: certified bounds, a pair that attains one, amplification.

Shuffled randomised response: every data set enumerated; the vectorised tails; the closed form.

Amplification bounds beside exact values: order, the equal variance, refusals.

The shuffled binary sum as a pair: its cells against enumeration, and composed by the engine.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.binomial import tail_ratio, tail_ratios
from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.binomial import ShiftedBinomial, ShuffledBinary
from dpproof.accountant.privacy_loss.by_grid import delta_by_grid
from dpproof.accountant.shuffling import clones
from dpproof.accountant.shuffling.clones import general_randomiser
from dpproof.accountant.shuffling.compared import ShuffledResponse, amplification_bounds, closed_form_epsilon
from dpproof.accountant.shuffling.view import BinomialView


def law(data, k, local):
    """The law of the histogram of messages, in double precision."""
    rare = 1 / (math.exp(local) + k - 1)
    current = {(0,) * k: 1.0}
    for value in data:
        following = Counter()
        for counts, weight in current.items():
            for j in range(k):
                more = tuple(c + (i == j) for i, c in enumerate(counts))
                following[more] += weight * rare * (math.exp(local) if j == value else 1)
        current = following
    return current


def divergence(n, k, local, epsilon, others):
    one, other = law((0, *others), k, local), law((1, *others), k, local)
    return sum(max(one[x] - math.exp(epsilon) * other[x], 0.0) for x in one)


def worst(n, k, local, epsilon):
    held = itertools.combinations_with_replacement(range(k), n - 1)
    return max(divergence(n, k, local, epsilon, others) for others in held)


@pytest.mark.parametrize(
    ("n", "k", "local", "epsilon"),
    [
        (4, 3, 1, 0.3),
        (5, 3, 2, 0),
        (5, 2, 1, 0.3),
        (8, 2, 3, 1.0),
        (4, 4, 1.5, 0.4),
        (6, 3, 1, 0.1),
        (1, 3, 1, 0.5),
    ],
)
def test_both_ends_hold_against_all_data_sets(n, k, local, epsilon):
    truth = worst(n, k, local, epsilon)
    found = ShuffledResponse(n, k, local).delta(epsilon)
    assert found.lower <= truth * (1 + 1e-12)
    assert truth <= found.upper * (1 + 1e-12)
    assert found.lower > 0.8 * truth


@pytest.mark.parametrize("local", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("k", [3, 10])
def test_one_user_with_a_tiny_local_epsilon_against_the_closed_form(k, local):
    """Nearly uniform messages: the uniform share of them is rounded where it cancels."""
    with mpmath.workdps(50):
        grown = mpmath.exp(mpmath.mpf(local))
        truth = (grown - 1) / (grown + k - 1)
        found = ShuffledResponse(1, k, local).delta(0)
        assert found.lower <= truth <= found.upper <= truth * (1 + mpmath.mpf(1e-15))


@pytest.mark.parametrize(
    ("n", "k", "local", "epsilon"),
    [
        (4, 4, 1, 0.9),
        (5, 4, 1, 0.9),
        (5, 3, 1, 0.9),
        (3, 3, 1, 0.9),
        (6, 3, 1, 0.8),
        (4, 3, 2, 1.9),
        (5, 3, 2, 0.2),
    ],
)
def test_the_pair_that_is_named_attains_the_lower_end(n, k, local, epsilon):
    found = ShuffledResponse(n, k, local).delta(epsilon)
    held = {"0": 0, "a third value": 2}[found.attained_by.split(" holding ")[1]]
    attained = divergence(n, k, local, epsilon, (held,) * (n - 1))
    assert found.of == "mechanism"
    assert found.lower <= attained * (1 + 1e-12)
    assert found.lower > 0.8 * worst(n, k, local, epsilon)


def test_at_delta_zero_epsilon_is_the_local_one():
    found = ShuffledResponse(7, 3, "0.1").epsilon(0)
    assert Fraction(found.lower) <= Fraction(1, 10) <= Fraction(found.upper)
    assert found.upper == math.nextafter(found.lower, 1)


@pytest.mark.parametrize(("k", "local", "epsilon", "gap"), [(3, 1, "0.05", 1.03), (10, 4, "0.3", 1.04)])
def test_the_ends_are_close_for_many_users(k, local, epsilon, gap):
    found = ShuffledResponse(10_000, k, local).delta(epsilon)
    assert 0 < found.lower <= found.upper < gap * found.lower
    assert found.upper < general_randomiser(10_000, local).delta(epsilon).upper


@pytest.mark.slow
def test_epsilon_lies_between():
    view = ShuffledResponse(10_000, 3, 1)
    assert isinstance(view, Profile)
    found = view.epsilon("1e-6")
    assert view.delta(found.lower).lower > 1e-6 >= view.delta(found.upper).upper
    assert found.upper < 1.01 * found.lower


def test_vectorised_tails_are_within_their_errors():
    trials = np.array([0, 1, 2, 3, 10, 10, 1000, 1000, 10**6, 10**6, 10**6, 10**9, 10**9])
    counts = np.array([0, 0, 1, 1, 5, 0, 499, 300, 499_999, 498_000, 10_000, 499_990_000, 499_900_000])
    ratios, errors = tail_ratios(trials, counts)
    with precision(200):
        for n, k, ratio, error in zip(trials, counts, ratios, errors, strict=True):
            truth = tail_ratio(int(n), Fraction(1, 2), int(k)) if n else flint.arb(1)
            assert abs(truth - flint.arb(ratio)) <= truth * flint.arb(error)
    assert errors[7] < 1e-11
    with pytest.raises(ValueError, match="counts"):
        tail_ratios(np.array([4]), np.array([3]))


def test_the_closed_form_is_above_the_exact_value_and_stops_where_its_theorem_does():
    for users, local in ((10**4, 1), (10**4, 2), (10**6, "0.5")):
        exact = general_randomiser(users, local).epsilon("1e-6")
        assert exact.upper < closed_form_epsilon(users, local, "1e-6").lower
    with pytest.raises(ValueError, match="the theorem ends there"):
        closed_form_epsilon(10**4, 4, "1e-6")


def test_refusals():
    for bad in ((0, 3, 1), (5, 1, 1), (5, True, 1), (5, 3, -1), (5, 3, 501), (5, 3, math.nan)):
        with pytest.raises(ValueError, match=r"users|categories|local_epsilon"):
            ShuffledResponse(*bad)


@pytest.mark.parametrize(("users", "local"), [(10_000, 1), (10_000, 2), (278_566, 4)])
def test_the_routes_stand_in_order(users, local):
    found = amplification_bounds(users, local, "1e-6")
    assert found.exact.lower <= found.exact.upper
    assert found.closed_form is not None
    assert found.exact.upper < found.closed_form.lower


@pytest.mark.parametrize(("users", "local"), [(1000, 0.3), (10_000, 1), (10_000, 3)])
def test_the_noise_has_no_more_variance_than_the_flips(users, local):
    """With whole fair bits up to one bit a user less."""
    found = amplification_bounds(users, local, "1e-6")
    flip = 1 / (1 + math.exp(local))
    flips = users * flip * (1 - flip) / (1 - 2 * flip) ** 2
    half = found.threshold / 2
    noise = half / 2 if flips >= users / 4 else half * (1 - half / users)
    assert flips - users / 4 <= noise <= flips * (1 + 1e-9)


def test_outside_the_hypothesis_there_is_no_closed_form():
    assert amplification_bounds(100, 3, "1e-6").closed_form is None


def test_refusals_amplification():
    with pytest.raises(ValueError, match="local_epsilon"):
        amplification_bounds(100, 0, "1e-6")
    for delta in (0, 1, -1):
        with pytest.raises(ValueError, match="delta"):
            amplification_bounds(100, 1, delta)
    with pytest.raises(ValueError, match="users"):
        amplification_bounds(0, 1, "1e-6")


def test_an_epsilon_takes_few_sums_over_the_number_of_clones(monkeypatch):
    """These sums are what takes time; their epsilon is that of a search without them."""
    asked = []

    def counted(*arguments):
        asked.append(arguments)
        return steps(*arguments)

    steps = clones._steps
    monkeypatch.setattr(clones, "_steps", counted)
    response = ShuffledResponse(3 * 10**6, 2, 1)
    found = response.epsilon("1e-6")
    assert 5 < len(asked) < 60
    low, high = response.delta(found.upper * (1 - 1e-9)), response.delta(found.upper)
    assert low.upper > 1e-6 >= high.upper


def test_of_two_categories_the_own_clones_are_never_worse_than_those_of_any_randomiser():
    for users, local, epsilon in [
        (100, 1, "0.2"),
        (1000, "0.01", "0.0001"),
        (50, 5, "1.5"),
        (3000, 3, "0.1"),
    ]:
        own = ShuffledResponse(users, 2, local).delta(epsilon).upper
        assert own <= general_randomiser(users, local).delta(epsilon).upper * (1 + 1e-12)


CASES = [
    (7, Fraction(1, 3), Fraction(1, 4), Fraction(2, 3)),
    (12, Fraction(1, 2), Fraction(0), Fraction(1)),
    (5, Fraction(1, 9), Fraction(0), Fraction(1, 2)),
    (9, Fraction(3, 4), Fraction(1, 5), Fraction(1)),
]
EDGES = np.array([-2.0, -0.7, -0.1, 0.0, 0.05, 0.33, 0.9, 2.5])


def laws(n, p, a, c):
    base = [Fraction(math.comb(n, k)) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    padded = [Fraction(0), *base, Fraction(0)]
    return [[(1 - x) * padded[k + 1] + x * padded[k] for k in range(n + 2)] for x in (a, c)]


@pytest.mark.parametrize("case", CASES)
def test_cells_hold_the_masses(case):
    one, other = laws(*case)
    cells = ShuffledBinary(*case).cells(EDGES)
    p, q, lost = np.zeros(len(EDGES) + 1), np.zeros(len(EDGES) + 1), 0.0
    for x, y in zip(one, other, strict=True):
        if y == 0:
            lost += float(x)
            continue
        place = np.searchsorted(EDGES, math.log(x / y) if x else -math.inf, side="right")
        p[place] += float(x)
        q[place] += float(y)
    assert np.all(np.abs(cells.p - p) <= cells.p_error * cells.p + 1e-16)
    assert np.all(np.abs(cells.q - q) <= cells.q_error * cells.q + 1e-16)
    assert cells.infinite[0] <= lost * (1 + 1e-15)
    assert cells.infinite[1] >= lost * (1 - 1e-15)


def test_a_changed_bit_is_the_shifted_binomial():
    edges = np.linspace(-0.3, 0.3, 61) + 1e-5
    one, other = (pair.cells(edges) for pair in (ShuffledBinary(4000, "1/3"), ShiftedBinomial(4000, "1/3")))
    np.testing.assert_allclose(one.p, other.p, rtol=1e-9, atol=1e-200)
    np.testing.assert_allclose(one.q, other.q, rtol=1e-9, atol=1e-200)


@pytest.mark.parametrize("case", CASES)
def test_reversed_exchanges_the_laws(case):
    pair = ShuffledBinary(*case)
    back = pair.reversed()
    assert isinstance(pair, DominatingPair)
    assert back.reversed() == pair
    edges = np.array([-0.31, 0.17])
    one, other = pair.cells(edges), back.cells(-edges[::-1])
    np.testing.assert_allclose(one.q[1:], other.p[::-1][1:], atol=1e-12)


@pytest.mark.parametrize(("n", "p", "a", "c"), [(2000, "1/4", 0, 1), (3000, "1/4", "1/4", "3/4")])
def test_the_engine_composes_it_around_the_exact_view(n, p, a, c):
    view = BinomialView(n, p, a, c)
    pairs = [ShuffledBinary(*direction) for direction in view.directions()]
    for pair in pairs:
        low, high = delta_by_grid([(pair, 1)], Fraction(1, 10))
        assert low <= view.delta("0.1").upper
        assert high - low <= 0.02 * high + 1e-300
    ends = [delta_by_grid([(pair, 1)], Fraction(1, 10)) for pair in pairs]
    assert max(high for _, high in ends) >= view.delta("0.1").lower


def test_two_counters_against_enumeration():
    n, p = 40, Fraction(1, 2)
    one, other = laws(n, p, Fraction(0), Fraction(1))
    truth = sum(
        max(float(x * u) - math.exp(0.5) * float(y * v), 0)
        for x, y in zip(one, other, strict=True)
        for u, v in zip(one, other, strict=True)
    )
    low, high = delta_by_grid([(ShuffledBinary(n, p), 2)], Fraction(1, 2))
    assert low <= truth * (1 + 1e-12)
    assert high >= truth * (1 - 1e-12)
    assert high - low < 0.02 * truth


def test_refusals_pair():
    for bad in (
        (0, "1/2"),
        (5, 0),
        (5, 1),
        (5, "1/2", "1/2", "1/2"),
        (5, "1/2", "3/4", "1/4"),
        (10**15, "1/2"),
    ):
        with pytest.raises(ValueError, match=r"trials|probability|first"):
            ShuffledBinary(*bad)
