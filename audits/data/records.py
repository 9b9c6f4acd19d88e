"""Convert the records of a list, tuple, array, data frame, set or dictionary to keys that can be compared.

The keys are texts from `dpproof.audits.data.canonical`. So 1, 1.0 and True have the same key; a list, an array and a
tuple of the same values have the same key; and NaN has the same key as NaN.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from dpproof.audits.data.canonical import UnreadableOutputError, canonical_text

DEEPEST = 100
"""The largest number of collections that may be inside each other."""


NESTED = (list, tuple, dict)


def _parts(several: Iterable[Any]) -> Iterable[Any]:
    return chain.from_iterable(one.values() if isinstance(one, dict) else one for one in several)


def check_depth(name: str, value: object) -> None:
    """Raise ValueError if lists, tuples and dictionaries are nested more deeply than `DEEPEST`.

    >>> check_depth("data", [[1, 2], {"a": [3]}])
    """
    level: list[Any] = [value]
    seen: set[int] = set()
    for _ in range(DEEPEST):
        nested = [one for one in level if isinstance(one, NESTED) and id(one) not in seen]
        if not any(issubclass(kind, NESTED) for kind in set(map(type, _parts(nested)))):
            return
        seen.update(map(id, nested))
        level = list(_parts(nested))
    raise ValueError(f"{name} must have at most {DEEPEST} collections inside each other. Flatten it.")


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
        shared: the number of further records. They have no keys, because another input has equal records at the same
            places.
    """

    unit: str
    keys: Sequence[Hashable]
    ordered: bool = True
    header: Hashable = None
    shared: int = 0

    @property
    def count(self) -> int:
        """The number of records."""
        return len(self.keys) + self.shared


def both_records(first: Any, second: Any) -> tuple[Records, Records]:
    """Return the records of two inputs. Equal records at the start and at the end of both have no keys.

    >>> both_records([1, 2, 3], [1, 3])[0]
    Records(unit='element', keys=['2'], ordered=True, header=None, shared=2)
    """
    if all(isinstance(data, dict) and not isinstance(data, Counter) for data in (first, second)):
        return _unshared(first, second), _unshared(second, first)
    start, end = _common(first, second)
    one, other = (records_of(_between(data, start, end)) for data in (first, second))
    return replace(one, shared=start + end), replace(other, shared=start + end)


def _unshared(data: dict[Any, Any], other: dict[Any, Any]) -> Records:
    """Return the items of a dictionary; those with the same value in another dictionary have no keys."""
    left = {key: value for key, value in data.items() if other.get(key, NESTED) is not value}
    return replace(records_of(left), shared=len(data) - len(left))


def _between(data: Any, start: int, end: int) -> Any:
    """Return an input without some records at its start and at its end."""
    if not start + end:
        return data
    return getattr(data, "iloc", data)[start : len(data) - end]


def _common(first: Any, second: Any) -> tuple[int, int]:
    """Return the numbers of equal records at the start and at the end; zeros if this is not seen quickly."""
    columns = _plain_columns(first), _plain_columns(second)
    if not all(columns) or len(columns[0]) != len(columns[1]):
        return 0, 0
    least = min(len(columns[0][0]), len(columns[1][0]))
    if not all(getattr(column, "size", len(column)) for column in (*columns[0], *columns[1])):
        return 0, 0
    same = np.ones((2, least), bool)
    for one, other in zip(*columns, strict=True):
        if type(one) is not type(other) or getattr(one, "dtype", 0) != getattr(other, "dtype", 0):
            return 0, 0
        if getattr(one, "shape", ())[1:] != getattr(other, "shape", ())[1:]:
            return 0, 0
        same[0] &= _same(one[:least], other[:least])
        same[1] &= _same(one[len(one) - least :], other[len(other) - least :])
    start = least if same[0].all() else int(same[0].argmin())
    end = least if same[1].all() else int(same[1][::-1].argmin())
    return start, min(end, least - start)


def _plain_columns(data: Any) -> Sequence[Any]:
    """Return the columns of a list, a tuple, an array or a pandas frame; an empty list for other data."""
    if type(data) in (list, tuple):
        return [data]
    if type(data) is np.ndarray and data.ndim and data.dtype.kind in "biuf":
        return [data]
    if hasattr(data, "itertuples") and hasattr(data, "iloc"):
        return [np.asarray(data.index), *(np.asarray(data.iloc[:, at]) for at in range(data.shape[1]))]
    return []


def _same(one: Any, other: Any) -> Any:
    """Whether the parts of two columns are the same objects, or have the same bits."""
    if isinstance(one, np.ndarray) and not one.dtype.hasobject:
        bits = [np.ascontiguousarray(each).view(np.uint8).reshape(len(each), -1) for each in (one, other)]
        return (bits[0] == bits[1]).all(axis=1)
    return np.fromiter(map(operator.is_, one, other), bool, len(one))


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
