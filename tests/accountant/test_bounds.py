"""Bound and Truth, against the order of the real numbers."""

import json
import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.accountant.numbers.bounds import Bound, Truth, UndecidedError, exactly

NUMBERS = st.floats(allow_nan=False)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_a_decided_comparison_holds_for_all_enclosed_numbers(a, b, c, d):
    one, other = Bound(min(a, b), max(a, b)), Bound(min(c, d), max(c, d))
    points = [(x, y) for x in (one.lower, one.upper) for y in (other.lower, other.upper)]
    below = one.at_most(other)
    above = one.at_least(other)
    assert (below is Truth.PROVED) == all(x <= y for x, y in points)
    assert (below is Truth.REFUTED) == all(x > y for x, y in points)
    assert (above is Truth.PROVED) == all(x >= y for x, y in points)
    assert (above is Truth.REFUTED) == all(x < y for x, y in points)


def test_undecided_is_no_answer():
    with pytest.raises(UndecidedError, match="leave this undecided"):
        bool(Bound(1.0, 2.0).at_most(1.5))


def test_ties_are_decided():
    assert Bound(1.0, 2.0).at_most(2.0)
    assert Bound(1.0, 2.0).at_least(1.0)
    assert exactly(math.inf).at_most(math.inf)


@pytest.mark.parametrize("ends", [(math.nan, 1.0), (0.0, math.nan), (math.nan, math.nan)])
def test_nan_is_refused(ends):
    with pytest.raises(ValueError, match="NaN"):
        Bound(*ends)


def test_ends_in_the_wrong_order_are_refused():
    with pytest.raises(ValueError, match=r"lower \(2\.0\) must be at most upper \(1\.0\)"):
        Bound(2.0, 1.0)


@pytest.mark.parametrize("ask", [Bound.at_most, Bound.at_least, Bound.contains])
def test_comparison_with_nan_is_refused(ask):
    with pytest.raises(ValueError, match="NaN"):
        ask(Bound(0.0, 1.0), math.nan)


@pytest.mark.parametrize(
    ("bound", "relative"),
    [
        (Bound(1.0, 2.0), 0.5),
        (Bound(0.0, 0.0), 0.0),
        (Bound(math.inf, math.inf), 0.0),
        (Bound(-1.0, 0.0), math.inf),
        (Bound(0.0, math.inf), math.inf),
    ],
)
def test_relative_width_is_a_number_everywhere(bound, relative):
    assert bound.relative_width == relative


def test_json_spells_infinity():
    text = json.dumps(Bound(-math.inf, math.inf, "mechanism", "a pair").as_json(), allow_nan=False)
    assert json.loads(text) == {"lower": "-inf", "upper": "inf", "of": "mechanism", "attained_by": "a pair"}


@pytest.mark.parametrize("compute", [lambda x: x + x, lambda x: 1 - x, round, lambda x: 2 * x, lambda x: -x])
def test_a_bound_is_not_a_number_to_compute_with(compute):
    with pytest.raises(TypeError, match=r"Use float\(bound\)"):
        compute(Bound(0.0, 1.0))


@given(st.floats(-5, 5), st.floats(0, 2), st.floats(-5, 5))
def test_comparisons_hold_for_every_number_in_the_bound(low, width, limit):
    bound = Bound(low, low + width)
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        answers = {compare(end, limit) for end in (bound.lower, bound.upper)}
        truth = compare(bound, limit)
        assert (answers == {True}) == (truth is Truth.PROVED)
        assert (answers == {False}) == (truth is Truth.REFUTED)
    assert bound._repr_html_()


@given(st.floats(-1e6, 1e6), st.sampled_from([".3f", ".2e", ".4g", "12.1f", ".1%"]))
def test_a_formatted_bound_stays_on_the_safe_side(value, spec):
    for safe in ("upper", "lower"):
        text = format(Bound(value, value, safe=safe), spec).strip()
        shown = Fraction(text.rstrip("%")) / (100 if text.endswith("%") else 1)
        assert shown >= Fraction(value) if safe == "upper" else shown <= Fraction(value)


@pytest.mark.parametrize("limit", [np.float16(1), np.float32(1), np.float64(1)])
def test_a_number_of_numpy_does_not_round_the_bound(limit):
    above = Bound(1 + 1e-4, 1 + 2e-4)
    assert above.at_most(limit) is Truth.REFUTED
    assert (above > limit) is Truth.PROVED
    assert Bound(2.0**53, 2.0**53).at_most(np.int64(2**53 + 1)) is Truth.PROVED
