"""Hard pairs of batches of recorded trajectories."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.audits.data.episode_relations import EPISODE_CHECKS, STEPS, without_user
from dpproof.audits.data.pairs import Neighbours


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
