"""Renyi curves of the sampled Gaussian, the search for the best order, and the best of several routes.

Renyi curves against mpmath quadrature and sums to 60 digits, and against dp-accounting.

The search for the best order of a Renyi curve, and the best of several routes.
"""

import math
from fractions import Fraction

import dp_accounting
import flint
import mpmath
import pytest
from dp_accounting.rdp import RdpAccountant
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
from dpproof.accountant.renyi.subsampled_gaussian import SubsampledGaussianCurve, subsampled_gaussian_renyi
from tests.accountant.renyi_curves import laplace_renyi, pure_renyi
from tests.rows import rows, tiered

DIGITS = mpmath.MPContext()
DIGITS.dps = 60


def ends(curve, order, bits=192):
    with precision(bits):
        value = curve(arb_of(Fraction(order)))
        return round_down(value), round_up(value)


def reference(rate, noise, order):
    """E L^order by mpmath's adaptive quadrature, in 60 digits; the divergence from it."""
    q, s, a = (DIGITS.mpf(x.numerator) / x.denominator for x in map(Fraction, (rate, noise, order)))

    def integrand(x):
        return DIGITS.npdf(x) * (1 - q + q * DIGITS.exp(x / s - 1 / (2 * s * s))) ** a

    far = a / s + 20
    points = [-20, -4, 0, *(far * k / 24 for k in range(1, 25))]
    return DIGITS.log(DIGITS.quad(integrand, points)) / (a - 1)


def integer_sum(rate, noise, order):
    """The binomial sum in 400 bits, for the pair of a Fraction rate and noise."""
    with precision(2000):
        q, half = arb_of(Fraction(rate)), 1 / (2 * arb_of(Fraction(noise)) ** 2)
        terms = (
            math.comb(order, k) * (1 - q) ** (order - k) * q**k * (k * (k - 1) * half).exp()
            for k in range(order + 1)
        )
        return sum(terms, flint.arb(0)).log() / (order - 1)


@pytest.mark.parametrize(
    ("rate", "noise", "order"),
    tiered(
        [
            ("0.01", "1", "2.5"),
            ("0.01", "1", "1.001"),
            ("0.3", "0.5", "7.25"),
            ("0.5", "4", "1.5"),
            ("0.001", "2", "33.3"),
        ],
        fast=2,
    ),
)
def test_real_orders_agree_with_quadrature(rate, noise, order):
    low, high = ends(SubsampledGaussianCurve(Fraction(rate), Fraction(noise)), order)
    true = reference(rate, noise, order)
    assert low <= true * (1 + DIGITS.mpf(10) ** -30)
    assert high >= true * (1 - DIGITS.mpf(10) ** -30)
    assert high - low <= 4e-16 * high


RATES = st.floats(-6, -0.01).map(lambda x: Fraction(10**x))
NOISES = st.floats(-1, 6).map(lambda x: Fraction(10**x))


@settings(max_examples=60, deadline=None)
@given(RATES, NOISES, st.integers(2, 40))
def test_both_routes_hold_the_binomial_sum(rate, noise, order):
    curve = SubsampledGaussianCurve(rate, noise)
    true = integer_sum(rate, noise, order)
    with precision(192):
        by_sum = curve(flint.arb(order))
        by_quadrature = curve(flint.arb(order, "1e-60"))  # not known to be an integer
        assert by_sum.overlaps(true)
        assert by_quadrature.overlaps(true)
    low, high = ends(curve, order)
    assert flint.arb(low) <= true <= flint.arb(high)
    assert high - low <= 4e-16 * high
    assert round_up(by_quadrature) <= round_up(true) * (1 + 1e-14)


@settings(max_examples=40, deadline=None)
@given(RATES, NOISES, st.floats(1.0, 60.0), st.floats(1e-3, 30.0))
def test_the_curve_grows_with_the_order_and_stays_below_the_gaussian(rate, noise, order, more):
    curve = SubsampledGaussianCurve(rate, noise)
    first, second = ends(curve, order), ends(curve, order + more)
    assert 0 <= first[0] <= second[1]
    with precision(192):
        gaussian = arb_of(Fraction(order)) / (2 * arb_of(noise) ** 2)
        assert flint.arb(first[0]) <= gaussian


@pytest.mark.parametrize("noise", ["0.2", "1", "30"])
@pytest.mark.parametrize("rate", ["1e-4", "0.1"])
def test_the_slope_at_order_1_is_the_kullback_leibler_divergence(rate, noise):
    q, s = DIGITS.mpf(rate), DIGITS.mpf(noise)

    def integrand(x):
        ratio = 1 - q + q * DIGITS.exp(x / s - 1 / (2 * s * s))
        return DIGITS.npdf(x) * (ratio * DIGITS.log(ratio) - ratio + 1)

    true = DIGITS.quad(integrand, [-18, -6, 0, 3, 6, 12, 25])
    low, high = ends(SubsampledGaussianCurve(Fraction(rate), Fraction(noise)), 1)
    assert low <= true * (1 + DIGITS.mpf(10) ** -20)
    assert high >= true * (1 - DIGITS.mpf(10) ** -20)
    assert high - low <= 1e-8 * high


@pytest.mark.parametrize("order", ["1e5", "123456.5", "1e9", "1e30"])
def test_far_orders_are_enclosed(order):
    low, high = ends(SubsampledGaussianCurve(Fraction("0.01"), Fraction(1)), order)
    a = float(order)
    assert a / 2 + a / (a - 1) * math.log(0.01) - 1e-9 * a <= low + 1e-3
    assert low <= high <= a / 2 * (1 + 1e-15)


def test_where_a_peer_rounds_below_the_truth_ours_does_not():
    orders = [2]
    theirs = RdpAccountant(orders)
    theirs.compose(dp_accounting.PoissonSampledDpEvent(1e-4, dp_accounting.GaussianDpEvent(100.0)))
    true = integer_sum(1e-4, 100, 2)
    low, high = ends(SubsampledGaussianCurve(Fraction(1e-4), Fraction(100)), 2)
    assert flint.arb(low) <= true <= flint.arb(high)
    assert flint.arb(float(theirs._rdp[0])) < true  # 3.6e-9 relative: the known-bad control


def test_dp_sgd_at_the_peers_orders():
    orders = [1 + x / 10 for x in range(1, 100)] + list(range(11, 64))
    theirs = RdpAccountant(orders)
    event = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0))
    theirs.compose(dp_accounting.SelfComposedDpEvent(event, 1000))
    curve = SubsampledGaussianCurve(Fraction(0.01), Fraction(1), 1000)
    listed = Orders(listed=tuple(Fraction(order) for order in orders))
    ours = RenyiDP(curve, listed, CANONNE_KAMATH_STEINKE).epsilon(1e-6)
    assert ours.upper == pytest.approx(theirs.get_epsilon(1e-6), rel=1e-9)
    assert 2.124515 <= ours.upper <= 2.43670  # the exact epsilon of 1,000 steps, and the peer's


@pytest.mark.parametrize(
    ("rate", "noise", "steps", "name"),
    [
        (-0.1, 1, 1, "sampling_rate"),
        (1.5, 1, 1, "sampling_rate"),
        (math.nan, 1, 1, "sampling_rate"),
        (0.1, 0, 1, "noise_multiplier"),
        (0.1, -1, 1, "noise_multiplier"),
        (0.1, math.inf, 1, "noise_multiplier"),
        (0.1, 1, -1, "steps"),
        (0.1, 1, 1.5, "steps"),
        (0.1, 1, True, "steps"),
    ],
)
def test_wrong_parameters_are_refused(rate, noise, steps, name):
    with pytest.raises(ValueError, match=rf"^{name} \("):
        subsampled_gaussian_renyi(rate, noise, steps)


def test_no_sampling_and_full_sampling_are_the_known_ends():
    assert ends(SubsampledGaussianCurve(Fraction(0), Fraction(1), 10), "2.5") == (0, 0)
    assert ends(SubsampledGaussianCurve(Fraction(1), Fraction(2), 8), "2.5") == (2.5, 2.5)
    assert ends(SubsampledGaussianCurve(Fraction(1, 2), Fraction(2), 0), "2.5") == (0, 0)


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
