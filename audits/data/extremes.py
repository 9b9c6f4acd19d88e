"""Extreme neighbours of a given data set: pairs on which a faulty mechanism is likely to violate its claim.

In each pair one record changes from one extreme record to another. The other records are those of the data, or they
all equal one extreme record, or half of them equal each of the two. Extremes are observed records, because a
mechanism may rely on a property that all records have, such as a start before the end. Records that nobody has are
tried only with stated bounds: a record of the data, in which the values in the columns with bounds are replaced.
Under ``replace`` all inputs have as many records as the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import chain, islice
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.audits.data.changed_users import Candidate, of_episodes, of_users
from dpproof.audits.data.changes import (
    Bounds,
    Change,
    bounded_columns,
    changes,
    check_bounds,
    columns_of,
    shown,
)
from dpproof.audits.data.handed import sealed
from dpproof.audits.data.kinds import in_turn, kinds_of
from dpproof.audits.data.pairs import InvalidNeighboursError, Neighbours
from dpproof.audits.data.schema import Between, Drawn, Schema, Source, boundary_records
from dpproof.audits.data.settings import Setting, names_of, removed, replaced
from dpproof.audits.data.tables import UNKNOWN, Placed, Record, Table, table_of
from dpproof.mechanisms.rl.rlsvi.users import Users

TABLES = (Adjacency.REPLACE, Adjacency.ADD_REMOVE, Adjacency.EXPERT)
MOST = 24
"""The largest number of pairs that an audit makes from a data set by large changes of one record."""
KINDS = 4
"""For this number of pairs with a large change, an audit makes one pair of another kind (`kinds_of`)."""
SETTINGS = 11
"""The largest number of settings of one change."""
LEAST, RECORDS = 6, 120_000
"""For large data sets: the smallest number of pairs, and the largest number of records in all pairs together."""


@dataclass(frozen=True)
class Extremes:
    """A data set from which an audit makes pairs of neighbouring inputs, with the neighbouring relation.

    Attributes:
        data: a table of a kind that `dpproof.audits.data.tables` lists, or `Episodes`, or `Users`, or a `Schema`, or
            a function that draws data (`Drawn`).
        adjacency: the neighbouring relation.
        bounds: the smallest and the largest allowed value; None if only observed records may occur.

    >>> [pair.description for pair in Extremes([0.0, 0.5, 1.0], Adjacency.REPLACE).pairs(2)]
    ['all 3 records are 0; the first record becomes 1', 'your data, where the first record is 0 or 1']
    """

    data: Any
    adjacency: Adjacency
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        """Check the form of the bounds."""
        if self.bounds is not None:
            check_bounds(self.bounds)

    def pairs(self, most: int | None = None) -> tuple[Neighbours, ...]:
        """Return at most ``most`` different validated pairs. Those most likely to show a violation come first.

        Raises:
            InvalidNeighboursError: a schema makes data that are not neighbours.
            ValueError: the data are of an unknown kind, or the relation is not defined for them.
        """
        wanted = self.most + self.most // KINDS if most is None else most
        large, kinds = _candidates(self)
        seen: set[frozenset[str]] = set()
        strict = isinstance(self.data, Schema)
        first, more = (_distinct(candidates, seen, strict) for candidates in (large, kinds))
        described = isinstance(self.data, Schema | Drawn)
        found = in_turn(first, more) if described else chain(islice(first, self.most), more)
        pairs = tuple(islice(found, wanted))
        if not pairs:
            advice = "Describe records that differ" if described else "Give bounds=(low, high)"
            raise ValueError(
                f"All records of data are equal, so dpproof finds no neighbours that differ. {advice} or pair=(x, y)."
            )
        return pairs

    @property
    def most(self) -> int:
        """The largest number of pairs that differ in a large change. It is smaller for large data sets."""
        parts = self.data if isinstance(self.data, tuple) else ()
        sized = (one for one in (self.data, *parts[:1]) if getattr(one, "shape", True))
        records = max((len(one) for one in sized if hasattr(one, "__len__")), default=1)
        if isinstance(self.data, Schema | Drawn):
            records = self.data.sizes[1]
        return min(MOST, max(LEAST, RECORDS // max(records, 1)))

    @property
    def untried(self) -> tuple[str, ...]:
        """Descriptions of the kinds of neighbours that `pairs` does not make."""
        values = _untried(self.data, self.bounds)
        large = [f"more than {self.most} pairs, because the data are large"] if self.most < MOST else []
        kept = self.adjacency is Adjacency.REPLACE and not isinstance(self.data, Schema | Drawn)
        sizes = ["data sets of another size"] if kept else []
        return (*values, *sizes, *large)


@singledispatch
def _untried(data: object, bounds: Bounds | None) -> Sequence[str]:
    """Describe the records that were not tried."""
    table = table_of(data)
    free = {} if bounds is None else bounded_columns(table, bounds)
    left = [str(name) for name in table.columns if not free.get(name)]
    kind = "values" if len(table.columns) == 1 else "records"
    if bounds is None or free.keys() == {0}:
        values = [f"{kind} outside those in your data (give bounds= to include them)"] if left else []
    else:
        values = [f"values outside those in your data in column {', '.join(left)}"] if left else []
    sized = any(isinstance(part, list | tuple | Mapping) for record in table.records for part in record)
    longer = ["records with more parts than those in your data"] if sized and not left else []
    places = [f"changes of other {table.unit}s than the first, the middle and the last one"]
    return [*values, *longer, *(places if len(table.records) > len(names_of(len(table.records), "")) else ())]


@_untried.register(Episodes | Users)
def _untried_rewards(_data: Episodes | Users, bounds: Bounds | None) -> Sequence[str]:
    return ["values outside those in your data (give bounds= to include them)"] if bounds is None else []


@_untried.register
def _untried_of_schema(data: Schema, _bounds: Bounds | None) -> Sequence[str]:
    return [
        f"most combinations of the allowed values, and most sizes from {data.sizes[0]} to {data.sizes[1]}"
    ]


@_untried.register
def _untried_of_drawn(data: Drawn, _bounds: Bounds | None) -> Sequence[str]:
    return [f"records that were not drawn, and most sizes from {data.sizes[0]} to {data.sizes[1]}"]


def _distinct(
    candidates: Iterator[Candidate], seen: set[frozenset[str]], strict: bool
) -> Iterator[Neighbours]:
    """Generate the pairs of the candidates that are neighbours, without repetition."""
    for candidate in candidates:
        key = frozenset((candidate.first_key, candidate.second_key))
        if len(key) == 2 and key not in seen:
            seen.add(key)
            try:
                yield candidate.pair()
            except InvalidNeighboursError:  # such a pair is never run
                if strict:
                    raise


Made = tuple[Iterator[Candidate], Iterator[Candidate]]
"""Candidates with large changes, those most likely to show a violation first; and candidates of other kinds."""


def _candidates(asked: Extremes) -> Made:
    """Return candidates from a table of records, or from users."""
    made, known = _made(asked.data, asked)
    if asked.adjacency not in known:
        kind, listed = type(asked.data).__name__, ", ".join(one.value for one in known)
        raise ValueError(
            f"adjacency ({asked.adjacency.value!r}) must be one of {listed} for data of"
            f" type {kind}. For another relation give pair=(x, y)."
        )
    return made


@singledispatch
def _made(data: object, asked: Extremes) -> tuple[Made, Sequence[Adjacency]]:
    """Return the candidates from the data, and the relations that are allowed for data of this kind."""
    return _of_table(asked), TABLES


@_made.register
def _of_batch(data: Episodes, asked: Extremes) -> tuple[Made, Sequence[Adjacency]]:
    return (of_episodes(data, asked.adjacency, asked.bounds), iter(())), (*TABLES, Adjacency.REWARDS_ONLY)


@_made.register
def _of_responses(data: Users, asked: Extremes) -> tuple[Made, Sequence[Adjacency]]:
    return (of_users(data, asked.adjacency, asked.bounds), iter(())), (Adjacency.REWARDS_ONLY,)


def _of_table(asked: Extremes) -> Made:
    source, seals, relation = _source(asked), _Seals(), asked.adjacency
    least = 0 if source.sizes is None else source.sizes[0]
    kinds = kinds_of(source, added=relation is not Adjacency.REPLACE)
    return (
        _tabled(source.table, source.changes, relation, least, seals),
        (_candidate(source.table, one, relation, (), seals) for one in kinds),
    )


def _source(asked: Extremes) -> Source:
    """Return what is known about the records that may occur."""
    data, bounds, added = asked.data, asked.bounds, asked.adjacency is not Adjacency.REPLACE
    if isinstance(data, Schema) and bounds is not None:
        raise ValueError(f"bounds ({bounds!r:.60}) must be left out, because the schema states all ranges")
    if isinstance(data, Schema | Drawn) and added and data.sizes[0] == data.sizes[1]:
        raise ValueError(f"sizes {data.sizes!r} must be two different numbers, because a record is added")
    if isinstance(data, Schema):
        return data.source
    table = data.table if isinstance(data, Drawn) else table_of(data)
    made = changes(table, bounds)
    alike = [] if made or not added else [Change(*[table.records[0]] * 2)]
    known = Source(table, table.records, [*made, *alike], _boundary(table, bounds))
    return data.cut(known) if isinstance(data, Drawn) else known


def _boundary(table: Table, bounds: Bounds | None) -> list[tuple[str, Record]]:
    """Return records with unusual doubles in the columns of floating-point numbers that have bounds."""
    columns = [] if bounds is None else columns_of(table, bounds)
    ranges = [
        Between(one.low, one.high) if one.bounded and isinstance(one.low, float) else None for one in columns
    ]
    return (
        [
            (f"{said} (not in your data)", record)
            for said, record in boundary_records(table.records[0], ranges)
        ]
        if columns
        else []
    )


def _tabled(
    table: Table, changes: Sequence[Change], adjacency: Adjacency, least: int, seals: _Seals
) -> Iterator[Candidate]:
    """Generate every change in every setting, ordered by the sum of the places of the change and the setting."""
    streams = [_of_change(table, change, adjacency, least, seals) for change in changes]
    for begun in range(1, len(streams) + SETTINGS):
        for stream in streams[:begun]:
            yield from islice(stream, 1)


def _of_change(
    table: Table, change: Change, adjacency: Adjacency, least: int, seals: _Seals
) -> Iterator[Candidate]:
    """Generate a change in every setting. Each is made when it is needed, because it may be large."""
    settings = replaced if adjacency is Adjacency.REPLACE else removed
    for setting in settings(table, change):
        if len(setting.second) >= least:
            yield _candidate(table, setting, adjacency, change.unseen, seals)


class _Seals:
    """The keys of records, each computed once, because all inputs share most of their records."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[int, Record]] = {}
        self._numbers: dict[str, int] = {}

    def of_all(self, placed: Sequence[Placed]) -> str:
        """Return a text that is equal for two inputs only if they have equal records at equal places."""
        held = self._held
        keys = [(place, (held.get(id(record)) or self._of(record))[0]) for place, record in placed]
        return sealed(np.array(keys, np.int64))

    def _of(self, record: Record) -> tuple[int, Record]:
        number = self._numbers.setdefault(sealed(record), len(self._numbers))
        self._held[id(record)] = number, record
        return self._held[id(record)]


def _candidate(
    table: Table, setting: Setting, adjacency: Adjacency, unseen: Sequence[Record], seals: _Seals
) -> Candidate:
    inputs = (setting.first, setting.second)
    first, second = (_built(table, placed) for placed in inputs)
    made = f" (not in your data: {', '.join(map(shown, unseen))})" if unseen else ""
    return Candidate(first, second, adjacency, f"{setting.description}{made}", *map(seals.of_all, inputs))


def _built(table: Table, placed: Sequence[Placed]) -> Any:
    try:
        return table.built(placed)
    except Exception as wrong:  # whatever the constructor of a user's type does
        raise ValueError(
            f"data must be of a type that can hold {len(placed)} {table.unit}s. Making such data raises"
            f" {type(wrong).__name__}: {wrong}. Give the records in a list, or {UNKNOWN}."
        ) from wrong
