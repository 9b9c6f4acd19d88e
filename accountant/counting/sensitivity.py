"""Sensitivity of the nodes of a tree to one user: exact maxima over all sets of leaves that a user may be in.

A user changes k leaves by at most 1 each. It is worst to raise every leaf by 1, because changes of opposite
sign cancel in the nodes above. Then a node's count changes by the number of these leaves below it. A dynamic
programme over the levels finds the maximum, because all subtrees of one level are alike.

If the leaves are at least ``separation`` apart, the programme also tracks the distance of the first leaf from
the left end of a subtree and of the last leaf from the right end. For long streams it works on blocks of g
leaves, where g is at most the separation, so a block holds at most one leaf of a user. If g divides the
separation, the result is exact. Otherwise it is a lower and an upper bound.

A user adds a value in [-s, s] or in [0, s] to a leaf. The sign matters only if a user is replaced. With [-s,
s] a replacement can change a leaf from -s to +s, by 2s. So replacing a user is as bad as changing the worst
leaves by twice the sensitivity s. With [0, s] no leaf changes by more than s, and the leaves of the two users
may overlap. Proofs: docs/notes/counting.md.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Choice, Integers, Reals, parameter
from dpproof.accountant.counting.tree import Nodes, levels
from dpproof.accountant.numbers.checks import whole

MOST = 4096
"""The largest number of leaves of one user for which the sensitivity can be computed."""
_Table = NDArray[np.int64]
_NEVER = np.iinfo(np.int64).min // 4


def squared_sensitivity(leaves: int, participations: int = 1, nodes: Nodes = Nodes.COMPLETE) -> int:
    """Return the largest squared L2 norm of one user's change of a tree's released nodes.

    A user changes each of at most ``participations`` leaves by 1. A node changes by the number of these
    leaves below it. The maximum is over all sets of leaves.

    >>> squared_sensitivity(16384), squared_sensitivity(16384, 2), squared_sensitivity(16384, 2, Nodes.USED)
    (15, 58, 57)

    Raises:
        ValueError: for fewer than one leaf or participation, or more than ``MOST`` participations.
    """
    table = _best(leaves, _participations(participations), 0, nodes, power=2)
    return int(table.max())


def absolute_sensitivity(leaves: int, participations: int = 1, nodes: Nodes = Nodes.COMPLETE) -> int:
    """Return the largest L1 norm of one user's change of a tree's released nodes.

    A user changes each of at most ``participations`` leaves by 1. A node changes by the number of these
    leaves below it. The maximum is over all sets of leaves.

    >>> absolute_sensitivity(6, 5), absolute_sensitivity(6, 5, Nodes.USED)
    (14, 10)

    Raises:
        ValueError: as ``squared_sensitivity``.
    """
    table = _best(leaves, _participations(participations), 0, nodes, power=1)
    return int(table.max())


def replacement_sensitivity(leaves: int, participations: int = 1, nodes: Nodes = Nodes.COMPLETE) -> int:
    """Return the largest squared L2 norm of the change of the released nodes if a user moves to other leaves.

    This is the worst case over two sets of at most ``participations`` leaves. Each leaf of the first set
    loses 1, and each leaf of the second set gains 1.

    >>> replacement_sensitivity(16384), replacement_sensitivity(16383), replacement_sensitivity(1)
    (28, 27, 1)

    Raises:
        ValueError: as ``squared_sensitivity``, and for more than 64 participations.
    """
    return int(_replaced(leaves, participations, nodes, power=2).max())


def absolute_replacement(leaves: int, participations: int = 1, nodes: Nodes = Nodes.COMPLETE) -> int:
    """Return the largest L1 norm of the change of the released nodes if a user moves to other leaves.

    See ``replacement_sensitivity`` for what may change.

    >>> absolute_replacement(16384), absolute_replacement(2, 2)
    (28, 4)

    Raises:
        ValueError: as ``replacement_sensitivity``.
    """
    return int(_replaced(leaves, participations, nodes, power=1).max())


def separated_replacement(leaves: int, participations: int, separation: int) -> tuple[int, int]:
    """Return bounds on ``replacement_sensitivity`` if any two leaves of a user are at least ``separation`` apart.

    The leaves before and after the move may be close to each other. The lower bound is attained by two patterns of
    equal distances. The upper bound is the smaller one of two numbers: twice ``separated_sensitivity``, and the
    programme for any leaves, in which no node holds more leaves of a set than fit into it.

    >>> separated_replacement(16384, 10, 1638), separated_replacement(16384, 1, 5)
    ((302, 306), (28, 28))

    Raises:
        ValueError: as ``separated_sensitivity``.
    """
    low, high = separated_sensitivity(leaves, participations, separation)
    count = min(participations, -(-leaves // separation))
    high *= 2
    if count <= _MOST_REPLACED:
        table = _best(leaves, count, count, Nodes.COMPLETE, power=2, separation=separation)
        high = min(high, int(table.max()))
    return max(low, *_moves(leaves, count, separation)), high


def _moves(leaves: int, count: int, separation: int) -> Iterator[int]:
    """Yield the squared norms of moves between two patterns of equal distances."""
    near = {0, *(place for place in (1, separation // 2, separation - 1) if 0 < place < separation)}
    halves = {1 << level for level in range(max(levels(leaves) - 2, 0), levels(leaves))}
    far = {place + shift for place in halves for shift in near} | {count * separation}
    for start, other in itertools.product(near, near | far):
        patterns = [
            [place for place in range(begin, begin + count * separation, separation) if place < leaves]
            for begin in (start, other)
        ]
        yield _squared_change(leaves, *patterns)


def _squared_change(leaves: int, gained: Sequence[int], lost: Sequence[int]) -> int:
    """Return the squared norm of the change of all complete nodes."""
    total = 0
    for level in range(levels(leaves)):
        change = Counter(place >> level for place in gained)
        change.subtract(place >> level for place in lost)
        total += sum(x * x for node, x in change.items() if (node + 1) << level <= leaves)
    return total


def _replaced(leaves: int, participations: int, nodes: Nodes, power: int) -> _Table:
    if _participations(participations) > _MOST_REPLACED:
        raise ValueError(
            f"participations ({participations}) must be at most {_MOST_REPLACED} under replace. "
            "The computing time grows with their fourth power."
        )
    return _best(leaves, participations, participations, nodes, power)


_MOST_REPLACED = 64


def _participations(value: int) -> int:
    return whole(value, "participations", 1, MOST)


def _best(leaves: int, gained: int, lost: int, nodes: Nodes, power: int, separation: int = 1) -> _Table:
    """Return the largest totals by (leaves gained, leaves lost), over the complete trees that K leaves fill.

    No node holds more leaves of a set than fit into it at this ``separation``.
    """
    own = np.abs(np.subtract.outer(np.arange(gained + 1), np.arange(lost + 1))).astype(np.int64) ** power
    below = np.zeros_like(own)  # totals of the nodes strictly below a node of this level
    below[(own > 1) | (np.add.outer(np.arange(gained + 1), np.arange(lost + 1)) > 1)] = _NEVER
    forest = np.full_like(own, _NEVER)
    forest[0, 0] = 0
    for level in range(levels(leaves)):
        room = ((1 << level) - 1) // separation + 1
        below[room + 1 :], below[:, room + 1 :] = _NEVER, _NEVER
        if leaves >> level & 1:
            forest = _together(forest, below + own)
        right = below + own if nodes is Nodes.COMPLETE else below
        below = _together(below + own, right)
    return forest


def _together(left: _Table, right: _Table) -> _Table:
    """Return the max-plus convolution: the largest totals if the leaves are divided between two trees."""
    best = np.full_like(left, _NEVER)
    rows, columns = left.shape
    for up, down in itertools.product(range(rows), range(columns)):
        if left[up, down] >= 0:
            shifted = left[up, down] + right[: rows - up, : columns - down]
            np.maximum(best[up:, down:], shifted, out=best[up:, down:])
    return np.where(best < 0, _NEVER, best)


_WORK, _CALL = 10**9, 20_000
"""The most additions that a programme may take before coarser blocks are used; the cost of one numpy call."""


def separated_sensitivity(
    leaves: int, participations: int, separation: int, nodes: Nodes = Nodes.COMPLETE
) -> tuple[int, int]:
    """Return bounds on ``squared_sensitivity`` if any two leaves of a user are at least ``separation`` apart.

    This sensitivity is the largest squared L2 norm of one user's change of a tree's released nodes.

    >>> separated_sensitivity(16384, 2, 1), separated_sensitivity(16384, 2, 2)
    ((58, 58), (56, 56))
    >>> separated_sensitivity(16384, 10, 1638)
    (302, 306)

    Raises:
        ValueError: for leaves, participations or a separation below 1, or more than 4096 participations.
    """
    levels(leaves)
    for name, value in (("participations", participations), ("separation", separation)):
        whole(value, name, 1)
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
    ends = [
        _separated_best(leaves, count, gap, level, nodes)
        for gap in (-(-separation // size), separation // size)
    ]
    return ends[0], ends[1]


def _block_level(count: int, separation: int) -> int | None:
    """Return the finest level of blocks, of 2^level leaves, at which the programme is fast; None if there is none."""
    free = (separation & -separation).bit_length() - 1
    for level in range(free, separation.bit_length()):
        gap = separation >> level
        if count**2 * gap * (gap**2 + _CALL) <= _WORK:
            return level
    return None


def _crude(leaves: int, count: int, separation: int, nodes: Nodes) -> tuple[int, int]:
    """Return bounds if the programme would take too long: the leftmost pattern, and blocks without a separation."""
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


def _separated_best(leaves: int, count: int, gap: int, level: int, nodes: Nodes) -> int:
    """Return the best total over patterns of blocks of level ``level`` that are ``gap`` apart."""
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
    """Return the programme's table of one block: one leaf that counts ``value``, or none."""
    table = np.full((count + 1, gap, gap), _NEVER, dtype=np.int64)
    table[0] = 0
    table[1, 0, 0] = value
    return table


def _joined(left: _Table, right: _Table, size: int) -> _Table:
    """Return the largest totals of two neighbours: ``size`` blocks on the left, at most that many on the right.

    table[c, a, z] is for c leaves, at least a free blocks before the first and at least z after the last. If
    the right one is smaller, only z = 0 is exact, and only that is used.
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


SIGNED, NONNEGATIVE = "signed", "nonnegative"
_MOST_RESTARTS = 10**12


def contributions() -> Any:
    """Return the parameter for the sign of the values that a user may add to a leaf of the stream.

    >>> contributions().default
    'signed'
    """
    text = (
        "what a user adds to a leaf: signed, within [-s, s], s the sensitivity; or nonnegative, in [0, s] "
        "(only replace asks; what nonnegative promises is false for data of either sign)"
    )
    return parameter(Choice(SIGNED, NONNEGATIVE), "1", text, SIGNED)


def sensitivity() -> Any:
    """Return the parameter for the largest absolute value that a user adds to a leaf of the stream.

    >>> sensitivity().default is None
    True
    """
    text = "largest size of what one user adds to a leaf (by-sensitivity: of a leaf's change)"
    return parameter(Reals(0, lower_open=True), "count", text, None, safer=-1)


def restarts(runs: str) -> Any:
    """Return the parameter for the number of restarts. ``runs`` is the word for what is restarted, such as "trees".

    >>> restarts("trees").metadata["unit"]
    'trees'
    """
    text = f"fresh {runs} after the first; a user may be in all, with these limits in each"
    return parameter(Integers(0, _MOST_RESTARTS), runs, text, 0)


def assumed(values: str, adjacency: Adjacency) -> tuple[str, ...]:
    """Return the note about what a user may add to a leaf, which is printed with the guarantee under ``replace``.

    ``values`` is ``signed`` or ``nonnegative``.

    >>> assumed("signed", Adjacency.ADD_REMOVE)
    ()
    """
    return (_ASSUMED[values],) if adjacency is Adjacency.REPLACE else ()


_ASSUMED = {
    SIGNED: "a user may add anything within [-sensitivity, sensitivity] to a leaf, before and after",
    NONNEGATIVE: "holds only where a user adds between 0 and the sensitivity to a leaf, never less than 0",
}
