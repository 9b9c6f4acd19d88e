"""The audit of the local counts of PRIVATE-UCB: the output consists of all messages of one user."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.private_ucb.parameters import LocalCountsParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.primitive import Setting
from dpproof.audits.targets.rl.private_ucb.central_counts import AT_NODES, counted_pair
from dpproof.mechanisms.rl.private_ucb.counted_users import CountedUsers, local_log_ratio_of_leaves


def _user(parameters: LocalCountsParameters, adjacency: Adjacency) -> Neighbours:
    """Return the pair of one user who is replaced, or who sends only noise."""
    return counted_pair(parameters, adjacency, 1, "")


def _ratio(
    outputs: NDArray[np.float64], parameters: LocalCountsParameters, first: CountedUsers, second: CountedUsers
) -> NDArray[np.float64]:
    """Return the log of p1/p0 for all messages of one user."""
    leaves = first.leaves(parameters), second.leaves(parameters)
    return -local_log_ratio_of_leaves(outputs, parameters, *leaves, first.columns)


TARGET = Setting(_user, _ratio, AT_NODES)
