"""The search for the best order of a Renyi curve, and the best of several routes."""

import math
from fractions import Fraction

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.guarantees.conversion import (
    CANONNE_KAMATH_STEINKE,
    MIRONOV,
    OPTIMAL,
    convert,
    least_epsilon,
)
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from dpproof.accountant.guarantees.orders import Orders, lowest
from dpproof.accountant.guarantees.profile import BestOf
from dpproof.accountant.numbers.enclosures import arb_of
from dpproof.accountant.renyi.subsampled_gaussian import subsampled_gaussian_renyi
from tests.accountant.renyi_curves import laplace_renyi, pure_renyi
from tests.rows import rows

ALL = (OPTIMAL, CANONNE_KAMATH_STEINKE, MIRONOV)


CURVES = {
    "gaussian": RenyiDP(lambda a: a / 2),
    "tiny": RenyiDP(lambda a: a / (2 * flint.arb(10) ** 10)),
    "laplace": laplace_renyi(2),
    "dp-sgd": subsampled_gaussian_renyi("0.01", 1, 100),
    "listed": RenyiDP(lambda a: a / 2, Orders(listed=tuple(Fraction(k, 2) for k in range(3, 60)))),
}


@pytest.mark.slow
@rows("delta", ["1e-30", "1e-6", "0.01"])
@rows("conversion", ALL, ids=lambda conversion: conversion.name)
@rows("name", CURVES)
def test_the_search_meets_its_delta_and_no_order_nearby_beats_it(name, conversion, delta):
    one, target = CURVES[name], Fraction(delta)
    low, high = least_epsilon(conversion, one.curve, one.orders, target)
    assert 0 <= low <= high < math.inf
    if high > 0:
        assert convert(conversion, one.curve, one.orders, Fraction(high), False)[1] <= arb_of(target) * (
            1 + Fraction(1, 10**12).numerator / 10**12
        )
    if low > 0:
        smaller = Fraction(low) * (1 - Fraction(1, 10**6))
        assert convert(conversion, one.curve, one.orders, smaller, False)[1] > arb_of(target)
        assert high - low <= (1e-4 if name == "laplace" else 1e-6) * high  # its best order is infinity


@pytest.mark.parametrize(
    ("rho", "delta", "epsilon", "digit"),
    [
        ("0.5", "1e-6", 5.221534341, 1e-9),
        ("5e-3", "1e-2", 0.1267823, 1e-7),
        ("5e-5", "1e-3", 0.01234822, 1e-8),
        ("20", "1e-6", 51.719404463, 1e-9),
    ],
)
def test_known_epsilons_two_sided(rho, delta, epsilon, digit):
    low, high = least_epsilon(OPTIMAL, lambda a: arb_of(Fraction(rho)) * a, Orders(), Fraction(delta))
    assert high == pytest.approx(epsilon, abs=digit)
    assert high - low <= 1e-8 * high


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.floats(-4, 2), st.floats(-12, -1))
def test_the_search_is_sound_for_gaussians(log_mu, log_delta):
    mu, delta = Fraction(10**log_mu), Fraction(10**log_delta)
    low, high = least_epsilon(OPTIMAL, lambda a: arb_of(mu**2 / 2) * a, Orders(), delta)
    assert GaussianDP(mu).epsilon(delta).lower <= high
    assert low <= high
    rough = least_epsilon(CANONNE_KAMATH_STEINKE, lambda a: arb_of(mu**2 / 2) * a, Orders(), delta)
    assert high <= rough[1] * (1 + 1e-12)


@settings(max_examples=50, deadline=None)
@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(0.1, 20))
def test_the_lowest_point_of_a_unimodal_function(bottom, start, step):
    found = lowest(lambda x: math.log1p((x - bottom) ** 2) + 0.1 * abs(x - bottom), start, step)
    assert abs(found - bottom) < 1e-4


@pytest.mark.slow
def test_the_best_of_several_routes():
    routes = (GaussianDP(1), ApproxDP(2, 0), ZCDP("0.5"))
    best = BestOf(routes)
    assert best.epsilon(0).upper == 2
    for epsilon in (0, 1, 3):
        assert best.delta(epsilon).upper == min(route.delta(epsilon).upper for route in routes)
        assert best.delta(epsilon).lower == min(route.delta(epsilon).lower for route in routes)
    assert best.epsilon("1e-6") == PureDP(2).epsilon("1e-6")
    with pytest.raises(ValueError, match="routes"):
        BestOf(())


def test_a_pure_curve_never_promises_less_than_pure_privacy():
    for epsilon in (0, "0.5", "0.99"):
        assert PureDP(1).delta(epsilon).lower <= pure_renyi(1).delta(epsilon).upper
