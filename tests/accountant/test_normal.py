"""Normal masses against Arb: the proved relative errors hold, and are not slack by orders of magnitude."""

import flint
import numpy as np
import pytest

from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.numbers.normal import SMALLEST_MASS, interval_masses, upper_tail


def _tail(y):
    return (y / flint.arb(2).sqrt()).erfc() / 2


def _mass(low, high, shift=0.0):
    low, high, shift = (flint.arb(float(value)) for value in (low, high, shift))
    a, b = low - shift, high - shift
    return _tail(a) - _tail(b) if a + b > 0 else _tail(-b) - _tail(-a)


def _relative(value, exact):
    return abs(float(flint.arb(float(value)) / exact - 1))


def test_upper_tail_is_within_its_error():
    points = np.concatenate([np.random.default_rng(0).uniform(-9, 36, 2000), [0.0, 1 / 32, -0.0, 1e-300]])
    with precision(300):
        worst = max(
            _relative(v, _tail(flint.arb(float(y)))) for v, y in zip(upper_tail(points), points, strict=True)
        )
    assert worst <= 28 * 2.0**-53


def test_tails_beyond_the_table_stay_above_the_truth():
    points = np.array([37.0, 40.0, 41.0, 1e3, 1e8, np.inf])
    assert np.all(upper_tail(points) >= SMALLEST_MASS)


@pytest.mark.parametrize("width", [1e-9, 1e-5, 1e-3, 0.03, 0.12, 0.13, 0.6, 4.0])
def test_masses_of_cells_are_within_their_errors(width):
    for corner in (-34.0, -8.0, -0.3, 0.0, 1.0, 6.0, 30.0):
        edges = corner + width * np.arange(40)
        edges = edges[edges < 36]
        masses, errors = interval_masses(edges, (0.7, 0.0))
        with precision(400):
            for k in range(len(edges) - 1):
                exact = _mass(edges[k], edges[k + 1], 0.7)
                if exact > 1e-280:
                    assert _relative(masses[k + 1], exact) <= errors[k + 1] <= 1e-11


def test_an_inexact_shift_is_charged():
    """The masses of N(1/s, 1) for the exact 1/s lie within the errors although 1/s is rounded."""
    edges = np.linspace(25.0, 45.0, 200)
    masses, errors = interval_masses(edges, (1 / 0.03, 1.01 * 2.0**-53 / 0.03))
    with precision(300):
        shift = 1 / flint.arb(0.03)
        for k in range(0, 199, 7):
            a, b = (flint.arb(float(e)) - shift for e in edges[k : k + 2])
            exact = _tail(a) - _tail(b) if a + b > 0 else _tail(-b) - _tail(-a)
            assert _relative(masses[k + 1], exact) <= errors[k + 1]


def test_what_underflows_is_a_small_mass_with_error_one():
    masses, errors = interval_masses(np.array([-np.inf, -1e9, 38.0, 39.0, 1e9, np.inf]))
    assert np.all(np.isfinite(masses))
    assert np.all(masses > 0)
    assert errors[4] == 1.0
    assert masses[2] == pytest.approx(1.0)


def test_a_lowered_error_is_noticed():
    """The known-bad control: the bare series without its density's rounding is not within one ulp always."""
    edges = np.linspace(5.0, 9.0, 4001)
    masses, _ = interval_masses(edges)
    with precision(200):
        worst = max(_relative(masses[k + 1], _mass(edges[k], edges[k + 1])) for k in range(0, 4000, 10))
    assert worst > 2.0**-53
