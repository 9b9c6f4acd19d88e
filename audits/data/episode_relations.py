"""Checks that two batches of recorded trajectories are neighbours, one check for each neighbouring relation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes

STEPS = ("states", "actions", "rewards")


def check_rewards_of_one_user(first: Episodes, second: Episodes) -> None:
    """Raise ValueError, whose message shows the difference, unless only the rewards of one user differ."""
    _check_one_owner(first, second)
    for name in ("states", "actions"):
        place = np.flatnonzero(getattr(first, name) != getattr(second, name))
        if place.size:
            a, b = (int(getattr(batch, name)[place[0]]) for batch in (first, second))
            raise ValueError(f"{name} at step {place[0]} must be equal in both batches, not {a} and {b}")


def check_one_user_replaced(first: Episodes, second: Episodes) -> None:
    """Raise ValueError, whose message shows the difference, unless only the steps of one user differ.

    Each episode must have the same user and the same length in both batches, as in
    `dpproof.accountant.claims.episodes.replaces_one_user`.
    """
    _check_one_owner(first, second)


def check_one_user_more(first: Episodes, second: Episodes) -> None:
    """Raise ValueError, whose message shows the difference, unless one batch is the other with one more user."""
    small, large = sorted((first, second), key=lambda batch: batch.count)
    only = sorted(set(large.user.tolist()) - set(small.user.tolist()))
    if len(only) != 1:
        raise ValueError(f"The larger batch must have exactly one additional user, not the users {only[:5]}")
    rest = without_user(large, only[0])
    for name in ("user", "lengths", *STEPS):
        if not np.array_equal(getattr(rest, name), getattr(small, name)):
            raise ValueError(f"Without user {only[0]}, {name} must be equal in both batches")


def _check_one_owner(first: Episodes, second: Episodes) -> None:
    for name in ("user", "lengths"):
        one, other = getattr(first, name), getattr(second, name)
        if not np.array_equal(one, other):
            raise ValueError(f"{name} must be equal in both batches, not {_shown(one)} and {_shown(other)}")
    owner = np.repeat(first.user, first.lengths)
    apart = np.any([getattr(first, name) != getattr(second, name) for name in STEPS], axis=0)
    changed = np.unique(owner[apart]).tolist()
    if not changed:
        raise ValueError("The batches are equal. Neighbours must differ.")
    if len(changed) > 1:
        raise ValueError(f"The steps of users {changed[:5]} differ. Neighbours must differ in one user only.")


def _shown(values: NDArray[np.generic]) -> str:
    return np.array2string(values, threshold=5)


EPISODE_CHECKS: Mapping[Adjacency, Callable[[Episodes, Episodes], None]] = {
    Adjacency.REWARDS_ONLY: check_rewards_of_one_user,
    Adjacency.REPLACE: check_one_user_replaced,
    Adjacency.ADD_REMOVE: check_one_user_more,
    Adjacency.EXPERT: check_one_user_more,
}
"""The check of each neighbouring relation. Under ``expert`` the field ``user`` holds the number of the expert."""


def without_user(data: Episodes, user: int) -> Episodes:
    """Return the batch without one user's episodes.

    Raises:
        ValueError: the batch has no episodes of other users.
    """
    kept = data.user != user
    if not kept.any():
        raise ValueError(f"user ({user!r}) cannot be removed, because the batch has no other user")
    steps = np.repeat(kept, data.lengths)
    fields: dict[str, Any] = {name: getattr(data, name)[steps] for name in STEPS}
    return replace(data, **fields, lengths=data.lengths[kept], user=data.user[kept])
