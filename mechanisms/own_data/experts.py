"""Logged data of experts for offline learning, read from the user's own archives, recordings and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.environments.batched import Steps
from dpproof.mechanisms.own_data.columns import Table, flags, integers, reals
from dpproof.mechanisms.own_data.units import Unit, described, ignored_columns, owners, starts, steps_of
from dpproof.mechanisms.rl.expert.data import ExpertData


@dataclass(frozen=True)
class Scaling:
    """Public constants with which a learner sees the user's own data.

    Choose them from public knowledge, such as the range of a sensor. No guarantee covers constants that are computed
    from the data.

    Attributes:
        centre, spread: as many numbers as an observation has. It is scaled to (observation - centre)/spread.
        reward_scale: the factor on rewards. Scaled rewards should be of the order of one.

    >>> Scaling((5.0,), (2.0,)).scaled(np.array([[9.0]], np.float32)).tolist()
    [[2.0]]

    Raises:
        ValueError: the two have different lengths, a spread is not above 0, or a number is not finite.
    """

    centre: tuple[float, ...]
    spread: tuple[float, ...]
    reward_scale: float = 1.0

    def __post_init__(self) -> None:
        """Check the fields."""
        if len(self.centre) != len(self.spread):
            raise ValueError(
                f"spread ({len(self.spread)} numbers) must have {len(self.centre)}, as centre has"
            )
        if not np.isfinite([*self.centre, *self.spread, self.reward_scale]).all() or min(self.spread) <= 0:
            raise ValueError(f"spread ({self.spread!r}) must be above 0, and all constants must be finite")

    def scaled(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return observations (n, d) minus `centre`, divided by `spread`.

        Raises:
            ValueError: an observation does not have as many numbers as `centre`.
        """
        if observations.shape[1:] != (len(self.centre),):
            shape = observations.shape[1:]
            raise ValueError(
                f"an observation (shape {shape}) must have {len(self.centre)} numbers, as centre has"
            )
        centre, spread = np.array(self.centre, np.float32), np.array(self.spread, np.float32)
        return np.asarray((observations - centre) / spread, np.float32)


@dataclass(frozen=True, eq=False)
class OwnExpertData(ExpertData):
    """Logged steps of experts that were read from a source, with the experts' ids and the unit of protection.

    Attributes:
        users: the id of each expert in the source.
        unit: whose data a guarantee protects: ``"user"``, or ``"episode"`` if each episode has its own expert.
        ignored: the columns that were not used.
    """

    users: tuple[Any, ...] = ()
    unit: Unit = "user"
    ignored: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return described("OwnExpertData", self.episodes, self.unit, "rewards as given", self.ignored)


def read_expert_data(
    source: object, *, columns: Mapping[str, str] | None = None, unit: Unit | None = None
) -> OwnExpertData:
    """Return the experts' data from an archive of Minari or D4RL, a mapping of arrays, a file or a recording.

    Args:
        source: what `read_episodes` takes. ``user`` names the expert of a step. Observations are rows of numbers.
            Rewards are taken as they are.
        columns: names used here -> names in the data, such as ``{"user": "pilot"}``.
        unit: ``"episode"`` if each episode is to have an expert of its own. It is required if there is no column
            of users.

    >>> log = {"observations": [[0.0, 1.0], [0.5, 1.0]], "actions": [1, 0], "rewards": [-2.0, 5.0],
    ...        "terminals": [False, True], "user": ["p1", "p1"]}
    >>> found = read_expert_data(log)
    >>> found, found.users
    (OwnExpertData(1 episode of 1 user, 2 steps, unit: user, rewards as given), ('p1',))
    >>> found.rewards.tolist(), found.over.tolist()
    ([-2.0, 5.0], [True])

    Raises:
        ValueError: naming the data, the row and the rule it breaks; also where an episode was cut and
            ``next_observations`` are missing, because what came after its last action is not known.
        OSError: for a file that cannot be read.
    """
    table, unit, numbers, order = steps_of(source, columns or {}, unit)
    ends = np.append(starts(numbers)[1:], len(numbers)) - 1
    seen = _finite(table, "state", np.float32)[order].reshape(len(numbers), -1)
    over = flags(table, "terminated")[order]
    owner, users = owners(table, numbers, order, unit)
    actions = integers(table, "action") if "action" in table.columns else np.zeros(table.rows, np.int64)
    steps = Steps(
        seen,
        _following(table, order, seen, ends, over),
        actions[order],
        _finite(table, "reward", np.float64)[order],
        over,
        ends - starts(numbers) + 1,
    )
    found = OwnExpertData.of(steps, owner, len(users))
    return replace(found, users=users, unit=unit, ignored=ignored_columns(table, unit))


def _following(
    table: Table, order: NDArray[Any], seen: NDArray[np.float32], ends: NDArray[Any], over: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Return the observation after each action.

    It is not used after the last action of a finished episode.
    """
    if "following" in table.columns:
        following: NDArray[np.float32] = _finite(table, "following", np.float32)[order].reshape(seen.shape)
        return following
    cut = np.flatnonzero(~over[ends])
    if len(cut):
        rule = "next_observations is missing. It is needed because the last row of this episode is not terminated."
        raise table.error(rule, int(order[ends[cut[0]]]))
    found = np.concatenate([seen[1:], seen[-1:]])
    found[ends] = seen[ends]
    return found


def _finite(table: Table, name: str, kind: type) -> NDArray[Any]:
    """Return a column of finite numbers."""
    found = reals(table, name, kind)
    bad = np.flatnonzero(~np.isfinite(found.reshape(len(found), -1)).all(axis=1))
    if len(bad):
        raise table.error(f"{name} must be finite numbers", int(bad[0]))
    return found
