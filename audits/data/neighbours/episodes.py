"""Hard pairs of episodes: batches of recorded trajectories, and users who are paid differently.

A reward sequence differs at every step, or at a step that matters.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.audits.data.episode_relations import (
    EPISODE_CHECKS,
    STEPS,
    check_rewards_of_one_user,
    without_user,
)
from dpproof.audits.data.pairs import Neighbours
from dpproof.mechanisms.rl.rlsvi.users import Users, differ_only_in_rewards_of_one_user


def episodes_pair(first: Episodes, second: Episodes, adjacency: Adjacency, description: str) -> Neighbours:
    """Two batches as a pair, validated.

    Raises:
        InvalidNeighboursError: they are not neighbours under the relation; shows the difference.
        ValueError: the relation says nothing of episodes.
    """
    if adjacency not in EPISODE_CHECKS:
        known = ", ".join(known.value for known in EPISODE_CHECKS)
        raise ValueError(f"adjacency ({adjacency.value!r}) must be one of: {known}")
    return Neighbours(first, second, adjacency, description, EPISODE_CHECKS[adjacency])


def trajectory_pairs(
    data: Episodes, user: int, adjacency: Adjacency, *, states: int, actions: int
) -> tuple[Neighbours, ...]:
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
        absent = without_user(data, user)
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
