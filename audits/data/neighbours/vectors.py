"""Vectors of numbers: one coordinate, all coordinates, or a distance, changed by at most a size."""

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
    """What is bounded by the size."""

    ONE = "one coordinate"
    """One coordinate changes, by at most the size; the others are equal."""
    ALL = "all coordinates"
    """Every coordinate changes by at most the size."""
    L1 = "L1 distance"
    L2 = "L2 distance"


def _one(gaps: Sequence[Fraction], size: Fraction) -> str | None:
    changed = [place for place, gap in enumerate(gaps) if gap]
    return f"coordinates {changed[:5]} differ" if len(changed) > 1 else _all(gaps, size)


def _all(gaps: Sequence[Fraction], size: Fraction) -> str | None:
    place = max(range(len(gaps)), key=lambda i: abs(gaps[i]))
    return f"coordinate {place} differs by {float(gaps[place]):.17g}" if abs(gaps[place]) > size else None


def _l1(gaps: Sequence[Fraction], size: Fraction) -> str | None:
    found = sum(map(abs, gaps), Fraction())
    return f"the L1 distance is {float(found):.17g}" if found > size else None


def _l2(gaps: Sequence[Fraction], size: Fraction) -> str | None:
    found = sum((gap * gap for gap in gaps), Fraction())
    return f"the L2 distance is {float(found) ** 0.5:.17g}" if found > size * size else None


_EXCESS: Mapping[Distance, Callable[[Sequence[Fraction], Fraction], str | None]] = {
    Distance.ONE: _one,
    Distance.ALL: _all,
    Distance.L1: _l1,
    Distance.L2: _l2,
}


@dataclass(frozen=True)
class VectorRelation:
    """The validator of a relation between vectors, decided exactly on the doubles given.

    Attributes:
        distance: what is bounded.
        size: by how much, above 0.

    Raises:
        ValueError: the size is not above 0 and finite.

    >>> VectorRelation(Distance.ONE)([1.0, 1.0], [2.0, 0.0])
    Traceback (most recent call last):
    ValueError: coordinates [0, 1] differ; neighbours must be within 1 (one coordinate)
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
            raise ValueError(f"the shapes {one.shape} and {other.shape} must be equal")
        if (one == other).all():
            raise ValueError("the vectors are equal; neighbours must differ")
        gaps = [Fraction(b) - Fraction(a) for a, b in zip(one.tolist(), other.tolist(), strict=True)]
        excess = _EXCESS[self.distance](gaps, Fraction(self.size))
        if excess:
            raise ValueError(f"{excess}; neighbours must be {self}")


def _vector(name: str, given: object) -> NDArray[Any]:
    array = np.asarray(given)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} (dtype {array.dtype}) must hold numbers")
    if not np.isfinite(array).all() or not array.size:
        raise ValueError(
            f"{name} ({np.array2string(array, threshold=5)}) must hold finite numbers, at least one"
        )
    return array.astype(np.float64).ravel() if array.dtype.kind == "b" else array.ravel()


Offsets = tuple[Floats, Floats]
"""What is added to the base on either side, up to a common factor."""


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
"""The names of the patterns; a relation has those that it allows."""


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
    """The pairs of `VECTOR_PATTERNS` that a relation allows, as far apart as it allows.

    Args:
        dimension: of the vectors, at least 1.
        distance, size: the relation.
        base: every coordinate without a change.
        adjacency: what the claim calls the relation.

    Returns:
        Pairs of float64 arrays ``(dimension,)``, no two the same.

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
    """The second vector, moved towards the first by as many ulps as rounding took it too far."""
    for _ in range(64):
        try:
            relation(first, second)
        except ValueError:
            second = np.nextafter(second, first)
        else:
            break
    return second
