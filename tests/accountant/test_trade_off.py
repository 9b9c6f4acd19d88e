"""Trade-off functions against mpmath's normal quantiles and exact tests between finite distributions."""

import math
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.guarantees.conversion import CANONNE_KAMATH_STEINKE
from dpproof.accountant.guarantees.failing import WithFailure
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.guarantees.profile import BestOf, Enclosed, Profile, WorstOf
from dpproof.accountant.guarantees.trade_off import (
    advantage,
    attack_success,
    power,
    trade_off,
    trade_off_curve,
)
from dpproof.accountant.numbers.bounds import Bound
from tests.rows import rows

DIGITS = mpmath.MPContext()
DIGITS.dps = 60
ALPHAS = ("1e-30", "1e-6", "0.05", "0.5", "0.9", "0.999999")


class Hidden(Profile):
    """A guarantee known by its profile only: no closed form applies."""

    def __init__(self, guarantee):
        self.guarantee = guarantee

    def _delta_at(self, point):
        return self.guarantee.delta(point)

    def _epsilon_at(self, target):
        return self.guarantee.epsilon(target)


def gaussian(mu, alpha):
    """Phi(Phi^-1(1 - alpha) - mu) in 60 digits."""
    a = DIGITS.mpf(alpha)
    z = DIGITS.findroot(lambda x: DIGITS.log(DIGITS.erfc(x / DIGITS.sqrt(2)) / 2) - DIGITS.log(a), _start(a))
    return DIGITS.erfc((DIGITS.mpf(mu) - z) / DIGITS.sqrt(2)) / 2


def _start(a):
    return DIGITS.sqrt(-2 * DIGITS.log(a)) if a < 0.1 else DIGITS.mpf(0) if a < 0.8 else DIGITS.mpf(-2)


@rows("alpha", ALPHAS)
@rows("mu", ["1e-3", "1", "6", "20"])
def test_gaussian_privacy_has_its_closed_form(mu, alpha):
    found, true = trade_off(GaussianDP(mu), alpha), gaussian(mu, alpha)
    assert found.lower <= true <= found.upper
    assert found.relative_width < 1e-15


@rows("alpha", ALPHAS)
@rows("mu", ["1e-3", "1", "6", "20"])
def test_the_profile_alone_gives_ends_around_it(mu, alpha):
    found, true = trade_off(Hidden(GaussianDP(mu)), alpha), gaussian(mu, alpha)
    assert found.lower <= true <= found.upper
    if mu in ("1e-3", "1"):
        assert found.width < 1e-9


@rows("alpha", ["0", *ALPHAS, "1"])
@rows(("epsilon", "delta"), [("1", "0"), ("0", "0.1"), ("2", "1e-5"), ("0.3", "0.5")])
def test_approximate_privacy_has_its_closed_form(epsilon, delta, alpha):
    e, d, a = (DIGITS.mpf(x) for x in (epsilon, delta, alpha))
    true = max(0, 1 - d - DIGITS.exp(e) * a, DIGITS.exp(-e) * (1 - d - a))
    for guarantee in (ApproxDP(epsilon, delta), Hidden(ApproxDP(epsilon, delta))):
        found = trade_off(guarantee, alpha)
        assert found.lower <= true + DIGITS.mpf(10) ** -55
        assert found.upper >= true - DIGITS.mpf(10) ** -55


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 8))
def test_a_trade_off_function_falls_and_is_convex(first, second, mu):
    left, right = sorted((first, second))
    middle = (Fraction(left) + Fraction(right)) / 2
    ends = [trade_off(Hidden(GaussianDP(mu)), alpha) for alpha in (Fraction(left), middle, Fraction(right))]
    assert ends[2].lower <= ends[0].upper
    assert ends[1].lower <= (ends[0].upper + ends[2].upper) / 2 * (1 + 1e-15)
    assert 0 <= ends[1].lower <= ends[1].upper <= 1 - float(middle) + 1e-15


@settings(max_examples=40, deadline=None)
@given(st.floats(1e-6, 0.999), st.floats(0.01, 5))
def test_a_trade_off_function_is_its_own_inverse(alpha, mu):
    once = trade_off(GaussianDP(mu), alpha)
    assert trade_off(GaussianDP(mu), once.upper).lower <= alpha * (1 + 1e-12)
    assert trade_off(GaussianDP(mu), once.lower).upper >= alpha * (1 - 1e-12)


def neyman_pearson(losses, masses, alpha):
    """The least false negative rate between two finite distributions: likeliest outcomes first."""
    missed, left = DIGITS.mpf(1), DIGITS.mpf(alpha)
    for loss, p in sorted(zip(losses, masses, strict=True), reverse=True):
        q = p * DIGITS.exp(-loss)
        share = min(1, left / q)
        missed, left = missed - share * p, left - share * q
    return missed


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("own", ["0.1", "2"])
def test_never_above_the_best_test_against_randomised_response(own, alpha):
    e = DIGITS.mpf(own)
    p = 1 / (1 + DIGITS.exp(-e))
    true = neyman_pearson([e, -e], [p, 1 - p], alpha)
    assert trade_off(Hidden(PureDP(own)), alpha).lower <= true + DIGITS.mpf(10) ** -55
    assert trade_off(PureDP(own), alpha).contains(float(true)) or abs(true) < 1e-15


@pytest.mark.slow
def test_zcdp_lies_below_the_gaussian_of_its_rho():
    """A Gaussian pair is rho-zCDP, so the guarantee cannot promise more than its trade-off function."""
    for alpha in ("0.05", "0.5"):
        found = trade_off(ZCDP("0.5"), alpha)
        assert found.lower <= gaussian(1, alpha)
        assert found.width < 1e-6


def test_attack_metrics():
    one = GaussianDP(1)
    assert power(one, "0.05").contains(1 - float(gaussian(1, "0.05")))
    assert advantage(one) == one.delta(0)
    phi = DIGITS.ncdf(DIGITS.mpf("0.5"))
    assert attack_success(one).lower <= phi <= attack_success(one).upper
    assert attack_success(one, 0) == attack_success(one, 1) == Bound(1.0, 1.0)
    assert attack_success(PureDP(0), "0.3").contains(0.7)
    for prior in ("0.01", "0.2", "0.5", "0.7", "0.999"):
        q = DIGITS.mpf(prior)
        threshold = DIGITS.mpf("0.5") + DIGITS.log((1 - q) / q)  # guess "present" above it
        true = q * DIGITS.ncdf(1 - threshold) + (1 - q) * DIGITS.ncdf(threshold)
        found = attack_success(one, prior)
        assert found.lower <= true <= found.upper
        assert found.width < 1e-14


def test_a_curve_for_a_plot():
    alphas = np.linspace(0, 1, 11)
    lower, upper = trade_off_curve(GaussianDP(1), alphas)
    assert (lower <= upper).all()
    assert (np.diff(upper) < 0).all()
    assert lower[0] <= 1 <= upper[0]
    assert upper[-1] == 0


@pytest.mark.parametrize("wrong", [math.nan, -1e-9, 1.1, math.inf, "x", True])
def test_wrong_rates_are_refused(wrong):
    for ask, name in ((trade_off, "alpha"), (power, "alpha"), (attack_success, "prior")):
        with pytest.raises(ValueError, match=rf"^{name} \(.*\) must be"):
            ask(GaussianDP(1), wrong)


@pytest.mark.parametrize("alpha", ["0.0001", "0.05", "0.4", "0.9"])
def test_the_least_of_several_guarantees_has_the_greatest_of_their_trade_off_functions(alpha):
    """Its profile is not convex: one route's top, found alone, would be certified as the whole one's."""
    routes = ApproxDP("0.2", "0.05"), ApproxDP(2, 0)
    found, each = trade_off(BestOf(routes), alpha), [trade_off(route, alpha) for route in routes]
    assert found == Bound(max(one.lower for one in each), max(one.upper for one in each))


@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.3])
def test_listed_orders_are_routes(alpha):
    def curve(order):
        return order * order / 20

    both = trade_off(RenyiDP(curve, Orders(listed=(Fraction(2), Fraction(30)))), alpha)
    each = [trade_off(RenyiDP(curve, Orders(listed=(Fraction(order),))), alpha) for order in (2, 30)]
    assert both == Bound(max(one.lower for one in each), max(one.upper for one in each))
    many = trade_off(RenyiDP(curve, Orders(listed=tuple(map(Fraction, range(2, 31))))), alpha)
    assert many.upper >= both.lower


@cache
def most(guarantee, position):
    return guarantee.delta(position).upper


def line(guarantee, alpha, position):
    """The false negative rate that one point of the profile imposes: a lower end, by itself."""
    delta, t = most(guarantee, abs(position)), math.exp(position)
    return 1 - delta - t * alpha if position >= 0 else t * (1 - delta - alpha)


@pytest.mark.parametrize(
    "guarantee",
    [
        pytest.param(ZCDP("0.5"), marks=pytest.mark.slow),
        ZCDP("0.5", CANONNE_KAMATH_STEINKE),
        Hidden(PureDP(1)),
    ],
)
def test_no_single_line_is_above_the_upper_end(guarantee):
    """A bound on one direction has a notch at t = 1: the top may lie on either side of it."""
    for alpha in (0.1, 0.25, 0.3, 0.6):
        found = trade_off(guarantee, alpha)
        assert found.upper >= max(line(guarantee, alpha, x / 10) for x in range(-15, 16)) - 1e-12


@pytest.mark.parametrize("missing", ["1e-12", "1e-30", "1e-300"])
def test_rates_next_to_one(missing):
    found = trade_off(GaussianDP(1), 1 - Fraction(missing))
    true = DIGITS.erfc((_far_quantile(missing) + 1) / DIGITS.sqrt(2)) / 2
    assert found.lower <= true <= found.upper
    assert found.relative_width < 1e-15 or found.upper < 1e-300


def _far_quantile(chance):
    a = DIGITS.mpf(chance)
    return DIGITS.findroot(
        lambda x: DIGITS.log(DIGITS.erfc(x / DIGITS.sqrt(2)) / 2) - DIGITS.log(a), _start(a)
    )


def test_what_holds_a_guarantee_whose_delta_is_not_convex_claims_no_more_than_it():
    both = BestOf((ApproxDP(3, 0.01), ApproxDP(0.5, 0.3)))
    for holding in (WorstOf((both,)), Enclosed(both, both), WithFailure(both, 0)):
        assert not holding.convex
        assert trade_off(holding, 0.1).upper >= trade_off(both, 0.1).upper
