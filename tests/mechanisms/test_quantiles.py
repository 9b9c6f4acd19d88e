"""Tables of quantile functions: coefficients and error bounds, compared with the tail by Arb's erfc and exp."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, arb_series

from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.mechanisms.release import quantiles
from dpproof.mechanisms.release._rounded_kernel import SEGMENTS, SIZE_BITS, SPLIT_BITS
from dpproof.mechanisms.release.quantiles import LAPLACE, NORMAL, segment_start, table_of

SEED = 31415
QUANTILES = pytest.mark.parametrize("quantile", [NORMAL, LAPLACE], ids=lambda quantile: quantile.name)


def tail(quantile, size):
    """The probability that the noise of scale 1 is larger than the size, which is at least 0."""
    return (size / arb(2).sqrt()).erfc() / 2 if quantile is NORMAL else (-size).exp() / 2


@QUANTILES
def test_the_coefficients_are_those_of_the_inverse_series(quantile):
    """The Taylor series of the tail is reverted by Arb. The doubles are its coefficients, rounded."""
    table = table_of(quantile)
    with precision(200):
        for k in range(SEGMENTS):
            start, end = segment_start(k), segment_start(k + 1)
            size = quantile.size(arb_of((start + end) / 2))
            x = arb_series([size, 1], prec=8)
            decay = (x / arb(2).sqrt()).erfc() / 2 if quantile is NORMAL else (-x).exp() / 2
            inverse = arb_series([0, *decay.coeffs()[1:]], prec=8).reversion()
            width = arb_of(end - start)
            for n in range(1, 8):
                exact = inverse[n] * width**n
                assert abs(exact - arb(table.coefficients[k, n - 1])) <= abs(exact) / 2**52
            assert abs(size * 2**SIZE_BITS - int(table.centres[k])) < 1


@QUANTILES
def test_the_error_bounds_hold_at_random_and_at_extreme_arguments(quantile):
    check_errors(quantile, table_of(quantile), 1)


@QUANTILES
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_the_error_bounds_hold_where_the_rest_of_the_taylor_series_is_large(quantile, degree, monkeypatch):
    monkeypatch.setattr(quantiles, "DEGREE", degree)
    table = table_of.__wrapped__(quantile)
    assert table.coefficients.shape == (SEGMENTS, degree)
    check_errors(quantile, table, 16)
    assert (table.errors > 2.0**-57).all()


def check_errors(quantile, table, step):
    """The tail at the computed size plus or minus the bound lies on the two sides of u, by erfc or exp."""
    rng, bits = np.random.default_rng(SEED), 62 - SPLIT_BITS
    with precision(160):
        for k in range(0, SEGMENTS, step):
            width = segment_start(k + 1) - segment_start(k)
            for rest in [0, 1, (1 << bits) - 1, *rng.integers(0, 1 << bits, 2).tolist()]:
                t, more = float(rest - (1 << (bits - 1))) * 2.0**-bits, 0.0
                for c in reversed(table.coefficients[k].tolist()):
                    more = c + t * more
                more *= t
                size = arb(max(int(table.centres[k]) + int(more * 2.0**SIZE_BITS), 0)) / 2**SIZE_BITS
                u, error = segment_start(k) + width * Fraction(rest, 1 << bits), arb(table.errors[k])
                assert tail(quantile, size + error) < arb_of(u) < tail(quantile, size - error)


@QUANTILES
def test_the_bounds_are_small_and_cover_the_digits_that_are_not_drawn(quantile):
    table = table_of(quantile)
    assert (table.errors < 2.0**-56).all() or quantile is LAPLACE
    assert (table.errors < 2.0**-55).all()
    assert (np.abs(table.coefficients) > 2.0**-60).all()
    with precision(250):
        for k in range(0, SEGMENTS, 7):
            start = segment_start(k)
            for digits in (32, 64):
                moved = quantile.size(arb_of(start)) - quantile.size(arb_of(start + Fraction(1, 1 << digits)))
                assert moved + arb(table.errors[k]) < arb(table.bounds(digits)[k])


@QUANTILES
def test_the_steepness_bounds_the_slope(quantile):
    with precision(100):
        for k in range(SEGMENTS + 1):
            u = arb_of(segment_start(k))
            slope = quantile.taylor(u, quantile.size(u))[0]
            assert abs(u * slope) <= arb_of(quantile.steepness) + arb(2) ** -90
