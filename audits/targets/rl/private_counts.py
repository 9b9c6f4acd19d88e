"""How the counts of PRIVATE-UCB are audited: the real privatizers, on the users hardest to tell apart.

The first user stays in one cell with costs 1, the other leaves as soon as can be (or is absent): the pair
that attains the guarantee. Looked at are the counters that this moves, after each of the first users.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.private_ucb.batched_counts import BatchedCountsParameters
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.mechanisms.rl.private_ucb.batched_counts import (
    BatchedUser,
    differ_in_one_batched_user,
    over_batches,
    users_apart,
)
from dpproof.mechanisms.rl.private_ucb.counted_users import CountedUsers, differ_in_one_user, worst_users
from dpproof.mechanisms.rl.private_ucb.worst_trajectories import (
    central_log_ratio_of_leaves,
    local_log_ratio_of_leaves,
)

__all__ = [
    "batched_ratio",
    "batched_users",
    "central_ratio",
    "central_users",
    "has_ratio",
    "local_ratio",
    "local_users",
    "node_ends",
]

Floats = NDArray[np.float64]
EARLY = 128
"""Of a long stream, the first so many users are looked at: eight levels of the tree."""


def central_users(parameters: CentralCountsParameters, adjacency: Adjacency) -> Neighbours:
    """The first users of a stream, of whom the first is replaced or left out."""
    users = min(parameters.leaves, EARLY)
    seen = "" if users == parameters.leaves else f", by the counts after each of the first {users} users"
    return _pair(parameters, adjacency, users, seen)


def local_users(parameters: LocalCountsParameters, adjacency: Adjacency) -> Neighbours:
    """One user who is replaced, or sends noise on nothing."""
    return _pair(parameters, adjacency, 1, "")


def _pair(
    parameters: CentralCountsParameters | LocalCountsParameters, adjacency: Adjacency, users: int, seen: str
) -> Neighbours:
    replaced = adjacency is Adjacency.REPLACE
    first, second = worst_users(parameters, users, replaced=replaced)
    change = "leaves for another cell, or pays other costs," if replaced else "is left out"
    described = f"the first user stays in one cell with costs 1, or {change}; {first.columns.size} counters"
    return Neighbours(first, second, adjacency, described + seen, differ_in_one_user)


def central_ratio(outputs: Floats, parameters: Any, first: CountedUsers, second: CountedUsers) -> Floats:
    """The log of p1/p0 of the running counts."""
    leaves = first.leaves(parameters), second.leaves(parameters)
    return -central_log_ratio_of_leaves(outputs, parameters, *leaves, first.columns)


def local_ratio(outputs: Floats, parameters: Any, first: CountedUsers, second: CountedUsers) -> Floats:
    """The log of p1/p0 of what one user sends."""
    leaves = first.leaves(parameters), second.leaves(parameters)
    return -local_log_ratio_of_leaves(outputs, parameters, *leaves, first.columns)


def batched_users(parameters: BatchedCountsParameters, adjacency: Adjacency) -> Neighbours:
    """Two users of the first batch in other cells each, or one who is left out."""
    replaced = adjacency is Adjacency.REPLACE
    first, second = users_apart(parameters, replaced=replaced)
    change = "does so from the last cell on" if replaced else "is left out"
    described = (
        f"a user of the first batch meets cell after cell, at most {parameters.cap} visits counted, or"
        f" {change}; {first.columns.size} counters, {len(first.leaves(parameters))} batches"
    )
    return Neighbours(first, second, adjacency, described, differ_in_one_batched_user)


def batched_ratio(outputs: Floats, parameters: Any, first: BatchedUser, second: BatchedUser) -> Floats:
    """The log of p1/p0 of the running counts after each batch."""
    leaves = first.leaves(parameters), second.leaves(parameters)
    return -central_log_ratio_of_leaves(outputs, over_batches(parameters), *leaves, first.columns)


def has_ratio(parameters: Any) -> bool:
    """Whether the law of what is released is in closed form: of averaged subtrees it is not."""
    return getattr(parameters, "counter", "tree") != "honaker"


def node_ends(outputs: NDArray[Any]) -> NDArray[Any]:
    """The counts after 1, 2, 4, ... users, (n, levels, counters): one node each, the first user in all."""
    return outputs[:, [2**level - 1 for level in range(outputs.shape[1].bit_length())]]
