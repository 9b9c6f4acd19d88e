"""The audit of the batched counts of PRIVATE-UCB: the two inputs differ in one user of the first batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.primitive import Setting
from dpproof.mechanisms.rl.private_ucb.batched_counts import (
    BatchedUser,
    differ_in_one_batched_user,
    over_batches,
    payoffs_apart,
    users_apart,
)
from dpproof.mechanisms.rl.private_ucb.counted_users import central_log_ratio_of_leaves

Floats = NDArray[np.float64]


def _users(parameters: BatchedCountsParameters, adjacency: Adjacency) -> Neighbours:
    """Return a pair in which a user of the first batch visits other cells, has other costs, or is left out."""
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


def _ratio(
    outputs: Floats, parameters: BatchedCountsParameters, first: BatchedUser, second: BatchedUser
) -> Floats:
    """Return the log of p1/p0 for the running counts after each batch."""
    leaves = first.leaves(parameters), second.leaves(parameters)
    return -central_log_ratio_of_leaves(outputs, over_batches(parameters), *leaves, first.columns)


TARGET = Setting(_users, _ratio)
