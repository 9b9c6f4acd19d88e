"""How far one user moves the nodes of a tree with leaves at least ``separation`` apart.

The programme of ``dpproof.accountant.counting.sensitivity`` with two more coordinates: how far a pattern's first
leaf is from the left end of a subtree and its last leaf from the right end. Blocks of g leaves, g at most
the separation, hold one leaf of a user at most: patterns of blocks decide the same question in a tree
with g times fewer leaves, exactly where g divides the separation, else from both sides
(docs/notes/counting.md).
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.counting.sensitivity import MOST, squared_sensitivity
from dpproof.accountant.counting.tree import Nodes, levels

__all__ = ["separated_sensitivity"]

_Table = NDArray[np.int64]
_NEVER = np.iinfo(np.int64).min // 4
_WORK, _CALL = 10**9, 20_000
"""The most additions a programme may take, coarser blocks are taken beyond; what a call of numpy costs."""


def separated_sensitivity(
    leaves: int, participations: int, separation: int, nodes: Nodes = Nodes.COMPLETE
) -> tuple[int, int]:
    """Ends around the largest sum over nodes of (leaves of one user below)^2 with leaves that far apart.

    >>> separated_sensitivity(16384, 2, 1), separated_sensitivity(16384, 2, 2)
    ((58, 58), (56, 56))
    >>> separated_sensitivity(16384, 10, 1638)
    (302, 306)

    Raises:
        ValueError: for leaves, participations or a separation below 1, or more than 4096 participations.
    """
    levels(leaves)
    for name, value in (("participations", participations), ("separation", separation)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} ({value!r}) must be an integer at least 1")
    count = min(participations, -(-leaves // separation))
    if separation == 1 or count == 1:
        exact = squared_sensitivity(leaves, count, nodes)
        return exact, exact
    if count > MOST:
        raise ValueError(f"participations ({count}) must be at most {MOST}")
    level = _block_level(count, separation)
    if level is None:
        return _crude(leaves, count, separation, nodes)
    size = 1 << level
    ends = [_best(leaves, count, gap, level, nodes) for gap in (-(-separation // size), separation // size)]
    return ends[0], ends[1]


def _block_level(count: int, separation: int) -> int | None:
    """The finest blocks, of 2^level leaves, for which the programme is quick, or that lose nothing."""
    free = (separation & -separation).bit_length() - 1
    for level in range(free, separation.bit_length()):
        gap = separation >> level
        if count**2 * gap * (gap**2 + _CALL) <= _WORK:
            return level
    return None


def _crude(leaves: int, count: int, separation: int, nodes: Nodes) -> tuple[int, int]:
    """Ends where the programme is too long: the leftmost pattern, and blocks without a separation."""
    places, low = np.arange(count, dtype=object) * separation, 0
    for level in range(levels(leaves)):
        held = Counter(int(place) >> level for place in places)
        low += sum(
            x * x
            for node, x in held.items()
            if (node + 1) << level <= leaves and (nodes is Nodes.COMPLETE or node % 2 == 0)
        )
    level = separation.bit_length() - 1
    blocks = -(-leaves >> level)
    return low, squared_sensitivity(blocks, min(count, blocks), nodes) + count * level


def _best(leaves: int, count: int, gap: int, level: int, nodes: Nodes) -> int:
    """The best total over patterns of blocks of level ``level`` that are ``gap`` apart."""
    squares = np.arange(count + 1, dtype=np.int64)[:, None, None] ** 2
    below = _single(count, gap, level)  # totals of the nodes strictly below a block's own
    forest = _single(count, gap, (leaves & ((1 << level) - 1)).bit_length())
    if not leaves & ((1 << level) - 1):
        forest[1:] = _NEVER
    size = 1
    for above in range(level, levels(leaves)):
        own = np.where(below < 0, _NEVER, below + squares)
        if leaves >> above & 1:
            forest = _joined(own, forest, size)  # larger trees stand to the left
        below = _joined(own, own if nodes is Nodes.COMPLETE else below, size)
        size *= 2
    return int(forest[:, 0, 0].max())


def _single(count: int, gap: int, value: int) -> _Table:
    """One leaf in one block, worth ``value``, or none."""
    table = np.full((count + 1, gap, gap), _NEVER, dtype=np.int64)
    table[0] = 0
    table[1, 0, 0] = value
    return table


def _joined(left: _Table, right: _Table, size: int) -> _Table:
    """Best totals of two neighbours, ``size`` blocks on the left and at most that many on the right.

    table[c, a, z]: c leaves, at least a free blocks before the first, at least z after the last; where the
    right is smaller, only z = 0 is exact, and only that is asked for.
    """
    count, gap = left.shape[0] - 1, left.shape[1]
    near = np.maximum(np.arange(gap) - size, 0)
    best = np.maximum(right[:, near, :], left[:, :, near])
    best[0] = 0
    for first, second in itertools.product(range(1, count + 1), repeat=2):
        if first + second > count or left[first].max() < 0 or right[second].max() < 0:
            continue
        for free in range(gap):
            total = left[first][:, free, None] + right[second][None, gap - 1 - free, :]
            np.maximum(best[first + second], total, out=best[first + second])
    return np.where(best < 0, _NEVER, best)
