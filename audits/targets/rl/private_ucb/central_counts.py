"""The audit of the central counts of PRIVATE-UCB: the real privatizers, on the pair that attains the guarantee.

The first user stays in one cell with costs 1, the other leaves as soon as can be (or is absent): the pair
that attains the guarantee. Looked at are the counters that this moves, after each of the first users.
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
    worst_users,
)

Floats = NDArray[np.float64]
EARLY = 128
"""Of a long stream, the first so many users are looked at: eight levels of the tree."""


def _users(parameters: CentralCountsParameters, adjacency: Adjacency) -> Neighbours:
    """The first users of a stream, of whom the first is replaced or left out."""
    users = min(parameters.leaves, EARLY)
    seen = "" if users == parameters.leaves else f", by the counts after each of the first {users} users"
    return counted_pair(parameters, adjacency, users, seen)


def counted_pair(
    parameters: CentralCountsParameters | LocalCountsParameters, adjacency: Adjacency, users: int, seen: str
) -> Neighbours:
    """That many users, of whom the first is replaced or left out."""
    replaced = adjacency is Adjacency.REPLACE
    first, second = worst_users(parameters, users, replaced=replaced)
    change = "leaves for another cell, or pays other costs," if replaced else "is left out"
    described = f"the first user stays in one cell with costs 1, or {change}; {first.columns.size} counters"
    return Neighbours(first, second, adjacency, described + seen, differ_in_one_user)


def _ratio(
    outputs: Floats, parameters: CentralCountsParameters, first: CountedUsers, second: CountedUsers
) -> Floats:
    """The log of p1/p0 of the running counts."""
    leaves = first.leaves(parameters), second.leaves(parameters)
    return -central_log_ratio_of_leaves(outputs, parameters, *leaves, first.columns)


def has_ratio(parameters: object) -> bool:
    """Whether the law of the release has a closed form; that of averaged subtrees has none."""
    return getattr(parameters, "counter", "tree") != "honaker"


def node_ends(outputs: Floats) -> Floats:
    """The counts after 1, 2, 4, ... users, (n, levels, counters): one node each, the first user in all."""
    return outputs[:, [2**level - 1 for level in range(outputs.shape[1].bit_length())]]


AT_NODES = (LinearDiscriminant(ridge=None, view=node_ends),)
TARGET = Setting(_users, _ratio, AT_NODES, has_ratio)
