"""Argument checks that several mechanisms share. Each error states the value and the rule it breaks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.claims.episodes import Episodes


def at_least(name: str, value: int, minimum: int) -> int:
    """Return `value` as an int, or raise ValueError unless it is an integer not below `minimum`.

    >>> at_least("runs", 0, 1)
    Traceback (most recent call last):
    ValueError: runs (0) must be an integer at least 1
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < minimum:
        raise ValueError(f"{name} ({value!r}) must be an integer at least {minimum}")
    return int(value)


def index(name: str, value: int, size: int) -> int:
    """Return `value` as an int, or raise ValueError unless it is one of 0, ..., size - 1."""
    if at_least(name, value, 0) >= size:
        raise ValueError(f"{name} ({value!r}) must be one of 0, ..., {size - 1}")
    return int(value)


def discount(value: float) -> float:
    """Return a discount factor, or raise ValueError unless it lies in [0, 1)."""
    if not 0 <= value < 1:
        raise ValueError(f"discount ({value!r}) must be in [0, 1)")
    return value


def unit_interval(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return `values` as a read-only float64 array, or raise ValueError for an entry outside [0, 1] or NaN."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} (dtype {array.dtype}) must hold real numbers")
    _refuse(name, array, ~((array >= 0) & (array <= 1)), "must be in [0, 1]")
    return _frozen(array.astype(np.float64))


def indices(name: str, values: ArrayLike, size: int) -> NDArray[np.int64]:
    """Return `values` as a read-only int64 array, or raise ValueError unless all are integers in [0, size)."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise ValueError(f"the dtype of {name} ({array.dtype}) must be an integer type")
    _refuse(name, array, (array < 0) | (array >= size), f"must be one of 0, ..., {size - 1}")
    return _frozen(array.astype(np.int64))


def distributions(name: str, values: ArrayLike, tolerance: float = 1e-12) -> NDArray[np.float64]:
    """Return `values` as a read-only float64 array after checking that its rows are probability distributions.

    A row is along the last axis. Raise ValueError unless all entries are in [0, 1] and each row sums to one, up to
    `tolerance`.
    """
    array = unit_interval(name, values)
    sums = array.sum(axis=-1)
    _refuse(f"the sum of {name}", sums, ~(abs(sums - 1) <= tolerance), "must be 1")
    return array


def log(episodes: Any, states: int, longest: int | None, limit: str, per_user: int, remedy: str) -> None:
    """Raise ValueError unless a log fits what is public about it.

    Args:
        episodes: the log.
        states: the number of all possible states.
        longest: the largest possible number of steps of an episode; None for no limit.
        limit: the name of the argument that gives ``longest``.
        per_user: the largest number of episodes of one user.
        remedy: what to do if a user has more episodes, with ``{}`` for their number.
    """
    if not isinstance(episodes, Episodes):
        kind = type(episodes).__name__
        raise ValueError(f"episodes (of type {kind}) must be Episodes. Read other data with read_episodes.")
    wrong = episodes.states >= states
    if wrong.any():
        rule = f"must be one of 0, ..., {states - 1}. Give the public number of all possible states"
        raise ValueError(f"states ({int(episodes.states[wrong][0])}) {rule}.")
    steps = int(episodes.lengths.max())
    if longest is not None and steps > longest:
        rule = f"must be at most {limit} ({longest}). Give the public limit on the steps of an episode"
        raise ValueError(f"lengths ({steps}) {rule}.")
    users, counts = np.unique(episodes.user, return_counts=True)
    if (most := int(counts.max())) > per_user:
        user = int(users[counts.argmax()])
        raise ValueError(
            f"user ({user}) has {most} episodes, but the guarantee protects at most {per_user} of a user. "
            f"{remedy.format(most)}, or read the data with unit='episode' to protect single episodes."
        )


def _refuse(name: str, array: NDArray[Any], wrong: NDArray[np.bool_], rule: str) -> None:
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(f"{name} at {place} ({array[place]}) {rule}")


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
