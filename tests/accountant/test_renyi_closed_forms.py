"""Closed Renyi curves against mpmath sums and integrals, the order search, and the best of several routes."""

import math
from fractions import Fraction

import mpmath
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
from dpproof.accountant.numbers.enclosures import arb_of, precision, round_down, round_up
from dpproof.accountant.renyi.closed_forms import (
    gaussian_renyi,
    geometric_renyi,
    laplace_renyi,
    pure_renyi,
    unequal_gaussians_renyi,
)
from dpproof.accountant.renyi.subsampled_gaussian import subsampled_gaussian_renyi
from tests.rows import rows, tiered

DIGITS = mpmath.MPContext()
DIGITS.dps = 50
ORDERS = ("1", "1.000001", "1.5", "2", "7.25", "60")
ALL = (OPTIMAL, CANONNE_KAMATH_STEINKE, MIRONOV)


def number(text):
    value = Fraction(text)
    return DIGITS.mpf(value.numerator) / value.denominator


def divergence(masses, losses, order):
    """D_order of a pair from the masses and losses of its outcomes."""
    a = number(order)
    if a == 1:
        return sum(p * loss for p, loss in zip(masses, losses, strict=True))
    moments = (p * DIGITS.expm1((a - 1) * loss) for p, loss in zip(masses, losses, strict=True))
    return DIGITS.log1p(sum(moments)) / (a - 1)


def holds(guarantee, order, true):
    with precision(192):
        value = guarantee.curve(arb_of(Fraction(order)))
        low, high = round_down(value), round_up(value)
    assert low <= true * (1 + DIGITS.mpf(10) ** -30)
    assert high >= true * (1 - DIGITS.mpf(10) ** -30)
    assert high - low <= 1e-15 * abs(high)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("own", ["1e-4", "1", "9"])
def test_pure_privacy_is_randomised_response(own, order):
    e = number(own)
    p = 1 / (1 + DIGITS.exp(-e))
    holds(pure_renyi(own), order, divergence([p, 1 - p], [e, -e], order))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("own", "sensitivity"), [("0.5", 1), ("0.3", 4), ("3", 2)])
def test_geometric_noise(own, sensitivity, order):
    e = number(own)
    share = (1 - DIGITS.exp(-e)) / (1 + DIGITS.exp(-e))
    outcomes = range(-500, 501)
    masses = [share * DIGITS.exp(-e * abs(k)) for k in outcomes]
    losses = [e * (abs(k - sensitivity) - abs(k)) for k in outcomes]
    holds(geometric_renyi(own, sensitivity), order, divergence(masses, losses, order))


@pytest.mark.parametrize("order", tiered(ORDERS, fast=2))
@pytest.mark.parametrize("scale", ["0.5", "10"])
def test_laplace_noise(scale, order):
    b, a = number(scale), number(order)

    def density(x, at):
        return DIGITS.exp(-abs(x - at) / b) / (2 * b)

    def integrand(x):
        p, loss = density(x, 0), (abs(x - 1) - abs(x)) / b
        return p * (loss if a == 1 else DIGITS.expm1((a - 1) * loss))

    total = DIGITS.quad(integrand, [-120 * b, -30 * b, -5 * b, 0, 1, 1 + 5 * b, 1 + 30 * b, 1 + 120 * b])
    holds(laplace_renyi(scale), order, total if a == 1 else DIGITS.log1p(total) / (a - 1))


@pytest.mark.parametrize("order", ORDERS[:4])
@pytest.mark.parametrize(("first", "second"), [("1", "1"), ("1", "1.2"), ("2", "1.9")])
def test_unequal_gaussians_in_the_worse_direction(first, second, order):
    a = number(order)
    guarantee = unequal_gaussians_renyi("0.7", first, second)
    if guarantee.orders.below is not None and Fraction(order) >= guarantee.orders.below:
        return
    sides = [(DIGITS.mpf(0), number(first)), (number("0.7"), number(second))]

    def log_density(x, side):
        return -(((x - side[0]) / side[1]) ** 2) / 2 - DIGITS.log(side[1])

    def directed(p, q):
        def integrand(x):
            loss = log_density(x, p) - log_density(x, q)
            weight = DIGITS.exp(log_density(x, p)) / DIGITS.sqrt(2 * DIGITS.pi)
            return weight * (loss if a == 1 else DIGITS.expm1((a - 1) * loss))

        total = DIGITS.quad(integrand, list(range(-80, 81, 8)))
        return total if a == 1 else DIGITS.log1p(total) / (a - 1)

    holds(guarantee, order, max(directed(*sides), directed(*sides[::-1])))


def test_the_gaussian_curve_is_zcdp():
    assert gaussian_renyi("0.3").delta(1) == ZCDP(Fraction("0.045")).delta(1)


CURVES = {
    "gaussian": gaussian_renyi(1),
    "tiny": gaussian_renyi("1e-5"),
    "laplace": laplace_renyi(2),
    "unequal": unequal_gaussians_renyi("0.1", 1, "1.1"),
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


@pytest.mark.parametrize("wrong", [math.nan, -1, math.inf, "x", None])
def test_wrong_parameters_are_refused(wrong):
    for make, name in (
        (pure_renyi, "epsilon"),
        (geometric_renyi, "epsilon"),
        (laplace_renyi, "scale"),
        (gaussian_renyi, "mu"),
        (lambda x: unequal_gaussians_renyi(x, 1, 1), "shift"),
        (lambda x: unequal_gaussians_renyi(0, x, 1), "deviation"),
        (lambda x: laplace_renyi(1, x), "sensitivity"),
        (lambda x: geometric_renyi(1, x), "sensitivity"),
    ):
        with pytest.raises(ValueError, match=rf"^{name} \("):
            make(wrong)


@rows("step", ["1e-9", "0.003", "2"])
@rows("order", ["1", "1.000001", "2.5", "40"])
@rows("moved", [1, 2, 37])
def test_the_geometric_sum_in_closed_form_is_the_sum(step, order, moved):
    with precision(700):
        s, a = arb_of(Fraction(step)), arb_of(Fraction(order))
        end, share = 1 / (1 + (-s).exp()), (s / 2).tanh()
        law = [(s * (moved - 2 * k), share * (-s * k).exp()) for k in range(1, moved)]
        law += [(s * moved, end), (-s * moved, end * (-s * moved).exp())]
        if order == "1":
            true = sum((mass * loss for loss, mass in law), 0 * s)
        else:
            true = sum((mass * ((a - 1) * loss).expm1() for loss, mass in law), 0 * s).log1p() / (a - 1)
    with precision(192):
        found = geometric_renyi(step, moved).curve(arb_of(Fraction(order)))
    assert found.overlaps(true)
    assert found.rel_accuracy_bits() > 100
