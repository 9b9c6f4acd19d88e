"""The binary tree mechanism (Chan, Shi & Song 2011; Dwork et al. 2010): its noise, all releases at once.

The noise does not depend on the data: a released running count is the true one plus a path of noise.
Which nodes a release adds up, and how many of them hold a leaf: `accountant.counting.tree`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["tree_noise"]

Floats = NDArray[np.float64]


def tree_noise(leaves: int, shape: tuple[int, ...], draw: Callable[[tuple[int, ...]], Floats]) -> Floats:
    """Noise of the releases at times 1, ..., ``leaves``: an array ``(*shape, leaves)`` of independent paths.

    The release at time t adds up one node for each binary digit 1 of t: of level l, the node that covers the
    2^l leaves before the first of t's lower digits.

    Args:
        leaves: the length of the stream, at least 1.
        shape: how many independent paths.
        draw: independent noise, an array of the shape asked for.

    Raises:
        ValueError: for fewer than one leaf.

    >>> tree_noise(5, (), np.ones)  # every node contributes 1: the number of nodes added up
    array([1., 1., 2., 1., 2.])
    """
    if leaves < 1:
        raise ValueError(f"leaves ({leaves!r}) must be an integer at least 1")
    times = np.arange(1, leaves + 1)
    path = np.zeros((*shape, leaves))
    for level in range(leaves.bit_length()):
        nodes = draw((*shape, (leaves >> (level + 1)) + 1))
        path += np.where((times >> level) & 1, nodes[..., times >> (level + 1)], 0.0)
    return path
