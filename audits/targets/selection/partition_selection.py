"""The audit of partition selection: each group of one user has about half the probability to be kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.selection.partition_selection import (
    PartitionSelectionParameters,
    keep_probabilities,
    least_users,
)
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats, flat
from dpproof.audits.targets.primitive import Setting


def _pair(parameters: PartitionSelectionParameters, adjacency: Adjacency) -> Neighbours:
    """Return the numbers of users of the user's groups, with this user and without."""
    most = least_users(parameters)
    second = np.full(parameters.groups, most, np.int64)
    described = f"groups of {most} users, or of one user less"
    return Neighbours(second - 1, second, adjacency, described, _OneUser(parameters.groups))


class _OneUser:
    """A validator of numbers of users: one user is added to at most so many groups."""

    def __init__(self, groups: int) -> None:
        self.groups = groups

    def __call__(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        """Raise ValueError if more than one user is added."""
        moved = np.abs(second - first)
        if moved.max(initial=0) > 1 or moved.sum() > self.groups or len(set(np.sign(second - first))) > 1:
            raise ValueError(f"{first.tolist()} and {second.tolist()} differ by more than one user")


def _ratio(
    outputs: NDArray[np.int64],
    parameters: PartitionSelectionParameters,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
) -> Floats:
    """Return the log-likelihood ratio of the kept groups."""
    chances = np.array(
        [float(kept) for kept in keep_probabilities(parameters, int(max(first.max(), second.max())))]
    )
    one, other = (np.clip(chances[users], 1e-12, 1 - 1e-12) for users in (first, second))
    return flat(np.where(outputs == 1, np.log(other / one), np.log((1 - other) / (1 - one))))


TARGET = Setting(_pair, _ratio)
