"""Smooth sensitivity: the pair of spherical Gaussians, its loss, and its profile in any dimension.

The pair of spherical Gaussians: masses, moment-generating function, and composition by inversion.

The hockey stick of two spherical Gaussians, against quadrature, closed forms and a sum of another kind.
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.numbers.enclosures import arb_of, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import bracket, refined
from dpproof.accountant.pairs.base import Characteristic, DominatingPair
from dpproof.accountant.pairs.phases import decay
from dpproof.accountant.pairs.spherical_gaussians import SphericalGaussians
from dpproof.accountant.privacy_loss.notion import PrivacyLoss
from dpproof.accountant.privacy_loss.single import delta_by_masses
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


def exact_log_mgf(case, z):
    """log M(z) from the closed form."""
    shift, log_ratio, d = mpmath.mpf(case[0]), mpmath.mpf(case[1]), case[2]
    h = 2 * log_ratio
    square = shift**2 if log_ratio > 0 else shift**2 * mpmath.exp(h)
    g = 1 - mpmath.expm1(h) * z
    return square * z * (z + 1) / (2 * g) - mpmath.mpf(d) / 2 * (h * z + mpmath.log(g))


@pytest.mark.parametrize("case", CASES)
def test_log_mgf_is_within_its_error_to_the_last_bit(case):
    with mpmath.workdps(40):
        for c in (0.25, 0.5, 1.0, 1.5, 2.0):
            tilt = SphericalGaussians(*case).characteristic().tilted(c)
            assert abs(tilt.log_mgf - exact_log_mgf(case, mpmath.mpf(c))) <= tilt.log_mgf_error


def exact_phi(case, c, t):
    """phi(t) = M(c + i t)/M(c), in mpmath at 40 digits."""
    return mpmath.exp(exact_log_mgf(case, mpmath.mpc(c, t)) - exact_log_mgf(case, mpmath.mpf(c)))


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
def test_the_masses_of_a_pair_give_its_exact_profile(case):
    pair = SphericalGaussians(*case)
    assert isinstance(pair, DominatingPair)
    assert isinstance(pair.characteristic(), Characteristic)
    for which, sign in ((pair, 1), (pair.reversed(), -1)):
        low, high = delta_by_masses(which, Fraction(1, 8))
        bound = PrivacyLoss([[(which, 1)]]).delta("0.125")
        shift, log_ratio = Fraction(case[0]), sign * Fraction(case[1])
        exact = refined(lambda a=shift, s=log_ratio: spherical_delta(a, s, case[2], Fraction(1, 8)))
        assert low <= bound.lower <= round_up(exact)
        assert round_down(exact) <= bound.upper <= high
        assert high - low <= 1e-13


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


POINTS = [
    ("1/2", "1/100", 40, "1/10"),
    ("1", "3/10", 2, "1/2"),
    ("1", "-3/10", 2, "1/2"),
    ("1/5", "1/20", 7, "1"),
    ("1/5", "-1/20", 7, "1/4"),
    ("2", "-1/2", 3, "0"),
    ("1/50", "1/30", 6, "3/2"),
    ("3/2", "1/4", 1, "1/3"),
    ("3/2", "-1/4", 1, "1/3"),
    ("1/10", "3/500", 12, "5"),
]


def delta(shift, log_ratio, dimension, epsilon) -> flint.arb:
    exact = Fraction(shift), Fraction(log_ratio), dimension, Fraction(epsilon)
    return refined(lambda: spherical_delta(*exact))


def poisson_mixture(shift, log_ratio, dimension, epsilon) -> flint.arb:
    """The same by its textbook form: two non-central chi-square masses, Poisson mixtures of central ones."""
    a, s, eps = (arb_of(Fraction(x)) for x in (shift, log_ratio, epsilon))
    wide, r2 = s > 0, (2 * abs(s)).exp()
    gap = dimension * 2 * abs(s)
    centre = a / (r2 - 1)  # from the narrower mean; from the wider it is centre * r2
    if wide:
        square = (centre * r2) ** 2 - (a * a - gap - 2 * eps) * r2 / (r2 - 1)
    else:
        square = r2 * (a * a + (r2 - 1) * (gap - 2 * eps)) / (r2 - 1) ** 2
        if square <= 0:
            return flint.arb(0)
    mass = flint.arb.gamma_upper if wide else flint.arb.gamma_lower
    narrow = mixture(mass, square, centre**2, dimension)
    broad = mixture(mass, square / r2, (centre * r2) ** 2 / r2, dimension)
    return broad - eps.exp() * narrow if wide else narrow - eps.exp() * broad


def mixture(mass, y, noncentral, dimension) -> flint.arb:
    weight, total, rest = (-noncentral / 2).exp(), flint.arb(0), flint.arb(1)
    for j in range(100_000):
        total += weight * mass(y / 2, flint.arb(dimension) / 2 + j, regularized=1)
        rest -= weight
        weight *= noncentral / 2 / (j + 1)
        if rest < flint.arb(2) ** -300:
            return total + flint.arb(0).union(abs(rest))
    raise AssertionError("too many terms for the reference")


@pytest.mark.parametrize("point", POINTS)
def test_agrees_with_the_poisson_mixture(point):
    with precision(500):
        assert delta(*point).overlaps(poisson_mixture(*point))


@pytest.mark.parametrize("point", POINTS)
def test_is_accurate(point):
    found = delta(*point)
    assert found == 0 or found.rel_accuracy_bits() >= 64


def grid_sum(case, epsilon, half_width, points):
    """The integral of (p - e^epsilon q)_+ by a sum over a grid, in one or two dimensions."""
    shift, log_ratio, dimension = float(Fraction(case[0])), float(Fraction(case[1])), case[2]
    r = math.exp(abs(log_ratio))
    p, q = (r, 1.0) if log_ratio > 0 else (1.0, r)
    x, step = np.linspace(-half_width, half_width, points, retstep=True)
    other = np.zeros(1) if dimension == 1 else x
    squares = x[:, None] ** 2 + other**2, (x[:, None] - shift) ** 2 + other**2
    densities = (
        np.exp(-square / (2 * s * s)) / (math.sqrt(2 * math.pi) * s) ** dimension
        for square, s in zip(squares, (p, q), strict=True)
    )
    return float(np.maximum(next(densities) - math.exp(epsilon) * next(densities), 0).sum() * step**dimension)


@pytest.mark.parametrize("log_ratio", ["1/4", "-2/5"])
def test_agrees_with_a_sum_over_a_grid_in_one_dimension(log_ratio):
    value = grid_sum(("3/2", log_ratio, 1), 0.25, 20, 2_000_001)
    assert abs(float(delta("3/2", log_ratio, 1, "1/4").mid()) - value) < 1e-9


@pytest.mark.parametrize("log_ratio", ["3/10", "-3/10"])
def test_agrees_with_a_sum_over_a_grid_in_two_dimensions(log_ratio):
    value = grid_sum(("1", log_ratio, 2), 0.25, 11, 1501)
    assert abs(float(delta("1", log_ratio, 2, "1/4").mid()) - value) < 1e-5


def test_holds_in_dimension_1000_far_below_1e_30():
    for dimension in (999, 1000, 1001):
        found = delta("1/5", "3/5000", dimension, 5)
        assert 0 < found < flint.arb("1e-100")
        assert found.rel_accuracy_bits() >= 64
    with precision(256):
        assert (
            delta("1/5", "3/5000", 999, 5) < delta("1/5", "3/5000", 1000, 5) < delta("1/5", "3/5000", 1001, 5)
        )


@given(
    shift=st.fractions("1/100", 3, max_denominator=1000),
    log_ratio=st.fractions("-1/2", "1/2", max_denominator=1000),
    dimension=st.integers(1, 9),
    epsilon=st.fractions(0, 4, max_denominator=100),
)
@settings(max_examples=60, deadline=None)
def test_the_two_directions_are_tied_together(shift, log_ratio, dimension, epsilon):
    """delta_P(eps) at eps = 0 is the total variation, the same both ways; and delta falls in epsilon."""
    zero = Fraction(0)
    there, back = (
        refined(lambda s=s: spherical_delta(shift, s, dimension, zero)) for s in (log_ratio, -log_ratio)
    )
    assert there.overlaps(back)
    assert not delta(shift, log_ratio, dimension, epsilon) > there


@pytest.mark.parametrize("log_ratio", ["1/5", "-1/5"])
def test_equal_means_are_the_limit_of_close_ones(log_ratio):
    gap = delta(0, log_ratio, 5, "1/2") - delta("1/1000000000000", log_ratio, 5, "1/2")
    assert abs(gap) < flint.arb("1e-12")


@pytest.mark.parametrize("log_ratio", ["1/100000", "-1/100000"])
def test_an_even_dimension_with_a_tiny_ratio_is_squeezed_between_odd_ones(log_ratio):
    found = delta(1, log_ratio, 2, 1)
    assert found.rad() < found.mid() * 1e-8
    assert found.contains(delta(1, log_ratio, 1, 1))
    assert found.contains(delta(1, log_ratio, 3, 1))


@pytest.mark.parametrize("dimension", [1, 2, 7, 8])
@pytest.mark.parametrize("log_ratio", ["1/10", "-1/10"])
def test_both_forms_of_the_value_agree(monkeypatch, dimension, log_ratio):
    """Without endless sums odd dimensions have a finite form, and even ones lie between two odd ones."""
    by_series = delta("1/2", log_ratio, dimension, "1/4")
    monkeypatch.setattr("dpproof.accountant.smooth_sensitivity.spherical._MOST_TERMS", 0)
    assert delta("1/2", log_ratio, dimension, "1/4").overlaps(by_series)


def test_an_even_dimension_far_from_the_centre_encloses_the_odd_ones_beside_it():
    """The sums of Bessel functions have too many terms there."""
    below, here, above = (
        PrivacyLoss([[(SphericalGaussians(10, "1e-4", d), 1)]]).epsilon("1e-6") for d in (3, 4, 5)
    )
    assert here.lower <= below.upper < above.lower <= here.upper
    assert here.relative_width < 1e-8
