"""Any output as canonical text, as a 64-bit token, and as a fixed number of columns for the scores.

All three are functions of one output alone, fixed before any sample is bet on: post-processing, which keeps
every privacy guarantee (docs/notes/audit_pairs.md). What they do not tell apart costs power, never soundness:
numbers are compared as numbers (1 is 1.0 is True), lists as arrays as tuples, and an exception by its type.
"""

from __future__ import annotations

import enum
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Raised", "UnreadableOutputError", "canonical_text", "cells", "features", "tokens"]

Cell = tuple[int, float]
MISSING, NOTHING, NUMBER, TEXT, SEQUENCE, TABLE, GROUP, FAILURE, RECORD, NAME = range(10)
"""What a cell holds: a number, or the length of what follows, or a word's place in [0, 1)."""
COLUMNS = 5
"""Columns of a cell: value, kind, and flags for NaN, infinity (with its sign) and missing."""
LARGEST = 1e300


class UnreadableOutputError(ValueError):
    """Raised for an output of a type that has no canonical text."""


@dataclass(frozen=True)
class Raised:
    """The output of a call that raised: the exception's type.

    Its message is left out, since messages hold addresses and times, which nobody could replay.
    """

    kind: str


def canonical_text(value: Any) -> str:
    """The same text for the same output, in every process and on every machine.

    Raises:
        UnreadableOutputError: for an object that is no number, text, bytes, None, enumeration member,
            dataclass, array, nor a sequence, mapping or set of these.

    >>> canonical_text((True, None, "a", [0.5, -0.0]))
    '[1,none,"a",[0x1.0000000000000p-1,-0]]'
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None:
        return "none"
    if isinstance(value, bool | int | float) and not isinstance(value, enum.Enum):
        return _number_text(value)
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return json.dumps(value)
    return _compound_text(value)


def _number_text(value: float) -> str:
    """A whole number by its value, whatever its type, any other by its bits; all NaN alike."""
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    if isinstance(value, int) or value.is_integer():
        return str(int(value)) if abs(value) < 2**53 else hex(int(value))
    return value.hex()


def _compound_text(value: Any) -> str:
    if isinstance(value, complex):
        return f"complex({_number_text(value.real)},{_number_text(value.imag)})"
    if isinstance(value, bytes | bytearray):
        return f"bytes({bytes(value).hex()})"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical_text, value)) + "]"
    if isinstance(value, Mapping):
        return (
            "{" + ",".join(sorted(f"{canonical_text(k)}:{canonical_text(x)}" for k, x in value.items())) + "}"
        )
    if isinstance(value, Set):
        return "<" + ",".join(sorted(map(canonical_text, value))) + ">"
    if is_dataclass(value) and not isinstance(value, type):
        inside = (f"{f.name}:{canonical_text(getattr(value, f.name))}" for f in fields(value))
        return f"{type(value).__name__}({','.join(inside)})"
    if hasattr(value, "__array__"):
        return canonical_text(np.asarray(value))
    raise UnreadableOutputError(f"an output of type {type(value).__name__} has no canonical text")


def tokens(outputs: NDArray[Any]) -> NDArray[np.float64]:
    """A whole number below 2^53 for each output, ``(n, 1)``, from the 64-bit hash of its canonical text.

    Equal outputs have equal tokens in every run; others hardly ever.

    >>> bool(tokens(np.array([1, 2]))[0, 0] == tokens(np.array([[3], 1], dtype=object))[1, 0])
    True
    """
    return np.array([[hashed(canonical_text(value)) >> 11] for value in outputs], np.float64).reshape(-1, 1)


def hashed(text: str) -> int:
    """A hash of 64 bits that does not depend on the process."""
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )


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
