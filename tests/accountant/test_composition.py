"""Composition: parameters against exact fractions, profiles against k-fold pairs in mpmath."""

from fractions import Fraction
from math import comb

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.guarantees.conversion import CANONNE_KAMATH_STEINKE, OPTIMAL
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.theorems.composition import (
    compose_approx,
    compose_gaussian,
    compose_renyi,
    compose_zcdp,
)

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
