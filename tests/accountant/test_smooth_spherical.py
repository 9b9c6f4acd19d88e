"""The hockey stick of two spherical Gaussians, against quadrature, closed forms and a sum of another kind."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.numbers.inversion import refined
from dpproof.accountant.smooth_sensitivity.spherical import spherical_delta

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
