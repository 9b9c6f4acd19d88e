"""Descriptions of data sets from which an audit makes neighbours: a schema, or a function that draws records."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from dpproof.audits.data.changes import Change
from dpproof.audits.data.tables import Placed, Record, Table, table_of

POOL = 1000
"""The smallest number of records that are drawn at random, to find rare ones among them."""
SIZES = (0, 8)
"""The default of the smallest and the largest number of records in a data set."""
TINY = math.ulp(0.0)
"""The smallest double above 0, which is subnormal."""


@dataclass(frozen=True)
class Between:
    """A range of numbers with both ends: all doubles in it, or all whole numbers if both ends are of type int.

    Attributes:
        low, high: the smallest and the largest number. An infinite end is itself allowed.
        also: further allowed values, such as None and NaN.

    Raises:
        ValueError: an end is no number, ``low`` is not below ``high``, or ``also`` is no list.

    >>> Between(0, 10).grid, Between(0.0, 1.0).grid
    ((0, 5, 10), (0.0, 0.5, 1.0))
    """

    low: float
    high: float
    also: Sequence[Any] = ()

    def __post_init__(self) -> None:
        """Check the ends."""
        ends = (self.low, self.high)
        if not all(isinstance(end, Real) and not isinstance(end, bool) for end in ends):
            raise ValueError(
                f"Between{ends}: low and high must be numbers. Give a list of the allowed values."
            )
        if not self.low < self.high:
            raise ValueError(f"Between{ends}: low must be below high")
        if not isinstance(self.also, list | tuple):
            raise ValueError(
                f"also ({self.also!r:.60}) must be a list of further allowed values, such as [None]"
            )

    @property
    def whole(self) -> bool:
        """Whether the range holds whole numbers only."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest finite number."""
        most = sys.float_info.max
        return max(self.low, -most), min(self.high, most)

    @property
    def grid(self) -> tuple[float, float, float]:
        """The smallest number, one near the middle, and the largest number."""
        low, high = self.ends
        return low, (low + high) // 2 if self.whole else low / 2 + high / 2, high

    @property
    def boundary(self) -> Mapping[str, float]:
        """Numbers at which code for floating-point numbers often fails, by their descriptions."""
        if self.whole:
            return {}
        near = {
            "the double above the low bound": math.nextafter(self.low, math.inf),
            "the double below the high bound": math.nextafter(self.high, -math.inf),
            "-0.0": -0.0,
            "the smallest double above 0": TINY,
            "the largest double below 0": -TINY,
            "infinity": math.inf,
            "minus infinity": -math.inf,
        }
        return {name: value for name, value in near.items() if self.low <= value <= self.high}

    def draw(self, rng: np.random.Generator) -> float:
        """Return a random number of the range."""
        low, high = self.ends
        part = rng.random()
        if self.whole:
            return min(low + math.floor(part * (high - low + 1)), high)
        return min(max(low + part * high - part * low, low), high)


Allowed = Between | Sequence[Any]
"""The allowed values of a column: a range of numbers, or a list of all values."""


@dataclass(frozen=True)
class Source:
    """What an audit knows about the records that may occur.

    Attributes:
        table: the data set that is changed.
        pool: records that may occur.
        changes: large changes of one record, the largest first.
        boundary: records with doubles at which code often fails, each with a description.
        further: records with a value that a range allows besides its numbers, each with a description.
        sizes: the smallest and the largest number of records; None if the size of the data set is kept.
    """

    table: Table
    pool: Sequence[Record]
    changes: Sequence[Change]
    boundary: Sequence[tuple[str, Record]] = ()
    further: Sequence[tuple[str, Record]] = ()
    sizes: tuple[int, int] | None = None


@dataclass(frozen=True)
class Schema:
    """The allowed values of each column of a data set. An audit makes neighbours of such data sets by itself.

    All combinations of allowed values are allowed.

    Attributes:
        columns: a dictionary from the name of a column to its allowed values: a list, or a range `Between`. A record
            is then a dictionary. For records that are single values: a list, or a range.
        sizes: the smallest and the largest number of records.
        made: a function that turns a list of records into a data set, such as ``pandas.DataFrame``. It must keep
            the records and their order.

    Raises:
        ValueError: a column has no allowed values, or the sizes are not usable.

    >>> Schema({"age": Between(0, 120), "city": ["Bern", "Oslo"]}).source.table.columns
    ('age', 'city')
    """

    columns: Allowed | Mapping[str, Allowed]
    sizes: tuple[int, int] = SIZES
    made: Callable[[list[Any]], Any] = list

    def __post_init__(self) -> None:
        """Check the columns and the sizes."""
        _check_sizes(self.sizes)
        if not self._allowed:
            raise ValueError("columns must name at least one column")
        for name, allowed in self._allowed.items():
            usual = isinstance(allowed, Between | list | tuple)
            if not usual or (not isinstance(allowed, Between) and not allowed):
                raise ValueError(
                    f"columns ({name!r}: {allowed!r:.60}) must give a list of the allowed values, or a range"
                    " Between(low, high), for each column"
                )

    @property
    def _allowed(self) -> Mapping[Hashable, Allowed]:
        return dict(self.columns.items()) if isinstance(self.columns, Mapping) else {0: self.columns}

    @property
    def source(self) -> Source:
        """The data set of the schema, and the records that may occur."""
        allowed = list(self._allowed.values())
        rng = np.random.default_rng(0)
        pool = [tuple(_drawn(one, rng) for one in allowed) for _ in range(max(POOL, self.sizes[1]))]
        table = Table(
            "record", pool[: self.sizes[1]], tuple(self._allowed), self._built, called="data of the schema"
        )
        return Source(table, pool, self._changes, self._boundary, self._further, self.sizes)

    def _built(self, placed: Sequence[Placed]) -> Any:
        records = (record for _, record in placed)
        if not isinstance(self.columns, Mapping):
            return self.made([record[0] for record in records])
        return self.made([dict(zip(self.columns, record, strict=True)) for record in records])

    @property
    def _changes(self) -> list[Change]:
        ends = [_grid(one) for one in self._allowed.values()]
        found = [Change(tuple(low for low, _, _ in ends), tuple(high for _, _, high in ends))]
        found += [
            Change(_with(self._usual, at, low), _with(self._usual, at, high))
            for at, (low, _, high) in enumerate(ends)
        ]
        return found

    @property
    def _usual(self) -> Record:
        return tuple(_grid(one)[1] for one in self._allowed.values())

    @property
    def _boundary(self) -> list[tuple[str, Record]]:
        ranges = [one if isinstance(one, Between) else None for one in self._allowed.values()]
        return boundary_records(self._usual, ranges)

    @property
    def _further(self) -> list[tuple[str, Record]]:
        found = []
        for at, (name, one) in enumerate(self._allowed.items()):
            for value in one.also if isinstance(one, Between) else ():
                said = f"{name} = {value!r}" if isinstance(self.columns, Mapping) else repr(value)
                found.append((f"further value: a record with {said}", _with(self._usual, at, value)))
        return found


@dataclass(frozen=True)
class Drawn:
    """A function that draws data sets. An audit draws records from it, and makes neighbours of them by itself.

    Attributes:
        draw: ``draw(n, rng)`` returns a data set with ``n`` records, of a kind that `dpproof.audit` accepts as data.
        sizes: the smallest and the largest number of records.
        seed: the seed of ``rng``.

    >>> Drawn(lambda n, rng: rng.random(n), (0, 3)).table.built([(0, (0.5,))])
    array([0.5])
    """

    draw: Callable[[int, np.random.Generator], Any]
    sizes: tuple[int, int] = SIZES
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the sizes."""
        _check_sizes(self.sizes)

    @property
    def table(self) -> Table:
        """The table of all records that were drawn.

        Raises:
            ValueError: the function fails, or returns another number of records.
        """
        size = max(POOL, self.sizes[1])
        try:
            drawn = table_of(self.draw(size, np.random.default_rng(self.seed)))
        except Exception as wrong:  # whatever the user's function does
            raise ValueError(
                f"draw (n, rng) must return data with n records, but draw({size}, rng) raised"
                f" {type(wrong).__name__}: {wrong}"
            ) from wrong
        if len(drawn.records) != size:
            raise ValueError(
                f"draw (n, rng) must return data with n records, but draw({size}, rng) returned"
                f" {len(drawn.records)} records"
            )
        return replace(drawn, called="drawn data")

    def cut(self, known: Source) -> Source:
        """Return what is known about all drawn records, with a data set of at most the largest size."""
        held = replace(known.table, records=known.table.records[: self.sizes[1]])
        return replace(known, table=held, sizes=self.sizes)


def boundary_records(usual: Record, ranges: Sequence[Between | None]) -> list[tuple[str, Record]]:
    """Return records with unusual doubles in all columns that have a range, each with a description."""
    values = [{} if one is None else one.boundary for one in ranges]
    return [
        (
            f"boundary float: a record with {name}",
            tuple(one.get(name, held) for one, held in zip(values, usual, strict=True)),
        )
        for name in dict.fromkeys(name for one in values for name in one)
    ]


def _check_sizes(sizes: tuple[int, int]) -> None:
    usual = isinstance(sizes, list | tuple) and len(sizes) == 2 and all(type(one) is int for one in sizes)
    if not usual or not 0 <= sizes[0] <= sizes[1] or not sizes[1]:
        raise ValueError(
            f"sizes ({sizes!r}) must be the smallest and the largest number of records, such as {SIZES}"
        )


def _grid(allowed: Allowed) -> tuple[Any, Any, Any]:
    """Return the first, a usual, and the last allowed value."""
    return allowed.grid if isinstance(allowed, Between) else (allowed[0], allowed[0], allowed[-1])


def _drawn(allowed: Allowed, rng: np.random.Generator) -> Any:
    return allowed.draw(rng) if isinstance(allowed, Between) else allowed[int(rng.integers(len(allowed)))]


def _with(record: Record, at: int, value: Any) -> Record:
    return (*record[:at], value, *record[at + 1 :])
