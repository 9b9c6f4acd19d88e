"""Sums of reciprocal logarithms, against direct sums in mpmath at 40 digits."""

import functools

import mpmath
import pytest

from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.rl.rlsvi import rlsvi as log_sums

DIGITS = mpmath.MPContext()
DIGITS.dps = 40


@functools.cache
def direct(scale, first, last):
    return DIGITS.fsum(1 / DIGITS.log(scale * k) for k in range(first, last + 1))


def encloses(value, true, slack=0):
    with precision(192):
        low, high = (DIGITS.mpf(end.str(45, radius=False)) for end in (value.lower(), value.upper()))
    rounding = DIGITS.mpf(10) ** -36 * true
    assert low - rounding <= true <= high + rounding
    if slack:
        assert high - low <= slack * true + 2 * rounding


@pytest.mark.parametrize("scale", [2, 480, 10**9])
@pytest.mark.parametrize("last", [1, 2, 3, 500])
def test_short_sums_are_direct(scale, last):
    with precision(192):
        value = log_sums.sum_of_reciprocal_logs(scale, 2, last)
    encloses(value, direct(scale, 2, last), 1e-38 if last > 1 else 0)


@pytest.mark.parametrize("beyond", [-1, 0, 1, 2, 3000])
def test_the_switch_is_seamless(beyond):
    last = 1 + 16384 + beyond
    with precision(192):
        value = log_sums.sum_of_reciprocal_logs(2, 2, last)
    encloses(value, direct(2, 2, last), 1e-10)


@pytest.mark.parametrize("head", [1, 2, 7, 50])
@pytest.mark.parametrize("scale", [2, 480])
def test_the_integrals_enclose_from_the_first_term_on(head, scale, monkeypatch):
    monkeypatch.setattr(log_sums, "_DIRECT", head)
    with precision(192):
        for last in (head + 2, head + 3, 400, 4000):
            encloses(log_sums.sum_of_reciprocal_logs(scale, 2, last), direct(scale, 2, last), 0.05)


def test_a_billion_terms_are_known_to_ten_digits():
    with precision(192):
        value = log_sums.sum_of_reciprocal_logs(480, 2, 10**9)
        assert value.rad() / value < 1e-10
