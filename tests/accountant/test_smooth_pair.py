"""The pair of spherical Gaussians: masses, moment-generating function, and composition by inversion."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from dpproof.accountant.numbers.enclosures import precision, round_down, round_up
from dpproof.accountant.numbers.inversion import bracket, refined
from dpproof.accountant.pairs.base import Characteristic, DominatingPair
from dpproof.accountant.pairs.phases import decay
from dpproof.accountant.pairs.unequal_gaussians import SphericalGaussians
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.smooth_sensitivity.gaussian import SmoothGaussian
from dpproof.accountant.smooth_sensitivity.spherical import chi_square_tail, spherical_delta
from tests.rows import tiered

CASES = [("0.3", "0.1", 1), ("0.3", "-0.1", 2), ("0.05", "0.2", 6), ("1", "-0.3", 41), ("0", "0.05", 9)]


def direct_log_mgf(case, z):
    """log of the integral of p^(1+z) q^(-z), coordinate by coordinate, by quadrature."""
    shift, log_ratio, dimension = (mpmath.mpf(x) for x in case)
    r = mpmath.exp(log_ratio)
    p, q = (r, mpmath.mpf(1)) if log_ratio > 0 else (mpmath.mpf(1), 1 / r)

    def integral(mean):
        def integrand(x):
            log_p = -((x - mean) ** 2) / (2 * p * p) - mpmath.log(p)
            log_q = -x * x / (2 * q * q) - mpmath.log(q)
            return mpmath.exp((1 + z) * log_p - z * log_q) / mpmath.sqrt(2 * mpmath.pi)

        return mpmath.quad(integrand, mpmath.linspace(-30, 30, 61))

    return mpmath.log(integral(shift)) + (dimension - 1) * mpmath.log(integral(mpmath.mpf(0)))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("c", tiered([0.25, 1.5], fast=1))
def test_log_mgf_agrees_with_quadrature(case, c):
    tilt = SphericalGaussians(*case).characteristic().tilted(c)
    with mpmath.workdps(30):
        value = direct_log_mgf(case, mpmath.mpf(c))
    assert abs(tilt.log_mgf - value) <= tilt.log_mgf_error + 1e-18 + 1e-15 * abs(value)


def exact_phi(case, c, t):
    """phi(t) = M(c + i t)/M(c) from the closed form, in mpmath at 40 digits."""
    shift, log_ratio, d = mpmath.mpf(case[0]), mpmath.mpf(case[1]), case[2]
    h = 2 * log_ratio
    square = shift**2 if log_ratio > 0 else shift**2 * mpmath.exp(h)

    def log_m(z):
        g = 1 - mpmath.expm1(h) * z
        return square * z * (z + 1) / (2 * g) - mpmath.mpf(d) / 2 * (h * z + mpmath.log(g))

    return mpmath.exp(log_m(mpmath.mpc(c, t)) - log_m(mpmath.mpf(c)))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("c", [0.5, 1.0])
def test_phi_is_within_its_errors(case, c):
    found, error = SphericalGaussians(*case).characteristic().minus_one(c, 0.125, 400)
    with mpmath.workdps(40):
        for n in (0, 1, 2, 17, 101, 399):
            miss = mpmath.mpc(complex(found[n])) - (
                exact_phi(case, mpmath.mpf(c), n * mpmath.mpf("0.125")) - 1
            )
            assert abs(miss) <= error[n]
    assert error[1] < 1e-13 * max(abs(found[1]), 1e-6)


@pytest.mark.parametrize("case", [*CASES, ("0.001", "0.02", 1000), ("5", "0.0001", 3)])
def test_the_uniform_laws_bound_phi(case):
    """phi falls in t, so that its value is a bound beyond; the uniform laws' bound must not be below it."""
    characteristic = SphericalGaussians(*case).characteristic()
    tilt = characteristic.tilted(0.5)
    weights, widths = tilt.uniform()
    assert 0.3 < weights.sum() <= 1
    assert widths.min() > 0
    times = np.geomspace(0.01, 100, 60) / math.sqrt(tilt.variance)
    bound = decay(weights, widths, times)
    with mpmath.workdps(30):
        for t, log in zip(times, bound, strict=True):
            assert mpmath.log(abs(exact_phi(case, mpmath.mpf("0.5"), mpmath.mpf(float(t))))) <= log


def test_beyond_the_domain_is_refused():
    with pytest.raises(OverflowError, match="infinite"):
        SphericalGaussians(1, "0.5", 3).characteristic().tilted(1.0)


@pytest.mark.parametrize(
    ("point", "noncentral", "degrees"), [(3, 1, 2), (3, 1, 5), (1, 9, 1), (40, 4, 30), (90, 3, 8)]
)
def test_chi_square_tail_agrees_with_a_poisson_mixture(point, noncentral, degrees):
    with precision(300):
        found = chi_square_tail(flint.arb(point), flint.arb(noncentral), degrees)
        half, total, weight = flint.arb(noncentral) / 2, flint.arb(0), (-flint.arb(noncentral) / 2).exp()
        for j in range(250):
            total += weight * (flint.arb(point) / 2).gamma_upper(flint.arb(degrees) / 2 + j, regularized=1)
            weight *= half / (j + 1)
        assert found.overlaps(total + flint.arb(0).union(2 * weight))


@pytest.mark.parametrize("case", CASES)
def test_a_single_pair_has_the_exact_profile(case):
    pair = SphericalGaussians(*case)
    assert isinstance(pair, DominatingPair)
    assert isinstance(pair.characteristic(), Characteristic)
    for which, sign in ((pair, 1), (pair.reversed(), -1)):
        bound = PrivacyLoss([[(which, 1)]]).delta("0.125")
        shift, log_ratio = Fraction(case[0]), sign * Fraction(case[1])
        exact = refined(lambda a=shift, s=log_ratio: spherical_delta(a, s, case[2], Fraction(1, 8)))
        assert bound.lower <= round_up(exact)
        assert round_down(exact) <= bound.upper
        assert bound.width <= 1e-13


@pytest.mark.parametrize(
    "case", [("0.1", "0.005", 40), ("0.2", "-0.01", 3), ("0.2", "0.01", 1), ("0.01", "0.005", 30)]
)
@pytest.mark.parametrize("delta", ["1e-6", "1e-30"])
def test_copies_compose_to_one_pair_of_higher_dimension(case, delta):
    """100 copies in dimension d are one pair in dimension 100 d, its shift ten times as large."""
    bound = PrivacyLoss([[(SphericalGaussians(*case), 100)]]).epsilon(delta)
    shift, log_ratio, d = 10 * Fraction(case[0]), Fraction(case[1]), 100 * case[2]
    low, high = bracket(lambda e: spherical_delta(shift, log_ratio, d, e), Fraction(delta))
    assert bound.lower <= high
    assert low <= bound.upper
    assert bound.relative_width < 1e-11


def test_the_renyi_curve_is_above_every_pair_and_close_to_the_worst():
    notion = SmoothGaussian(5, "0.02", 10)
    curve = notion.renyi().curve
    for order in (Fraction(3, 2), Fraction(4), Fraction(20)):
        with precision(128):
            top = round_up(curve(flint.arb(order.numerator) / order.denominator))
        for part, log_ratio in (
            (1, "0.02"),
            (1, "-0.02"),
            (1, "0.007"),
            (1, "-0.007"),
            (Fraction(1, 2), "0.02"),
        ):
            pair = SphericalGaussians(part * notion.shift, log_ratio, 10)
            tilt = pair.characteristic().tilted(float(order - 1))
            renyi = tilt.log_mgf / float(order - 1)
            assert renyi <= top * (1 + 1e-14)
            assert log_ratio != "0.02" or part != 1 or renyi >= top * (1 - 1e-12)


def test_the_renyi_guarantee_is_no_better_than_the_exact_one():
    notion = SmoothGaussian(10, "0.01", 40)
    exact, renyi = notion.epsilon("1e-6"), notion.renyi().epsilon("1e-6")
    assert exact.lower <= renyi.upper <= 1.6 * exact.upper


@pytest.mark.parametrize(
    ("bad", "name"), [((-1, 1, 1), "shift"), ((1, 0, 1), "log_ratio"), ((1, 1, 0), "dimension")]
)
def test_bad_pairs_are_refused_by_name(bad, name):
    with pytest.raises(ValueError, match=name):
        SphericalGaussians(*bad)
