"""Partition selection: a coin for each group, whose probability grows with the number of users, in floating point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.selection.partition_selection import keep_probabilities

if TYPE_CHECKING:
    from dpproof.accountant.selection.partition_selection import PartitionSelectionParameters

_MOST = 100_000


def sample(
    parameters: PartitionSelectionParameters, users: ArrayLike, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return ``n`` selections ``(n, groups)``: 1 for each group that is kept, and otherwise 0.

    ``users`` are the numbers of users of the groups. A group with more than 100,000 users counts as one with 100,000.

    Raises:
        ValueError: if a number of users is negative or not whole.
    """
    counts = np.asarray(users)
    if counts.ndim != 1 or not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any():
        raise ValueError(f"users ({counts.tolist()}) must be whole numbers of at least 0, one for each group")
    counts = np.minimum(counts, _MOST)
    kept = np.array([float(chance) for chance in keep_probabilities(parameters, int(counts.max(initial=0)))])
    return np.asarray(rng.random((n, len(counts))) < kept[counts], np.int64)
