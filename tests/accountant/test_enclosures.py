"""Directed rounding and exact reading, against exact fractions."""

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision, round_down, round_up

LARGEST, TINY = Fraction(sys.float_info.max), Fraction(5e-324)
RATIONALS = st.one_of(
    st.fractions(),
    st.builds(
        lambda n, d, e: Fraction(n, d) * Fraction(2) ** e,
        st.integers(-(10**20), 10**20),
        st.integers(1, 10**20),
        st.integers(-1200, 1200),
    ),
)


@given(RATIONALS)
def test_rounding_is_outward_and_tight(value):
    with precision(128):
        low, high = round_down(arb_of(value)), round_up(arb_of(value))
    assert low == -math.inf or Fraction(low) <= value
    assert high == math.inf or Fraction(high) >= value
    if abs(value) <= LARGEST:
        assert high <= math.nextafter(math.nextafter(low, math.inf), math.inf)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_its_own_bound(value):
    with precision(128):
        assert bound_of(arb_of(Fraction(value))).width == 0


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (TINY / 2, 0.0, 5e-324),
        (-TINY / 2, -5e-324, 0.0),
        (TINY * Fraction(7, 2), 3 * 5e-324, 4 * 5e-324),
        (LARGEST * 2, sys.float_info.max, math.inf),
        (-LARGEST * 2, -math.inf, -sys.float_info.max),
        (Fraction(10) ** -5000, 0.0, 5e-324),
        (Fraction(10) ** 5000, sys.float_info.max, math.inf),
    ],
)
def test_subnormals_and_overflow(value, low, high):
    with precision(128):
        assert (round_down(arb_of(value)), round_up(arb_of(value))) == (low, high)


def test_every_number_of_a_wide_enclosure_is_kept():
    with precision(64):
        wide = flint.arb(1, 0.25)
    assert 0.75 - 1e-8 <= round_down(wide) <= 0.75
    assert 1.25 <= round_up(wide) <= 1.25 + 1e-8
    assert (round_down(flint.arb(0, math.inf)), round_up(flint.arb(0, math.inf))) == (-math.inf, math.inf)
    assert (round_down(flint.arb("inf")), round_up(flint.arb("-inf"))) == (math.inf, -math.inf)


def test_nan_is_not_rounded():
    with pytest.raises(ArithmeticError, match="outside its domain"):
        round_up(flint.arb("nan"))


def test_text_means_its_decimal_and_a_float_its_double():
    assert exact("0.1") == Fraction(1, 10)
    assert exact(0.1) == Fraction(3602879701896397, 2**55)
    assert exact(" 1e-300 ") == Fraction(1, 10**300)
    assert exact("2/6") == Fraction(1, 3)


def test_numpy_integers_become_whole_numbers_without_a_size():
    assert exact(np.int64(2**62)) ** 2 == 2**124
    assert type(exact(np.int32(3)).numerator) is int


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        "nan",
        "inf",
        "sNaN",
        "",
        "one",
        "1/0",
        None,
        1j,
        True,
        [1],
        "1e99999999",
    ],
)
def test_what_is_no_finite_number_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"weight \(.*\) must be a finite number"):
        exact(value, "weight")


def test_precision_is_given_back():
    before = flint.ctx.prec
    with precision(777):
        assert flint.ctx.prec == 777
        with pytest.raises(ZeroDivisionError), precision(99):
            _ = 1 / 0
        assert flint.ctx.prec == 777
    assert flint.ctx.prec == before


def test_threads_give_the_answers_of_one_thread():
    inputs = [(0.01 * (i + 1), 10.0 ** -(1 + 3 * i)) for i in range(40)]
    alone = [GaussianDP(mu).epsilon(delta) for mu, delta in inputs]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda pair: GaussianDP(pair[0]).epsilon(pair[1]), inputs))
    assert together == alone
