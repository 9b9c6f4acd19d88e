"""Reward sequences: one user is paid differently at every step, or at a step that matters."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.audits.data.episode_relations import check_rewards_of_one_user
from dpproof.audits.data.pairs import Neighbours
from dpproof.mechanisms.rl.rlsvi.users import Users, differ_only_in_rewards_of_one_user

Floats = NDArray[np.float64]


def _patterns(steps: int) -> dict[str, tuple[Floats, Floats]]:
    """Rewards of either side, step by step."""
    none, step = np.zeros(steps), np.arange(steps)
    return {
        "0 or 1 at every step": (none, none + 1),
        "0 or 1 at the first step": (none, (step == 0) * 1.0),
        "0 or 1 at the last step": (none, (step == steps - 1) * 1.0),
        "paid in the first half or in the second": ((step < steps // 2) * 1.0, (step >= steps // 2) * 1.0),
        "paid at even steps or at odd ones": ((step % 2 == 0) * 1.0, (step % 2) * 1.0),
    }


REWARD_PATTERNS = tuple(_patterns(2))
"""The names of the patterns."""


def reward_pairs(data: Users | Episodes, user: int = 0) -> tuple[Neighbours, ...]:
    """Rewards-only neighbours: ``user`` is paid in the patterns of `REWARD_PATTERNS`, all else stays.

    Args:
        data: users that answer whatever they are asked, or recorded episodes.
        user: whose rewards change.

    Raises:
        ValueError: there is no such user.

    >>> users = Users(np.zeros((2, 3, 1, 1), int), np.zeros((2, 3, 1, 1)))
    >>> [pair.second.rewards[0].ravel().tolist() for pair in reward_pairs(users)][:2]
    [[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]
    """
    pairs: dict[tuple[bytes, bytes], Neighbours] = {}
    for name, sides in _patterns(_steps(data, user)).items():
        first, second = (_paid(data, user, rewards) for rewards in sides)
        place = first.rewards.tobytes(), second.rewards.tobytes()
        pair = Neighbours(first, second, Adjacency.REWARDS_ONLY, f"user {user}: {name}", _check)
        pairs.setdefault(place, pair)
    return tuple(pairs.values())


def _check(first: Users | Episodes, second: Users | Episodes) -> None:
    _CHECKS[type(first)](first, second)


_CHECKS: dict[type, Any] = {
    Users: differ_only_in_rewards_of_one_user,
    Episodes: check_rewards_of_one_user,
}


@singledispatch
def _steps(data: object, user: int) -> int:
    raise ValueError(f"data (a {type(data).__name__}) must be Users or Episodes")


@_steps.register
def _(data: Users, user: int) -> int:
    return data.horizon


@_steps.register
def _(data: Episodes, user: int) -> int:
    found = int(data.lengths[data.user == user].sum())
    if not found:
        raise ValueError(f"user ({user!r}) must be one of {np.unique(data.user)[:5].tolist()}")
    return found


@singledispatch
def _paid(data: object, user: int, rewards: Floats) -> Any:
    """The same data, but ``user`` is paid ``rewards`` step by step, whatever the state and the action."""


@_paid.register
def _(data: Users, user: int, rewards: Floats) -> Users:
    shape = (data.horizon, data.states, data.actions)
    return data.with_rewards(user, np.broadcast_to(rewards[:, None, None], shape))


@_paid.register
def _(data: Episodes, user: int, rewards: Floats) -> Episodes:
    changed = data.rewards.copy()
    changed[np.repeat(data.user, data.lengths) == user] = rewards
    return replace(data, rewards=changed)
