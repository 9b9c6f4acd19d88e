"""Tables: data sets that are split into records and columns, and rebuilt with changed records.

The known kinds are lists and tuples, arrays, data frames of pandas, polars and pyarrow, series of pandas, dictionaries
from a key to a record, and tuples of arrays that hold the columns of one table. A record that is a dictionary, a tuple,
a list or a row has several columns; any other record is one value. A rebuilt data set has the type, the dtypes and the
column names of the original.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.records import check_depth

Record = tuple[Any, ...]
"""One record: a tuple with its value in each column."""
Placed = tuple[int, Record]
"""A place in the original data set, and a record. The rebuilt record gets the key or index of this place."""
COUNTED = 100_000
"""The largest number of elements of a Counter."""
UNKNOWN = "give pair=(x, y), two neighbouring inputs of your own"


@dataclass(frozen=True)
class Table:
    """A data set, split into records and columns.

    Attributes:
        unit: the word for one record, such as "row".
        records: the records, in the order of the data set.
        columns: the name of each column, or its place if it has no name.
        built: a function that returns a data set of the original kind with the given records.
        whole: whether each record is kept as one value, which may be a collection, and is not split into columns.
        called: the words for the data set in the description of a pair.

    >>> table = table_of([{"age": 30}, {"age": 50}])
    >>> table.records, table.columns
    ([(30,), (50,)], ('age',))
    >>> table.built([(0, (50,)), (1, (50,))])
    [{'age': 50}, {'age': 50}]
    """

    unit: str
    records: Sequence[Record]
    columns: tuple[Hashable, ...]
    built: Callable[[Sequence[Placed]], Any]
    whole: bool = False
    called: str = "your data"


def table_of(data: Any) -> Table:
    """Return a data set as a `Table`, split into records and columns.

    Raises:
        ValueError: the data set is of an unknown kind, or holds no records.
    """
    check_depth("data", data)
    table = _read(data)
    if not table.records:
        raise ValueError(f"data ({data!r:.60}) must hold at least one record")
    return table


def _read(data: Any) -> Table:
    frame = _frame(data) or _series(data)
    if frame is not None:
        return frame
    match data:
        case np.ndarray() if data.ndim and data.dtype.names is None and not np.ma.isMaskedArray(data):
            return _of_array(data)
        case tuple() if data and all(isinstance(part, np.ndarray) and part.ndim for part in data):
            return _of_parts(data)
        case Counter():
            return _of_counter(data)
        case dict():
            return _of_dictionary(data)
        case np.ndarray() if data.ndim and data.dtype.names is not None:
            raise ValueError(
                f"data (a structured array) must be a data frame. Give pandas.DataFrame(data), or {UNKNOWN}"
            )
        case np.ndarray() if not data.ndim:
            raise ValueError(
                f"data (an array without dimensions) must have one. Give data.reshape(1) for one record, or {UNKNOWN}"
            )
        case set() | frozenset():
            raise ValueError(
                f"data (of type {type(data).__name__}) must have an order. Give sorted(data), or {UNKNOWN}"
            )
        case list() | tuple():
            return _of_records(
                data, "record", lambda placed, join: remade(data, [join(r) for _, r in placed])
            )
    raise ValueError(
        f"data (of type {type(data).__name__}) must be a list, an array, a data frame, a pandas Series, a"
        f" dictionary from a key to a record, Episodes or Users. For anything else {UNKNOWN}."
    )


def remade(data: Any, parts: Iterable[Any]) -> Any:
    """Return a list, a tuple or a dictionary of the same type with other elements or items.

    >>> remade((1, 2), [3])
    (3,)
    """
    kind = type(data)
    if kind in (list, tuple):
        return kind(parts)
    if isinstance(data, tuple):
        return getattr(kind, "_make", kind)(parts)
    made = copy.copy(data)  # which keeps its attributes, and the default of a defaultdict
    made.clear()
    (made.update if isinstance(data, dict) else made.extend)(parts)
    return made


Join = Callable[[Record], Any]


def _of_records(
    records: Sequence[Any], unit: str, together: Callable[[Sequence[Placed], Join], Any]
) -> Table:
    """Return the table of a sequence of records."""
    names, split, join = _columns_of(records)
    whole = names == (0,) and any(map(_holds, records))
    rows = [split(one) for one in records]
    made: dict[int, tuple[Record, Any]] = {}

    def joined(row: Record) -> Any:
        """Return the record of a row, the same object at every call, so that inputs share most of their records."""
        held = made.get(id(row))
        if held is None:
            held = made[id(row)] = row, join(row)
        return held[1]

    plain = join is tuple or (names == (0,) and not whole)
    return Table(unit, rows, names, lambda placed: together(placed, join if plain else joined), whole=whole)


def _columns_of(records: Sequence[Any]) -> tuple[tuple[Hashable, ...], Callable[[Any], Record], Join]:
    """Return the columns that all records share, and the functions that split and rebuild a record."""
    first = records[0] if len(records) else None
    kind = type(first)
    if all(type(one) is kind for one in records):
        if isinstance(first, dict) and all(one.keys() == first.keys() for one in records):
            names = tuple(first)
            return (
                names,
                lambda one: tuple(one[k] for k in names),
                lambda r: remade(first, zip(names, r, strict=True)),
            )
        if kind in (list, tuple) and first and _rectangular(records):
            return tuple(range(len(first))), tuple, kind
        make = getattr(kind, "_make", None)  # of a named tuple
        if make is not None and first and _rectangular(records):
            return first._fields, tuple, make
        if isinstance(first, np.ndarray) and first.ndim == 1 and first.size and _rectangular(records):
            dtype = first.dtype
            return tuple(range(len(first))), lambda one: tuple(one.tolist()), lambda r: np.array(r, dtype)
    return (0,), lambda one: (one,), lambda record: record[0]


def _rectangular(records: Iterable[Sequence[Any]]) -> bool:
    lengths = {len(one) for one in records}
    return len(lengths) == 1 and not any(_holds(value) for one in records for value in one)


def _holds(value: object) -> bool:
    """Whether a value is a collection."""
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


def _of_array(array: NDArray[Any]) -> Table:
    if array.ndim == 2 and array.shape[1]:
        rows = [tuple(row) for row in array.tolist()]

        def built(placed: Sequence[Placed]) -> Any:
            return np.array([r for _, r in placed], array.dtype).reshape(len(placed), array.shape[1])

        return Table("row", rows, tuple(range(array.shape[1])), built)
    if array.ndim == 1:
        return Table(
            "record",
            [(one,) for one in array.tolist()],
            (0,),
            lambda placed: np.array([r[0] for _, r in placed], array.dtype),
        )
    shape = array.shape[1:]
    return Table(
        "row",
        [(row,) for row in array],
        (0,),
        lambda placed: np.array([r[0] for _, r in placed], array.dtype).reshape(len(placed), *shape),
        whole=True,
    )


def _of_parts(parts: tuple[NDArray[Any], ...]) -> Table:
    """Return the table whose columns are the arrays of a tuple, such as features and labels."""
    if len({len(part) for part in parts}) > 1:
        raise ValueError(
            f"data (a tuple of arrays with {[len(part) for part in parts]} rows) must have equally many rows in"
            f" all arrays. Otherwise {UNKNOWN}."
        )
    tables = [_of_array(part) for part in parts]
    ends = [0, *accumulate(len(table.columns) for table in tables)]
    rows = [sum(fields, ()) for fields in zip(*(table.records for table in tables), strict=True)]

    def built(placed: Sequence[Placed]) -> Any:
        cuts = zip(tables, pairwise(ends), strict=True)
        made = [table.built([(p, r[low:high]) for p, r in placed]) for table, (low, high) in cuts]
        return remade(parts, made)

    return Table("row", rows, tuple(range(ends[-1])), built, whole=any(table.whole for table in tables))


def _of_dictionary(data: dict[Any, Any]) -> Table:
    keys, values = list(data), list(data.values())
    lengths = {len(value) if _holds(value) and not isinstance(value, Mapping) else -1 for value in values}
    if len(lengths) == 1 and max(lengths) >= len(keys):
        raise ValueError(
            f"data (a dictionary of {len(keys)} collections of equal length) may have one column for each key,"
            f" or one record for each key. Give a data frame, or a list of dictionaries, or {UNKNOWN}"
        )

    def together(placed: Sequence[Placed], join: Join) -> Any:
        return remade(data, ((keys[place], join(record)) for place, record in placed))

    return _of_records(values, "record", together)


def _of_counter(data: Counter[Any]) -> Table:
    """Return the table whose records are the elements that a Counter counts."""
    if not all(type(count) is int and count > 0 for count in data.values()) or data.total() > COUNTED:
        raise ValueError(
            f"data (a Counter) must have whole counts above 0, with a sum of at most {COUNTED}."
            f" Give dict(data) if each key with its count is one record, or {UNKNOWN}"
        )

    def built(placed: Sequence[Placed]) -> Any:
        return remade(data, Counter(record[0] for _, record in placed))

    return Table("counted element", [(one,) for one in data.elements()], (0,), built)


def _frame(data: Any) -> Table | None:
    """Return the table of a pandas, polars or pyarrow frame, recognised by its methods; None for other data."""
    if hasattr(data, "itertuples") and hasattr(data, "columns"):
        names = tuple(data.columns)
        return _rows(list(data.itertuples(index=False, name=None)), names, lambda p, c: _pandas(data, p, c))
    if hasattr(data, "iter_rows") and hasattr(data, "columns"):
        names = tuple(data.columns)
        return _rows(list(data.iter_rows()), names, lambda _, c: type(data)(c, schema=data.schema))
    if hasattr(data, "to_pylist") and hasattr(data, "column_names"):
        rows = [tuple(row.values()) for row in data.to_pylist()]
        names = tuple(data.column_names)
        return _rows(rows, names, lambda _, c: type(data).from_pydict(c, schema=data.schema))
    return None


def _series(data: Any) -> Table | None:
    """Return the table of a pandas Series, recognised by its methods; None for other data."""
    if not all(hasattr(data, name) for name in ("to_frame", "iloc", "index", "dtype")):
        return None

    def built(placed: Sequence[Placed]) -> Any:
        index = data.index[[place for place, _ in placed]]
        return type(data)([r[0] for _, r in placed], index=index, dtype=data.dtype, name=data.name)

    return Table("record", [(one,) for one in data.tolist()], (0,), built)


def _rows(
    rows: Sequence[Record],
    names: tuple[Hashable, ...],
    made: Callable[[list[int], dict[Hashable, list[Any]]], Any],
) -> Table:
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(
            f"data (a data frame): the name of each column must be unique, but {twice!r} is not."
            f" Rename the columns, or {UNKNOWN}"
        )

    def built(placed: Sequence[Placed]) -> Any:
        columns = {name: [record[at] for _, record in placed] for at, name in enumerate(names)}
        return made([place for place, _ in placed], columns)

    return Table("row", rows, names, built)


def _pandas(frame: Any, places: list[int], columns: Mapping[Hashable, list[Any]]) -> Any:
    """Return rows of a pandas frame with new values, converted to the dtypes of its columns."""
    taken = frame.iloc[places].copy()
    for name, values in columns.items():
        column = frame[name]
        taken[name] = type(column)(values, index=taken.index, dtype=column.dtype, name=name)
    return taken
