"""Validators of neighbouring vectors, histograms and streams, and pairs of vectors that are hard for a mechanism.

A validator takes two inputs and decides in exact arithmetic whether they are neighbours. If not, it raises ValueError
with a message that shows the difference. Neighbouring vectors differ by at most a given size: in one coordinate, in
each coordinate, or in L1 or L2 distance. Neighbouring histograms differ by one record that is added, removed or moved
to another bin. Neighbouring streams differ in one event, or in events of one user.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.data.pairs import Neighbours

Floats = NDArray[np.float64]


class Distance(enum.Enum):
    """A way to measure how far two vectors differ. A size bounds this difference."""

    ONE = "one coordinate"
    """One coordinate changes, by at most the size; the others are equal."""
    ALL = "all coordinates"
    """Every coordinate changes by at most the size."""
    L1 = "L1 distance"
    L2 = "L2 distance"


def _one(gaps: Sequence[Fraction], size: Fraction) -> str | None:
    changed = [place for place, gap in enumerate(gaps) if gap]
    return f"Coordinates {changed[:5]} differ" if len(changed) > 1 else _all(gaps, size)


def _all(gaps: Sequence[Fraction], size: Fraction) -> str | None:
    place = max(range(len(gaps)), key=lambda i: abs(gaps[i]))
    return f"Coordinate {place} differs by {float(gaps[place]):.17g}" if abs(gaps[place]) > size else None


def _l1(gaps: Sequence[Fraction], size: Fraction) -> str | None:
    found = sum(map(abs, gaps), Fraction())
    return f"The L1 distance is {float(found):.17g}" if found > size else None


def _l2(gaps: Sequence[Fraction], size: Fraction) -> str | None:
    found = sum((gap * gap for gap in gaps), Fraction())
    return f"The L2 distance is {float(found) ** 0.5:.17g}" if found > size * size else None


_EXCESS: Mapping[Distance, Callable[[Sequence[Fraction], Fraction], str | None]] = {
    Distance.ONE: _one,
    Distance.ALL: _all,
    Distance.L1: _l1,
    Distance.L2: _l2,
}


@dataclass(frozen=True)
class VectorRelation:
    """A function that raises an error unless two vectors are neighbours. It computes exactly, without rounding.

    Attributes:
        distance: how the difference of two vectors is measured.
        size: the largest allowed difference, above 0.

    Raises:
        ValueError: the size is not above 0 and finite.

    >>> VectorRelation(Distance.ONE)([1.0, 1.0], [2.0, 0.0])
    Traceback (most recent call last):
    ValueError: Coordinates [0, 1] differ. Neighbours must be within 1 (one coordinate)
    """

    distance: Distance
    size: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.size < float("inf"):
            raise ValueError(f"size ({self.size!r}) must be a number above 0")

    def __str__(self) -> str:
        return f"within {self.size:g} ({self.distance.value})"

    def __call__(self, first: object, second: object) -> None:
        """Raise ValueError, showing the difference, unless the two are neighbours and differ."""
        one, other = _vector("first", first), _vector("second", second)
        if one.shape != other.shape:
            raise ValueError(f"The shapes of the inputs, {one.shape} and {other.shape}, must be equal.")
        if (one == other).all():
            raise ValueError("The vectors are equal. Neighbours must differ.")
        gaps = [Fraction(b) - Fraction(a) for a, b in zip(one.tolist(), other.tolist(), strict=True)]
        excess = _EXCESS[self.distance](gaps, Fraction(self.size))
        if excess:
            raise ValueError(f"{excess}. Neighbours must be {self}")


def _vector(name: str, given: object) -> NDArray[Any]:
    array = np.asarray(given)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} (dtype {array.dtype}) must hold numbers")
    if not np.isfinite(array).all() or not array.size:
        raise ValueError(
            f"{name} ({np.array2string(array, threshold=5)}) must hold at least one number, and only finite ones"
        )
    return array.astype(np.float64).ravel() if array.dtype.kind == "b" else array.ravel()


Offsets = tuple[Floats, Floats]
"""Two vectors. Times a common factor, they are added to a base vector to make the first and the second input."""


def _patterns(d: int) -> dict[str, Offsets]:
    none, first, last = np.zeros(d), np.eye(d)[0], np.eye(d)[-1]
    halves = np.where(np.arange(d) < d // 2, -1.0, 1.0)
    crossed = {"X": (np.minimum(-halves, 0), np.minimum(halves, 0))} if d > 1 else {}
    return crossed | {
        "one above": (none, first),
        "one below": (none, -first),
        "last one above": (none, last),
        "one above, rest below": (none, 2 * first - 1),
        "one below, rest above": (none, 1 - 2 * first),
        "half-half": (none, halves),
        "alternating": (none, np.where(np.arange(d) % 2, -1.0, 1.0)),
        "all above": (none, none + 1),
        "all below": (none, none - 1),
    }


VECTOR_PATTERNS = tuple(_patterns(2))
"""The names of the patterns by which the two vectors of a pair differ. A relation may allow only some of them."""


def _one_length(gap: Floats) -> float:
    return float(np.abs(gap).max()) if np.count_nonzero(gap) == 1 else np.inf


_LENGTHS: Mapping[Distance, Callable[[Floats], float]] = {
    Distance.ONE: _one_length,
    Distance.ALL: lambda gap: float(np.abs(gap).max()),
    Distance.L1: lambda gap: float(np.abs(gap).sum()),
    Distance.L2: lambda gap: float(np.sqrt((gap**2).sum())),
}


def vector_pairs(
    dimension: int,
    distance: Distance,
    size: float = 1.0,
    base: float = 1.0,
    adjacency: Adjacency = Adjacency.BY_SENSITIVITY,
) -> tuple[Neighbours, ...]:
    """Return pairs of neighbouring vectors, one for each pattern in `VECTOR_PATTERNS` that the relation allows.

    Args:
        dimension: the length of the vectors, at least 1.
        distance, size: the relation, as in `VectorRelation`. The two vectors of a pair have the largest allowed
            difference.
        base: the value of every coordinate that is not changed.
        adjacency: the name of the relation in the claim.

    Returns:
        Pairs of float64 arrays of shape (dimension,). No pair occurs twice.

    >>> [pair.description for pair in vector_pairs(5, Distance.ONE)]
    ['one above', 'one below', 'last one above']
    """
    if dimension < 1:
        raise ValueError(f"dimension ({dimension!r}) must be at least 1")
    relation = VectorRelation(distance, size)
    found: dict[bytes, Neighbours] = {}
    for name, (low, high) in _patterns(dimension).items():
        length = _LENGTHS[distance](high - low)
        if length < np.inf:
            first, second = base + low * size / length, base + high * size / length
            second = _pulled_in(relation, first, second)
            pair = Neighbours(first, second, adjacency, name, relation)
            found.setdefault(first.tobytes() + second.tobytes(), pair)
    return tuple(found.values())


def _pulled_in(relation: VectorRelation, first: Floats, second: Floats) -> Floats:
    """Move the second vector towards the first until its distance, exceeded by rounding, is allowed again."""
    for _ in range(64):
        try:
            relation(first, second)
        except ValueError:
            second = np.nextafter(second, first)
        else:
            break
    return second


def check_one_record_more(first: object, second: object) -> None:
    """Raise ValueError unless one of two histograms has exactly one record more than the other.

    >>> check_one_record_more([1, 0], [1, 2])
    Traceback (most recent call last):
    ValueError: The counts differ by {1: 2}. One count must differ by 1, and no other count may differ.
    """
    change = _change(first, second)
    if [abs(by) for by in change.values()] != [1]:
        raise ValueError(
            f"The counts differ by {_shown(change)}. One count must differ by 1, and no other count may differ."
        )


def check_one_record_moved(first: object, second: object) -> None:
    """Raise ValueError unless two histograms differ by exactly one record that moves to another bin.

    >>> check_one_record_moved([1, 0], [0, 1])
    """
    change = _change(first, second)
    if sorted(change.values()) != [-1, 1]:
        raise ValueError(
            f"The counts differ by {_shown(change)}. One count must differ by -1, another by 1, and no third count may "
            "differ."
        )


def _change(first: object, second: object) -> dict[int, int]:
    one, other = _counts("first", first), _counts("second", second)
    if one.shape != other.shape:
        raise ValueError(f"The shapes of the inputs, {one.shape} and {other.shape}, must be equal.")
    return {int(cell): int(other[cell]) - int(one[cell]) for cell in np.flatnonzero(one != other)}


def _counts(name: str, given: object) -> NDArray[Any]:
    counts = np.asarray(given).ravel()
    whole = counts.dtype.kind in "iu" or (counts.dtype.kind == "f" and (counts == np.floor(counts)).all())
    if not whole or not np.isfinite(counts).all() or (counts < 0).any():
        raise ValueError(
            f"{name} ({np.array2string(counts, threshold=5)}) must contain whole numbers of at least 0"
        )
    return counts


def _shown(change: Mapping[int, int]) -> str:
    shown = dict(list(change.items())[:5])
    return f"{shown}" if len(shown) == len(change) else f"{shown} and {len(change) - 5} more"


@dataclass(frozen=True)
class StreamRelation:
    """A function that raises an error unless two streams are neighbours, at event level or at user level.

    A stream is an array with one event per row. Neighbouring streams have the same length. At event level they differ
    in one event; at user level they differ only in events of one user. No number changes by more than ``size``.

    Attributes:
        size: the largest change of a number, above 0.
        users: the user of each event, which selects user level; ``None`` for event level.

    >>> StreamRelation()([0, 0, 1], [1, 0, 0])
    Traceback (most recent call last):
    ValueError: Events [0, 2] differ. Neighbours must differ in one event only.
    >>> StreamRelation(users=(7, 8, 7))([0, 0, 1], [1, 0, 0])
    """

    size: float = 1.0
    users: tuple[int, ...] | None = None

    def __call__(self, first: object, second: object) -> None:
        """Raise ValueError, showing the difference, unless the two are neighbours and differ."""
        one, other = _stream("first", first), _stream("second", second)
        if one.shape != other.shape:
            raise ValueError(f"The shapes of the inputs, {one.shape} and {other.shape}, must be equal.")
        changed = np.flatnonzero((one != other).any(axis=1))
        if not changed.size:
            raise ValueError("The streams are equal. Neighbours must differ.")
        self._check_owner(len(one), changed)
        for place in changed:
            gap = max(abs(Fraction(b) - Fraction(a)) for a, b in zip(one[place], other[place], strict=True))
            if gap > self.size:
                raise ValueError(
                    f"Event {place} differs by {float(gap):.17g}. It must differ by at most {self.size:g}."
                )

    def _check_owner(self, length: int, changed: NDArray[np.int64]) -> None:
        if self.users is None:
            if changed.size > 1:
                raise ValueError(
                    f"Events {changed[:5].tolist()} differ. Neighbours must differ in one event only."
                )
            return
        if len(self.users) != length:
            raise ValueError(
                f"users ({len(self.users)} entries) must have one entry for each of {length} events"
            )
        owners = sorted({self.users[place] for place in changed})
        if len(owners) > 1:
            raise ValueError(f"Events of users {owners[:5]} differ. Neighbours must differ in one user only.")


def _stream(name: str, given: object) -> NDArray[np.float64]:
    array = np.asarray(given)
    if array.dtype.kind not in "biuf" or not array.ndim or not array.size or not np.isfinite(array).all():
        raise ValueError(
            f"{name} (dtype {array.dtype}, shape {array.shape}) must hold finite numbers, with one event per row"
        )
    return array.reshape(len(array), -1).astype(np.float64)
