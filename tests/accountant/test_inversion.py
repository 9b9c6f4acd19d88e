"""The two searches for a root: what they return is what was asked, near each other, in few steps."""

import math
from fractions import Fraction

import flint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.numbers.inversion import (
    PRECISIONS,
    bracket,
    crossing,
    enclose,
    first_step,
    first_whole,
    last_where,
    refined,
    sign_change,
)

GAPS = {
    "line": lambda x: 0.7 - x,
    "exponential": lambda x: math.exp(-9 * x) - math.exp(-6.3),
    "steep": lambda x: -math.expm1(40 * (x - 0.7)),
    "flat": lambda x: (0.7 - x) ** 9,
    "step": lambda x: 1.0 if x < 0.7 else -1.0,
    "sign": lambda x: math.inf if x < 0.7 else -math.inf,
}


@pytest.mark.parametrize("name", GAPS)
@pytest.mark.parametrize("close", [1e-3, 1e-9, 4e-16])
@pytest.mark.parametrize("known", [False, True])
def test_both_places_were_asked_and_are_near(name, close, known):
    gap, asked = GAPS[name], {}

    def counted(x):
        asked[x] = gap(x)
        return asked[x]

    ends = {"at": (gap(0.0), gap(1.0))} if known else {}
    low, high = sign_change(counted, 0.0, 1.0, close=close, **ends)
    assert low == 0 or asked[low] > 0
    assert high == 1 or asked[high] <= 0
    assert 0 <= high - low <= max(close * high, math.ulp(high))
    assert len(asked) <= (150 if name in ("step", "flat") else 60)


def test_smooth_gaps_take_few_steps():
    asked = []
    sign_change(lambda x: asked.append(x) or math.log(math.erfc(x)) + 13.8, 2.0, 4.0)
    assert len(asked) < 15


@given(st.integers(0, 10**15), st.integers(1, 10**15))
def test_the_first_whole_number(low, wanted):
    high = low + wanted + 7
    assert first_whole(lambda x: x >= low + wanted, low, high) == low + wanted
    assert first_whole(lambda _: False, low, high) == high


def test_whole_places():
    low, high = sign_change(lambda x: 50.5 - x * x, 0, 100, close=0.0, apart=1.0, whole=True)
    assert (low, high) == (7, 8)


@given(st.floats(1e-3, 1e3))
def test_the_last_place_that_holds(end):
    low, high = last_where(lambda x: x < end, 0.0, 2e3)
    assert low < end <= high <= low * (1 + 1e-15)


def test_steps_outwards_end_where_they_are_told():
    assert first_step(lambda _: False, 1.0, -0.1, 0.0) == 0.0
    assert first_step(lambda _: False, 1.0, 1.0, 50.0) == 50.0
    assert first_step(lambda x: x < 0.5, 1.0, -0.1, 0.0) == pytest.approx(0.3)
    assert enclose(lambda _: 1.0, 1.0, 1e-9, 1e9) == (2.0**29, math.inf)
    assert enclose(lambda x: 5 - x, 1.0, 1e-9, 1e9) == (4.0, 8.0)
    assert enclose(lambda x: 1e-3 - x, 1.0, 1e-9, 1e9, 16.0) == (16.0**-3, 16.0**-2)


@given(st.fractions(Fraction(1, 10**9), Fraction(9, 10)))
def test_the_certified_inverse_and_that_of_doubles_agree(target):
    low, high = bracket(lambda x: arb_of(-x).exp(), target)
    assert Fraction(low) <= high
    assert math.exp(-low) >= float(target) * (1 - 1e-14)
    assert high - low <= 4 * math.ulp(high)
    ends = crossing(lambda e: math.exp(-e), lambda e: math.exp(-e), target)
    assert ends[0] <= high * (1 + 1e-13)
    assert ends[1] >= low * (1 - 1e-13)


def test_a_profile_below_the_target_at_once():
    assert bracket(lambda x: arb_of(-x).exp() / 2, Fraction(3, 5)) == (0.0, 0.0)
    assert crossing(lambda _: 0.1, lambda _: 0.2, Fraction(3, 5)) == (0.0, 0.0)
    assert crossing(lambda _: 0.5, lambda _: 0.5, Fraction(1, 5))[1] == math.inf


def test_steps_too_short_for_doubles_are_lengthened_and_no_number_is_no_place():
    assert first_step(lambda x: x < 1, 1.0, -0.0, 0.0) == 1 - math.ulp(1.0)
    assert first_step(lambda _: False, 5e-324, -0.0, 0.0) == 0.0
    for place, step in ((math.nan, 1.0), (1.0, math.nan)):
        with pytest.raises(ArithmeticError, match="search cannot begin"):
            first_step(lambda _: True, place, step, 2.0)


def test_a_profile_that_is_not_a_number_is_an_error():
    with pytest.raises(ArithmeticError, match="profile is NaN"):
        crossing(lambda _: math.nan, lambda _: math.nan, Fraction(1, 10))


def test_a_precision_that_adds_nothing_is_the_last_one():
    """A formula encloses 1/3 by two numbers that are 1e-9 apart, at every precision; another one needs 800 bits."""
    asked = []

    def enclosed():
        asked.append(flint.ctx.prec)
        return (flint.arb(1) / 3).union(flint.arb(1) / 3 + arb_of(Fraction(1, 10**9)))

    assert enclosed().contains(refined(enclosed))
    assert len(asked) < len(PRECISIONS)
    assert refined(lambda: (1 + flint.arb(2) ** -800) - 1).rel_accuracy_bits() >= 64


@pytest.mark.parametrize("caller", [53, 128, 256, 1024])
def test_a_precision_of_the_caller_is_not_tried_twice(caller):
    """At 256 bits only 34 bits of the difference are correct, so a higher precision must be tried."""
    with precision(caller):
        found = refined(lambda: (1 + flint.arb(2).sqrt() * flint.arb(2) ** -220) - 1)
    assert found.rel_accuracy_bits() >= 64


def test_an_end_between_two_enclosures_is_stepped_out():
    """The profile is known to 1e-9 only. Both ends are decided, and hardly farther apart than that."""
    low, high = bracket(
        lambda x: arb_of(-x).exp().union(arb_of(-x).exp() * (1 + arb_of(Fraction(1, 10**9)))), Fraction(1, 10)
    )
    assert low < math.log(10) < math.log(10) + 1e-9 <= high < low + 1e-8
