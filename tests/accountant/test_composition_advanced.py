"""The classical bounds: never below the optimum, above basic only where they may be, domains as printed."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.guarantees.notions import ApproxDP, PureDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.published.composition import PUBLISHED
from dpproof.accountant.theorems.composition.advanced import (
    advanced_corollary_holds,
    advanced_epsilon,
    advanced_part_epsilon,
    compose_approx,
    compose_approx_advanced,
    compose_approx_kov,
    compose_parallel,
)
from dpproof.accountant.theorems.composition.optimal import compose_approx_optimal

EPSILONS = st.fractions(Fraction(1, 1000), 2, max_denominator=1000)
DELTAS = st.sampled_from([Fraction(0), Fraction(1, 10**7), Fraction(1, 100)])
SLACKS = st.floats(-60, -0.05).map(math.exp)
TIMES = st.integers(1, 300)
FORMULAS = {entry.id: entry.formula for entry in PUBLISHED}


@settings(deadline=None, max_examples=60)
@given(EPSILONS, DELTAS, TIMES, SLACKS)
def test_never_below_the_optimum(epsilon, delta, times, slack):
    part = ApproxDP(epsilon, delta)
    for bound in (compose_approx_advanced, compose_approx_kov):
        found = bound(part, times, slack)
        failure = found.delta_parameter
        failure = Fraction(failure.upper) if isinstance(failure, Bound) else failure
        if failure < 1:
            optimum = compose_approx_optimal([(part, times)]).epsilon(failure)
            assert optimum.lower <= found.epsilon_parameter.upper


@given(EPSILONS, TIMES, SLACKS)
def test_values_against_mpmath(epsilon, times, slack):
    mpmath.mp.dps = 40
    e, s = mpmath.mpf(epsilon.numerator) / epsilon.denominator, mpmath.mpf(slack)
    root = mpmath.sqrt(2 * times * mpmath.log(1 / s)) * e
    drift = times * e * mpmath.expm1(e)
    second = times * e * mpmath.tanh(e / 2)
    third = mpmath.sqrt(2 * times * mpmath.log(mpmath.e + mpmath.sqrt(times) * e / s)) * e
    for bound, truth in (
        (compose_approx_advanced, root + drift),
        (compose_approx_kov, min(times * e, second + root, second + third)),
    ):
        found = bound(PureDP(epsilon), times, slack).epsilon_parameter
        assert found.lower <= truth <= found.upper
        assert found.relative_width < 1e-15


@given(EPSILONS, TIMES, SLACKS)
def test_the_published_formulas_are_these(epsilon, times, slack):
    values = {"epsilon": float(epsilon), "k": times, "slack": slack}
    advanced = compose_approx_advanced(PureDP(float(epsilon)), times, slack).epsilon_parameter
    closed = compose_approx_kov(PureDP(float(epsilon)), times, slack).epsilon_parameter
    assert FORMULAS["classic.advanced"].float(**values) == pytest.approx(advanced.upper, rel=1e-9)
    assert FORMULAS["classic.kairouz_oh_viswanath_closed"].float(**values) >= closed.lower * (1 - 1e-9)


@settings(deadline=None)
@given(st.fractions(Fraction(1, 100), 1), TIMES, st.floats(-60, math.log(0.7)).map(math.exp))
def test_the_corollary_follows_on_its_domain(target, times, slack):
    assert advanced_corollary_holds(target, times, slack)
    each = advanced_part_epsilon(target, times, slack)
    assert compose_approx_advanced(PureDP(each.lower), times, slack).epsilon_parameter.lower <= target


@settings(deadline=None)
@given(st.fractions(Fraction(1, 10), 30), st.integers(1, 100), SLACKS)
def test_the_corollary_follows_exactly_where_it_is_said_to(target, times, slack):
    each = advanced_part_epsilon(target, times, slack)
    if each.upper > 600:
        return
    spent = compose_approx_advanced(PureDP(each), times, slack).epsilon_parameter
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
    assert advanced_part_epsilon("0.9", 1, "0.9").lower > 0.9


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


def test_deltas_of_many_parts():
    many = ApproxDP("0.001", "1e-12")
    assert compose_approx_advanced(many, 1000, "1e-9").delta_parameter == Fraction(2, 10**9)
    kov = compose_approx_kov(many, 1000, "1e-9").delta_parameter
    assert (
        Fraction(kov.lower)
        <= 1 - (1 - Fraction(1, 10**12)) ** 1000 * (1 - Fraction(1, 10**9))
        <= Fraction(kov.upper)
    )
    assert compose_approx_kov(ApproxDP(1, 1), 100, "0.5").delta_parameter == 1


@pytest.mark.parametrize("bound", [compose_approx_advanced, compose_approx_kov])
@pytest.mark.parametrize(
    ("times", "slack", "name"),
    [(2, 0, "slack"), (2, 1, "slack"), (-1, "0.5", "times"), (1.5, "0.5", "times")],
)
def test_bad_input_is_refused(bound, times, slack, name):
    with pytest.raises(ValueError, match=name):
        bound(PureDP(1), times, slack)


def test_nothing_to_share_out():
    with pytest.raises(ValueError, match="times"):
        advanced_part_epsilon(1, 0, "0.5")
    assert advanced_corollary_holds(0, 5, "0.5")
    assert advanced_corollary_holds(5, 0, "0.5")


def test_an_epsilon_beyond_all_doubles_is_refused_by_name():
    with pytest.raises(ValueError, match=r"^part \(.*\) must have an epsilon"):
        compose_approx_advanced(ApproxDP("1e5", 0), 10, "0.5")
    assert advanced_epsilon(ApproxDP("1e5", 0), 10, "0.5").upper == math.inf
    assert advanced_epsilon(ApproxDP(1, 0), 10, "0.5").upper == pytest.approx(
        math.sqrt(20 * math.log(2)) + 10 * math.expm1(1)
    )
