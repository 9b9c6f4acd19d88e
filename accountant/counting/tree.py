"""The binary tree over a stream of K leaves: the noisy nodes above a leaf, and the nodes that a release adds up.

The node of level l and index j covers the 2^l leaves (j 2^l, (j+1) 2^l]. It is complete if the stream is long
enough to fill it. Only complete nodes are ever released. Leaves and times count from 1.
"""

from __future__ import annotations

import enum

from dpproof.accountant.numbers.checks import whole


class Nodes(enum.Enum):
    """Which nodes of the tree are released."""

    COMPLETE = "complete"
    """Every complete node; estimators that average over subtrees need them all."""
    USED = "used"
    """The nodes that prefix counts add up, which are those with an even index j."""


def levels(leaves: int) -> int:
    """Return floor(log2 K) + 1 for K leaves: the number of levels of the tree.

    It is also the largest number of complete nodes that cover one leaf. A node is complete if the stream is
    long enough to fill it.

    >>> levels(16383), levels(16384)
    (14, 15)

    Raises:
        ValueError: for fewer than one leaf.
    """
    return _stream(leaves).bit_length()


def nodes_with(leaf: int, leaves: int, nodes: Nodes = Nodes.COMPLETE) -> int:
    """Return the number of released nodes that cover ``leaf``, in a tree over ``leaves`` = K leaves.

    The complete nodes that cover leaf i are nested. Number the binary digits of an integer from the last one,
    which is digit 0. The largest of these nodes has level l if digit l is the highest digit in which K and
    i - 1 differ. The node of level l that covers leaf i has an even index if digit l of i - 1 is 0.

    >>> [nodes_with(leaf, 6) for leaf in range(1, 7)]
    [3, 3, 3, 3, 2, 2]
    >>> [nodes_with(leaf, 6, Nodes.USED) for leaf in range(1, 7)]
    [3, 2, 2, 1, 2, 1]

    Raises:
        ValueError: for a leaf outside 1..leaves.
    """
    if not 1 <= leaf <= _stream(leaves):
        raise ValueError(f"leaf ({leaf!r}) must be an integer in [1, {leaves}]")
    around = (leaves ^ (leaf - 1)).bit_length()
    odd = ((leaf - 1) & ((1 << around) - 1)).bit_count()
    return around - (odd if nodes is Nodes.USED else 0)


def releases_by_size(leaves: int) -> tuple[int, ...]:
    """Return, for m = 0, 1, ..., the number of times whose running count is a sum of m nodes of the tree.

    The times are 1..``leaves``. At time t, m is the number of ones among the binary digits of t.

    >>> releases_by_size(6)
    (0, 3, 3)

    Raises:
        ValueError: for fewer than one leaf.
    """
    counts = [0] * (levels(leaves) + 1)
    for time in _corners(leaves):
        ones, free = time
        row = 1
        for chosen in range(free + 1):
            counts[ones + chosen] += row
            row = row * (free - chosen) // (chosen + 1)
    counts[0] -= 1  # time 0 releases nothing
    while not counts[-1]:
        counts.pop()
    return tuple(counts)


def _corners(leaves: int) -> list[tuple[int, int]]:
    """Return (ones, free digits) of blocks of times that together form 0..K."""
    blocks, above, end = [], 0, leaves + 1
    for digit in reversed(range(end.bit_length())):
        if end >> digit & 1:
            blocks.append((above, digit))
            above += 1
    return blocks


def _stream(leaves: int) -> int:
    return whole(leaves, "leaves", 1)
