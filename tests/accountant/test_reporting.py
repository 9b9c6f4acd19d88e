"""The Gaussian summary, its regret and the rarely exceeded loss, against closed forms in mpmath."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

import flint
import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from dpproof import account
from dpproof.accountant.guarantees.failing import WithFailure
from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP, PureDP, RenyiDP
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.guarantees.profile import BestOf, WorstOf
from dpproof.accountant.guarantees.reporting import loss_exceeded, regret
from tests.rows import rows

KAPPA = "1e-4"


@dataclass(frozen=True)
class Known:
    """A mechanism with closed forms: its size s is mu, or the largest privacy loss."""

    kind: str
    s: float

    @property
    def guarantee(self):
        made = {
            "gaussian": lambda: GaussianDP(self.s),
            "laplace": lambda: account("laplace", scale=1, sensitivity=self.s, adjacency="replace").guarantee,
            "response": lambda: PureDP(self.s),
        }
        return made[self.kind]()

    def delta(self, e):
        s, e = mpmath.mpf(self.s), mpmath.mpf(e)
        return {"gaussian": gaussian_delta, "laplace": laplace_delta, "response": response_delta}[self.kind](
            s, e
        )

    def exceeded(self, b):
        """The probability that the privacy loss is above b."""
        s, b = mpmath.mpf(self.s), mpmath.mpf(b)
        if self.kind == "gaussian":
            return mpmath.ncdf((s * s / 2 - b) / s)
        if b >= s:
            return mpmath.mpf(0)
        if self.kind == "laplace":
            return 1 - mpmath.exp(-(s - b) / 2) / 2 if b >= -s else mpmath.mpf(1)
        return mpmath.exp(s) / (1 + mpmath.exp(s)) if b >= -s else mpmath.mpf(1)

    def missed(self, a):
        """The trade-off function."""
        s, a = mpmath.mpf(self.s), mpmath.mpf(a)
        if a >= 1:
            return mpmath.mpf(0)
        if self.kind == "gaussian":
            return gaussian_missed(s, a)
        if self.kind == "response":
            return max(1 - mpmath.exp(s) * a, mpmath.exp(-s) * (1 - a), mpmath.mpf(0))
        if a < mpmath.exp(-s) / 2:
            return 1 - mpmath.exp(s) * a
        return mpmath.exp(-s) / (4 * a) if a < 0.5 else mpmath.exp(-s) * (1 - a)


def gaussian_delta(mu, e):
    return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


def laplace_delta(s, e):
    return max(1 - mpmath.exp((e - s) / 2), mpmath.mpf(0))


def response_delta(s, e):
    return max((mpmath.exp(s) - mpmath.exp(e)) / (1 + mpmath.exp(s)), mpmath.mpf(0))


def gaussian_missed(mu, a):
    if a == 0:
        return mpmath.mpf(1)
    return mpmath.ncdf(-mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(a) - 1) - mu)


LAPLACE, RESPONSE, GAUSSIAN = Known("laplace", 1.0), Known("response", 0.7), Known("gaussian", 0.8)


@cache
def summary(known):
    return known.guarantee.gaussian_but_for(KAPPA)


def test_the_summary_holds_at_its_upper_end_and_nothing_much_smaller_does():
    check_summary(LAPLACE)


@pytest.mark.slow
@rows("known", (RESPONSE, GAUSSIAN))
def test_the_summary_holds_for_other_mechanisms_too(known):
    check_summary(known)
    assert known is not GAUSSIAN or summary(known).upper <= known.s


def check_summary(known):
    found, points = summary(known), [i / 100 for i in range(1, 500)]
    kappa = mpmath.mpf(KAPPA)
    assert found.lower < found.upper < found.lower * 1.01
    assert all(known.delta(e) <= gaussian_delta(mpmath.mpf(found.upper), e) + kappa for e in points)
    lower = mpmath.mpf(found.lower) * mpmath.mpf("0.999")
    assert any(known.delta(e) > gaussian_delta(lower, e) + kappa for e in points)


@rows(
    ("pairs", "kappa"),
    [
        (((3.5, 0.05), (0.4, 0.5)), 0.4),  # before, the lower end was 1.56, above the hull's 0.96
        (((3.0, 0.01), (0.5, 0.3)), 0.2),
        (((2.0, 0.001), (1.0, 0.02)), 0.01),
    ],
)
def test_a_summary_of_several_guarantees_is_that_of_the_hull(pairs, kappa):
    """Both ends against the convex hull of delta: tangents of the larger of two closed trade-off functions."""
    found = BestOf(tuple(ApproxDP(*pair) for pair in pairs)).gaussian_but_for(kappa)
    rates = np.linspace(0, 1, 100_001)
    missed = np.zeros_like(rates)
    for e, d in pairs:
        missed = np.maximum(missed, np.maximum(1 - d - np.exp(e) * rates, np.exp(-e) * (1 - d - rates)))
    places = np.linspace(0, 4, 401)
    hull = [float(np.max(1 - missed - math.exp(e) * rates)) for e in places]

    def holds(mu, slack):
        return all(
            delta <= gaussian_delta(mpmath.mpf(mu), e) + kappa + slack
            for e, delta in zip(places, hull, strict=True)
        )

    assert holds(found.upper, 1e-9)
    assert found.lower == 0 or not holds(found.lower * 0.99, 0)


def test_the_regret_is_that_of_the_trade_off_functions():
    check_regret(LAPLACE)


@pytest.mark.slow
def test_the_regret_of_randomised_response_is_that_of_its_trade_off_function():
    check_regret(RESPONSE)


def check_regret(known):
    mu = summary(known).upper
    found, points = regret(known.guarantee, mu), [i / 500 for i in range(501)]
    assert 0 < found.lower <= found.upper < found.lower * 1.02

    def shifted_below(r):
        return all(known.missed(a + r) - r <= gaussian_missed(mpmath.mpf(mu), a) for a in points)

    assert shifted_below(mpmath.mpf(found.upper))
    assert not shifted_below(mpmath.mpf(found.lower) * mpmath.mpf("0.98"))


def test_a_gaussian_has_no_regret_and_an_atom_no_summary():
    assert regret(GaussianDP(0.3), 0.3).upper < 2e-3
    assert regret(GaussianDP(0.3), 0.3).lower == 0
    leaking = ApproxDP(1, "1e-3").gaussian_but_for(KAPPA)
    assert leaking.upper == float("inf")
    assert ApproxDP(0, "1e-5").gaussian_but_for(KAPPA).upper == 0


def test_the_loss_is_exceeded_at_most_so_often():
    """No route of the search is used twice: the probability of the loss itself comes from its law in mpmath."""
    draw = random.Random(24)
    for _ in range(60):
        kind = draw.choice(("gaussian", "laplace", "response"))
        known, beta = Known(kind, draw.uniform(0.05, 4)), 10 ** -draw.uniform(0.5, 9)
        loss = loss_exceeded(known.guarantee, beta)
        assert known.exceeded(loss) <= beta, (known, beta)
        if kind == "gaussian":
            quantile = known.s**2 / 2 + known.s * mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(beta))
            assert loss <= abs(quantile) * 1.35 + 0.35 * known.s


def test_an_epsilon_is_exceeded_more_often_than_its_delta():
    known, delta = Known("gaussian", 1.0), 1e-5
    epsilon = known.guarantee.epsilon(delta).upper
    assert known.exceeded(epsilon) > 3 * delta
    assert loss_exceeded(known.guarantee, delta) > epsilon


def test_with_two_guarantees_the_loss_is_at_most_the_smaller_one():
    assert loss_exceeded(BestOf((PureDP(1), GaussianDP(2))), "1e-9") == 1.0
    assert loss_exceeded(ApproxDP(1, "1e-3"), "1e-4") == float("inf")


@rows(("ask", "named"), ((PureDP(1).gaussian_but_for, "kappa"), (partial(loss_exceeded, PureDP(1)), "beta")))
def test_a_probability_of_zero_is_refused(ask, named):
    with pytest.raises(ValueError, match=rf"^{named} \(0\) must be"):
        ask(0)


@pytest.mark.parametrize("kappa", ["0.001", "0.3"])
def test_a_gaussian_needs_no_more_than_the_trade_off_function_of_one_renyi_order(kappa):
    """Delta of one order is not convex at epsilon 0. Mu from certified lower ends of f, on a grid, must be enough."""
    given = RenyiDP(lambda _: flint.arb(2), orders=Orders(listed=(Fraction(4),)))
    rates = np.linspace(0.005, 0.6, 50)
    missed = np.array([given.trade_off(float(rate)).lower for rate in rates])
    enough = np.nanmax(norm.isf(rates + float(kappa)) + norm.isf(missed + float(kappa)))
    for one in (given, WorstOf((given,)), WithFailure(given, 0)):
        assert not one.two_sided
        found = one.gaussian(kappa)
        assert found.lower <= enough * 1.02 <= found.upper * 1.02
