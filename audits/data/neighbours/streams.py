"""Streams: one event, or all events of one user, are changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.data.pairs import Neighbours


@dataclass(frozen=True)
class StreamRelation:
    """The validator of event-level neighbours, or of user-level ones if it is told whose events they are.

    A stream is an array with one event a row. Both have the same length; the events that differ are one
    (event level) or all of one user (user level), and no number in them differs by more than the size.

    Attributes:
        size: the most that a number changes by, above 0.
        users: who each event belongs to, one entry an event; ``None`` for event level.

    >>> StreamRelation()([0, 0, 1], [1, 0, 0])
    Traceback (most recent call last):
    ValueError: events [0, 2] differ; neighbours must differ in one event
    >>> StreamRelation(users=(7, 8, 7))([0, 0, 1], [1, 0, 0])
    """

    size: float = 1.0
    users: tuple[int, ...] | None = None

    def __call__(self, first: object, second: object) -> None:
        """Raise ValueError, showing the difference, unless the two are neighbours and differ."""
        one, other = _stream("first", first), _stream("second", second)
        if one.shape != other.shape:
            raise ValueError(f"the shapes {one.shape} and {other.shape} must be equal")
        changed = np.flatnonzero((one != other).any(axis=1))
        if not changed.size:
            raise ValueError("the streams are equal; neighbours must differ")
        self._check_owner(len(one), changed)
        for place in changed:
            gap = max(abs(Fraction(b) - Fraction(a)) for a, b in zip(one[place], other[place], strict=True))
            if gap > self.size:
                raise ValueError(f"event {place} differs by {float(gap):.17g}; the most is {self.size:g}")

    def _check_owner(self, length: int, changed: NDArray[np.int64]) -> None:
        if self.users is None:
            if changed.size > 1:
                raise ValueError(f"events {changed[:5].tolist()} differ; neighbours must differ in one event")
            return
        if len(self.users) != length:
            raise ValueError(f"users ({len(self.users)} of them) must be one for each of {length} events")
        owners = sorted({self.users[place] for place in changed})
        if len(owners) > 1:
            raise ValueError(f"events of users {owners[:5]} differ; neighbours must differ in one user")


def _stream(name: str, given: object) -> NDArray[np.float64]:
    array = np.asarray(given)
    if array.dtype.kind not in "biuf" or not array.ndim or not array.size or not np.isfinite(array).all():
        raise ValueError(
            f"{name} (dtype {array.dtype}, shape {array.shape}) must hold finite numbers, an event a row"
        )
    return array.reshape(len(array), -1).astype(np.float64)


def event_pairs(length: int, size: float = 1.0) -> tuple[Neighbours, ...]:
    """Event-level neighbours: float64 arrays ``(length,)`` of events 0 or ``size``, one of them changed.

    A tree's counters meet an early event in the most sums, one at a power of two in new ones, the last in
    the fewest.

    >>> [pair.description for pair in event_pairs(5)][:2]
    ['the first event among 0s', 'the first event among 1s']
    """
    if length < 1:
        raise ValueError(f"length ({length!r}) must be at least 1")
    power = 1 << ((length - 1).bit_length() - 1) if length > 1 else 0
    places = {"first": 0, "middle": length // 2, "last": length - 1, "power of two": power}
    relation, seen, pairs = StreamRelation(size), set[int](), []
    for name, place in places.items():
        if place not in seen:
            seen.add(place)
            for among in (0, 1):
                first, second = np.full((2, length), among * size)
                first[place], second[place] = 0.0, size
                pairs.append(
                    Neighbours(first, second, Adjacency.REPLACE, f"the {name} event among {among}s", relation)
                )
    return tuple(pairs)


def user_pairs(users: Sequence[int], user: int | None = None, size: float = 1.0) -> tuple[Neighbours, ...]:
    """User-level neighbours: one user's events change, all others are 0.

    Args:
        users: who each event belongs to.
        user: whose events change; by default one with the most events.
        size: of an event.

    Raises:
        ValueError: no events, or none of this user.

    >>> [pair.second.tolist() for pair in user_pairs((1, 2, 1, 1))][:2]
    [[1.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.0]]
    """
    owners = tuple(int(owner) for owner in users)
    if not owners:
        raise ValueError("users must name at least one")
    chosen = max(sorted(set(owners)), key=owners.count) if user is None else user
    mine = np.flatnonzero(np.array(owners) == chosen)
    if not mine.size:
        raise ValueError(f"user ({chosen!r}) must be one of {sorted(set(owners))[:5]}")
    k, relation = np.arange(mine.size), StreamRelation(size, owners)
    patterns = {
        "every event": (0 * k, 0 * k + 1),
        "half the events": (0 * k, (k < (mine.size + 1) // 2) * 1),
        "alternating events": (k % 2, 1 - k % 2),
        "the last event": (0 * k, (k == k[-1]) * 1),
    }
    pairs = []
    for name, values in patterns.items():
        first, second = np.zeros((2, len(owners)))
        first[mine], second[mine] = (size * np.asarray(v) for v in values)
        pairs.append(Neighbours(first, second, Adjacency.REPLACE, f"{name} of user {chosen}", relation))
    return tuple(pairs)
