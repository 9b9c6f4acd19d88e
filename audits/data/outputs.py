"""Blocks: arrays with many outputs of a mechanism, as numbers if possible, otherwise with one object per output."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.canonical import Kind, is_whole, kind_of, plain
from dpproof.audits.data.encoding import nan_rows, texts
from dpproof.audits.data.exact import EXACT, doubles, united

Block = NDArray[Any]


def is_numeric(block: Block) -> bool:
    """Return whether the block is an array of numbers, not of objects."""
    return block.dtype.kind in "biuf"


def of_objects(values: Sequence[object]) -> Block:
    """Return a block with one object per output. ``numpy.array`` would unpack outputs that are sequences."""
    return np.fromiter(values, object, len(values))


def as_block(returned: object) -> Block:
    """Return the result of a mechanism as a block: an array with one output per row.

    Raises:
        TypeError: the result is no array and no sequence, or it is a masked array, which hides outputs.

    >>> as_block([1.0, 2.0]).dtype.kind, as_block([1.0, None]).dtype.kind, as_block([[1], [2, 3]]).shape
    ('f', 'O', (2,))
    """
    if np.ma.isMaskedArray(returned):
        raise TypeError("the outputs are a masked array. Return an array without masked values.")
    if isinstance(returned, list | tuple):
        return _stacked(returned)
    if not hasattr(returned, "__array__"):
        raise TypeError(f"the outputs ({returned!r:.80}) must be an array or a list with one output per row")
    array = np.asarray(returned, object if _mixed_columns(returned) else None)
    if array.ndim == 0:
        raise TypeError(f"the outputs ({returned!r:.80}) must be an array or a list with one output per row")
    return _in_doubles(array) if is_numeric(array) and array.size else _stacked(list(array))


def _mixed_columns(table: object) -> bool:
    """Whether a table has columns of several types. One array of numbers might round such columns."""
    return len(set(map(str, getattr(table, "dtypes", ())))) > 1 if hasattr(table, "columns") else False


def _in_doubles(array: Block) -> Block:
    """Return an array of numbers; a number longer than a double becomes several doubles."""
    return doubles(array) if array.dtype.kind == "f" and array.itemsize > 8 else array


def _stacked(values: Sequence[object]) -> Block:
    """Return the values as one array of numbers if that changes none of them, otherwise as objects."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError):  # ragged
        return of_objects(values)
    if not is_numeric(array) or not array.size:
        return of_objects(values)
    if array.dtype.kind == "f" and (np.abs(array) >= EXACT).any() and not all(map(_is_float, values)):
        return of_objects(values)
    return _in_doubles(array)


def _is_float(value: object) -> bool:
    """Whether the value is a floating-point number, or an array of floating-point numbers."""
    return isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") == "f"


def joined(blocks: Sequence[Block]) -> Block:
    """Return one block with the outputs of all blocks, as numbers if no number changes, otherwise as objects."""
    if all(map(is_numeric, blocks)) and len({block.shape[1:] for block in blocks}) == 1:
        together = united(blocks)
        if together is not None:
            return together
    return of_objects([row for block in blocks for row in block])


def same(first: Block, second: Block) -> bool:
    """Return whether two blocks hold the same outputs in the same order; NaN is the same as NaN."""
    if is_numeric(first) and is_numeric(second) and first.dtype.kind == second.dtype.kind:
        return bool(np.array_equal(first, second, equal_nan=first.dtype.kind == "f"))
    return len(first) == len(second) and texts(first) == texts(second)


def digest(block: Block) -> str:
    """Return a hash of a block, as sixteen hexadecimal digits."""
    if is_numeric(block):
        kind = f"{block.dtype.str}{block.shape}".encode()
        return hashlib.blake2b(kind + np.ascontiguousarray(block).tobytes(), digest_size=8).hexdigest()
    return hashlib.blake2b(
        "\n".join(texts(block)).encode("utf-8", "surrogatepass"), digest_size=8
    ).hexdigest()


def has_nan(numbers: NDArray[np.generic]) -> bool:
    """Return whether an array of numbers holds NaN.

    >>> has_nan(np.array([1.0, np.nan, -np.inf])), has_nan(np.array([[1.0]]))
    (True, False)
    """
    return (
        numbers.dtype.kind == "f"
        and numbers.size > 0
        and bool(np.isnan(np.minimum.reduce(numbers, axis=None)))
    )


def nan_count(block: Block) -> int:
    """Return the number of outputs in the block that are NaN or contain a NaN."""
    if is_numeric(block):
        return (
            int(np.isnan(block).reshape(len(block), -1).any(axis=1).sum()) if block.dtype.kind == "f" else 0
        )
    return nan_rows(block)


def whole_numbers(numbers: Block) -> NDArray[np.bool_]:
    """Return True for each number that is whole."""
    if numbers.dtype.kind in "biu":
        return np.ones(numbers.shape, bool)
    if numbers.dtype.kind == "f":
        return np.asarray(numbers == np.rint(numbers)) & np.isfinite(numbers)
    return np.array([is_whole(x) for x in numbers.ravel()], bool).reshape(numbers.shape)


def finite(numbers: Block) -> NDArray[np.bool_]:
    """Return True for each number that is finite."""
    return np.abs(numbers) < math.inf if numbers.dtype.kind == "O" else np.isfinite(numbers)


def as_numbers(block: Block) -> Block:
    """Return a block of objects as Python numbers if all of them are single numbers and not NaN.

    Any other block is returned unchanged.
    """
    values = [plain(value) for value in block] if block.dtype == object and block.ndim == 1 else []
    if not values or not all(kind_of(x) is Kind.NUMBER and x == x for x in values):
        return block
    return of_objects([int(x) if isinstance(x, int) else x for x in values])


def is_plain(block: Block) -> bool:
    """Return whether the outputs are single numbers, or arrays of finite numbers, which scores can add up."""
    if block.dtype.kind == "O":
        return block.ndim == 1 and all(isinstance(value, int | float) for value in block)
    return is_numeric(block) and (block.size == len(block) or bool(np.isfinite(block).all()))


def array_of(value: object) -> Block | None:
    """Return one output as an array of numbers; None if it is none."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        return None
    return array if is_numeric(array) or isinstance(value, int) else None
