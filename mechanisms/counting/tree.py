"""Noise of the binary tree mechanism (Chan, Shi & Song 2011; Dwork et al. 2010), for all releases at once.

The noise does not depend on the data: a released running count is the true one plus a path of noise.
`dpproof.accountant.counting.tree` states which nodes a release adds, and how many of them contain a leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def tree_noise(leaves: int, shape: tuple[int, ...], draw: Callable[[tuple[int, ...]], Floats]) -> Floats:
    """Draw the noise of the releases at times 1, ..., ``leaves``: independent paths ``(*shape, leaves)``.

    The release at time t is the sum of one node for each binary digit 1 of t. For digit l it is the node of
    the 2^l leaves that come before the leaves of t's lower digits.

    Args:
        leaves: the length of the stream, at least 1.
        shape: how many independent paths.
        draw: independent noise of the nodes, an array of the shape asked for.

    Raises:
        ValueError: for fewer than one leaf.

    >>> tree_noise(5, (), np.ones)  # every node contributes 1: the number of nodes added up
    array([1., 1., 2., 1., 2.])
    """
    if leaves < 1:
        raise ValueError(f"leaves ({leaves!r}) must be an integer at least 1")
    nodes = np.moveaxis(draw((*shape, leaves)), -1, 0)
    path = np.concatenate([np.zeros_like(nodes[:1]), nodes])
    add_up_nodes(path)
    return np.moveaxis(path[1:], 0, -1)


def add_up_nodes(rows: NDArray[np.floating[Any]]) -> None:
    """Turn new nodes into releases, in place: row t becomes the sum of the nodes of release t.

    Release t is the release at t without its lowest binary one, plus row t, a node that no earlier release
    used. Row 0 is part of all releases. The first axis is the time, and it may have any length.
    """
    step = 1 << (len(rows) - 1).bit_length() >> 1
    while step:
        ends = rows[step :: 2 * step]
        ends += rows[:: 2 * step][: len(ends)]
        step >>= 1


def noisy_counts(
    streams: ArrayLike, runs: int, leaves: int, n: int, draw: Callable[[tuple[int, ...]], Floats]
) -> Floats:
    """Draw running counts of streams ``(runs, leaves)``, with noise on every node: ``(n, runs, leaves)``."""
    true = streams_of(streams, runs, leaves)
    return true.cumsum(axis=1) + tree_noise(leaves, (n, runs), draw)


def streams_of(streams: ArrayLike, runs: int, leaves: int) -> Floats:
    """Return the streams ``(runs, leaves)`` after checking that all numbers are finite.

    Raises:
        ValueError: for others.
    """
    true = np.asarray(streams, dtype=np.float64)
    if true.shape != (runs, leaves) or not np.isfinite(true).all():
        raise ValueError(
            f"streams (shape {true.shape}) must be finite numbers of the shape ({runs}, {leaves})"
        )
    return true


def tree_nodes(counts: Floats) -> Floats:
    """Return the noisy node that each release was the first to use, from running counts ``(..., leaves)``.

    The release at time t is the one at t without its lowest binary digit plus one node.

    >>> tree_nodes(np.array([1.0, 2.0, 4.0, 8.0]))
    array([1., 2., 2., 8.])
    """
    padded = np.concatenate([np.zeros((*counts.shape[:-1], 1)), counts], axis=-1)
    times = np.arange(1, padded.shape[-1])
    return np.asarray(counts - padded[..., times - (times & -times)])
