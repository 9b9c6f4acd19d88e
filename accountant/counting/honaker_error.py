"""The error of all releases of a tree with averaged subtrees, Gaussian noise: a union, counted by variance.

The release at time t has the variance ``from_below(t)``, a sum of one node variance for each binary one of t.
How many times share a variance, rounded to multiples of 1/64 of a node's to either side, is counted exactly.

Variance reduction on a tree: noisy nodes hold their subtrees' sums more than once.

A node's own noisy value and the sum of its two children are two estimates of one number. Weighed by their
variances from the leaves up (from below), the best estimate of a node of level l has variance
2^l/(2^(l+1) - 1) instead of 1. At time t nothing else is known about a prefix, so this is the best linear
unbiased release. Once the stream has ended, nodes above a prefix's last ones help too (full).

Source: Honaker, Efficient use of differentially private binary trees (TPDP 2015); the recursion for the
full estimator is this project's own (docs/notes/counting.md).
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import flint

from dpproof.accountant.counting.tree import levels
from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact
from dpproof.accountant.numbers.inversion import Decreasing, bracket


def node_variance(level: int) -> Fraction:
    """The variance of a node's sum estimated from its subtree, for noise of variance 1 on each node.

    >>> node_variance(0), node_variance(2)
    (Fraction(1, 1), Fraction(4, 7))

    Raises:
        ValueError: for a negative level.
    """
    whole(level, "level", 0)
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


_GRAIN = 64


def honaker_union_bound(leaves: int, sigma: Number, beta: Number) -> Bound:
    """Ends around the smallest x at which the union over all releases of P(|error| > x) is ``beta``.

    With probability at least 1 - ``beta`` no release in 1..K errs by more than the upper end.

    >>> from dpproof.accountant.counting.error import union_bound
    >>> from dpproof.accountant.counting.noise import GaussianNoise
    >>> honaker_union_bound(1024, 1, "1e-6").upper, union_bound(1024, GaussianNoise(1), "1e-6").upper
    (12.664240, 16.423941)

    Raises:
        ValueError: for fewer than one leaf, a sigma not above 0, or a failure probability outside (0, 1].
    """
    levels(leaves)
    scale, target = exact(sigma, "sigma"), exact(beta, "beta")
    if scale <= 0:
        raise ValueError(f"sigma ({sigma!r}) must be above 0")
    if not 0 < target <= 1:
        raise ValueError(f"beta ({beta!r}) must be in (0, 1]")
    low, high = (bracket(_union(leaves, scale, up), target, 5 * float(scale)) for up in (False, True))
    return Bound(low[0], high[1])


def _union(leaves: int, sigma: Fraction, up: bool) -> Decreasing:
    counts = _times_by_variance(leaves, up)

    def union(point: Fraction) -> flint.arb:
        total = flint.arb(0)
        for units, times in counts:
            total += times * arb_of(point * point * _GRAIN / (2 * units * sigma * sigma)).sqrt().erfc()
        return total

    return union


@lru_cache(maxsize=8)
def _times_by_variance(leaves: int, up: bool) -> tuple[tuple[int, int], ...]:
    """(units, times): at how many of the times 1..K the rounded variance is so many grains."""
    cost = [_rounded(node_variance(level), up) for level in range(levels(leaves) + 1)]
    total: Counter[int] = Counter()
    free: Counter[int] = Counter({0: 1})  # over all settings of the digits below the present one
    end, above = leaves + 1, sum(cost[digit] for digit in _ones(leaves + 1))
    for digit in range(end.bit_length()):
        if end >> digit & 1:
            above -= cost[digit]
            for units, times in free.items():
                total[above + units] += times
        with_one = {units + cost[digit]: times for units, times in free.items()}
        free = Counter(free)
        free.update(with_one)
    total[0] -= 1  # time 0 releases nothing
    return tuple(sorted((units, times) for units, times in total.items() if units and times))


def _ones(value: int) -> list[int]:
    return [digit for digit in range(value.bit_length()) if value >> digit & 1]


def _rounded(variance: Fraction, up: bool) -> int:
    scaled = variance * _GRAIN
    return max(-((-scaled.numerator) // scaled.denominator) if up else int(scaled), 1)
