"""Optimal composition: binomial tails against fractions, profiles against enumeration, inverses both ways."""

import itertools
import math
from fractions import Fraction
from math import comb

import flint
import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.guarantees.notions import ApproxDP, PureDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.theorems import optimal_composition as optimal
from dpproof.accountant.theorems.coins import Coins, upper_tail
from dpproof.accountant.theorems.composition import compose_approx
from dpproof.accountant.theorems.optimal_composition import _composed, compose_approx_optimal

EPSILONS = st.fractions(Fraction(1, 1000), 3, max_denominator=1000)
DELTAS = st.floats(-69, -0.1).map(math.exp)


def enumerated(parts, point):
    """delta at ``point`` by running through all outcomes of all coins, in 60 digits."""
    mpmath.mp.dps = 60
    coins = [
        ApproxDP(part.epsilon_parameter, 0).epsilon_parameter for part, times in parts for _ in range(times)
    ]
    coins = [mpmath.mpf(Fraction(c).numerator) / Fraction(c).denominator for c in coins]
    total = mpmath.mpf(0)
    for signs in itertools.product((1, -1), repeat=len(coins)):
        p = q = mpmath.mpf(1)
        for sign, epsilon in zip(signs, coins, strict=True):
            p /= 1 + mpmath.exp(-sign * epsilon)
            q /= 1 + mpmath.exp(sign * epsilon)
        total += max(
            p - mpmath.exp(mpmath.mpf(Fraction(point).numerator) / Fraction(point).denominator) * q, 0
        )
    kept = mpmath.mpf(1)
    for part, times in parts:
        failure = Fraction(part.delta_parameter)
        kept *= (1 - mpmath.mpf(failure.numerator) / failure.denominator) ** times
    return 1 - kept * (1 - total)


def encloses(found, truth):
    slack = mpmath.mpf(10) ** -40
    return found.lower <= truth * (1 + slack) and truth * (1 - slack) <= found.upper


@given(st.integers(1, 60), st.fractions(Fraction(1, 50), 50), st.data())
def test_binomial_tails_against_fractions(times, ratio, data):
    start = data.draw(st.integers(-1, times + 2))
    exact = (
        sum((comb(times, j) * ratio**j for j in range(max(start, 0), times + 1)), Fraction(0))
        / (1 + ratio) ** times
    )
    with precision(128):
        found = upper_tail(times, arb_of(ratio), start)
        assert found.overlaps(arb_of(exact))
        assert exact == 0 or found.rel_accuracy_bits() > 90


FAILURES = st.sampled_from([Fraction(0), Fraction(1, 100), Fraction(1, 10**9)])
PARTS = st.lists(
    st.tuples(st.builds(ApproxDP, EPSILONS, FAILURES), st.integers(0, 3)), min_size=1, max_size=3
)


@settings(deadline=None, max_examples=60)
@given(PARTS, st.fractions(0, 8, max_denominator=100))
def test_profiles_against_enumeration(parts, point):
    found = compose_approx_optimal(parts).delta(point)
    truth = enumerated(parts, point)
    assert encloses(found, truth)
    assert found.relative_width < 1e-14 or truth < mpmath.mpf(10) ** -40


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 400), EPSILONS, DELTAS)
def test_the_inverse_is_where_the_profile_crosses(times, epsilon, delta):
    composed = compose_approx_optimal([(PureDP(epsilon), times)])
    found = composed.epsilon(delta)
    assert found.width <= 4e-16 * found.upper
    assert composed.delta(found.upper).lower <= delta
    assert found.lower == 0 or composed.delta(found.lower).upper >= delta
    assert found.upper <= float(times * epsilon) * (1 + 1e-15)


@settings(deadline=None, max_examples=30)
@given(PARTS, DELTAS)
def test_never_worse_than_basic_composition(parts, delta):
    optimal = compose_approx_optimal(parts).epsilon(delta)
    basic = compose_approx(*(part for part, times in parts for _ in range(times))).epsilon(delta)
    assert optimal.lower <= basic.upper


@pytest.mark.parametrize("delta", ["1e-30", "1e-6", "0.2"])
def test_one_part_is_itself(delta):
    part = ApproxDP("1.25", "1e-30")
    assert compose_approx_optimal([(part, 1)]).epsilon(delta).upper == pytest.approx(
        part.epsilon(delta).upper, rel=1e-15
    )
    assert compose_approx_optimal([(part, 1)]).epsilon("1e-31") == Bound(math.inf, math.inf)


@pytest.mark.parametrize(
    ("times", "epsilon", "delta"),
    [(10**6, "0.001", "1e-30"), (10**6, "1", "0.5"), (3 * 10**5, "0.01", "1e-8")],
)
def test_a_million_parts(times, epsilon, delta):
    composed = compose_approx_optimal([(ApproxDP(epsilon, "1e-40"), times)])
    found = composed.epsilon(delta)
    assert 0 < found.width <= 4e-16 * found.upper
    assert composed.delta(found.lower).upper >= float(delta) >= composed.delta(found.upper).lower


def test_pure_privacy_is_the_sum():
    parts = [(PureDP("0.1"), 7), (PureDP("0.25"), 2)]
    assert compose_approx_optimal(parts).epsilon(0).contains(1.2)
    assert compose_approx_optimal([(ApproxDP(1, "1e-9"), 2)]).epsilon(0).lower == math.inf
    assert compose_approx_optimal([(ApproxDP(0, "0.25"), 2)]).delta(0).contains(0.4375)
    assert compose_approx_optimal([]).epsilon("1e-9").upper == 0


def test_failures_that_fill_delta_exactly():
    thrice = compose_approx_optimal([(ApproxDP("0.5", "0.5"), 3)])
    assert thrice.epsilon("0.875").contains(1.5)
    assert thrice.epsilon("0.874999").lower == math.inf


def test_bounds_as_parameters_widen_the_answer():
    wide = compose_approx_optimal([(ApproxDP(Bound(0.1, 0.2), 0), 10)]).epsilon("1e-3")
    low, high = (compose_approx_optimal([(ApproxDP(e, 0), 10)]).epsilon("1e-3") for e in (0.1, 0.2))
    assert (wide.lower, wide.upper) == (low.lower, high.upper)


def test_a_coin_that_reveals_less_is_seen():
    """Known-bad control: the profile of a slightly smaller epsilon is certified to be too small."""
    true = enumerated([(PureDP("0.3"), 8)], Fraction(1))
    assert compose_approx_optimal([(PureDP("0.2999999"), 8)]).delta(1).upper < true


@pytest.mark.parametrize("times", [-1, 2.0, True])
def test_counts_must_be_counts(times):
    with pytest.raises(ValueError, match="times"):
        compose_approx_optimal([(PureDP(1), times)])


MANY = [(ApproxDP(Fraction(1, 10) + Fraction(k, 1009), "1e-9"), 3) for k in range(16)]


@pytest.mark.slow
def test_many_different_losses_go_to_the_grid():
    """Between the optimum for the smallest and for the largest epsilon; the inverse crosses the target."""
    found = compose_approx_optimal(MANY)
    least, most = (
        compose_approx_optimal([(ApproxDP(e, "1e-9"), 48)])
        for e in ("0.1", Fraction(1, 10) + Fraction(15, 1009))
    )
    delta, epsilon = found.delta(1), found.epsilon("1e-6")
    assert least.delta(1).upper <= delta.upper
    assert delta.lower <= most.delta(1).lower
    assert epsilon.relative_width < 0.01
    assert found.delta(epsilon.upper).lower <= 1e-6 <= found.delta(epsilon.lower).upper
    assert found.epsilon("1e-9").lower == math.inf


@pytest.mark.parametrize("point", [0, "0.5", 2])
def test_grid_and_exact_sums_agree(point):
    few = _composed([(PureDP("0.1"), 50), (PureDP(Fraction(1, 7)), 60), (ApproxDP("0.2", "1e-7"), 20)], 1)
    exact = few.delta(Fraction(point))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimal, "affordable", lambda kinds: False)
        low, high = few.delta(Fraction(point))
        ends = few.epsilon(Fraction(1, 10**6))
    assert low <= exact[0] <= exact[1] <= high <= low * 1.05
    assert ends[0] <= few.epsilon(Fraction(1, 10**6))[0] <= few.epsilon(Fraction(1, 10**6))[1] <= ends[1]


def test_the_mean_is_not_needed_to_be_found():
    """Far below the mean the tail is summed from the other side."""
    with precision(128):
        assert upper_tail(10**6, flint.arb(1), 400_000) > 1 - flint.arb("1e-30")
        low = Coins(Fraction(1), 10**6).hockey_stick(Fraction(0))
        assert low > 1 - flint.arb("1e-30")


def test_parts_beyond_the_grid_of_losses_are_refused_by_name():
    parts = [(ApproxDP("1000.5", 0), 1000), (ApproxDP(0.0317, 0), 1000), (ApproxDP(3.0517, 0), 1000)]
    with pytest.raises(ValueError, match=r"^epsilon \(1000.5\) of a part must be at most 600"):
        compose_approx_optimal(parts).epsilon("1e-6")


def test_more_parts_than_a_grid_holds_have_an_upper_end():
    assert 4 < compose_approx_optimal([(ApproxDP("1e-6", 0), 10**12)]).epsilon("1e-6").upper <= 10**6
