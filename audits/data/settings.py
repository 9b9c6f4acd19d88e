"""Settings of a change: the records of two neighbouring inputs, among equal records and in the given data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dpproof.audits.data.changes import Change, shown
from dpproof.audits.data.tables import Placed, Record, Table


@dataclass(frozen=True)
class Setting:
    """The records of two neighbouring inputs that are to be built, and a description of the two inputs."""

    first: Sequence[Placed]
    second: Sequence[Placed]
    description: str


def replaced(table: Table, change: Change) -> Iterator[Setting]:
    """Generate inputs in which one record is replaced, among equal records and in the data."""
    records, unit, a, b = table.records, table.unit, change.low, change.high
    n = len(records)
    half = [a] * (n // 2) + [b] * (n - n // 2)
    names = names_of(n, unit)

    def alike(held: Sequence[Record], at: int, to: Record, what: str) -> Setting:
        where = f"the {names[at]} becomes {shown(to)}"
        return Setting(placed_of(held), placed_of(held, at, to), f"{what}; {where}" if n > 1 else where)

    def within(at: int) -> Setting:
        said = f"{table.called}, where the {names[at]} is {shown(a)} or {shown(b)}"
        return Setting(placed_of(records, at, a), placed_of(records, at, b), said)

    all_a, all_b = (f"all {n} {unit}s are {shown(one)}" for one in (a, b))
    yield alike([a] * n, 0, b, all_a)
    yield within(0)
    yield alike([b] * n, 0, a, all_b)
    yield alike(half, n // 2, a, f"half of the {n} {unit}s are {shown(a)}, the others {shown(b)}")
    yield alike([a] * n, n - 1, b, all_a)
    yield within(n // 2)
    yield within(n - 1)
    yield alike([a] * n, n // 2, b, all_a)


def removed(table: Table, change: Change) -> Iterator[Setting]:
    """Generate inputs in which one record is present or absent, among equal records, in the data and alone."""
    records, unit, a, b = table.records, table.unit, change.low, change.high
    n = len(records)
    names = names_of(n, unit)

    def alike(held: Sequence[Record], at: int, what: str) -> Setting:
        said = f"{what}; the {names[at]}, {shown(held[at])}, is there or not"
        return Setting(placed_of(held), without(held, at), said)

    def within(at: int, to: Record) -> Setting:
        held = [*records[:at], to, *records[at + 1 :]]
        said = f"{table.called}; the {names[at]}, {shown(to)}, is there or not"
        return Setting(placed_of(held), without(held, at), said)

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


def names_of(n: int, unit: str) -> Mapping[int, str]:
    """Return the words for the middle, the last and the first of ``n`` records, by place."""
    words = {n // 2: "middle", n - 1: "last", 0: "first" if n > 1 else "only"}
    return {place: f"{word} {unit}" for place, word in words.items()}


def placed_of(held: Sequence[Record], at: int | None = None, to: Record = ()) -> list[Placed]:
    """Return records with their places; the record at place ``at`` is replaced by ``to``."""
    placed = list(enumerate(held))
    if at is not None:
        placed[at] = (at, to)
    return placed


def without(held: Sequence[Record], at: int) -> list[Placed]:
    """Return records with their places, without the record at place ``at``."""
    return [placed for placed in enumerate(held) if placed[0] != at]
