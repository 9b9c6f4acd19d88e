"""Convert the records of a list, tuple, array, data frame, set or dictionary to keys that can be compared.

The keys are texts from `dpproof.audits.data.canonical`. So 1, 1.0 and True have the same key; a list, an array and a
tuple of the same values have the same key; and NaN has the same key as NaN.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpproof.audits.data.canonical import UnreadableOutputError, canonical_text


class UncomparableError(TypeError):
    """Raised for inputs whose records cannot be compared."""


@dataclass(frozen=True)
class Records:
    """The records of one input, each represented by a key; equal records have the same key.

    Attributes:
        unit: the word for one record, such as "row".
        keys: the key of each record, in the order of the records.
        ordered: whether the order of the records matters, as in a list but not in a set.
        header: other properties that neighbours must share, such as the names of columns.
    """

    unit: str
    keys: Sequence[Hashable]
    ordered: bool = True
    header: Hashable = None


def is_collection(value: object) -> bool:
    """Return whether a value has records; a number, a text and an object of an unknown class have none."""
    return frame_rows(value) is not None or _reader(value) is not None


def records_of(value: object) -> Records:
    """Return the records of an input.

    Raises:
        UncomparableError: the input is of a kind that has no records, or its records cannot be compared.

    >>> records_of([3.0, 4.0]).keys
    ['3', '4']
    """
    rows = frame_rows(value)
    if rows is not None:
        header, found = rows
        return Records("row", [_key(row) for row in found], header=header)
    reader = _reader(value)
    if reader is None:
        raise UncomparableError(f"dpproof cannot find records in an input of type {type(value).__name__}")
    return reader(value)


def _reader(value: object) -> Callable[[Any], Records] | None:
    """Return the function that reads a value's records; None for a number, a text or an unknown class."""
    match value:
        case str() | bytes() | bytearray() | memoryview():
            return None
        case Counter():
            return lambda held: Records("counted element", [*map(_key, held.elements())], ordered=False)
        case Mapping():
            return lambda held: Records("item", [*map(_key, held.items())], ordered=False)
        case Set():
            return lambda held: Records("element", [*map(_key, held)], ordered=False)
        case Sequence():
            return lambda held: Records("element", [*map(_key, held)])
    return _of_array if hasattr(value, "__array__") and np.ndim(value) > 0 else None


def _of_array(value: object) -> Records:
    array = value if np.ma.isMaskedArray(value) else np.asarray(value)
    unit = "element" if array.ndim == 1 else "row"
    header = (array.shape[1:], array.dtype.names) if array.dtype.names else array.shape[1:]
    return Records(unit, _array_keys(array), header=header if len(array) else None)


def _array_keys(array: Any) -> list[Hashable]:
    """Return the keys of an array's rows. The keys of numeric rows are cached, because rows may repeat."""
    if array.dtype.kind not in "biuf" or np.ma.isMaskedArray(array):
        return [_key(row) for row in array.tolist()]
    kind, shape = array.dtype.str, array.shape[1:]
    return [_row_key(row.tobytes(), kind, shape) for row in array]


@lru_cache(1 << 17)
def _row_key(row: bytes, kind: str, shape: tuple[int, ...]) -> Hashable:
    return _key(np.frombuffer(row, kind).reshape(shape).tolist())


def frame_rows(value: Any) -> tuple[Hashable, Iterable[Any]] | None:
    """Return the column names and rows of a pandas, polars or pyarrow frame, recognised by its methods."""
    if hasattr(value, "itertuples") and hasattr(value, "columns"):
        named = value.index.name is not None or getattr(value.index, "nlevels", 1) > 1
        return tuple(map(str, value.columns)), value.itertuples(index=named, name=None)
    if hasattr(value, "iter_rows") and hasattr(value, "columns"):
        return tuple(map(str, value.columns)), value.iter_rows()
    if hasattr(value, "to_pylist") and hasattr(value, "column_names"):
        return tuple(value.column_names), (tuple(row.values()) for row in value.to_pylist())
    return None


def _key(record: object) -> Hashable:
    """Return a record's canonical text; if it has none, the record itself, if it defines equality.

    Raises:
        UncomparableError: the record has no canonical text and does not define equality.
    """
    try:
        return canonical_text(record)
    except UnreadableOutputError:
        pass
    if isinstance(record, list | tuple):
        return tuple(map(_key, record))
    own_equality = getattr(type(record), "__eq__", None) != getattr(object, "__eq__", None)
    if own_equality and isinstance(record, Hashable):
        return type(record), record
    raise UncomparableError(f"records of type {type(record).__name__} cannot be compared")
