"""Make pairs of batches of trajectories, or of users' rewards, in which one user has extreme values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.audits.data.changes import Bounds, within
from dpproof.audits.data.episode_relations import without_user
from dpproof.audits.data.handed import sealed
from dpproof.audits.data.pairs import Neighbours
from dpproof.mechanisms.rl.rlsvi.users import Users


@dataclass(frozen=True)
class Candidate:
    """Two inputs that were made to be neighbours, but have not been validated yet."""

    first: Any
    second: Any
    adjacency: Adjacency
    description: str
    first_key: str
    second_key: str

    def pair(self) -> Neighbours:
        """Return the two inputs as a pair; raises an error unless they are neighbours."""
        return Neighbours(self.first, self.second, self.adjacency, self.description)


def of_episodes(data: Episodes, adjacency: Adjacency, bounds: Bounds | None) -> Iterator[Candidate]:
    """Generate pairs of inputs in which one user of a batch of trajectories is changed or removed."""
    low, high = _rewards_of(data.rewards, bounds)
    backgrounds = {
        f"all rewards are {low!r}": replace(data, rewards=np.full_like(data.rewards, low)),
        "your data": data,
        f"all rewards are {high!r}": replace(data, rewards=np.full_like(data.rewards, high)),
    }
    for background, held in backgrounds.items():
        for who, user in _users_of(data).items():
            mine = np.repeat(data.user == user, data.lengths)
            said = f"{background}; of {who} ({user})"
            quiet, loud = (replace(held, rewards=np.where(mine, one, held.rewards)) for one in (low, high))
            if adjacency in (Adjacency.ADD_REMOVE, Adjacency.EXPERT):
                if (data.user != user).any():
                    for each, reward in ((loud, high), (quiet, low)):
                        said = f"{background}; {who} ({user}), with rewards {reward!r}, is there or not"
                        yield _batches(each, without_user(each, user), adjacency, said)
                continue
            yield _batches(quiet, loud, adjacency, f"{said} the rewards are {low!r} or {high!r}")
            if adjacency is Adjacency.REPLACE:
                steps = (
                    np.where(mine, data.states.max(), data.states),
                    np.where(mine, data.actions.max(), data.actions),
                )
                moved = replace(loud, states=steps[0], actions=steps[1])
                yield _batches(quiet, moved, adjacency, f"{said} the rewards, states and actions change")


def _batches(first: Episodes, second: Episodes, adjacency: Adjacency, description: str) -> Candidate:
    return Candidate(first, second, adjacency, description, sealed(vars(first)), sealed(vars(second)))


def _rewards_of(rewards: Any, bounds: Bounds | None) -> tuple[float, float]:
    if isinstance(bounds, Mapping):
        raise ValueError(
            f"bounds ({bounds!r:.60}) must be a pair (low, high) for the rewards of Episodes and Users"
        )
    observed = float(rewards.min()), float(rewards.max())
    return observed if bounds is None else within(bounds, *observed, "the rewards")


def _users_of(data: Episodes) -> Mapping[str, int]:
    """Return the users that are changed, keyed by a description such as "the first user"."""
    users, which = np.unique(data.user, return_inverse=True)
    steps = np.bincount(which, weights=data.lengths)
    _, cell, sizes = np.unique(
        np.stack([data.states, data.actions]), axis=1, return_inverse=True, return_counts=True
    )
    rarest = int(sizes[cell.ravel()].argmin())
    special = {
        "the user with the most steps": users[steps.argmax()],
        "the user at the rarest state and action": np.repeat(data.user, data.lengths)[rarest],
        "the first user": data.user[0],
        "the last user": data.user[-1],
    }
    return {who: int(user) for user, who in {int(u): w for w, u in reversed(special.items())}.items()}


def of_users(data: Users, adjacency: Adjacency, bounds: Bounds | None) -> Iterator[Candidate]:
    """Generate pairs of inputs in which the rewards of one user change."""
    low, high = _rewards_of(data.rewards, bounds)
    quiet, loud = (replace(data, rewards=np.full_like(data.rewards, one)) for one in (low, high))
    backgrounds = {"your users": data, f"all rewards are {low!r}": quiet, f"all rewards are {high!r}": loud}
    alone = int(_visits(data).argmin())
    for user in dict.fromkeys((0, data.count - 1, data.count // 2, alone)):
        for background, held in backgrounds.items():
            first, second = (held.with_rewards(user, one) for one in (low, high))
            said = f"{background}; user {user} has the rewards {low!r} or {high!r} everywhere"
            keys = (one.rewards.tobytes().hex() for one in (first, second))
            yield Candidate(first, second, adjacency, said, *keys)


def _visits(data: Users) -> Any:
    """Return, for each user, the number of users that share its least common response."""
    same = (data.next_states[:, None] == data.next_states[None]).sum(axis=1)
    return same.reshape(data.count, -1).min(axis=1)
