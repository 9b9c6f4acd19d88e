"""Large changes of one record, from one extreme of the given records to another."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Real
from typing import Any, TypeGuard

import numpy as np

from dpproof.audits.data.handed import sealed
from dpproof.audits.data.tables import Record, Table, remade

Bounds = tuple[float, float] | Mapping[Any, tuple[float, float]]
"""The smallest and the largest allowed number: one pair for all numbers, or a pair for each column by its name."""

NUMBERLESS = frozenset((str, bytes, type(None)))
"""Types of values without numbers."""


@dataclass(frozen=True)
class Column:
    """A column of a table, with the two extreme values that an audit uses.

    The extremes of a numeric column are its smallest and its largest number, or its bounds. The extremes of any other
    column are its most frequent and its least frequent value.
    """

    low: Any
    high: Any
    bounded: bool = False


def _column(values: Sequence[Any], bounds: tuple[float, float] | None, name: str) -> Column:
    if bounds is not None:
        _check_finite(values, bounds, name)
    numbers = values if _are_numbers(values) else [one for one in values if _is_number(one)]
    if numbers and (numbers is values or all(_is_number(one) or _missing(one) for one in values)):
        low, high = min(numbers), max(numbers)
        if bounds is None or all(isinstance(one, bool) for one in numbers):
            return Column(low, high)
        return Column(*within(bounds, low, high, name), True)
    inside = [] if bounds is None else [*_numbers(values)]
    if bounds is not None and inside:
        fullest = max(values, key=lambda one: sum(1 for _ in _numbers(one)))
        low, high = within(bounds, min(inside), max(inside), name)
        return Column(_filled(fullest, low), _filled(fullest, high), True)
    try:
        ranked = Counter(values).most_common()
    except TypeError:
        return Column(values[0], values[-1])
    return Column(ranked[0][0], ranked[-1][0])


def _check_finite(values: Sequence[Any], bounds: Sequence[float], name: str) -> None:
    for one in () if _are_numbers(values) else _reals(values):
        if one == one and not _is_number(one):
            raise ValueError(
                f"bounds ({bounds!r}) must contain all values of {name}, but {one!r:.40} is outside all bounds."
                " Clip the data first, or leave out bounds."
            )


def _are_numbers(values: Sequence[Any]) -> bool:
    """Whether all values are finite numbers that a double can hold."""
    if not set(map(type, values)) <= {bool, int, float}:
        return all(map(_is_number, values))
    try:
        return bool(np.isfinite(np.array(values, float)).all())
    except OverflowError:
        return False


def _filled(value: Any, number: float) -> Any:
    """Return a value, which may be nested, with all its numbers replaced by one number."""
    match value:
        case np.ndarray():
            return np.full(value.shape, _like(value.dtype.type, number), value.dtype)
        case dict():
            return remade(value, [(key, _filled(one, number)) for key, one in value.items()])
        case Mapping():
            return {key: _filled(one, number) for key, one in value.items()}
        case list() | tuple():
            return remade(value, [_filled(one, number) for one in value])
    return _like(type(value), number) if _is_number(value) and not isinstance(value, bool) else value


def _like(kind: Callable[[Any], Any], number: Any) -> Any:
    """Return a number as another type.

    Raises:
        ValueError: the type does not have this number.
    """
    try:
        made = kind(number)
    except (OverflowError, TypeError, ValueError):
        made = None
    if made != number:
        named = getattr(kind, "__name__", str(kind))
        raise ValueError(f"bounds ({number!r}) must have the same type as the values, {named}")
    return made


def check_bounds(bounds: Bounds) -> None:
    """Raise an error unless bounds are one pair of numbers, or a mapping from columns to such pairs.

    Raises:
        ValueError: the bounds are neither, or a low bound is not below its high bound.
    """
    for ends in bounds.values() if isinstance(bounds, Mapping) else [bounds]:
        if not isinstance(ends, list | tuple) or len(ends) != 2 or not all(map(_is_number, ends)):
            raise ValueError(
                f"bounds ({ends!r:.60}) must be two finite numbers, (low, high), or a dictionary from the name of a"
                " column to two finite numbers"
            )
        if not ends[0] < ends[1]:
            raise ValueError(f"bounds ({ends!r}): low must be below high")


def within(bounds: Sequence[float], low: Any, high: Any, name: str) -> tuple[Any, Any]:
    """Return ``bounds``, converted to the type of ``low`` and ``high``.

    Args:
        bounds: the stated bounds.
        low, high: the smallest and the largest value in the data. The bounds must contain both.
        name: the name of the values, such as "column 'age'".
    """
    kind: Any = type(high) if type(low) is type(high) else float
    least, most = (_like(kind, one) for one in bounds)
    if not least <= low <= high <= most:
        raise ValueError(
            f"bounds ({bounds!r}) must contain all values of {name}, {low!r} to {high!r}."
            " Clip the data first, or give wider bounds."
        )
    return least, most


def _is_number(value: object) -> TypeGuard[Real]:
    """Whether a value is a finite number that a double can hold."""
    try:
        return isinstance(value, Real) and math.isfinite(value)
    except OverflowError:
        return False


def _missing(value: object) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA
        return True
    except ValueError:  # an array
        return False


@dataclass(frozen=True)
class Change:
    """A change of one record from ``low`` to ``high``. ``unseen`` holds those of the two that are not in the data."""

    low: Record
    high: Record
    unseen: tuple[Record, ...] = ()


def changes(table: Table, bounds: Bounds | None) -> list[Change]:
    """Return the changes of one record that an audit tries, the largest first.

    Each record is in the data, or it differs from a record in the data only in columns with stated bounds.
    """
    records, columns = table.records, columns_of(table, bounds)
    observed = _Observed(records, [column.bounded for column in columns])
    sizes = _sizes(records)
    small, large = records[int(np.argmin(sizes))], records[int(np.argmax(sizes))]
    low, high = (observed.nearest(tuple(getattr(one, end) for one in columns)) for end in ("low", "high"))
    found = [Change(low, high), Change(small, large), Change(_typical(table, sizes), _farthest(records))]
    if table.whole:
        lengths = [_length(record[0]) for record in records]
        found.append(Change(records[int(np.argmin(lengths))], records[int(np.argmax(lengths))]))
    for at, column in enumerate(columns):
        least, most = (_with(records, at, end) for end in (column.low, column.high))
        found += [
            Change(least, most),
            Change(_changed(most, at, column.low), _changed(most, at, column.high)),
            *(Change(most, record) for record in islice((one for one in records if _missing(one[at])), 1)),
        ]
    keyed = {(sealed(one.low), sealed(one.high)): one for one in found if observed.allow(one.low, one.high)}
    made = [observed.told(one) for (first, second), one in keyed.items() if first != second]
    for record in (record for one in made for record in one.unseen):
        _check_fits(table, record, bounds)
    return made


class _Observed:
    """The records of a table, and which columns have bounds."""

    def __init__(self, records: Sequence[Record], bounded: Sequence[bool]) -> None:
        self._first, self._bounded = records[0], bounded
        self._keys = set(map(sealed, records))
        self._fixed = {sealed(self._rest(record)) for record in records} if any(bounded) else set()

    def _rest(self, record: Record) -> Record:
        """Return the values in the columns without bounds."""
        return tuple(one for one, free in zip(record, self._bounded, strict=True) if not free)

    def nearest(self, record: Record) -> Record:
        """Return the record if it was observed, otherwise an observed record with other values in bounded columns.

        This is the first record, with the values of ``record`` in the columns that have bounds.
        """
        if sealed(record) in self._keys:
            return record
        pairs = zip(record, self._first, self._bounded, strict=True)
        return tuple(new if bounded else held for new, held, bounded in pairs)

    def allow(self, *records: Record) -> bool:
        """Whether each record was observed, or differs from an observed one only in columns that have bounds."""
        return all(sealed(one) in self._keys or sealed(self._rest(one)) in self._fixed for one in records)

    def told(self, change: Change) -> Change:
        """Return the change, with ``unseen`` set to those of its two records that were not observed."""
        ends = {sealed(one): one for one in (change.low, change.high)}
        return replace(change, unseen=tuple(one for key, one in ends.items() if key not in self._keys))


def _check_fits(table: Table, record: Record, bounds: Bounds | None) -> None:
    """Check that a data set can hold a record that was made from bounds."""
    try:
        table.built([*enumerate([record, *table.records[1:]])])
    except (OverflowError, TypeError, ValueError) as wrong:
        raise ValueError(
            f"bounds ({bounds!r:.80}) must fit the type of the data. No data set can hold the record"
            f" {shown(record)}: {wrong}"
        ) from wrong


def columns_of(table: Table, bounds: Bounds | None) -> list[Column]:
    """Return the columns of a table, with their extreme values."""
    names = table.columns
    if isinstance(bounds, Mapping):
        given = {_column_named(table, name): ends for name, ends in bounds.items()}
        each = [given.get(name) for name in names]
    else:
        given, each = {}, [bounds] * len(names)
    values = zip(*table.records, strict=True)
    words = [f"column {name!r}" if _named(table) else "the data" for name in names]
    found = [_column(list(one), ends, word) for one, ends, word in zip(values, each, words, strict=True)]
    bounded = {name for name, column in zip(names, found, strict=True) if column.bounded}
    missed = [name for name in given if name not in bounded]
    if missed or (bounds is not None and not bounded):
        where = f"column {missed[0]!r} holds" if missed else "the data hold"
        raise ValueError(
            f"bounds ({bounds!r:.80}) can be given for numbers only, but {where} no numbers. Leave them out."
        )
    return found


def _column_named(table: Table, name: Hashable) -> Hashable:
    """Return the column with this name; in a claim file the name is always a text."""
    texts = {str(one): one for one in table.columns}
    if name not in table.columns and name not in texts:
        known = f"must be one of: {', '.join(texts)}" if _named(table) else "does not exist"
        raise ValueError(f"bounds: column ({name!r}) {known}")
    return name if name in table.columns else texts[str(name)]


def bounded_columns(table: Table, bounds: Bounds) -> Mapping[Hashable, bool]:
    """Return for each column whether ``bounds`` applies to it."""
    columns = columns_of(table, bounds)
    return {name: column.bounded for name, column in zip(table.columns, columns, strict=True)}


def _named(table: Table) -> bool:
    return table.columns != (0,)


def _with(records: Sequence[Record], at: int, value: Any) -> Record:
    """Return an observed record with this value in the column, or the first record with the value put in."""
    same = next((record for record in records if record[at] is value), None)
    if same is not None:
        return same
    key = sealed(value)
    return next((one for one in records if sealed(one[at]) == key), _changed(records[0], at, value))


def _changed(record: Record, at: int, value: Any) -> Record:
    return (*record[:at], value, *record[at + 1 :])


def _numbers(value: Any) -> Iterator[float]:
    """Generate all finite numbers in a value, which may be nested."""
    return (float(one) for one in _reals(value) if _is_number(one))


def _reals(value: Any) -> Iterator[Any]:
    """Generate all numbers in a value, which may be nested."""
    match value:
        case np.ndarray():
            yield from (one for one in value.ravel().tolist() if isinstance(one, Real))
        case Mapping():
            for one in value.values():
                yield from _reals(one)
        case list() | tuple():
            for one in value:
                yield from _reals(one)
        case Real():
            yield value


def _inner(value: Any) -> Iterator[float]:
    """Generate all finite numbers in a value, also those in the attributes of objects."""
    match value:
        case Mapping():
            for one in value.values():
                yield from _inner(one)
        case list() | tuple():
            for one in value:
                yield from _inner(one)
        case _ if hasattr(value, "__dict__") and not isinstance(value, np.ndarray):
            yield from _inner(vars(value))
        case _:
            yield from _numbers(value)


def _sizes(records: Sequence[Record]) -> Sequence[float]:
    """Return the L2 norm of the numbers in each record, for all records at once if the columns are plain."""
    columns = [column for column in zip(*records, strict=True) if not set(map(type, column)) <= NUMBERLESS]
    if columns and all(map(_are_numbers, columns)):
        found: list[float] = np.hypot.reduce(np.array(columns, float).T, axis=1).tolist()
        return found
    return [_size(record) for record in records]


def _size(record: Record) -> float:
    return float(np.hypot.reduce(np.array(list(_inner(record)) or [0.0])))


def _length(value: Any) -> int:
    return len(value) if hasattr(value, "__len__") else 0


def _typical(table: Table, sizes: Sequence[float]) -> Record:
    """Return the record whose L2 norm is the median."""
    return table.records[int(np.argsort(sizes, kind="stable")[len(sizes) // 2])]


def _farthest(records: Sequence[Record]) -> Record:
    """Return the record farthest from the medians of the columns, in units of each column's standard deviation."""
    columns = (
        column if _are_numbers(column) else [one if _is_number(one) else math.nan for one in column]
        for column in zip(*records, strict=True)
    )
    table = np.array([np.array(column, float) for column in columns])
    table = table[~np.isnan(table).all(axis=1)]
    if not table.size:
        return records[-1]
    centre, spread = np.nanmedian(table, axis=1), np.nanstd(table, axis=1)
    apart = np.abs(table - centre[:, None]) / np.where(spread > 0, spread, 1)[:, None]
    return records[int(np.nansum(apart, axis=0).argmax())]


def shown(record: Record) -> str:
    """Return a record as text of at most 40 characters."""
    values = [_shown(one) for one in record]
    text = " ".join((values[0] if len(values) == 1 else f"({', '.join(values)})").split())
    return text if len(text) <= 40 else f"{text[:37]}..."


def _shown(value: object) -> str:
    if _is_number(value) and not isinstance(value, bool):
        return f"{float(value):.6g}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))  # an address differs between runs
