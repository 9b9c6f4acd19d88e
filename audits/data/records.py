"""Records of a data set, so that two data sets can be compared under a neighbouring relation.

A record is an element of a list, a tuple or an array (of an array of two or more dimensions a row), a row of
a data frame, an element of a set, or a key of a dictionary with its value. Records are compared by
`dpproof.audits.data.canonical`: 1 is 1.0 is True, a list is an array is a tuple, NaN is NaN.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpproof.audits.data.canonical import UnreadableOutputError, canonical_text

__all__ = ["Records", "UncomparableError", "is_collection", "records_of"]


class UncomparableError(TypeError):
    """Raised for inputs whose records cannot be told apart."""


@dataclass(frozen=True)
class Records:
    """The records of one input, each as a key that equal records share.

    Attributes:
        unit: what one record is, in words.
        keys: one for each record, in their order.
        ordered: whether the order belongs to the data set.
        header: what must be equal beside the records, such as the names of columns.
    """

    unit: str
    keys: Sequence[Hashable]
    ordered: bool = True
    header: Hashable = None


def is_collection(value: Any) -> bool:
    """Whether a value is one whose records are known; no number, text or object of an unknown class."""
    return _frame_rows(value) is not None or _reader(value) is not None


def records_of(value: Any) -> Records:
    """The records of an input.

    Raises:
        UncomparableError: it is of a kind that has none, or holds what cannot be compared.

    >>> records_of([3.0, 4.0]).keys
    ['3', '4']
    """
    rows = _frame_rows(value)
    if rows is not None:
        header, found = rows
        return Records("row", [_key(row) for row in found], header=header)
    reader = _reader(value)
    if reader is None:
        raise UncomparableError(f"an input of type {type(value).__name__} has no records that are known here")
    return reader(value)


def _reader(value: Any) -> Callable[[Any], Records] | None:
    if isinstance(value, str | bytes | bytearray):
        return None
    if isinstance(value, Counter):
        return lambda held: Records("counted element", [_key(one) for one in held.elements()], ordered=False)
    if isinstance(value, Mapping):
        return lambda held: Records("item", [_key(item) for item in held.items()], ordered=False)
    if isinstance(value, Set):
        return lambda held: Records("element", [_key(one) for one in held], ordered=False)
    if isinstance(value, Sequence) and not isinstance(value, memoryview):
        return lambda held: Records("element", [_key(one) for one in held])
    if hasattr(value, "__array__") and np.ndim(value) > 0:
        return _of_array
    return None


def _of_array(value: Any) -> Records:
    array = value if np.ma.isMaskedArray(value) else np.asarray(value)
    unit = "element" if array.ndim == 1 else "row"
    header = (array.shape[1:], array.dtype.names) if array.dtype.names else array.shape[1:]
    return Records(unit, [_key(row) for row in array.tolist()], header=header if len(array) else None)


def _frame_rows(value: Any) -> tuple[Hashable, Iterable[Any]] | None:
    """The names of columns and the rows of a data frame of pandas, polars or pyarrow, told by its methods."""
    if hasattr(value, "itertuples") and hasattr(value, "columns"):
        named = value.index.name is not None or getattr(value.index, "nlevels", 1) > 1
        return tuple(map(str, value.columns)), value.itertuples(index=named, name=None)
    if hasattr(value, "iter_rows") and hasattr(value, "columns"):
        return tuple(map(str, value.columns)), value.iter_rows()
    if hasattr(value, "to_pylist") and hasattr(value, "column_names"):
        return tuple(value.column_names), (tuple(row.values()) for row in value.to_pylist())
    return None


def _key(record: Any) -> Hashable:
    """A text for a record that can be written down, otherwise the record, if it says what equals it.

    Raises:
        UncomparableError: it does neither.
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
