"""Errors of releases: Laplace sums by quadrature of the characteristic function, unions by enumeration."""

import itertools
import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from dpproof.accountant.counting.error import (
    _union,
    union_bound,
)
from dpproof.accountant.counting.noise import GaussianNoise, LaplaceNoise, laplace_sum_tail
from dpproof.accountant.counting.tree import releases_by_size
from dpproof.accountant.numbers.enclosures import arb_of, precision
from tests.rows import rows, tiered

DIGITS = mpmath.MPContext()
DIGITS.dps = 40


def by_characteristic_function(terms, point):
    """P(S > x) = 1/2 - (1/pi) int_0^inf sin(t x)/(t (1 + t^2)^m) dt, by Arb's certified quadrature."""
    with precision(200):
        x = flint.acb(arb_of(Fraction(point)))
        cut = 2**14  # beyond it the integrand is below t^(-2m-1)

        def integrand(t, analytic):
            return _sinc(t, x, terms)

        value = flint.acb.integral(integrand, 0, cut, rel_tol=2.0**-100, eval_limit=10**7).real
        rest = flint.arb(cut) ** (-2 * terms) / (2 * terms)
        return flint.arb(1) / 2 - (value + flint.arb(0, 1) * rest) / flint.arb.pi()


def _sinc(t, x, terms):
    return x * (t * x).sinc() / (1 + t * t) ** terms


@pytest.mark.parametrize("terms", [4, 7, 15])
@pytest.mark.parametrize("point", [0.25, 3, 11.5])
def test_the_tail_against_the_characteristic_function(terms, point):
    ours, theirs = laplace_sum_tail(terms, Fraction(point)), by_characteristic_function(terms, point)
    assert ours.overlaps(theirs)
    assert float(theirs.rad()) < 1e-30


@pytest.mark.parametrize("terms", tiered([1, 2, 5, 15, 40], fast=2))
@rows("point", [0.5, 40, 300, 690])
def test_the_tail_against_the_bessel_density(terms, point):
    """The density of the sum is |x|^(m-1/2) K_{m-1/2}(|x|) / (sqrt(pi) 2^(m-1/2) (m-1)!)."""
    half = DIGITS.mpf(terms) - DIGITS.mpf(1) / 2
    norm = DIGITS.sqrt(DIGITS.pi) * 2**half * DIGITS.factorial(terms - 1)
    scale = DIGITS.besselk(half, point) * DIGITS.mpf(point) ** half
    spans = [point, point + 1, point + 5, point + 20, point + 100, point + 400]
    integral = DIGITS.quad(lambda x: x**half * DIGITS.besselk(half, x) / scale, spans)
    expected = integral * scale / norm
    ours = laplace_sum_tail(terms, Fraction(point))
    with precision(300):
        assert abs(DIGITS.mpf(ours.mid().str(30, radius=False)) / expected - 1) < 1e-18


@pytest.mark.parametrize("terms", [1, 15, 20_000])
def test_symmetric_and_half_at_zero(terms):
    assert laplace_sum_tail(terms, Fraction(0)).overlaps(flint.arb(1) / 2)
    with precision(100):
        total = laplace_sum_tail(terms, Fraction(3)) + laplace_sum_tail(terms, Fraction(-3))
        assert total.overlaps(flint.arb(1))


def test_tails_far_below_the_smallest_double():
    found = laplace_sum_tail(15, Fraction(2000))
    assert found.rel_accuracy_bits() >= 64
    assert found < flint.arb(10) ** -800


@pytest.mark.parametrize("noise", [LaplaceNoise(2), GaussianNoise(3)])
@pytest.mark.parametrize("leaves", [1, 2, 6, 37, 64])
def test_the_union_is_the_sum_over_all_times(noise, leaves):
    with precision(128):
        tails = [2 * noise.tail(time.bit_count(), Fraction(9)) for time in range(1, leaves + 1)]
        total = sum(tails, flint.arb(0))
        found = _union(releases_by_size(leaves), noise, Fraction(9))
    assert found.overlaps(total)
    assert found.rel_accuracy_bits() > 100


@pytest.mark.parametrize("noise", [LaplaceNoise(15), GaussianNoise(10)])
@pytest.mark.parametrize("beta", ["0.5", "1e-6", "1e-300"])
def test_the_union_bound_is_the_least(noise, beta):
    found = union_bound(16384, noise, beta)
    with precision(192):
        low, high = (
            _union(releases_by_size(16384), noise, Fraction(end)) for end in (found.lower, found.upper)
        )
        assert high <= arb_of(Fraction(beta)) < low
    assert found.relative_width < 1e-13


def test_noise_of_any_size():
    small, large = LaplaceNoise("1e-200"), GaussianNoise("1e200")
    assert union_bound(100, small, "1e-6").upper == pytest.approx(
        1e-200 * union_bound(100, LaplaceNoise(1), "1e-6").upper, rel=1e-12
    )
    assert math.isfinite(union_bound(100, large, "1e-6").upper)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "x", True])
def test_bad_noise_is_refused(bad):
    with pytest.raises(ValueError, match="sigma"):
        GaussianNoise(bad)
    with pytest.raises(ValueError, match="scale"):
        LaplaceNoise(bad)


def test_bad_questions_are_refused():
    noise = LaplaceNoise(1)
    for beta in (0, -1, 1.5, math.nan):
        with pytest.raises(ValueError, match="beta"):
            union_bound(8, noise, beta)
    with pytest.raises(ValueError, match="leaves"):
        union_bound(0, noise, "0.1")


@pytest.mark.slow
def test_samples_agree_at_alpha_1e_6():
    """400,000 sums: a binomial count within its exact two-sided bound at alpha = 1e-6, by Bernstein."""
    generator, runs, wrong = np.random.default_rng(7), 400_000, 1.1
    for terms, point in itertools.product((3, 14), (2.0, 12.0)):
        sums = generator.laplace(size=(runs, terms)).sum(axis=1)
        p = float(laplace_sum_tail(terms, Fraction(point)).mid())
        share = float((sums > point).mean())
        log = math.log(2 / 1e-6)
        room = math.sqrt(2 * p * log / runs) + log / (3 * runs)
        assert abs(share - p) <= room
    p = wrong * float(laplace_sum_tail(3, Fraction(2)).mid())
    shares = float((generator.laplace(size=(runs, 3)).sum(axis=1) > 2).mean())
    assert abs(shares - p) > math.sqrt(2 * p * log / runs) + log / (3 * runs)  # known to be wrong
