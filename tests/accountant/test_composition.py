"""Composition: theorems of the notions; the classical bounds are never below the optimum."""

import math
from fractions import Fraction
from math import comb

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.guarantees.conversion import CANONNE_KAMATH_STEINKE, OPTIMAL
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.numbers.enclosures import bound_of, precision
from dpproof.accountant.published.classic import PUBLISHED
from dpproof.accountant.theorems.composition import (
    _part,
    advanced_corollary_holds,
    advanced_epsilon,
    compose_approx,
    compose_gaussian,
    compose_parallel,
    compose_renyi,
    compose_zcdp,
)
from dpproof.accountant.theorems.optimal_composition import compose_approx_optimal

PARTS = st.lists(st.fractions(0, 100), min_size=1, max_size=8)


@given(PARTS)
def test_rhos_and_epsilons_add(parts):
    rho = compose_zcdp(*(ZCDP(part) for part in parts)).rho
    epsilon = compose_approx(*(PureDP(part) for part in parts)).epsilon_parameter
    for found in (rho, epsilon):
        assert Fraction(found.lower) <= sum(parts) <= Fraction(found.upper)
        assert found.relative_width < 1e-15


@given(PARTS)
def test_squares_of_mus_add(parts):
    mu = compose_gaussian(*(GaussianDP(part) for part in parts)).mu
    total = sum(part**2 for part in parts)
    assert Fraction(mu.lower) ** 2 <= total <= Fraction(mu.upper) ** 2
    assert mu.relative_width < 1e-15


def test_deltas_add_up_to_1_at_most():
    three = compose_approx(*[ApproxDP("0.1", "0.4")] * 3)
    assert three.delta_parameter == 1
    assert compose_approx(ApproxDP(0, 0.25), ApproxDP(0, 0.5)).delta_parameter == Fraction(3, 4)
    assert compose_approx(ApproxDP(1, "1e-6"), ApproxDP(2, "1e-6")).epsilon("2e-6").upper == 3


@pytest.mark.parametrize("times", [2, 7])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.1])
def test_never_below_repeated_randomised_response(times, epsilon):
    own = mpmath.mpf(1) / 4
    p = 1 / (1 + mpmath.exp(-own))
    true = sum(
        comb(times, k)
        * max(p**k * (1 - p) ** (times - k) - mpmath.exp(epsilon) * p ** (times - k) * (1 - p) ** k, 0)
        for k in range(times + 1)
    )
    assert true * (1 - mpmath.mpf(10) ** -12) <= compose_approx(*[PureDP(0.25)] * times).delta(epsilon).upper


def test_renyi_curves_add_where_all_are_known():
    listed = RenyiDP(lambda order: order, Orders(listed=(Fraction(2), Fraction(4), Fraction(8))))
    below = RenyiDP(lambda order: order / 2, Orders(below=Fraction(5)))
    both = compose_renyi(listed, below)
    assert both.orders == Orders(Fraction(5), (Fraction(2), Fraction(4)))
    again = RenyiDP(lambda order: order * 3 / 2, both.orders)
    assert both.delta("3.5") == again.delta("3.5")


def test_orders_without_overlap_are_refused():
    parts = [RenyiDP(lambda order: order, Orders(listed=(Fraction(k),))) for k in (2, 3)]
    with pytest.raises(ValueError, match="at least one order"):
        compose_renyi(*parts)


def test_a_conversion_asked_for_by_all_parts_is_kept():
    plain, best = ZCDP(1, CANONNE_KAMATH_STEINKE), ZCDP(1)
    assert compose_zcdp(plain, plain).conversion is CANONNE_KAMATH_STEINKE
    assert compose_zcdp(plain, best).conversion is OPTIMAL


def test_the_empty_composition_reveals_nothing():
    for empty in (compose_approx(), compose_zcdp(), compose_gaussian(), compose_renyi()):
        assert empty.epsilon("1e-9").upper == 0
        assert empty.delta(0).upper == 0


EPSILONS = st.fractions(Fraction(1, 1000), 2, max_denominator=1000)
DELTAS = st.sampled_from([Fraction(0), Fraction(1, 10**7), Fraction(1, 100)])
SLACKS = st.floats(-60, -0.05).map(math.exp)
TIMES = st.integers(1, 300)
FORMULAS = {entry.id: entry.formula for entry in PUBLISHED}


def allotted(target, times, slack):
    """The epsilon that the corollary allots to each part."""
    with precision(192):
        return bound_of(_part(Fraction(target), times, Fraction(slack)))


@settings(deadline=None, max_examples=60)
@given(EPSILONS, DELTAS, TIMES, SLACKS)
def test_never_below_the_optimum(epsilon, delta, times, slack):
    part, failure = ApproxDP(epsilon, delta), times * delta + Fraction(slack)
    if failure < 1:
        optimum = compose_approx_optimal([(part, times)]).epsilon(failure)
        assert optimum.lower <= advanced_epsilon(part, times, slack).upper


@given(EPSILONS, TIMES, SLACKS)
def test_values_against_mpmath(epsilon, times, slack):
    mpmath.mp.dps = 40
    e, s = mpmath.mpf(epsilon.numerator) / epsilon.denominator, mpmath.mpf(slack)
    root = mpmath.sqrt(2 * times * mpmath.log(1 / s)) * e
    drift = times * e * mpmath.expm1(e)
    found = advanced_epsilon(PureDP(epsilon), times, slack)
    assert found.lower <= root + drift <= found.upper
    assert found.relative_width < 1e-15
    values = {"epsilon": float(epsilon), "k": times, "slack": slack}
    assert FORMULAS["classic.advanced"].float(**values) == pytest.approx(found.upper, rel=1e-9)


@settings(deadline=None)
@given(st.fractions(Fraction(1, 100), 1), TIMES, st.floats(-60, math.log(0.7)).map(math.exp))
def test_the_corollary_follows_on_its_domain(target, times, slack):
    assert advanced_corollary_holds(target, times, slack)
    assert advanced_epsilon(PureDP(allotted(target, times, slack).lower), times, slack).lower <= target


@settings(deadline=None)
@given(st.fractions(Fraction(1, 10), 30), st.integers(1, 100), SLACKS)
def test_the_corollary_follows_exactly_where_it_is_said_to(target, times, slack):
    each = allotted(target, times, slack)
    if each.upper > 600:
        return
    spent = advanced_epsilon(PureDP(each), times, slack)
    if advanced_corollary_holds(target, times, slack):
        assert spent.lower <= target
    else:
        assert spent.upper >= target


def test_the_corollary_beyond_its_printed_domain():
    """Targets above 1, as a paper uses it (25 parts, target 10): covered; a slack near 1: not."""
    assert advanced_corollary_holds("7.5", 25, "1.5e-4")
    assert advanced_corollary_holds(10, 100, "1.5e-4")
    assert not advanced_corollary_holds(100, 25, "1.5e-4")
    assert not advanced_corollary_holds("0.9", 1, "0.9")
    assert allotted(Fraction("0.9"), 1, Fraction("0.9")).lower > 0.9


def test_a_smaller_constant_is_refuted():
    """Known-bad control: advanced composition without the factor 2 under the root is below the optimum."""
    epsilon, times, slack = 0.01, 10_000, 1e-6
    wrong = epsilon * math.sqrt(times * math.log(1 / slack)) + times * epsilon * math.expm1(epsilon)
    assert compose_approx_optimal([(PureDP(epsilon), times)]).epsilon(slack).lower > wrong


@given(st.lists(st.tuples(EPSILONS, DELTAS), min_size=1, max_size=5))
def test_parallel_parts_cost_the_largest(parts):
    found = compose_parallel(*(ApproxDP(e, d) for e, d in parts))
    assert found.epsilon_parameter == max(e for e, _ in parts)
    assert found.delta_parameter == max(d for _, d in parts)
    assert (
        found.epsilon_parameter <= compose_approx(*(ApproxDP(e, d) for e, d in parts)).epsilon_parameter.upper
    )
    assert compose_parallel().epsilon(0).upper == 0


def test_nothing_to_share_out():
    assert advanced_corollary_holds(0, 5, "0.5")
    assert advanced_corollary_holds(5, 0, "0.5")


def test_an_epsilon_beyond_all_doubles_is_infinite():
    assert advanced_epsilon(ApproxDP("1e5", 0), 10, "0.5").upper == math.inf
    assert advanced_epsilon(ApproxDP(1, 0), 10, "0.5").upper == pytest.approx(
        math.sqrt(20 * math.log(2)) + 10 * math.expm1(1)
    )


@pytest.mark.parametrize(
    ("times", "slack", "name"),
    [(2, 0, "slack"), (2, 1, "slack"), (-1, "0.5", "times"), (1.5, "0.5", "times")],
)
def test_bad_input_is_refused(times, slack, name):
    with pytest.raises(ValueError, match=name):
        advanced_epsilon(PureDP(1), times, slack)
