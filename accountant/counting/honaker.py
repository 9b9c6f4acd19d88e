"""Variance reduction on a tree: noisy nodes hold their subtrees' sums more than once.

A node's own noisy value and the sum of its two children are two estimates of one number. Weighed by their
variances from the leaves up (from below), the best estimate of a node of level l has variance
2^l/(2^(l+1) - 1) instead of 1. At time t nothing else is known about a prefix, so this is the best linear
unbiased release. Once the stream has ended, nodes above a prefix's last ones help too (full).

Source: Honaker, Efficient use of differentially private binary trees (TPDP 2015); the recursion for the
full estimator is this project's own (docs/notes/counting.md).
"""

from __future__ import annotations

from fractions import Fraction

from dpproof.accountant.counting.tree import levels

__all__ = ["from_below", "from_below_mean", "full", "node_variance"]


def node_variance(level: int) -> Fraction:
    """The variance of a node's sum estimated from its subtree, for noise of variance 1 on each node.

    >>> node_variance(0), node_variance(2)
    (Fraction(1, 1), Fraction(4, 7))

    Raises:
        ValueError: for a negative level.
    """
    if isinstance(level, bool) or not isinstance(level, int) or level < 0:
        raise ValueError(f"level ({level!r}) must be an integer at least 0")
    return Fraction(2**level, 2 ** (level + 1) - 1)


def from_below(time: int) -> Fraction:
    """The variance of the release at ``time``, for noise of variance 1: all nodes complete by then are used.

    >>> from_below(7), from_below(8)
    (Fraction(47, 21), Fraction(8, 15))

    Raises:
        ValueError: for a time below 1.
    """
    digits = range(levels(time))
    return sum((node_variance(level) for level in digits if time >> level & 1), Fraction(0))


def from_below_mean(leaves: int) -> Fraction:
    """The mean of ``from_below`` over the times 1..K.

    >>> from_below_mean(2) == (from_below(1) + from_below(2)) / 2
    True

    Raises:
        ValueError: for fewer than one leaf.
    """
    total = sum(node_variance(level) * _times_with(level, leaves) for level in range(levels(leaves)))
    return Fraction(total) / leaves


def _times_with(digit: int, last: int) -> int:
    """How many of 1..``last`` have a 1 at this binary digit."""
    half = 1 << digit
    whole, rest = divmod(last + 1, 2 * half)
    return whole * half + max(rest - half, 0)


def full(time: int, leaves: int) -> Fraction:
    """The variance of the best linear unbiased estimate of the count at ``time``, given all nodes in the end.

    For noise of variance 1 on each of the complete nodes of a stream of ``leaves`` leaves.

    >>> full(1, 2), full(2, 2)
    (Fraction(2, 3), Fraction(2, 3))

    Raises:
        ValueError: for a time outside 1..K.
    """
    if levels(time) and time > leaves:
        raise ValueError(f"time ({time!r}) must be an integer in [1, {leaves}]")
    total, covered = Fraction(0), 0
    for level in reversed(range(levels(leaves))):
        if leaves >> level & 1:
            total += _prefix(level, min(max(time - covered, 0), 2**level))[0]
            covered += 2**level
    return total


def _prefix(level: int, count: int) -> tuple[Fraction, Fraction]:
    """Of a tree's first ``count`` leaves: the variance of their estimate, its covariance with the root's."""
    if count == 0:
        return Fraction(0), Fraction(0)
    if count == 2**level:
        return node_variance(level), node_variance(level)
    half, child = 2 ** (level - 1), node_variance(level - 1)
    variance, covariance = _prefix(level - 1, count if count <= half else count - half)
    if count > half:
        variance, covariance = variance + child, covariance + child
    seen = 2 * child + 1  # the variance of the node's own value less the sum of its children
    return variance - covariance**2 / seen, covariance / seen
