"""Logged data of experts for offline learning, read from the user's own archives, recordings and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.environments.batched import Steps
from dpproof.mechanisms.own_data.tables import (
    Table,
    checked,
    episodes_of,
    first_seen,
    flags,
    integers,
    renamed,
    table_of,
)
from dpproof.mechanisms.rl.expert.data import ExpertData


def read_expert_data(source: object, *, columns: Mapping[str, str] | None = None) -> ExpertData:
    """Return the experts' data from an archive of Minari or D4RL, a mapping of arrays, a file or a recording.

    Args:
        source: what `read_episodes` takes. ``user`` says whose a step is; without it each episode has an expert of its
            own. Observations are rows of numbers. Rewards are taken as they are.
        columns: names used here -> names in the data, such as ``{"user": "pilot"}``.

    >>> log = {"observations": [[0.0, 1.0], [0.5, 1.0]], "actions": [1, 0], "rewards": [-2.0, 5.0],
    ...        "terminals": [False, True], "user": ["p1", "p1"]}
    >>> found = read_expert_data(log)
    >>> found.experts, found.rewards.tolist(), found.over.tolist()
    (1, [-2.0, 5.0], [True])

    Raises:
        ValueError: naming the data, the row and the rule it breaks; also where an episode was cut and
            ``next_observations`` are missing, because what came after its last action is not known.
        OSError: for a file that cannot be read.
    """
    table = checked(renamed(table_of(source), columns or {}))
    numbers, order = episodes_of(table)
    firsts = np.append(0, np.flatnonzero(np.diff(numbers)) + 1)
    ends = np.append(firsts[1:], len(numbers)) - 1
    seen = _numbers(table, "state", np.float32)[order].reshape(len(numbers), -1)
    over = flags(table, "terminated")[order]
    user = table.columns["user"][order] if "user" in table.columns else numbers
    owner = first_seen(user)[0]
    if (owner != np.repeat(owner[firsts], ends - firsts + 1)).any():
        raise table.error("user must be the same in all rows of an episode")
    actions = integers(table, "action") if "action" in table.columns else np.zeros(table.rows, np.int64)
    steps = Steps(
        seen,
        _following(table, order, seen, ends, over),
        actions[order],
        _numbers(table, "reward", np.float64)[order],
        over,
        ends - firsts + 1,
    )
    return ExpertData.of(steps, owner[firsts], int(owner.max()) + 1)


def _following(
    table: Table, order: NDArray[Any], seen: NDArray[np.float32], ends: NDArray[Any], over: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Return the observation after each action.

    It is not used after the last action of a finished episode.
    """
    if "following" in table.columns:
        following: NDArray[np.float32] = _numbers(table, "following", np.float32)[order].reshape(seen.shape)
        return following
    cut = np.flatnonzero(~over[ends])
    if len(cut):
        rule = "next_observations is missing. It is needed because the last row of this episode is not terminated."
        raise table.error(rule, int(order[ends[cut[0]]]))
    found = np.concatenate([seen[1:], seen[-1:]])
    found[ends] = seen[ends]
    return found


def _numbers(table: Table, name: str, kind: type) -> NDArray[Any]:
    """Return a column of finite numbers."""
    try:
        found: NDArray[Any] = np.asarray(table.columns[name], dtype=kind)
    except (TypeError, ValueError) as error:
        raise table.error(f"{name} must hold numbers. {error}") from error
    bad = np.flatnonzero(~np.isfinite(found.reshape(len(found), -1)).all(axis=1))
    if len(bad):
        raise table.error(f"{name} must be finite numbers", int(bad[0]))
    return found
