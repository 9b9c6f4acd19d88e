"""Errors of releases: Laplace sums by quadrature of the characteristic function, unions by enumeration."""

import itertools
import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.counting.error import (
    release_error_bound,
    release_error_probability,
    union_bound,
    union_probability,
)
from dpproof.accountant.counting.noise import GaussianNoise, LaplaceNoise, gamma_weights, laplace_sum_tail
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


@pytest.mark.parametrize("terms", [1, 2, 3, 8, 25])
def test_the_weights_are_the_partial_fractions(terms):
    """sum_j w_j ((1-s)^-(m-j) + (1+s)^-(m-j)) = (1 - s^2)^-m, exactly."""
    for s in (Fraction(1, 3), Fraction(-2, 7), Fraction(9, 10)):
        shapes = [(terms - j, weight) for j, weight in enumerate(gamma_weights(terms))]
        split = sum(w * ((1 - s) ** -n + (1 + s) ** -n) for n, w in shapes)
        assert split == (1 - s * s) ** -terms
    assert sum(gamma_weights(terms)) == Fraction(1, 2)


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
    assert release_error_probability(7, LaplaceNoise(1), 720).upper > 0
    assert release_error_probability(7, LaplaceNoise(1), 720).relative_width < 1e-10


@given(
    st.sampled_from([LaplaceNoise(2), GaussianNoise("0.3")]), st.integers(1, 10**9), st.floats(1e-300, 0.5)
)
def test_a_release_keeps_its_bound_and_a_little_less_would_not_do(noise, time, beta):
    found = release_error_bound(time, noise, beta)
    assert release_error_probability(time, noise, found.upper).upper <= beta
    assert found.lower == 0 or release_error_probability(time, noise, found.lower).lower > beta * (1 - 1e-14)
    assert found.relative_width < 1e-12


@pytest.mark.parametrize("noise", [LaplaceNoise(2), GaussianNoise(3)])
@pytest.mark.parametrize("leaves", [1, 2, 6, 37, 64])
def test_the_union_is_the_sum_over_all_times(noise, leaves):
    with precision(128):
        tails = [2 * noise.tail(time.bit_count(), Fraction(9)) for time in range(1, leaves + 1)]
        total = sum(tails, flint.arb(0))
    found = union_probability(leaves, noise, 9)
    assert flint.arb(found.lower) <= total.upper()
    assert flint.arb(found.upper) >= total.lower()
    assert found.relative_width < 1e-14


@pytest.mark.parametrize("noise", [LaplaceNoise(15), GaussianNoise(10)])
@pytest.mark.parametrize("beta", ["0.5", "1e-6", "1e-300"])
def test_the_union_bound_is_the_least(noise, beta):
    found = union_bound(16384, noise, beta)
    assert Fraction(union_probability(16384, noise, found.upper).upper) <= Fraction(beta) * (
        1 + Fraction(1, 10**14)
    )
    assert union_probability(16384, noise, found.lower).upper > float(beta) * (1 - 1e-14)
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
        with pytest.raises(ValueError, match="beta"):
            release_error_bound(8, noise, beta)
    for error in (-1, math.nan, math.inf):
        with pytest.raises(ValueError, match="error"):
            union_probability(8, noise, error)
    for terms in (0, -1, 1.0, True, 100_001):
        with pytest.raises(ValueError, match="terms"):
            gamma_weights(terms)
    with pytest.raises(ValueError, match="leaves"):
        release_error_bound(0, noise, "0.1")


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
