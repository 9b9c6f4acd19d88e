"""Any output as a fixed number of columns for the scores.

A function of one output alone, fixed before any sample is bet on, like `audits.canonical`. An exception is an
output by its type.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.canonical import canonical_text, hashed

__all__ = ["Raised", "cells", "features"]

Cell = tuple[int, float]
MISSING, NOTHING, NUMBER, TEXT, SEQUENCE, TABLE, GROUP, FAILURE, RECORD, NAME = range(10)
"""What a cell holds: a number, or the length of what follows, or a word's place in [0, 1)."""
COLUMNS = 5
"""Columns of a cell: value, kind, and flags for NaN, infinity (with its sign) and missing."""
LARGEST = 1e300


@dataclass(frozen=True)
class Raised:
    """The output of a call that raised: the exception's type.

    Its message is left out, since messages hold addresses and times, which nobody could replay.
    """

    kind: str


def cells(value: Any) -> Iterator[Cell]:
    """The output laid flat: a cell for each number and word, and one with its length before what is nested.

    >>> list(cells([1.5, None])) == [(SEQUENCE, 2.0), (NUMBER, 1.5), (NOTHING, 0.0)]
    True
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None:
        yield NOTHING, 0.0
    elif isinstance(value, bool | int | float) and not isinstance(value, enum.Enum):
        yield NUMBER, _real(value)
    elif isinstance(value, str) and not isinstance(value, enum.Enum):
        yield TEXT, float(len(value))
        yield _word(value)
    else:
        yield from _compound_cells(value)


def _compound_cells(value: Any) -> Iterator[Cell]:
    if isinstance(value, list | tuple):
        yield from _counted(SEQUENCE, value)
    elif isinstance(value, complex):
        yield from _counted(SEQUENCE, (value.real, value.imag))
    elif isinstance(value, Mapping):
        yield TABLE, float(len(value))
        for name in sorted(value, key=canonical_text):
            yield NAME, _place(canonical_text(name))
            yield from cells(value[name])
    elif isinstance(value, Set):
        yield from _counted(GROUP, sorted(value, key=canonical_text))
    elif isinstance(value, Raised):
        yield FAILURE, _place(value.kind)
    elif is_dataclass(value) and not isinstance(value, type):
        yield RECORD, _place(type(value).__name__)
        yield from (cell for field in fields(value) for cell in cells(getattr(value, field.name)))
    else:
        yield NAME, _place(canonical_text(value))


def _counted(kind: int, values: Any) -> Iterator[Cell]:
    yield kind, float(len(values))
    yield from (cell for value in values for cell in cells(value))


def _real(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _word(text: str) -> Cell:
    """A finite number that is written out counts as a number."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    return (NUMBER, number) if math.isfinite(number) else (NAME, _place(text))


def _place(text: str) -> float:
    return (hashed(text) >> 11) / 2**53


def features(outputs: NDArray[Any], width: int) -> NDArray[np.float64]:
    """The number of cells of each output, then ``width`` cells, cut or padded: ``(n, 1 + COLUMNS * width)``.

    The first ``width`` columns after the number of cells are values, then come the kinds and the flags.
    Every entry is finite and of size at most 1e300.

    >>> features(np.array([2.0, np.inf]), 1).tolist()
    [[1.0, 2.0, 2.0, 0.0, 0.0, 0.0], [1.0, 0.0, 2.0, 0.0, 1.0, 0.0]]
    """
    if outputs.dtype.kind in "biuf":
        counts, kinds, values = _numeric_cells(outputs, width)
    else:
        counts, kinds, values = _object_cells(outputs, width)
    unlike = ~np.isfinite(values)
    infinite = np.sign(np.where(np.isinf(values), values, 0.0))
    plain = np.clip(np.where(unlike, 0.0, values), -LARGEST, LARGEST)
    flags = (np.isnan(values), infinite, kinds == MISSING)
    return np.hstack([counts[:, None], plain, kinds, *flags]).astype(np.float64)


Cells = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def _object_cells(outputs: NDArray[Any], width: int) -> Cells:
    counts, kinds, values = (
        np.zeros(len(outputs)),
        np.zeros((len(outputs), width)),
        np.zeros((len(outputs), width)),
    )
    for row, output in enumerate(outputs):
        found = list(cells(output))
        counts[row] = len(found)
        for column, (kind, value) in enumerate(found[:width]):
            kinds[row, column], values[row, column] = kind, value
    return counts, kinds, values


def _numeric_cells(outputs: NDArray[Any], width: int) -> Cells:
    """The same for an array of numbers, all rows at once: they differ in their numbers only."""
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
