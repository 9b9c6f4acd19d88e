"""Outputs of every kind: one text and one token each, the same columns however a block is stored."""

from __future__ import annotations

import enum
import math
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.audits.data.alike import alike, parts_of
from dpproof.audits.data.canonical import UnreadableOutputError, canonical_text
from dpproof.audits.data.encoding import (
    COLUMNS,
    Raised,
    cells,
    features,
    integers_of,
    lengths,
    nan_rows,
    texts,
    tokens,
    values_between,
)
from dpproof.audits.data.outputs import as_block, digest, joined, nan_count, of_objects, same
from dpproof.audits.engine.scores.layout import Layout
from tests.rows import rows


class Colour(enum.Enum):
    RED = 1


@dataclass
class Point:
    x: float
    label: str | None


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.binary(max_size=3),
    st.just(Raised("ValueError")), st.just(Colour.RED), st.builds(Point, st.floats(), st.none()),
)  # fmt: skip
OUTPUTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=2), inner, max_size=2),
        st.frozensets(st.integers(), max_size=3),
    ),
    max_leaves=8,
)
NUMBERS = st.one_of(st.floats(), st.integers(-(2**53), 2**53))


@given(st.lists(OUTPUTS, min_size=1, max_size=4))
def test_every_output_has_a_text_a_token_and_finite_columns(outputs):
    block = of_objects(outputs)
    laid_out = features(block, 6)
    assert laid_out.shape == (len(outputs), 1 + COLUMNS * 6)
    assert np.isfinite(laid_out).all()
    assert np.abs(laid_out).max() <= 1e300
    assert tokens(block).dtype == np.uint64
    assert [canonical_text(x) for x in outputs] == [canonical_text(x) for x in outputs]


@given(st.lists(NUMBERS, min_size=1, max_size=5))
def test_numbers_are_encoded_alike_in_an_array_and_alone(values):
    array, alone = as_block(values), of_objects(values)
    np.testing.assert_array_equal(features(array, 2), features(alone, 2))
    np.testing.assert_array_equal(tokens(array), tokens(alone))
    assert same(array, alone)


@given(st.lists(st.lists(st.floats(), min_size=4, max_size=4), min_size=1, max_size=4), st.integers(1, 9))
def test_arrays_are_encoded_alike_in_a_block_and_alone(rows, width):
    block = np.array(rows).reshape(-1, 2, 2)
    alone = of_objects([row.tolist() for row in block])
    np.testing.assert_array_equal(features(block, width), features(alone, width))
    np.testing.assert_array_equal(tokens(block), tokens(alone))


def exact_cells(output):
    return [(kind, Fraction(x) if math.isfinite(x) else repr(x)) for kind, x in cells(output)]


@given(OUTPUTS, OUTPUTS)
def test_equal_texts_have_equal_cells(one, other):
    if canonical_text(one) == canonical_text(other):
        assert exact_cells(one) == exact_cells(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", 1), (None, "none"), ((1, 2), (2, 1)), ([], None), (0.0, -0.0), ("a,b", ["a", "b"]), (b"a", "a"),
        (2**53, 2**53 + 1), ({"a": 1}, {"a": 2}), (math.inf, -math.inf), (0.1, np.nextafter(0.1, 1)),
        (["a", "b"], ['a","b']), (Raised("A"), Raised("B")), (1j, 1), ([[1], 2], [1, [2]]),
    ],
)  # fmt: skip
def test_different_outputs_have_different_tokens(one, other):
    first, second = tokens(of_objects([one, other]))[:, 0]
    assert first != second


def test_what_counts_as_the_same_output():
    for one, other in (
        (1, 1.0),
        (True, 1),
        ((1, 2), np.array([1.0, 2.0])),
        ({3, 1}, {1, 3}),
        (np.float32(0.5), 0.5),
    ):
        assert canonical_text(one) == canonical_text(other)
    assert canonical_text({"b": 1, "a": 2}) == canonical_text({"a": 2, "b": 1})


def test_tokens_are_the_same_in_another_process():
    own = "from dpproof.audits.data.encoding import tokens; import numpy"
    code = f"{own}; print(int(tokens(numpy.array(['abort']))[0, 0]))"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(there) == tokens(np.array(["abort"]))[0, 0]


def test_an_object_without_a_text_is_named():
    with pytest.raises(UnreadableOutputError, match="type object cannot be read"):
        canonical_text([1, object()])


@pytest.mark.parametrize(
    ("returned", "kind", "shape"),
    [
        ([1, 2], "i", (2,)), ([1, 2.5], "f", (2,)), ([True, False], "b", (2,)),
        ([[1, 2], [3, 4]], "i", (2, 2)),
        ([(1.0, 2.0), np.array([1, 2])], "f", (2, 2)), ([1.0, None], "O", (2,)), (["a", "b"], "O", (2,)),
        (np.array(["a", "b"]), "O", (2,)), ([[1], [1, 2]], "O", (2,)), ([1, "a"], "O", (2,)),
        ([2**60 + 1, 0.5], "O", (2,)), ([[], []], "O", (2,)), (np.zeros((2, 0)), "O", (2,)),
        ([None, None], "O", (2,)), ([10**400, 1.0], "O", (2,)), ([1e300, 0.5], "f", (2,)),
    ],
)  # fmt: skip
def test_a_block_is_an_array_of_numbers_where_that_changes_nothing(returned, kind, shape):
    block = as_block(returned)
    assert (block.dtype.kind, block.shape) == (kind, shape)


@pytest.mark.parametrize(
    "returned", [None, 1.0, "ab", np.float64(1), (x for x in (1, 2)), np.ma.masked_array([1, 2])]
)
def test_what_is_no_row_of_outputs_is_refused(returned):
    with pytest.raises(TypeError, match="outputs"):
        as_block(returned)


def test_blocks_of_different_kinds_are_joined_row_by_row():
    whole = joined([np.array([1.0]), as_block(["a", None]), np.array([[1, 2]])])
    assert [canonical_text(row) for row in whole] == ["1", '"a"', "none", "[1,2]"]
    assert digest(whole) == digest(whole.copy()) != digest(whole[::-1])
    assert not same(whole, whole[:2])


def test_nan_is_counted_by_output():
    assert nan_count(np.array([[np.nan, np.nan], [1, 2]])) == 1
    assert nan_count(as_block([{"a": [math.nan]}, "nan", None])) == 1
    assert nan_count(np.array([1, 2])) == 0


def test_a_layout_puts_a_constant_in_the_place_of_what_the_probe_did_not_see():
    layout = Layout.of([np.array([[1.0, 2.0]])])
    settled = layout.settled(as_block([[1, 2], None, [1, 2, 3], "ab"]))
    assert settled.tolist() == [[1, 2], [30, 30], [30, 30], [30, 30]]
    assert layout.width == 2


def test_a_layout_follows_the_longest_output_of_the_probe():
    layout = Layout.of([as_block([[1], [1, 2, 3]]), np.array([1.0])])
    assert (layout.plain, layout.cells, layout.width) == (False, 4, 1 + COLUMNS * 4)
    assert Layout.of([np.array([1.0])], nan=True).plain is False


@dataclass(frozen=True)
class Measured:
    count: int
    share: float


class Site(Measured, enum.Enum):
    FIRST = 1, 2.5


class Corner(tuple, enum.Enum):
    LEFT = (1, 2)


def test_members_that_are_records_or_tuples_too_are_laid_out_by_their_content():
    assert [value for _, value in cells(Site.FIRST)][-2:] == [1.0, 2.5]
    assert [value for _, value in cells(Corner.LEFT)][-2:] == [1.0, 2.0]


ALIKE = [
    [{"b": -0.0, "a": 3, 'q"%s': "12"}, {"a": -4, 'q"%s': "word", "b": math.nan}],
    [{1: [1, True], 10: None, -1: "é"}, {10: None, 1: [2, False], -1: "x"}],
    [
        {"x": {"y": (1.5, np.float64(2))}, "z": np.arange(2)},
        {"x": {"y": (math.inf, np.float64(3))}, "z": np.arange(2)},
    ],
    ["a", "7"],
    [None, None],
    [{"n": np.float32(0.1), "w": 2.0}, {"n": np.float32("nan"), "w": -0.0}],
    [(np.int8(-1), np.bool_(True)), (np.int8(3), np.bool_(False))],
    [{"n": np.int64(2**60)}, {"n": np.int64(1)}],
    [{"n": 2**60}, {"n": 1}],
    [{"n": 1}, {"m": 1}],
    [{"n": 1}, {"n": 1.0}],
    [{"n": "9" * 30}, {"n": "8"}],
    [{0: 1}, {-0.0: 1}],
]


def test_nan_is_counted_beside_integers_beyond_all_doubles():
    assert nan_rows(of_objects([{"a": -math.inf, "b": 10**400}, {"a": math.nan, "b": 10**400}])) == 1


@pytest.mark.parametrize("values", ALIKE, ids=repr)
def test_outputs_of_one_form_are_converted_by_columns_to_the_same_cells_and_texts(values):
    block = of_objects(values)
    form = alike(values)
    assert list(texts(block)) == [canonical_text(value) for value in values]
    assert nan_rows(block) == sum(any(math.isnan(x) for _, x in cells(value)) for value in values)
    assert lengths(block).tolist() == [len(list(cells(value))) for value in values]
    for width in (1, 3, 9):
        mixed = of_objects([*values, object])[:-1] if form is None else of_objects([*values, {"other": b"1"}])
        assert features(block, width).tobytes() == features(mixed, width)[: len(values)].tobytes()
        assert np.array_equal(integers_of(block, width), integers_of(mixed, width)[: len(values)])
        assert np.array_equal(
            values_between(block, 1, 1 + width), values_between(mixed, 1, 1 + width)[: len(values)]
        )


@rows(
    ("text", "parts"),
    [
        ("", ()),
        (" ,;()[]", ()),
        ("bee:3, ant -1.5", ("bee", "3", "ant", "-1.5")),
        ("a1b2", ("a", "1", "b", "2")),
        ("1-2+3", ("1", "-2", "+3")),
        ("1.5e-3 2E7 1e 3.", ("1.5e-3", "2E7", "1", "e", "3")),
        ("snake_case", ("snake_case",)),
        ("Zürich, \u4e16\u754c", ("Zürich", "\u4e16\u754c")),
    ],
)
def test_the_parts_of_a_text_are_its_numbers_and_words_in_their_order(text, parts):
    assert parts_of(text) == parts


@given(
    st.lists(st.one_of(st.integers().map(str), st.text("ab_", min_size=1)), max_size=6),
    st.sampled_from(" ,;:/"),
)
def test_parts_that_are_joined_by_a_mark_come_out_again(parts, mark):
    assert parts_of(mark.join(parts)) == tuple(parts)
