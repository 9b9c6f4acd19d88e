"""Large changes of one record, from one extreme of the given records to another."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeGuard

import numpy as np

from dpproof.audits.data.tables import Record, Table

Bounds = tuple[float, float] | Mapping[Any, tuple[float, float]]
"""The smallest and the largest value of all numeric columns together, or of each column by its name."""


@dataclass(frozen=True)
class Column:
    """A column with its two extremes.

    The extremes of a numeric column are its smallest and its largest number. The extremes of any other column are
    its most frequent and its least frequent value.
    """

    numbers: bool
    low: Any
    high: Any


def _column(values: Sequence[Any], bounds: tuple[float, float] | None, name: Hashable) -> Column:
    finite = [one for one in values if _is_number(one)]
    if finite and all(_is_number(one) or _missing(one) for one in values):
        low, high = min(finite), max(finite)
        if bounds is not None:
            low, high = within(bounds, low, high, name)
        return Column(True, low, high)
    try:
        ranked = Counter(values).most_common()
    except TypeError:
        return Column(False, values[0], values[-1])
    return Column(False, ranked[0][0], ranked[-1][0])


def within(bounds: tuple[float, float], low: Any, high: Any, name: Hashable) -> tuple[Any, Any]:
    """Return stated bounds, converted to the type of a column's values."""
    made = tuple(type(high)(one) for one in bounds)
    if made != tuple(bounds):
        raise ValueError(
            f"bounds ({bounds!r}) of column {name!r} must have the type of its values, {type(high).__name__}"
        )
    if not made[0] <= low <= high <= made[1]:
        raise ValueError(
            f"bounds ({bounds!r}) must contain all values of column {name!r}, {low!r} to {high!r}"
        )
    return made


def _is_number(value: object) -> TypeGuard[Real]:
    """Whether a value is a finite number that a double can hold."""
    try:
        return isinstance(value, Real) and math.isfinite(value)
    except OverflowError:
        return False


def _missing(value: object) -> bool:
    return value is None or value != value


@dataclass(frozen=True)
class Change:
    """A change of one record, from ``low`` to ``high``."""

    low: Record
    high: Record


def changes(table: Table, bounds: Bounds | None) -> list[Change]:
    """Return the changes of one record that are tried, the largest first."""
    records, columns = table.records, _columns(table, bounds)
    low, high = (tuple(getattr(one, end) for one in columns) for end in ("low", "high"))
    sizes = [_size(record) for record in records]
    small, large = records[int(np.argmin(sizes))], records[int(np.argmax(sizes))]
    norms = _norms([low, high]) if bounds is not None else _norms(records)
    found = [Change(low, high), Change(small, large), Change(_typical(table, sizes), _farthest(records))]
    if table.whole:
        lengths = [_length(record[0]) for record in records]
        found.append(Change(records[int(np.argmin(lengths))], records[int(np.argmax(lengths))]))
    for at, column in enumerate(columns):
        least, most = (_with(records, at, end) for end in (column.low, column.high))
        found += [
            Change(least, most),
            Change(_changed(most, at, column.low), _changed(most, at, column.high)),
        ]
    observed = {repr(record) for record in records}
    allowed = [one for one in found if all(_allowed(r, observed, norms) for r in (one.low, one.high))]
    return list({repr(one): one for one in allowed if repr(one.low) != repr(one.high)}.values())


def _columns(table: Table, bounds: Bounds | None) -> list[Column]:
    names = table.columns
    if isinstance(bounds, Mapping):
        unknown = [name for name in bounds if name not in names]
        if unknown:
            raise ValueError(f"bounds: column ({unknown[0]!r}) must be one of: {', '.join(map(str, names))}")
    each = [bounds.get(name) if isinstance(bounds, Mapping) else bounds for name in names]
    values = zip(*table.records, strict=True)
    return [_column(list(one), ends, name) for one, ends, name in zip(values, each, names, strict=True)]


def _with(records: Sequence[Record], at: int, value: Any) -> Record:
    """Return an observed record with this value in the column, or the first record with the value put in."""
    found = (record for record in records if record[at] is value or repr(record[at]) == repr(value))
    return next(found, _changed(records[0], at, value))


def _changed(record: Record, at: int, value: Any) -> Record:
    return (*record[:at], value, *record[at + 1 :])


def _allowed(record: Record, observed: set[str], norms: tuple[float, float]) -> bool:
    """Whether a record was observed, or its L1 and L2 norms are at most the given ones."""
    return repr(record) in observed or all(
        norm <= most for norm, most in zip(_norms([record]), norms, strict=True)
    )


def _norms(records: Sequence[Record]) -> tuple[float, float]:
    """Return the largest L1 norm and the largest L2 norm of the records."""
    flat = [np.array(list(_numbers(record)) or [0.0]) for record in records]
    return max(float(np.abs(one).sum()) for one in flat), max(float(np.hypot.reduce(one)) for one in flat)


def _numbers(value: Any) -> Iterator[float]:
    """Generate all finite numbers in a value, which may be nested."""
    match value:
        case np.ndarray():
            yield from (float(one) for one in value.ravel().tolist() if _is_number(one))
        case Mapping():
            for one in value.values():
                yield from _numbers(one)
        case list() | tuple():
            for one in value:
                yield from _numbers(one)
        case _ if _is_number(value):
            yield float(value)


def _size(record: Record) -> float:
    return float(np.hypot.reduce(np.array(list(_numbers(record)) or [0.0])))


def _length(value: Any) -> int:
    return len(value) if hasattr(value, "__len__") else 0


def _typical(table: Table, sizes: Sequence[float]) -> Record:
    """Return the record whose L2 norm is the median."""
    return table.records[int(np.argsort(sizes, kind="stable")[len(sizes) // 2])]


def _farthest(records: Sequence[Record]) -> Record:
    """Return the record farthest from the medians of the columns, in units of each column's standard deviation."""
    columns = [
        [one if _is_number(one) else math.nan for one in column] for column in zip(*records, strict=True)
    ]
    table = np.array(columns, float)
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
    return f"{float(value):.6g}" if _is_number(value) and not isinstance(value, bool) else repr(value)
