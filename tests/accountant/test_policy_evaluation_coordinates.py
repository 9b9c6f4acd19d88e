"""Heavy-tailed noise on coordinates: its zCDP covers numerically integrated divergences."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.claims.calibration import UnreachableTargetError
from dpproof.accountant.smooth_sensitivity.coordinates import laplace_log_normal, least_coordinates, student
from tests.rows import tiered

GRID = np.sinh(np.linspace(-16, 16, 400_001))


def divergence(order, shift, log_ratio, degrees=3):
    """Renyi divergence of Student's t at ``shift`` from one of scale exp(log_ratio), by trapezia."""
    p, q = stats.t.logpdf(GRID, degrees, shift), stats.t.logpdf(GRID, degrees, 0, math.exp(log_ratio))
    return math.log(np.trapezoid(np.exp(order * p + (1 - order) * q), GRID)) / (order - 1)


@pytest.mark.parametrize("order", tiered([1.1, 2.0, 5.0], fast=1))
def test_two_coordinates_stay_below_the_proved_curve(order):
    noise, smoothing = 4.0, 0.05
    rho = student(3).account(noise, smoothing, 2).rho.upper
    worst = 0.0
    for angle, ratio in itertools.product((0.0, 0.4, math.pi / 4), (-smoothing, 0.0, smoothing)):
        shifts = (math.cos(angle) / noise, math.sin(angle) / noise)
        worst = max(worst, sum(divergence(order, shift, ratio) for shift in shifts))
    assert 0.01 * rho * order < worst <= rho * order


def test_a_rho_without_the_shift_would_be_too_small():
    rho = student(3).account(1e9, 0.05, 1).rho.upper
    assert divergence(2.0, 1.0, 0.05) > 2 * rho


def meets(family, scale, dimension):
    pure = family.bounded and family.pure(scale, "1e-4", dimension).epsilon(0).upper <= 1
    return pure or family.account(scale, "1e-4", dimension).delta(1).upper <= 1e-6


def test_the_pure_bound_covers_the_largest_loss_of_two_coordinates():
    noise, smoothing = 2.0, 0.05
    bound = student(3).pure(noise, smoothing, 2).epsilon(0).upper
    moved = [
        stats.t.logpdf(GRID, 3, 1 / noise / math.sqrt(2)),
        stats.t.logpdf(GRID, 3, 0, math.exp(smoothing)),
    ]
    worst = 2 * np.abs(moved[0] - moved[1]).max()
    assert 0.5 * bound < worst <= bound
    with pytest.raises(ValueError, match="purely private"):
        laplace_log_normal(0.2).pure(1, 0, 1)


@pytest.mark.parametrize("family", [student(3), student(10), laplace_log_normal(0.2)])
@pytest.mark.parametrize("dimension", [1, 40])
def test_the_least_scale_meets_the_target_and_less_does_not(family, dimension):
    scale = least_coordinates(family, 1, "1e-6", dimension, "1e-4")
    assert meets(family, scale, dimension)
    assert not meets(family, 0.99 * scale, dimension)


def test_what_cannot_be_is_refused():
    with pytest.raises(UnreachableTargetError, match="smoothing"):
        least_coordinates(student(3), 1, "1e-6", 40, 1)
    with pytest.raises(ValueError, match="degrees"):
        student(2)
    with pytest.raises(ValueError, match="spread"):
        laplace_log_normal(0)
    with pytest.raises(ValueError, match="dimension"):
        student(3).account(1, 0, 0)
