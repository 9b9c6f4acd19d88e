"""Noise of the binary tree mechanism (Chan, Shi & Song 2011; Dwork et al. 2010), for all releases at once.

The noise does not depend on the data: a released running count is the true count plus noise. A leaf is a number
that is counted. A node of the tree is the sum of a block of leaves, with noise.
`dpproof.accountant.counting.tree` states which nodes a release adds, and how many nodes contain a given leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def tree_noise(leaves: int, shape: tuple[int, ...], draw: Callable[[tuple[int, ...]], Floats]) -> Floats:
    """Return the noise of the running counts at times 1, ..., ``leaves``, an array ``(*shape, leaves)``.

    The first t leaves (counted numbers) are split into blocks from left to right, the largest first. If binary
    digit l of t is 1, there is a block of 2^l leaves. Each block has a tree node with noise. The noise at time t is
    the sum of the noise of these nodes.

    Args:
        leaves: the length of the stream, at least 1.
        shape: the shape of an array of independent streams.
        draw: function that returns independent noise of the nodes, as an array of a given shape.

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
    """Replace tree nodes by running counts, in place. The first axis of ``rows`` is the time t.

    At first, row t holds the new node of time t: the one that no earlier count uses. To get s from t, set the lowest
    binary digit 1 of t to 0. The count at time t is the count at time s plus the new node. Row 0 is the count at
    time 0.
    """
    step = 1 << (len(rows) - 1).bit_length() >> 1
    while step:
        ends = rows[step :: 2 * step]
        ends += rows[:: 2 * step][: len(ends)]
        step >>= 1


def noisy_counts(
    streams: ArrayLike, runs: int, leaves: int, n: int, draw: Callable[[tuple[int, ...]], Floats]
) -> Floats:
    """Return ``n`` draws of running counts with noise on every tree node, as an array (n, runs, leaves).

    A tree node is the sum of a block of numbers. ``streams`` is an array (runs, leaves) of the numbers that are
    counted, with one stream in each row. The function ``draw`` returns noise as an array of a given shape.
    """
    true = streams_of(streams, runs, leaves)
    return true.cumsum(axis=1) + tree_noise(leaves, (n, runs), draw)


def streams_of(streams: ArrayLike, runs: int, leaves: int) -> Floats:
    """Return the streams ``(runs, leaves)`` after checking that all numbers are finite.

    Raises:
        ValueError: ``streams`` has another shape, or a number is not finite.
    """
    true = np.asarray(streams, dtype=np.float64)
    if true.shape != (runs, leaves) or not np.isfinite(true).all():
        raise ValueError(
            f"streams (shape {true.shape}) must be finite numbers of the shape ({runs}, {leaves})"
        )
    return true


def tree_nodes(counts: Floats) -> Floats:
    """Return the noisy tree nodes whose sums are the noisy running counts ``counts``, an array (..., leaves).

    To get s from t, set the lowest binary digit 1 of t to 0. The node for time t is the count at time t minus the
    count at time s.

    >>> tree_nodes(np.array([1.0, 2.0, 4.0, 8.0]))
    array([1., 2., 2., 8.])
    """
    padded = np.concatenate([np.zeros((*counts.shape[:-1], 1)), counts], axis=-1)
    times = np.arange(1, padded.shape[-1])
    return np.asarray(counts - padded[..., times - (times & -times)])
