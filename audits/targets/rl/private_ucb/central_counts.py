"""The audit of the central counts of PRIVATE-UCB: the noisy counters run on inputs that attain the guarantee.

In the first input, the first user stays in one state and action with costs 1. In the second input, this user leaves
them as early as possible, or is absent. The audit uses the counters that differ, after each of the first users.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters, LocalCountsParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.scores.linear import LinearDiscriminant
from dpproof.audits.targets.primitive import Setting
from dpproof.mechanisms.rl.private_ucb.counted_users import (
    CountedUsers,
    central_log_ratio_of_leaves,
    differ_in_one_user,
    worst_payoffs,
    worst_users,
)

Floats = NDArray[np.float64]
EARLY = 128
"""The audit uses the counts after each of the first users, at most this many. They cover eight levels of the tree."""


def _users(parameters: CentralCountsParameters, adjacency: Adjacency) -> Neighbours:
    """Return the first users of a stream; the first one is replaced or left out."""
    users = min(parameters.leaves, EARLY)
    seen = "" if users == parameters.leaves else f", by the counts after each of the first {users} users"
    return counted_pair(parameters, adjacency, users, seen)


def counted_pair(
    parameters: CentralCountsParameters | LocalCountsParameters, adjacency: Adjacency, users: int, seen: str
) -> Neighbours:
    """Return two neighbouring inputs with ``users`` users; the second replaces or leaves out the first user.

    Under ``rewards-only`` the first user has other costs in the second input.
    """
    if adjacency is Adjacency.REWARDS_ONLY:
        paid, unpaid = worst_payoffs(parameters, users)
        said = f"the first user stays in one cell with costs 1, or with costs 0; {paid.columns.size} counters{seen}"
        return Neighbours(paid, unpaid, adjacency, said, differ_in_one_user)
    replaced = adjacency is Adjacency.REPLACE
    first, second = worst_users(parameters, users, replaced=replaced)
    change = "leaves for another cell, or pays other costs" if replaced else "is left out"
    counters = "1 counter" if first.columns.size == 1 else f"{first.columns.size} counters"
    described = f"the first user stays in one cell with costs 1, or {change}; {counters}"
    return Neighbours(first, second, adjacency, described + seen, differ_in_one_user)


def _ratio(
    outputs: Floats, parameters: CentralCountsParameters, first: CountedUsers, second: CountedUsers
) -> Floats:
    """Return the log of p1/p0 for the running counts."""
    leaves = first.leaves(parameters), second.leaves(parameters)
    return -central_log_ratio_of_leaves(outputs, parameters, *leaves, first.columns)


def has_ratio(parameters: object) -> bool:
    """Return whether the output distribution has a closed form; it has none if ``counter`` is "honaker"."""
    return getattr(parameters, "counter", "tree") != "honaker"


def node_ends(outputs: Floats) -> Floats:
    """Return the counts after 1, 2, 4, ... users, as an array (n, levels, counters).

    They are the nodes of the tree that contain the first user.
    """
    return outputs[:, [2**level - 1 for level in range(outputs.shape[1].bit_length())]]


AT_NODES = (LinearDiscriminant(ridge=None, view=node_ends),)
TARGET = Setting(_users, _ratio, AT_NODES, has_ratio)
