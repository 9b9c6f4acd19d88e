"""Convert outputs of any type to a fixed number of numeric columns, from which the audit computes its scores.

The columns depend on one output alone, and their definition is fixed before any sample is drawn, as in
`audits.data.canonical`. An exception counts as an output, represented by the exception's type.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.alike import (
    BYTES,
    FAILURE,
    GROUP,
    HUGE,
    INTEGER,
    MISSING,
    NAME,
    NOTHING,
    NUMBER,
    RECORD,
    SEQUENCE,
    TABLE,
    TEXT,
    Cell,
    Form,
    alike,
    matrices,
    parts_of,
    place_of,
    word,
)
from dpproof.audits.data.canonical import Kind, canonical_text, content_kind, hashes, is_whole, plain
from dpproof.audits.data.exact import BEYOND, EXACT, Wide

COLUMNS = 5
"""The number of columns for one cell of an output: value, kind, and flags for NaN, infinity and missing."""
LARGEST = 1e300


@dataclass(frozen=True)
class Raised:
    """An output that stands for an exception that a call raised; it holds the exception's type.

    The message is left out: it may contain addresses and times, which differ between runs.
    """

    kind: str


def cells(value: object) -> Iterator[Cell]:
    """Generate the cells ``(kind, value)`` of an output.

    There is one cell for each number and each text. The cell of a text is followed by the cells of its numbers and
    words, if there are several. Before the cells of a collection comes a cell with its length.

    >>> list(cells([1.5, None])) == [(SEQUENCE, 2.0), (NUMBER, 1.5), (NOTHING, 0.0)]
    True
    """
    value = plain(value)
    if type(value) is float:
        yield NUMBER, value
    else:
        yield from _CELLS[content_kind(value)](value)


def _text_cells(value: str) -> Iterator[Cell]:
    yield TEXT, float(len(value))
    yield word(value)
    parts = parts_of(value)
    if len(parts) > 1:
        yield from map(word, parts)


def _bytes_cells(value: bytes) -> Iterator[Cell]:
    yield BYTES, float(len(value))
    yield from ((NUMBER, float(byte)) for byte in value)


def _table_cells(value: Mapping[object, object]) -> Iterator[Cell]:
    yield TABLE, float(len(value))
    for name in sorted(value, key=canonical_text):
        yield NAME, place_of(canonical_text(name))
        yield from cells(value[name])


def _record_cells(value: Any) -> Iterator[Cell]:
    if type(value) is Raised:
        yield FAILURE, place_of(value.kind)
        return
    yield RECORD, place_of(type(value).__name__)
    yield from (cell for field in fields(value) for cell in cells(getattr(value, field.name)))


def _named_cells(value: object) -> Iterator[Cell]:
    yield NAME, place_of(canonical_text(value))


_CELLS: Mapping[Kind, Callable[[Any], Iterable[Cell]]] = {
    Kind.NOTHING: lambda value: [(NOTHING, 0.0)],
    Kind.NUMBER: lambda value: [(NUMBER, value if abs(value) > EXACT else float(value))],
    Kind.TEXT: _text_cells,
    Kind.COMPLEX: lambda value: _counted(SEQUENCE, (value.real, value.imag)),
    Kind.BYTES: _bytes_cells,
    Kind.MEMBER: _named_cells,
    Kind.SEQUENCE: lambda value: _counted(SEQUENCE, value),
    Kind.TABLE: _table_cells,
    Kind.GROUP: lambda value: _counted(GROUP, sorted(value, key=canonical_text)),
    Kind.RECORD: _record_cells,
    Kind.OTHER: _named_cells,
}


def _counted(kind: int, values: Collection[object]) -> Iterator[Cell]:
    yield kind, float(len(values))
    for value in values:
        if type(value) is int and -EXACT <= value <= EXACT:  # most of what is nested, without a call
            yield NUMBER, float(value)
        elif type(value) is float:
            yield NUMBER, value
        else:
            yield from cells(value)


def features(outputs: NDArray[np.generic], width: int, wide: Wide | None = None) -> NDArray[np.float64]:
    """Return each output as one row of numbers: its number of cells, then ``width`` cells, cut or padded.

    A cell is a number or a word in the output, or the length of a collection. All rows form an array of shape (n, 1 +
    COLUMNS * width). The first ``width`` columns after the number of cells are values. Then come ``width`` columns with
    the kinds of the cells. Then come three times ``width`` columns of flags for NaN, infinity and missing. If ``wide``
    is given, further columns follow, with the exact parts of integers. Without ``wide``, integers beyond 2^53 are
    encoded as words. Every entry is finite and of absolute value at most 1e300.

    >>> features(np.array([2.0, np.inf]), 1).tolist()
    [[1.0, 2.0, 2.0, 0.0, 0.0, 0.0], [1.0, 0.0, 2.0, 0.0, 1.0, 0.0]]
    """
    parts = np.empty((len(outputs), 0))
    if wide is None and (
        outputs.dtype.kind in "bf" or (outputs.dtype.kind in "iu" and outputs.itemsize <= 4)
    ):
        counts, kinds, values = _numeric_cells(outputs, width)
    else:
        counts, kinds, values, parts = _object_cells(outputs, width, wide)
    unlike = ~np.isfinite(values)
    infinite = np.sign(np.where(np.isinf(values), values, 0.0))
    finite = np.clip(np.where(unlike, 0.0, values), -LARGEST, LARGEST)
    flags = (np.isnan(values), infinite, kinds == MISSING)
    return np.hstack([counts[:, None], finite, kinds, *flags, parts]).astype(np.float64, copy=False)


class _Latest(threading.local):
    """A cache of the last outputs, their cells and tokens, because several scores and checks use the same outputs."""

    outputs: NDArray[Any] | None = None
    form: Form | None = None
    flat: Sequence[list[Cell]] | None = None
    tokens: NDArray[np.uint64] | None = None


_LATEST = _Latest()


def _alike(outputs: NDArray[Any]) -> Form | None:
    return alike(list(outputs)) if outputs.dtype.kind == "O" and outputs.ndim == 1 and len(outputs) else None


def _form_of(outputs: NDArray[np.generic]) -> Form | None:
    """Return the form that all outputs have, or None."""
    if _LATEST.outputs is not outputs:
        _LATEST.outputs, _LATEST.flat, _LATEST.tokens = outputs, None, None
        _LATEST.form = _alike(outputs)
    return _LATEST.form


def _laid_flat(outputs: NDArray[np.generic]) -> Sequence[list[Cell]]:
    """Return the cells of every output."""
    _form_of(outputs)
    if _LATEST.flat is None:
        _LATEST.flat = [list(cells(output)) for output in outputs]
    return _LATEST.flat


Cells = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def _object_cells(
    outputs: NDArray[np.generic], width: int, wide: Wide | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    n, form = len(outputs), _form_of(outputs)
    if form is not None and wide is None:
        return np.full(n, float(form.count)), *matrices(form, n, width), np.empty((n, 0))
    counts, kinds, values = np.zeros(n), np.zeros((n, width)), np.zeros((n, width))
    integers = np.zeros((n, width), object)
    integers[:] = 0 if wide is None else wide.centres
    for row, found in enumerate(_laid_flat(outputs)):
        counts[row] = len(found)
        for column, (kind, value) in enumerate(found[:width]):
            if wide is not None and kind == NUMBER and is_whole(value):
                kinds[row, column], integers[row, column] = INTEGER, int(value)
            else:
                kinds[row, column], values[row, column] = _exact_cell(kind, value)
    if wide is None:
        return counts, kinds, values, np.empty((n, 0))
    columns = wide.columns(integers)
    apart = np.s_[:: wide.columns_each]
    values = np.where(kinds == INTEGER, columns[:, apart], values)
    return counts, kinds, values, np.delete(columns, apart, 1)


def _exact_cell(kind: int, value: float) -> tuple[int, float]:
    """Return a cell as a double. An integer that no double represents exactly is hashed like a word."""
    if isinstance(value, int) and abs(value) > EXACT:
        return HUGE, place_of(str(value) if abs(value) < BEYOND else hex(value))
    return kind, float(value)


def integers_of(outputs: NDArray[np.generic], width: int) -> NDArray[Any]:
    """Return the integers among the first ``width`` cells of each output, as an array of shape (n, width).

    A cell is a number, a word or a length. Cells that are no integers become 0.
    """
    form = _form_of(outputs)
    if form is not None:
        kinds, values = matrices(form, len(outputs), width)
        whole = (kinds == NUMBER) & np.isfinite(values) & (values == np.rint(values))
        if not (np.abs(values[whole]) > EXACT).any():
            return np.where(whole, values, 0).astype(np.int64)
    found = np.zeros((len(outputs), width), object)
    for row, flat in enumerate(_laid_flat(outputs)):
        for column, (kind, value) in enumerate(flat[:width]):
            if kind == NUMBER and is_whole(value):
                found[row, column] = int(value)
    return found


def exact_numbers(outputs: NDArray[np.generic], width: int) -> NDArray[Any]:
    """Return the numbers among the first ``width`` cells of each output, unrounded, in an array ``(n, 1 + width)``.

    They are in the columns in which `features` has the values. Cells that are no numbers, and NaN, become 0.

    >>> exact_numbers(np.array([{"a": 2**60 + 1}, {"a": 0.5}], dtype=object), 4)[:, 3].tolist()
    [1152921504606846977, 0.5]
    """
    found = np.zeros((len(outputs), 1 + width), object)
    for row, flat in enumerate(_laid_flat(outputs)):
        for column, (kind, value) in enumerate(flat[:width], start=1):
            if kind == NUMBER and value == value:
                found[row, column] = value
    return found


def values_between(outputs: NDArray[np.generic], start: int, end: int) -> NDArray[np.float64]:
    """Return some cells (numbers, words, lengths) of each output, from ``start`` to ``end - 1``; missing ones are 0.

    >>> values_between(np.array([[5, 6, 7], 8], dtype=object), 2, 4).tolist()
    [[6.0, 7.0], [0.0, 0.0]]
    """
    form = _form_of(outputs)
    found = np.zeros((len(outputs), end - start))
    if form is not None:
        found = matrices(form, len(outputs), end)[1][:, start:]
        return np.clip(np.where(np.isfinite(found), found, 0.0), -LARGEST, LARGEST)
    for row, flat in enumerate(_laid_flat(outputs)):
        for column, cell in enumerate(flat[start:end]):
            found[row, column] = _exact_cell(*cell)[1]
    return np.clip(np.where(np.isfinite(found), found, 0.0), -LARGEST, LARGEST)


def lengths(outputs: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return the number of cells (numbers, words, lengths of collections) of each output."""
    form = _form_of(outputs)
    if form is not None:
        return np.full(len(outputs), form.count, np.int64)
    return np.array([len(flat) for flat in _laid_flat(outputs)], np.int64)


def nan_rows(outputs: NDArray[Any]) -> int:
    """Return the number of outputs that contain NaN."""
    form = _alike(outputs)
    if form is None:
        return sum(any(number != number for _, number in cells(row)) for row in outputs)
    found = np.zeros(len(outputs), bool)
    for _, values in form.columns():
        found |= np.isnan(values)
    return int(found.sum())


def texts(outputs: NDArray[Any]) -> Sequence[str]:
    """Return the canonical text of each output."""
    form = _form_of(outputs)
    return [canonical_text(value) for value in outputs] if form is None else form.texts()


def _numeric_cells(outputs: NDArray[np.generic], width: int) -> Cells:
    """Return the cells of an array of numbers, for all rows at once."""
    n = len(outputs)
    pattern = list(cells(np.zeros(outputs.shape[1:])))
    kinds = np.zeros(width)
    values = np.zeros((n, width))
    numbers = outputs.reshape(n, -1).astype(np.float64)
    place = 0
    for column, (kind, value) in enumerate(pattern[:width]):
        kinds[column] = kind
        values[:, column] = numbers[:, place] if kind == NUMBER else value
        place += kind == NUMBER
    return np.full(n, float(len(pattern))), np.tile(kinds, (n, 1)), values


def tokens(outputs: NDArray[np.generic]) -> NDArray[np.uint64]:
    """Return the 64-bit hash (token) of each output's canonical text, as an array of shape (n, 1).

    Equal outputs have equal tokens in every run. Different outputs have equal tokens with negligible probability.

    >>> bool(tokens(np.array([1, 2]))[0, 0] == tokens(np.array([[3], 1], dtype=object))[1, 0])
    True
    """
    _form_of(outputs)
    if _LATEST.tokens is None:
        _LATEST.tokens = hashes(texts(outputs))
    return _LATEST.tokens[:, None]
