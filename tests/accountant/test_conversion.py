"""Conversions, against closed forms in mpmath on a grid of orders, brute force over pairs of coins,
pairs of distributions whose profile is known exactly, and dp-accounting."""

import math
import random
from fractions import Fraction

import dp_accounting
import flint
import mpmath
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant

from dpproof.accountant.guarantees.conversion import CANONNE_KAMATH_STEINKE, MIRONOV, OPTIMAL, convert
from dpproof.accountant.guarantees.joint_range import optimal_delta
from dpproof.accountant.guarantees.notions import ZCDP, GaussianDP, RenyiDP
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.numbers.enclosures import arb_of, precision, round_down, round_up
from tests.rows import rows, tiered

ALL = (OPTIMAL, CANONNE_KAMATH_STEINKE, MIRONOV)
DIGITS = mpmath.MPContext()
DIGITS.dps = 60


def linear(rho):
    return lambda order: arb_of(Fraction(rho)) * order


def mironov(a, renyi, epsilon):
    return DIGITS.exp((a - 1) * (renyi - epsilon))


def canonne(a, renyi, epsilon):
    return mironov(a, renyi, epsilon) / (a - 1) * (1 - 1 / a) ** a


@pytest.mark.parametrize(("conversion", "formula"), [(MIRONOV, mironov), (CANONNE_KAMATH_STEINKE, canonne)])
@pytest.mark.parametrize(
    ("rho", "epsilon"), [("0.5", "5"), ("1e-4", "0.05"), ("20", "50"), ("1e-10", "1e-4")]
)
def test_closed_forms_are_minimised_over_all_orders(conversion, formula, rho, epsilon):
    low, high = convert(conversion, linear(rho), Orders(), Fraction(epsilon))
    r, e = DIGITS.mpf(rho), DIGITS.mpf(epsilon)
    steps = [DIGITS.mpf(2) ** (DIGITS.mpf(k) / 64) for k in range(-640, 2560)]
    best = min(formula(1 + step, r * (1 + step), e) for step in steps)
    assert DIGITS.mpf(round_down(low)) <= best
    assert DIGITS.mpf(round_up(high)) >= best * (1 - DIGITS.mpf(1) / 100)  # the grid is 1% coarse
    assert DIGITS.mpf(round_up(high)) <= best * (1 + DIGITS.mpf(10) ** -12)
    assert round_up(high) - round_down(low) <= 1e-6 * round_up(high)


@pytest.mark.parametrize(("conversion", "formula"), [(MIRONOV, mironov), (CANONNE_KAMATH_STEINKE, canonne)])
def test_listed_orders_give_the_least_of_their_values(conversion, formula):
    orders = tuple(Fraction(order) for order in ("1.1", "1.5", "2", "4", "8", "32", "1e4"))
    found = RenyiDP(linear("0.05"), Orders(listed=orders), conversion).delta("0.7")
    values = [
        formula(a, DIGITS.mpf("0.05") * a, DIGITS.mpf("0.7"))
        for a in (DIGITS.mpf(o.numerator) / o.denominator for o in orders)
    ]
    assert found.lower <= min(values) <= found.upper
    assert found.relative_width < 1e-14


@pytest.mark.parametrize(
    ("rho", "delta", "epsilon", "canonne_value", "digit"),
    [
        ("0.5", "1e-6", 5.221534341, 5.221534445, 1e-9),
        ("5e-3", "1e-2", 0.1267823, 0.1331847, 1e-7),
        ("5e-5", "1e-3", 0.01234822, 0.01300056, 1e-8),
        ("20", "1e-6", 51.719404463, 51.719404463, 1e-9),
    ],
)
def test_known_epsilons(rho, delta, epsilon, canonne_value, digit):
    optimal = ZCDP(rho).epsilon(delta)
    assert optimal.upper == pytest.approx(epsilon, abs=digit)
    assert optimal.lower <= epsilon + digit
    assert optimal.relative_width < 1e-7
    plain = ZCDP(rho, CANONNE_KAMATH_STEINKE).epsilon(delta)
    assert plain.lower - digit <= canonne_value <= plain.upper + digit
    assert optimal.upper <= plain.upper <= ZCDP(rho, MIRONOV).epsilon(delta).upper


def brute_force(order, renyi, epsilon):
    """The largest p - e^epsilon q over a fine grid of p, each with the least feasible q by bisection."""
    p = np.concatenate([np.geomspace(1e-30, 0.5, 3000), 1 - np.geomspace(1e-12, 0.5, 1000)])
    budget = (order - 1) * renyi

    def excess(q):
        first = order * np.log(p) + (1 - order) * np.log(q)
        second = order * np.log1p(-p) + (1 - order) * np.log1p(-q)
        return np.logaddexp(first, second) - budget

    low, high = np.full_like(p, 1e-290), p.copy()
    with np.errstate(over="ignore"):
        for _ in range(300):
            middle = np.exp((np.log(low) + np.log(high)) / 2)
            feasible = excess(middle) <= 0
            low, high = np.where(feasible, low, middle), np.where(feasible, middle, high)
    best = int(np.argmax(p - np.exp(epsilon) * high))
    return p[best], high[best]


def case(seed):
    draw = random.Random(seed)
    order = 1 + 10 ** draw.uniform(-1.5, 2)
    renyi = 10 ** draw.uniform(-3, 1)
    return order, renyi, draw.choice([0.0, renyi * draw.uniform(0, 1.5)])


@pytest.mark.slow
@rows("seed", range(40))
def test_no_pair_of_coins_beats_the_optimum_and_some_pair_comes_close(seed):
    order, renyi, epsilon = case(seed)
    p, q = (Fraction(float(coin)) for coin in brute_force(order, renyi, epsilon))
    with precision(600):
        a, e = arb_of(Fraction(order)), arb_of(Fraction(epsilon))
        x, y = arb_of(p), arb_of(q)
        phi = x**a * y ** (1 - a) + (1 - x) ** a * (1 - y) ** (1 - a)
        spent = (phi.log() / (a - 1)).upper()  # what these coins spend, to the last digit
        pair = optimal_delta(a, spent, e)
        reached = x - e.exp() * y
        assert reached <= pair.upper + flint.arb(2) ** -500
        assert pair.lower.lower() <= pair.upper.upper()
        if pair.upper > 1e-25:  # within reach of the grid of p
            assert pair.upper <= reached * 1.01 + 1e-25
            assert pair.lower >= pair.upper * (1 - 1e-3)


@pytest.mark.parametrize("seed", range(12))
def test_the_three_theorems_are_ordered(seed):
    order, renyi, epsilon = case(100 + seed)
    curve, orders = RenyiDP(linear(renyi / order)).curve, Orders(listed=(Fraction(order),))
    optimal, canonne_value, plain = (RenyiDP(curve, orders, conversion).delta(epsilon) for conversion in ALL)
    assert optimal.upper <= canonne_value.upper <= plain.upper
    assert optimal.lower <= canonne_value.upper


@rows("conversion", ALL, ids=lambda conversion: conversion.name)
@rows("mu", ["1e-3", "0.3", "2", "12"])
@rows("deviations", ["0", "1", "4", "9"])
def test_never_below_a_gaussian_pair(conversion, mu, deviations):
    epsilon = Fraction(mu) ** 2 / 2 + Fraction(deviations) * Fraction(mu)
    true = GaussianDP(mu).delta(epsilon)
    assert true.lower <= ZCDP(Fraction(mu) ** 2 / 2, conversion).delta(epsilon).upper


@pytest.mark.slow
@rows("conversion", ALL, ids=lambda conversion: conversion.name)
@rows("own", [0.01, 0.5, 3.0])
@rows("share", ["0", "0.3", "0.9", "0.999999"])
def test_never_below_randomised_response(conversion, own, share):
    p = 1 / (1 + DIGITS.exp(-DIGITS.mpf(own)))

    def curve(order):
        odds = arb_of(Fraction(own))
        x, y = 1 / (1 + (-odds).exp()), 1 / (1 + odds.exp())
        return (x**order * y ** (1 - order) + y**order * x ** (1 - order)).log() / (order - 1)

    epsilon = Fraction(own) * Fraction(share)
    true = p - DIGITS.exp(DIGITS.mpf(epsilon.numerator) / epsilon.denominator) * (1 - p)
    for orders in (Orders(), Orders(listed=tuple(Fraction(k, 4) for k in range(5, 60, 6)))):
        assert DIGITS.mpf(RenyiDP(curve, orders, conversion).delta(epsilon).upper) >= true


@pytest.mark.parametrize("conversion", ALL, ids=lambda conversion: conversion.name)
@pytest.mark.parametrize(("scale", "epsilon"), [(1, "0"), (1, "0.5"), (4, "0.1"), ("0.2", "4.5")])
def test_never_below_the_laplace_mechanism(conversion, scale, epsilon):
    width = Fraction(scale)

    def curve(order):
        b = arb_of(width)
        first = order / (2 * order - 1) * ((order - 1) / b).exp()
        return (first + (order - 1) / (2 * order - 1) * (-order / b).exp()).log() / (order - 1)

    gap = (Fraction(epsilon) - 1 / width) / 2
    true = 1 - DIGITS.exp(DIGITS.mpf(gap.numerator) / gap.denominator)
    listed = Orders(listed=tuple(Fraction(k) for k in (2, 3, 5, 9, 17, 65)))
    assert DIGITS.mpf(RenyiDP(curve, listed, conversion).delta(epsilon).upper) >= true


@pytest.mark.parametrize("renyi", ["1e-100", "1e-130", "1e-200"])
def test_a_tiny_divergence_is_not_taken_for_none(renyi):
    """Of order 2 and at epsilon 0 the optimum is sqrt(e^renyi - 1)/2, at the coin q = 1/2."""
    with DIGITS.workdps(400):
        true = DIGITS.sqrt(DIGITS.expm1(DIGITS.mpf(renyi))) / 2
    found = RenyiDP(lambda _: arb_of(Fraction(renyi)), Orders(listed=(Fraction(2),))).delta(0)
    assert found.lower <= true <= found.upper
    if renyi == "1e-100":  # smaller ones are answered soundly, by the closed form
        assert found.upper <= true * (1 + DIGITS.mpf(10) ** -9)


def test_an_uncertain_order_does_not_hide_the_others():
    curve = linear("1e-9")
    alone = RenyiDP(curve, Orders(listed=(Fraction(2),))).delta(0)
    near_one = tuple(1 + Fraction(1, 10**k) for k in (6, 9, 12, 15))
    among = RenyiDP(curve, Orders(listed=(Fraction(2), *near_one, Fraction(10**9)))).delta(0)
    assert 0 < among.upper <= alone.upper
    assert among.upper >= GaussianDP(Fraction("4.4721359e-5")).delta(0).lower  # its square is below 2 rho


@pytest.mark.parametrize("epsilon", [0, "1e-9", 1])
def test_a_lower_end_does_not_reach_1_where_delta_does_not(epsilon):
    """At rho = 10,000 delta is below 1, by less than any double shows."""
    assert ZCDP(10**4).delta(epsilon).lower < 1


@pytest.mark.slow
@pytest.mark.parametrize("rho", tiered(["1e-12", "1e-4", "0.5", "20", "1e4"], fast=3))
@pytest.mark.parametrize("delta", ["1e-300", "0.999"])
def test_upper_ends_hold_where_the_lower_end_gives_up(rho, delta):
    found = ZCDP(rho).epsilon(delta)
    mu_square = 2 * Fraction(rho)
    mu = Fraction(math.isqrt(int(mu_square * 10**60)), 10**30)
    assert found.lower <= found.upper < math.inf
    assert GaussianDP(mu).epsilon(delta).lower <= found.upper


@pytest.mark.parametrize(("rho", "delta"), [(0.5, 1e-6), (20.0, 1e-5)])
def test_not_above_dp_accounting_at_the_same_orders(rho, delta):
    orders = [1 + x / 10 for x in range(1, 100)] + list(range(11, 64)) + [128, 256, 512]
    theirs = RdpAccountant(orders)
    theirs.compose(dp_accounting.ZCDpEvent(rho))
    listed = Orders(listed=tuple(Fraction(order) for order in orders))
    value = theirs.get_epsilon(delta)
    slack = 1e-12  # relative: theirs is float64
    plain = RenyiDP(linear(rho), listed, CANONNE_KAMATH_STEINKE).epsilon(delta)
    assert plain.lower * (1 - 1e-7) <= value
    assert plain.upper * (1 + slack) >= value
    assert RenyiDP(linear(rho), listed).epsilon(delta).upper <= value * (1 + slack)
