"""Kinds of neighbours that large changes of one record do not contain, one pair or a few of each kind.

- *lone cell*: one record alone has two values together, and each value occurs elsewhere;
- *vanishing group*: one record alone has a value;
- *duplicate*: all records differ, or one record has a copy;
- *small data*: the data sets hold as few records as allowed, such as one and none;
- *boundary float* and *further value*: a record with an unusual value; see `dpproof.audits.data.schema`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, cycle, islice, zip_longest
from typing import Any, TypeVar

from dpproof.audits.data.changes import shown
from dpproof.audits.data.handed import sealed
from dpproof.audits.data.schema import Source
from dpproof.audits.data.settings import Setting, placed_of, without
from dpproof.audits.data.tables import Record

T = TypeVar("T")
GROUPS = 50
"""The largest number of different values in a column whose values are taken for the names of groups."""
CELLS = 10
"""The largest number of pairs of columns in which lone cells are looked for."""


def kinds_of(source: Source, *, added: bool) -> Iterator[Setting]:
    """Generate one setting of each kind in turn, until there are no more.

    Args:
        source: the records that may occur.
        added: whether the two inputs differ by one record that is there or not; otherwise one record is replaced.
    """
    made = _Kinds(source, added)
    unusual = (made.unusual(records) for records in (source.boundary, source.further))
    return in_turn(made.small(), made.lone_cells(), made.vanishing(), made.duplicates(), *unusual)


def in_turn(*several: Iterable[T]) -> Iterator[T]:
    """Generate one item of each iterable in turn, until all are exhausted.

    >>> [*in_turn("abc", "1")]
    ['a', '1', 'b', 'c']
    """
    for turn in zip_longest(*(([one] for one in each) for each in several), fillvalue=[]):
        for box in turn:
            yield from box


@dataclass(frozen=True)
class _Kinds:
    source: Source
    added: bool

    @property
    def _size(self) -> int:
        return len(self.source.table.records)

    def _setting(self, record: Record, others: Sequence[Record], other: Record, said: str) -> Setting:
        """Return two inputs: the record beside others, and without it or with another one in its place."""
        held = [record, *others]
        if self.added:
            return Setting(placed_of(held), without(held, 0), f"{said} is there or not")
        return Setting(placed_of(held), placed_of(held, 0, other), f"{said}, or it becomes {shown(other)}")

    def _filled(self, begun: Sequence[Record], among: Sequence[Record]) -> list[Record] | None:
        """Return ``begun`` with further records, so that one more record makes a data set; None if it is too long."""
        more = self._size - 1 - len(begun)
        return None if more < 0 or not among else [*begun, *islice(cycle(among), more)]

    def small(self) -> Iterator[Setting]:
        """Generate the smallest data sets, if the schema states sizes; one of them may be empty."""
        if self.source.sizes is None:
            return
        least, unit = self.source.sizes[0], self.source.table.unit
        others = list(self.source.pool[: least if self.added else max(least, 1) - 1])
        for change in self.source.changes[:2]:
            said = f"small data: beside {len(others)} {unit}s, the {unit} {shown(change.high)}"
            yield self._setting(change.high, others, change.low, said)

    def vanishing(self) -> Iterator[Setting]:
        """Generate data in which one record alone has a value, the rarest value of each column first."""
        ranked = ([(at, value) for value in _rarest(counts)] for at, counts in self._groups.items())
        for at, value in in_turn(*ranked):
            record = next(one for one in self.source.pool if one[at] == value)
            rest = [one for one in self.source.pool if one[at] != value]
            others = self._filled([], rest)
            if others is not None:
                said = f"vanishing group: the only {self.source.table.unit} with {self._named(at, record)}"
                yield self._setting(record, others, rest[-1], said)

    def lone_cells(self) -> Iterator[Setting]:
        """Generate data in which one record alone has two values together, each of which occurs elsewhere."""
        for i, j in islice(combinations(self._groups, 2), CELLS):
            cells = _counted((one[i], one[j]) for one in self.source.pool)
            found = (
                (u, v) for u, v in _rarest(cells)
                if self._groups[i][u] > cells[u, v] < self._groups[j][v]
            )  # fmt: skip
            for u, v in islice(found, 1):
                yield from self._lone(i, u, j, v)

    def _lone(self, i: int, u: Hashable, j: int, v: Hashable) -> Iterator[Setting]:
        pool = self.source.pool
        record = next(one for one in pool if one[i] == u and one[j] == v)
        rest = [one for one in pool if one[i] != u or one[j] != v]
        begun = [next(one for one in rest if one[at] == value) for at, value in ((i, u), (j, v))]
        others = self._filled(begun, rest)
        if others is not None:
            both = f"{self._named(i, record)} and {self._named(j, record)}"
            said = f"lone cell: the only {self.source.table.unit} with {both}"
            yield self._setting(record, others, begun[0], said)

    def duplicates(self) -> Iterator[Setting]:
        """Generate data in which all records differ, or one record has a copy."""
        distinct = list({sealed(one): one for one in self.source.pool}.values())[: self._size]
        if len(distinct) < (2 if self.added else max(self._size, 2)):
            return
        first, second, *others = distinct
        said = f"duplicate: among different {self.source.table.unit}s, a copy of {shown(first)}"
        fewer = [first, second, *others][: self._size - 1] if self.added else [first, *others]
        yield self._setting(first, fewer, second, said)

    def unusual(self, records: Sequence[tuple[str, Record]]) -> Iterator[Setting]:
        """Generate data in which one record has an unusual value."""
        for said, record in records:
            rest = [one for one in self.source.pool if sealed(one) != sealed(record)]
            others = self._filled([], rest)
            if others is not None:
                yield self._setting(record, others, rest[-1], said)

    def _named(self, at: int, record: Record) -> str:
        columns = self.source.table.columns
        return shown((record[at],)) if columns == (0,) else f"{columns[at]} = {shown((record[at],))}"

    @cached_property
    def _groups(self) -> dict[int, Counter[Any]]:
        """The columns whose values are names of groups, with the number of records in each group."""
        counted = enumerate(map(_counted, zip(*self.source.pool, strict=True)))
        most = min(GROUPS, max(2, len(self.source.pool) // 2))
        return {at: counts for at, counts in counted if 1 < len(counts) <= most}


def _counted(values: Iterable[Any]) -> Counter[Any]:
    """Return how often each value occurs, without NaN; nothing if the values cannot be counted."""
    try:
        return Counter(one for one in values if one == one)
    except (TypeError, ValueError):  # an array, or pandas.NA
        return Counter()


def _rarest(counts: Counter[T]) -> list[T]:
    """Return the values, the rarest first."""
    return sorted(counts, key=counts.__getitem__)
