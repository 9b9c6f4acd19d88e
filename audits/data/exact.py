"""Numbers without rounding: conversions to a common type or to columns of doubles, and the next larger number.

A double represents all integers up to 2^53 only. A larger integer is converted to several doubles: its distance from
a central value, which may be rounded, and its 32-bit parts, which are exact. So different integers stay different.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]
EXACT = 2**53
"""All integers up to this one are exact as float64."""
PART = 32
"""The number of bits of one part of an integer."""
BEYOND = 10**400
"""A number larger than every double."""
LARGEST = 1e300


def wider(numbers: Numbers, limit: int = EXACT) -> NDArray[np.bool_]:
    """Return an array that is True for each integer whose absolute value exceeds ``limit``.

    >>> wider(np.array([2**53, -(2**63)])).tolist()
    [False, True]
    """
    return np.asarray((numbers > limit) | (numbers < -limit), bool)


def exactly(numbers: Numbers, dtype: np.dtype[np.generic]) -> Numbers | None:
    """Return numbers in another type; None if the conversion would change one of them.

    >>> exactly(np.array([2**53 + 1]), np.dtype(float)) is None, exactly(np.array([7]), np.dtype(float))
    (True, array([7.]))
    """
    if numbers.dtype == dtype:
        return numbers
    if dtype.kind == "O" or (numbers.dtype.kind == dtype.kind and numbers.itemsize <= dtype.itemsize):
        return numbers.astype(dtype)
    if dtype.kind == "f" and numbers.dtype.kind in "biu":
        return None if numbers.itemsize > 4 and wider(numbers).any() else numbers.astype(dtype)
    try:
        with np.errstate(invalid="ignore"):
            cast = numbers.astype(dtype)
            back = cast.astype(numbers.dtype) == numbers
    except OverflowError:  # an integer of Python
        return None
    small = numbers.dtype.kind != "f" or not wider(numbers).any()
    return cast if small and bool((back & ((cast < 0) == (numbers < 0))).all()) else None


def united(parts: Sequence[Numbers]) -> Numbers | None:
    """Return the arrays as one array whose type changes no number; None if numpy has no such type.

    >>> united([np.array([1]), np.array([0.5])]), united([np.array([2**60]), np.array([0.5])])
    (array([1. , 0.5]), None)
    """
    kept = [part for part in parts if part.size] or list(parts[:1])
    dtype = np.result_type(*kept)
    cast = [exactly(part, dtype) for part in kept]
    return None if any(part is None for part in cast) else np.concatenate([c for c in cast if c is not None])


def together(parts: Sequence[Numbers]) -> Numbers:
    """Return the arrays as one array without rounding; its dtype is object if no numpy type fits all numbers.

    >>> together([np.array([2**60]), np.array([0.5])])
    array([1152921504606846976, 0.5], dtype=object)
    """
    found = united(parts)
    return np.concatenate([part.astype(object) for part in parts]) if found is None else found


def doubles(numbers: Numbers) -> Numbers:
    """Return each ``longdouble`` number as several doubles that add up to it, along a new last axis.

    >>> doubles(np.array([1], np.longdouble)).tolist()
    [[1.0, 0.0, 0.0]]
    """
    parts, rest = [], numbers
    for _ in range(3):
        with np.errstate(invalid="ignore"):
            parts.append(rest.astype(np.float64))
            rest = np.where(np.isfinite(parts[-1]), rest - parts[-1], 0)
    return np.stack(parts, axis=-1)


def above(numbers: Numbers) -> Numbers:
    """Return a number just above each number, of the same type; the largest integer of a type stays the same.

    >>> above(np.array([3, 2**63 - 1])).tolist(), above(np.array([2**70, 0.5], dtype=object)).tolist()
    ([4, 9223372036854775807], [1180591620717411303425, 0.5000000000000001])
    """
    if numbers.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.asarray(np.nextafter(numbers, np.inf))
    if numbers.dtype.kind in "iu":
        return np.asarray(numbers + (numbers < np.iinfo(numbers.dtype).max))
    return _each(_above, numbers)


def below(numbers: Numbers) -> Numbers:
    """Return a number just below each number, of the same type; the smallest integer of a type stays the same."""
    if numbers.dtype.kind == "u":
        return np.asarray(numbers - (numbers > 0))
    if numbers.dtype.kind == "i":
        return np.asarray(numbers - (numbers > np.iinfo(numbers.dtype).min))
    return _each(lambda number: -_above(-number), numbers) if numbers.dtype.kind == "O" else -above(-numbers)


def _each(function: Callable[[float], float], numbers: Numbers) -> Numbers:
    """Apply a function to each entry of an array of objects."""
    found = np.empty(numbers.shape, object)
    found.ravel()[:] = [function(number) for number in numbers.ravel().tolist()]
    return found


def _above(number: float) -> float:
    if number == math.inf:
        return number
    if number < -BEYOND:
        return -BEYOND
    if abs(number) >= EXACT:
        return math.floor(number) + 1
    near = float(number)
    return near if near > number else math.nextafter(near, math.inf)


@dataclass(frozen=True)
class Wide:
    """A rule that converts large integers to columns of doubles without loss.

    The rule is chosen from the first outputs.

    Attributes:
        centres: for each number of an output, the integer from which its distance is taken.
        parts: the number of parts into which an integer is split. All parts have 32 bits except the last one, which
            holds all remaining bits.

    >>> wide = Wide.of(np.array([[2**60], [2**60 + 1], [2**60 + 5]]))
    >>> wide.columns(np.array([[2**60 + 3]])).tolist()
    [[2.0, 2.0, 0.0]]
    """

    centres: tuple[int, ...]
    parts: int

    @classmethod
    def of(cls, rows: Numbers) -> Wide | None:
        """Return the rule for first outputs ``(n, numbers)``; None if no integer in them exceeds 2^52."""
        if not wider(rows, EXACT // 2).any():
            return None
        middle = np.sort(rows, axis=0)[len(rows) // 2]
        bits = max(int(number).bit_length() for number in rows.ravel())
        return cls(tuple(int(number) for number in middle), max(2, -(-(bits + 1) // PART)))

    @property
    def columns_each(self) -> int:
        """The number of columns to which one integer is converted."""
        return 1 + self.parts

    def columns(self, rows: Numbers) -> NDArray[np.float64]:
        """Return integers as columns of doubles, without loss.

        The integers have the shape (n, numbers), and the result has the shape (n, numbers * columns_each).
        """
        found = [self.of_number(rows[:, place], centre) for place, centre in enumerate(self.centres)]
        return np.hstack(found) if found else np.empty((len(rows), 0))

    def of_number(self, numbers: Numbers, centre: int) -> NDArray[np.float64]:
        """Return columns for one number of each output: its distance from ``centre``, then differences of parts.

        The centre is split into parts in the same way as the number. All parts but the last have 32 bits, and their
        differences are taken modulo 2^32.
        """
        if numbers.dtype.kind != "O":
            numbers = numbers.astype(np.int64) if numbers.dtype.kind != "u" else numbers
        mask = numbers.dtype.type(2**PART - 1) if numbers.dtype.kind != "O" else 2**PART - 1
        shift = numbers.dtype.type(PART) if numbers.dtype.kind != "O" else PART
        parts, rest, offset = [], numbers, centre
        for _ in range(self.parts - 1):
            parts.append((rest & mask).astype(np.float64) - (offset & (2**PART - 1)))
            rest, offset = rest >> shift, offset >> PART
        distance = last = _far(rest, offset)
        for part in reversed(parts):  # exact close to the centre: what is added cancels
            distance = np.clip(distance * 2.0**PART + part, -LARGEST, LARGEST)
        half = 2 ** (PART - 1)
        return np.column_stack([distance, *((part + half) % 2**PART - half for part in parts), last])


def _far(rest: Numbers, offset: int) -> NDArray[np.float64]:
    """Return exact differences. A Python integer's difference beyond 2^53 becomes plus or minus `LARGEST`."""
    if rest.dtype.kind != "O":
        return np.asarray(rest.astype(np.float64) - offset)
    apart = [number - offset for number in rest]
    return np.array([x if abs(x) <= EXACT else math.copysign(LARGEST, x) for x in apart], np.float64)


def wide_columns(outputs: Numbers, wide: Wide) -> NDArray[np.float64]:
    """Return outputs that are integers as exact columns of doubles."""
    return wide.columns(outputs.reshape(len(outputs), -1))


def low_bytes(numbers: Numbers, count: int) -> NDArray[np.int64]:
    """Return the lowest three bits and the lowest ``count`` bytes of each number.

    The result has the shape (n, numbers * (1 + count)). A double is treated as 0 if it is not whole, or if its absolute
    value is 2^62 or more.

    >>> low_bytes(np.array([[258]]), 2).tolist()
    [[2, 2, 1]]
    """
    flat = numbers.reshape(len(numbers), -1)
    if flat.dtype.kind == "f":
        flat = np.where((flat == np.rint(flat)) & (np.abs(flat) < 2.0**62), flat, 0).astype(np.int64)
    if flat.dtype.kind == "O":
        flat = np.array([[math.floor(x) & (2**64 - 1) for x in row] for row in flat], np.uint64)
    words = flat.astype(np.uint64 if flat.dtype.kind == "u" else np.int64).view(np.uint64)
    shifts = [(np.uint64(0), 7), *((np.uint64(8 * place), 255) for place in range(count))]
    return np.hstack([((words >> shift) & np.uint64(mask)).astype(np.int64) for shift, mask in shifts])
