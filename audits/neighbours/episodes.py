"""Recorded trajectories: which two batches are neighbours, and hard ones that are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accountant.adjacency import Adjacency
from accountant.episodes import Episodes
from audits.pairs import Pair

__all__ = ["EPISODE_CHECKS", "check_rewards_of_one_user", "episodes_pair", "trajectory_pairs"]

STEPS = ("states", "actions", "rewards")


def check_rewards_of_one_user(first: Episodes, second: Episodes) -> None:
    """Raise ValueError, showing the difference, unless the batches differ in one user's rewards only."""
    _check_one_owner(first, second)
    for name in ("states", "actions"):
        place = np.flatnonzero(getattr(first, name) != getattr(second, name))
        if place.size:
            a, b = (int(getattr(batch, name)[place[0]]) for batch in (first, second))
            raise ValueError(f"{name} at step {place[0]} of the batch ({a} and {b}) must be equal")


def check_one_user_replaced(first: Episodes, second: Episodes) -> None:
    """Raise ValueError, showing the difference, unless one user's steps differ and nothing else.

    Users and lengths of all episodes must be equal, as in `accountant.episodes.replaces_one_user`.
    """
    _check_one_owner(first, second)


def check_one_user_more(first: Episodes, second: Episodes) -> None:
    """Raise ValueError, showing the difference, unless one batch has all episodes of one more user."""
    small, large = sorted((first, second), key=lambda batch: batch.count)
    only = sorted(set(large.user.tolist()) - set(small.user.tolist()))
    if len(only) != 1:
        raise ValueError(f"the users of only the larger batch {only[:5]} must be exactly one")
    rest = _without(large, only[0])
    for name in ("user", "lengths", *STEPS):
        if not np.array_equal(getattr(rest, name), getattr(small, name)):
            raise ValueError(f"without user {only[0]}, its {name} must be those of the smaller batch")


def _check_one_owner(first: Episodes, second: Episodes) -> None:
    for name in ("user", "lengths"):
        one, other = getattr(first, name), getattr(second, name)
        if not np.array_equal(one, other):
            raise ValueError(f"{name} of the episodes ({_shown(one)} and {_shown(other)}) must be equal")
    owner = np.repeat(first.user, first.lengths)
    apart = np.any([getattr(first, name) != getattr(second, name) for name in STEPS], axis=0)
    changed = np.unique(owner[apart]).tolist()
    if not changed:
        raise ValueError("the batches are equal; neighbours must differ")
    if len(changed) > 1:
        raise ValueError(f"the users whose steps differ {changed[:5]} must be only one")


def _shown(values: NDArray[Any]) -> str:
    return np.array2string(values, threshold=5)


EPISODE_CHECKS: Mapping[Adjacency, Callable[[Episodes, Episodes], None]] = {
    Adjacency.REWARDS_ONLY: check_rewards_of_one_user,
    Adjacency.REPLACE: check_one_user_replaced,
    Adjacency.ADD_REMOVE: check_one_user_more,
    Adjacency.EXPERT: check_one_user_more,
}
"""The validator of each relation; under ``expert`` the field ``user`` says who the expert is."""


def episodes_pair(first: Episodes, second: Episodes, adjacency: Adjacency, description: str) -> Pair:
    """Two batches as a pair, validated.

    Raises:
        InvalidPairError: they are not neighbours under the relation; shows the difference.
        ValueError: the relation says nothing of episodes.
    """
    if adjacency not in EPISODE_CHECKS:
        known = ", ".join(known.value for known in EPISODE_CHECKS)
        raise ValueError(f"adjacency ({adjacency.value!r}) must be one of: {known}")
    return Pair(first, second, adjacency, description, EPISODE_CHECKS[adjacency])


def trajectory_pairs(
    data: Episodes, user: int, adjacency: Adjacency, *, states: int, actions: int
) -> tuple[Pair, ...]:
    """Hard pairs made from a batch by what ``user`` (under ``expert``, an expert) does in it.

    The user stays in state 0, takes action 0 and earns nothing; or is always in the last state, takes the
    last action, or earns 1. Under replace, two of these are compared; otherwise each with its absence.

    Args:
        data: a batch; all other users' steps are kept.
        user: one of those in it; under add-remove and expert, not the only one.
        adjacency: replace, add-remove or expert; for rewards-only see `reward_pairs`.
        states, actions: how many there are.

    Raises:
        ValueError: there is no such user, or no pairs for the adjacency.

    >>> batch = Episodes.rectangular([[0, 1], [1, 1]], [[0, 0], [1, 0]], [[0.5, 0.5], [1.0, 0.0]])
    >>> [p.description for p in trajectory_pairs(batch, 0, Adjacency.REPLACE, states=2, actions=2)]
    ['user 0: elsewhere', 'user 0: acts otherwise', 'user 0: is paid', 'user 0: all three']
    """
    if user not in data.user:
        raise ValueError(f"user ({user!r}) must be one of {np.unique(data.user)[:5].tolist()}")
    quiet = _doing(data, user, states=0, actions=0, rewards=0)
    last, other = states - 1, actions - 1
    variants = {
        "elsewhere": _doing(quiet, user, states=last),
        "acts otherwise": _doing(quiet, user, actions=other),
        "is paid": _doing(quiet, user, rewards=1),
        "all three": _doing(quiet, user, states=last, actions=other, rewards=1),
    }
    if adjacency is Adjacency.REPLACE:
        found = {name: (quiet, batch) for name, batch in variants.items() if _differ(quiet, batch)}
    elif adjacency in (Adjacency.ADD_REMOVE, Adjacency.EXPERT):
        absent = _without(data, user)
        found = {
            f"absent or {name}": (absent, batch)
            for name, batch in {"there": data, "quiet": quiet, **variants}.items()
        }
    else:
        raise ValueError(f"adjacency ({adjacency.value!r}) must be one of: replace, add-remove, expert")
    return tuple(episodes_pair(a, b, adjacency, f"user {user}: {name}") for name, (a, b) in found.items())


def _differ(first: Episodes, second: Episodes) -> bool:
    return any(not np.array_equal(getattr(first, name), getattr(second, name)) for name in STEPS)


def _doing(data: Episodes, user: int, **constant: float) -> Episodes:
    """The same batch, but some fields of the user's steps are constant."""
    mine = np.repeat(data.user, data.lengths) == user
    fields = {name: np.where(mine, value, getattr(data, name)) for name, value in constant.items()}
    return replace(data, **{name: field.astype(getattr(data, name).dtype) for name, field in fields.items()})


def _without(data: Episodes, user: int) -> Episodes:
    """The batch without a user's episodes.

    Raises:
        ValueError: nothing is left.
    """
    kept = data.user != user
    if not kept.any():
        raise ValueError(f"user ({user!r}) must not be the only one: a batch holds at least one episode")
    steps = np.repeat(kept, data.lengths)
    fields: dict[str, Any] = {name: getattr(data, name)[steps] for name in STEPS}
    return replace(data, **fields, lengths=data.lengths[kept], user=data.user[kept])
