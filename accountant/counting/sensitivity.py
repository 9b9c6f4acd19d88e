"""How far one user can move the nodes of a tree: exact worst cases over all patterns of participation.

A user moves k leaves by at most 1 each. Node counts move by the number of those leaves below them, and as
all overlaps are nonnegative, moving every leaf up by 1 is the worst case. The maximum over patterns is a
dynamic programme over levels: subtrees of one level are alike (docs/notes/counting.md).
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.counting.tree import Nodes, levels

__all__ = [
    "MOST",
    "absolute_replacement",
    "absolute_sensitivity",
    "replacement_sensitivity",
    "squared_sensitivity",
]

MOST = 4096
"""The largest number of participations the dynamic programmes accept."""
_Table = NDArray[np.int64]
_NEVER = np.iinfo(np.int64).min // 4


def squared_sensitivity(leaves: int, participations: int = 1, nodes: Nodes = Nodes.COMPLETE) -> int:
    """The largest sum over released nodes of (leaves of one user below it)^2, over all k-sets of leaves.

    >>> squared_sensitivity(16384), squared_sensitivity(16384, 2), squared_sensitivity(16384, 2, Nodes.USED)
    (15, 58, 57)

    Raises:
        ValueError: for fewer than one leaf or participation, or more than ``MOST`` participations.
    """
    table = _best(leaves, _participations(participations), 0, nodes, power=2)
    return int(table.max())


def absolute_sensitivity(leaves: int, participations: int = 1, nodes: Nodes = Nodes.COMPLETE) -> int:
    """The largest sum over released nodes of the number of one user's leaves below it.

    >>> absolute_sensitivity(6, 5), absolute_sensitivity(6, 5, Nodes.USED)
    (14, 10)

    Raises:
        ValueError: as ``squared_sensitivity``.
    """
    table = _best(leaves, _participations(participations), 0, nodes, power=1)
    return int(table.max())


def replacement_sensitivity(leaves: int, participations: int = 1, nodes: Nodes = Nodes.COMPLETE) -> int:
    """The largest sum over released nodes of (difference)^2 when a user leaves k leaves and enters k.

    The worst case over two sets of at most k leaves, the one losing 1 each, the other gaining 1 each.

    >>> replacement_sensitivity(16384), replacement_sensitivity(16383), replacement_sensitivity(1)
    (28, 27, 1)

    Raises:
        ValueError: as ``squared_sensitivity``, and for more than 64 participations.
    """
    return int(_replaced(leaves, participations, nodes, power=2).max())


def absolute_replacement(leaves: int, participations: int = 1, nodes: Nodes = Nodes.COMPLETE) -> int:
    """The same for the sum of absolute differences.

    >>> absolute_replacement(16384), absolute_replacement(2, 2)
    (28, 4)

    Raises:
        ValueError: as ``replacement_sensitivity``.
    """
    return int(_replaced(leaves, participations, nodes, power=1).max())


def _replaced(leaves: int, participations: int, nodes: Nodes, power: int) -> _Table:
    if _participations(participations) > _MOST_REPLACED:
        raise ValueError(
            f"participations ({participations}) must be at most {_MOST_REPLACED} under replacement: "
            "the dynamic programme takes time in their fourth power"
        )
    return _best(leaves, participations, participations, nodes, power)


_MOST_REPLACED = 64


def _participations(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
        raise ValueError(f"participations ({value!r}) must be an integer in [1, {MOST}]")
    return value


def _best(leaves: int, gained: int, lost: int, nodes: Nodes, power: int) -> _Table:
    """The best totals by (leaves gained, leaves lost), over the complete trees that K leaves fill."""
    own = np.abs(np.subtract.outer(np.arange(gained + 1), np.arange(lost + 1))).astype(np.int64) ** power
    below = np.zeros_like(own)  # totals of the nodes strictly below a node of this level
    below[(own > 1) | (np.add.outer(np.arange(gained + 1), np.arange(lost + 1)) > 1)] = _NEVER
    forest = np.full_like(own, _NEVER)
    forest[0, 0] = 0
    for level in range(levels(leaves)):
        if leaves >> level & 1:
            forest = _together(forest, below + own)
        right = below + own if nodes is Nodes.COMPLETE else below
        below = _together(below + own, right)
    return forest


def _together(left: _Table, right: _Table) -> _Table:
    """The max-plus convolution: the best totals when the leaves are divided between two trees."""
    best = np.full_like(left, _NEVER)
    rows, columns = left.shape
    for up, down in itertools.product(range(rows), range(columns)):
        if left[up, down] >= 0:
            shifted = left[up, down] + right[: rows - up, : columns - down]
            np.maximum(best[up:, down:], shifted, out=best[up:, down:])
    return np.where(best < 0, _NEVER, best)
