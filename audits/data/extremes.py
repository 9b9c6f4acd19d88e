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
from itertools import islice
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.audits.data.changed_users import Candidate, of_episodes, of_users
from dpproof.audits.data.changes import Bounds, Change, bounded_columns, changes, check_bounds, shown
from dpproof.audits.data.handed import sealed
from dpproof.audits.data.pairs import InvalidNeighboursError, Neighbours
from dpproof.audits.data.tables import UNKNOWN, Placed, Record, Table, table_of
from dpproof.mechanisms.rl.rlsvi.users import Users

TABLES = (Adjacency.REPLACE, Adjacency.ADD_REMOVE, Adjacency.EXPERT)
MOST = 24
"""The largest number of pairs of neighbouring inputs that an audit makes from a data set."""
SETTINGS = 11
"""The largest number of settings of one change."""
LEAST, RECORDS = 6, 120_000
"""For large data sets: the smallest number of pairs, and the largest number of records in all pairs together."""


@dataclass(frozen=True)
class Extremes:
    """A data set from which an audit makes pairs of neighbouring inputs, with the neighbouring relation.

    Attributes:
        data: a table of a kind that `dpproof.audits.data.tables` lists, or `Episodes`, or `Users`.
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
            ValueError: the data are of an unknown kind, or the relation is not defined for them.
        """
        wanted = self.most if most is None else most
        found = tuple(islice(_distinct(_candidates(self)), wanted))
        if not found:
            raise ValueError(
                "All records of data are equal, so dpproof finds no neighbours that differ. Give bounds=(low, high) or "
                "pair=(x, y)."
            )
        return found

    @property
    def most(self) -> int:
        """The largest number of pairs. It is smaller for large data sets, because large inputs take long to run."""
        parts = self.data if isinstance(self.data, tuple) else ()
        sized = (one for one in (self.data, *parts[:1]) if getattr(one, "shape", True))
        records = max((len(one) for one in sized if hasattr(one, "__len__")), default=1)
        return min(MOST, max(LEAST, RECORDS // max(records, 1)))

    @property
    def untried(self) -> tuple[str, ...]:
        """Descriptions of the kinds of neighbours that `pairs` does not make."""
        values = _untried(self.data, self.bounds)
        large = [f"more than {self.most} pairs, because the data are large"] if self.most < MOST else []
        sizes = ["data sets of another size"] if self.adjacency is Adjacency.REPLACE else []
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
    return [*values, *longer, *(places if len(table.records) > len(_names(len(table.records), "")) else ())]


@_untried.register(Episodes | Users)
def _untried_rewards(_data: Episodes | Users, bounds: Bounds | None) -> Sequence[str]:
    return ["values outside those in your data (give bounds= to include them)"] if bounds is None else []


def _distinct(candidates: Iterator[Candidate]) -> Iterator[Neighbours]:
    """Generate the pairs of the candidates that are neighbours, without repetition."""
    seen: set[frozenset[str]] = set()
    for candidate in candidates:
        key = frozenset((candidate.first_key, candidate.second_key))
        if len(key) == 2 and key not in seen:
            seen.add(key)
            try:
                yield candidate.pair()
            except InvalidNeighboursError:  # such a pair is never run
                continue


def _candidates(asked: Extremes) -> Iterator[Candidate]:
    """Generate candidates from a table of records, or from users, those most likely to show a violation first."""
    made, known = _made(asked.data, asked)
    if asked.adjacency not in known:
        kind, listed = type(asked.data).__name__, ", ".join(one.value for one in known)
        raise ValueError(
            f"adjacency ({asked.adjacency.value!r}) must be one of {listed} for data of"
            f" type {kind}. For another relation give pair=(x, y)."
        )
    return made


@singledispatch
def _made(data: object, asked: Extremes) -> tuple[Iterator[Candidate], Sequence[Adjacency]]:
    """Return the candidates from the data, and the relations that are allowed for data of this kind."""
    return _of_table(asked), TABLES


@_made.register
def _of_batch(data: Episodes, asked: Extremes) -> tuple[Iterator[Candidate], Sequence[Adjacency]]:
    return of_episodes(data, asked.adjacency, asked.bounds), (*TABLES, Adjacency.REWARDS_ONLY)


@_made.register
def _of_responses(data: Users, asked: Extremes) -> tuple[Iterator[Candidate], Sequence[Adjacency]]:
    return of_users(data, asked.adjacency, asked.bounds), (Adjacency.REWARDS_ONLY,)


def _of_table(asked: Extremes) -> Iterator[Candidate]:
    table = table_of(asked.data)
    made = changes(table, asked.bounds)
    alike = [] if made or asked.adjacency is Adjacency.REPLACE else [Change(*[table.records[0]] * 2)]
    yield from _tabled(table, [*made, *alike], asked.adjacency)


def _tabled(table: Table, changes: Sequence[Change], adjacency: Adjacency) -> Iterator[Candidate]:
    """Generate every change in every setting, ordered by the sum of the places of the change and the setting."""
    seals = _Seals()
    streams = [_of_change(table, change, adjacency, seals) for change in changes]
    for begun in range(1, len(streams) + SETTINGS):
        for stream in streams[:begun]:
            yield from islice(stream, 1)


def _of_change(table: Table, change: Change, adjacency: Adjacency, seals: _Seals) -> Iterator[Candidate]:
    """Generate a change in every setting. Each is made when it is needed, because it may be large."""
    settings = _replaced if adjacency is Adjacency.REPLACE else _removed
    for setting in settings(table.records, change, table.unit):
        yield _candidate(table, setting, adjacency, change.unseen, seals)


@dataclass(frozen=True)
class Setting:
    """The records of two neighbouring inputs that are to be built, and a description of the two inputs."""

    first: Sequence[Placed]
    second: Sequence[Placed]
    description: str


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


def _replaced(records: Sequence[Record], change: Change, unit: str) -> Iterator[Setting]:
    """Generate inputs in which one record is replaced, among equal records and in the data."""
    n, a, b = len(records), change.low, change.high
    half = [a] * (n // 2) + [b] * (n - n // 2)
    names = _names(n, unit)

    def alike(held: Sequence[Record], at: int, to: Record, what: str) -> Setting:
        where = f"the {names[at]} becomes {shown(to)}"
        return Setting(_placed(held), _placed(held, at, to), f"{what}; {where}" if n > 1 else where)

    def within(at: int) -> Setting:
        said = f"your data, where the {names[at]} is {shown(a)} or {shown(b)}"
        return Setting(_placed(records, at, a), _placed(records, at, b), said)

    all_a, all_b = (f"all {n} {unit}s are {shown(one)}" for one in (a, b))
    yield alike([a] * n, 0, b, all_a)
    yield within(0)
    yield alike([b] * n, 0, a, all_b)
    yield alike(half, n // 2, a, f"half of the {n} {unit}s are {shown(a)}, the others {shown(b)}")
    yield alike([a] * n, n - 1, b, all_a)
    yield within(n // 2)
    yield within(n - 1)
    yield alike([a] * n, n // 2, b, all_a)


def _removed(records: Sequence[Record], change: Change, unit: str) -> Iterator[Setting]:
    """Generate inputs in which one record is present or absent, among equal records, in the data and alone."""
    n, a, b = len(records), change.low, change.high
    names = _names(n, unit)

    def alike(held: Sequence[Record], at: int, what: str) -> Setting:
        said = f"{what}; the {names[at]}, {shown(held[at])}, is there or not"
        return Setting(_placed(held), _without(held, at), said)

    def within(at: int, to: Record) -> Setting:
        held = [*records[:at], to, *records[at + 1 :]]
        said = f"your data; the {names[at]}, {shown(to)}, is there or not"
        return Setting(_placed(held), _without(held, at), said)

    def all_but(held: Record, at: int, to: Record) -> Setting:
        changed = [held] * n
        changed[at] = to
        others = f"all other {n - 1} {unit}s are" if n > 2 else f"the other {unit} is"
        return alike(changed, at, f"{others} {shown(held)}" if n > 1 else "no other records")

    yield all_but(a, 0, b)
    yield within(0, b)
    yield alike([b] * n, 0, f"all {n} {unit}s are {shown(b)}")
    yield Setting([(0, b)], [], f"one {unit}, {shown(b)}, is there or not")
    yield Setting([(0, b), (n - 1, b)][: min(n, 2)], [(0, b)], f"one or two {unit}s, {shown(b)}")
    yield all_but(b, 0, a)
    half = [a] * (n // 2) + [b] * (n - n // 2)
    yield alike(half, n - 1, f"half of the {n} {unit}s are {shown(a)}, the others {shown(b)}")
    yield all_but(a, n - 1, b)
    yield within(n // 2, b)
    yield within(n - 1, b)
    yield Setting([(0, a)], [], f"one {unit}, {shown(a)}, is there or not")


def _names(n: int, unit: str) -> Mapping[int, str]:
    words = {n // 2: "middle", n - 1: "last", 0: "first" if n > 1 else "only"}
    return {place: f"{word} {unit}" for place, word in words.items()}


def _placed(held: Sequence[Record], at: int | None = None, to: Record = ()) -> list[Placed]:
    placed = list(enumerate(held))
    if at is not None:
        placed[at] = (at, to)
    return placed


def _without(held: Sequence[Record], at: int) -> list[Placed]:
    return [placed for placed in enumerate(held) if placed[0] != at]
