"""The audit of the batched counts of PRIVATE-UCB: the two inputs differ in one user.

If transitions are found, the audit samples openings, too. Parts of the user's path have counters, are near the
threshold, and are walked by nobody else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.primitive import Setting
from dpproof.mechanisms.agents.many_found_runs import FoundUsers, found_ratio, found_users
from dpproof.mechanisms.agents.many_runs import AgentCounts
from dpproof.mechanisms.rl.private_ucb.batched_counts import (
    BatchedUser,
    differ_in_one_batched_user,
    lattice_users,
    over_batches,
    payoffs_apart,
    users_apart,
)
from dpproof.mechanisms.rl.private_ucb.counted_users import central_log_ratio_of_leaves

Floats = NDArray[np.float64]


def _users(parameters: BatchedCountsParameters, adjacency: Adjacency) -> Neighbours:
    """Return a pair in which a user of the first batch visits other cells, has other costs, or is left out."""
    if parameters.threshold is not None:
        steps = parameters.horizon
        if adjacency is Adjacency.REWARDS_ONLY:  # only payoffs of open pairs differ
            return found_pair(parameters, adjacency, steps, steps)
        return found_pair(parameters, adjacency, steps // 3, max(1, 2 * steps // 3))
    if parameters.bits is not None:
        return _lattice_users(parameters, adjacency)
    if adjacency is Adjacency.REWARDS_ONLY:
        paid, unpaid = payoffs_apart(parameters)
        said = f"a user of the first batch has costs 1, or costs 0; {paid.columns.size} counters"
        return Neighbours(paid, unpaid, adjacency, said, differ_in_one_batched_user)
    replaced = adjacency is Adjacency.REPLACE
    first, second = users_apart(parameters, replaced=replaced)
    change = "does so from the last cell on" if replaced else "is left out"
    described = (
        f"a user of the first batch meets cell after cell, at most {parameters.cap} visits counted, or"
        f" {change}; {first.columns.size} counters, {len(first.leaves(parameters))} batches"
    )
    return Neighbours(first, second, adjacency, described, differ_in_one_batched_user)


def _lattice_users(parameters: BatchedCountsParameters, adjacency: Adjacency) -> Neighbours:
    """Return a pair for the counters that agents use."""
    first, second = lattice_users(parameters, adjacency)
    changes = {
        Adjacency.ADD_REMOVE: "is absent",
        Adjacency.REPLACE: "visits other cells",
        Adjacency.REWARDS_ONLY: "has payoffs 0",
    }
    said = f"a user of the first batch has payoffs 1, or {changes[adjacency]}; {first.columns.size} counters"
    return Neighbours(first, second, adjacency, said, differ_in_one_batched_user)


def found_pair(
    parameters: BatchedCountsParameters, adjacency: Adjacency, opened: int, near: int
) -> Neighbours:
    """Return a pair for transitions that are found. See `dpproof.mechanisms.agents.many_found_runs.found_users`."""
    first, second = found_users(parameters, adjacency, opened, near)
    change = {
        Adjacency.ADD_REMOVE: "is absent",
        Adjacency.REPLACE: "takes others",
        Adjacency.REWARDS_ONLY: "has payoffs 0",
    }[adjacency]
    said = (
        f"a user takes {parameters.horizon} transitions, or {change}; {opened} of them have counters, others' counts "
        f"of {near - opened} are near the threshold"
    )
    return Neighbours(first, second, adjacency, said, _differ_in_one_found_user)


def _differ_in_one_found_user(one: FoundUsers, other: FoundUsers) -> None:
    """Check that the other users of both inputs are the same."""
    if one.others is not other.others or one.batch != other.batch:
        raise ValueError("The inputs must have the same other users.")


def lattice_ratio(
    outputs: Floats, parameters: BatchedCountsParameters, first: BatchedUser, second: BatchedUser
) -> Floats:
    """Return the log of p1/p0 for the noisy numbers that an agent releases, with noise that is not rounded."""
    counts = AgentCounts(parameters)
    columns = first.columns
    apart = [outputs - counts.means(user.path)[..., columns] for user in (first, second)]
    scales = counts.scales[columns]
    if parameters.noise == NoiseLaw.LAPLACE:
        losses = (abs(apart[0]) - abs(apart[1])) / scales
    else:
        losses = (apart[0] ** 2 - apart[1] ** 2) / (2 * scales**2)
    found: Floats = losses.sum(axis=(-2, -1))
    return found


def _ratio(outputs: Floats, parameters: BatchedCountsParameters, first: Any, second: Any) -> Floats:
    """Return the log of p1/p0 for the running counts after each batch, or for the numbers that an agent releases."""
    if parameters.threshold is not None:
        return found_ratio(outputs, parameters, first, second)
    if parameters.bits is not None:
        return lattice_ratio(outputs, parameters, first, second)
    leaves = first.leaves(parameters), second.leaves(parameters)
    return -central_log_ratio_of_leaves(outputs, over_batches(parameters), *leaves, first.columns)


TARGET = Setting(_users, _ratio)
