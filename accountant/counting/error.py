"""Error of the running counts that a counter releases: exact distributions, and a union bound over all releases.

A stream has K leaves, one for each time, and a running count is released at each time.

- Binary tree. The release at time t adds up one noisy node for each 1 among the binary digits of t. Its error
  is the sum of as many independent copies of the noise. The number of times with a given number of ones is
  counted exactly.
- Factorised counter. Release t has a normal error of variance sigma^2 (b_0^2 + ... + b_{t-1}^2), where the
  b_i are the coefficients of the factor B (``Strategy``). The variance grows with t. So in a block of times
  all terms of the union bound lie between the first and the last term of the block.
- Averaged subtrees (Honaker). A node's own noisy value and the sum of its two children estimate the same
  number. The counter averages these two estimates by their variances, from the leaves up. A node of level l
  then has variance 2^l/(2^(l+1) - 1) instead of 1, and the release of time t is the best linear unbiased one
  (``from_below``). Once the stream has ended, nodes after time t improve the estimate further (``full``).
  Variances are rounded to multiples of 1/64, down and up, and the times with each rounded variance are
  counted exactly.

Source: Honaker, Efficient use of differentially private binary trees (TPDP 2015). The recursion for the full
estimator is this project's own (docs/notes/counting.md).
"""

from __future__ import annotations

import itertools
import math
import sys
from collections import Counter
from fractions import Fraction

import flint

from dpproof.accountant.counting.noise import Noise
from dpproof.accountant.counting.toeplitz import Strategy
from dpproof.accountant.counting.tree import levels, releases_by_size
from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision
from dpproof.accountant.numbers.inversion import Decreasing, bracket


def union_bound(leaves: int, noise: Noise, beta: Number) -> Bound:
    """Return bounds on x, the error that a union bound gives for the running counts of a tree.

    x is the smallest number at which the sum of P(|error| > x) over all releases is at most ``beta``. The
    result is a lower and an upper bound on x. With probability at least 1 - ``beta`` no running count has an
    error above the upper bound. The tree has ``leaves`` leaves, one for each time, and ``noise`` on each
    node. ``maximum_error_bound`` computes the quantile of the largest error, which is at most x.

    >>> from dpproof.accountant.counting.noise import LaplaceNoise
    >>> union_bound(16384, LaplaceNoise(15), "1e-6").upper
    554.461623

    Raises:
        ValueError: for fewer than one leaf, or a failure probability outside (0, 1].
    """
    target, counts = _failure(beta), releases_by_size(leaves)
    return Bound(*bracket(lambda x: _union(counts, noise, x), target, _deviation(noise, len(counts) - 1)))


def _union(counts: tuple[int, ...], noise: Noise, point: Fraction) -> flint.arb:
    tails = (2 * count * noise.tail(terms, point) for terms, count in enumerate(counts) if count)
    return sum(tails, flint.arb(0))


def _deviation(noise: Noise, terms: int) -> float:
    """Return the approximate standard deviation, from which a search starts."""
    try:
        return math.sqrt(terms * noise.variance)
    except OverflowError:
        return math.sqrt(sys.float_info.max)


def _failure(value: Number) -> Fraction:
    beta = exact(value, "beta")
    if not 0 < beta <= 1:
        raise ValueError(f"beta ({value!r}) must be in (0, 1]")
    return beta


_FACTORISED_BITS, _BLOCKS = 192, 200


def factorised_union_bound(strategy: Strategy, sigma: Number, beta: Number) -> Bound:
    """Return bounds on x, the error that a union bound gives for the running counts of a factorised counter.

    x is the smallest number at which the sum of P(|error| > x) over all releases is at most ``beta``. The
    result is a lower and an upper bound on x. With probability at least 1 - ``beta`` no running count has an
    error above the upper bound. The counter releases B (C x + noise) for a stream x, where B C is the
    factorisation ``strategy`` of the running-count matrix. The noise is Gaussian with standard deviation
    ``sigma``.

    >>> from dpproof.accountant.counting.toeplitz import SquareRoot
    >>> found = factorised_union_bound(SquareRoot(1024), 1, "1e-6")
    >>> found.upper, found.relative_width < 0.01
    (10.75, True)

    Raises:
        ValueError: for a sigma not above 0, or a failure probability outside (0, 1].
    """
    scale, target = _positive(sigma), exact(beta, "beta")
    if not 0 < target <= 1:
        raise ValueError(f"beta ({beta!r}) must be in (0, 1]")
    with precision(_FACTORISED_BITS):
        variances = _variances(strategy, scale)
        start = float(variances[-1].mid().sqrt())
    edges = _edges(strategy.leaves)
    low, high = (bracket(_union_of(variances, edges, side), target, start) for side in (0, 1))
    return Bound(low[0], high[1])


def _variances(strategy: Strategy, sigma: Fraction) -> list[flint.arb]:
    squares = [value * value * arb_of(sigma**2) for value in strategy.row().coeffs()]
    squares += [flint.arb(0)] * (strategy.leaves - len(squares))
    return list(itertools.accumulate(squares))


def _edges(leaves: int) -> list[int]:
    """Return times 0 = t_0 < ... < K, first evenly spaced and then with growing steps."""
    even = {leaves * i // _BLOCKS for i in range(_BLOCKS + 1)}
    growing = {round(leaves ** (i / _BLOCKS)) for i in range(_BLOCKS + 1)}
    return sorted(even | growing | {0, leaves})


def _union_of(variances: list[flint.arb], edges: list[int], side: int) -> Decreasing:
    """Return the union with each block's terms replaced by its first (side 0) or its last (side 1)."""

    def union(point: Fraction) -> flint.arb:
        x, total = arb_of(point), flint.arb(0)
        for before, last in itertools.pairwise(edges):
            variance = variances[last - 1 if side else before]
            total += (last - before) * (x / (2 * variance).sqrt()).erfc()
        return total

    return union


def _positive(sigma: Number) -> Fraction:
    scale = exact(sigma, "sigma")
    if scale <= 0:
        raise ValueError(f"sigma ({sigma!r}) must be above 0")
    return scale


def node_variance(level: int) -> Fraction:
    """Return the variance of the best estimate of a tree node's sum.

    The estimate uses the noisy values of the node and of all nodes below it. ``level`` is the level of the
    node, 0 for a leaf. The noise on each node has variance 1.

    >>> node_variance(0), node_variance(2)
    (Fraction(1, 1), Fraction(4, 7))

    Raises:
        ValueError: for a negative level.
    """
    whole(level, "level", 0)
    return Fraction(2**level, 2 ** (level + 1) - 1)


def from_below(time: int) -> Fraction:
    """Return the variance of the best estimate of the count at ``time`` from all noisy nodes up to ``time``.

    These are the tree nodes whose leaves all lie up to ``time``. The noise on each node has variance 1.

    >>> from_below(7), from_below(8)
    (Fraction(47, 21), Fraction(8, 15))

    Raises:
        ValueError: for a time below 1.
    """
    digits = range(levels(time))
    return sum((node_variance(level) for level in digits if time >> level & 1), Fraction(0))


def full(time: int, leaves: int) -> Fraction:
    """Return the variance of the best estimate of the count at ``time``, given all noisy nodes of the whole stream.

    The estimate is linear and unbiased. The stream has ``leaves`` leaves. The noise has variance 1 on each
    tree node whose leaves all lie in the stream.

    >>> full(1, 2), full(2, 2)
    (Fraction(2, 3), Fraction(2, 3))

    Raises:
        ValueError: for a time outside 1..leaves.
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
    """Variance of the estimate of a tree's first ``count`` leaves, and its covariance with the root's."""
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
    """Return bounds on x, the error that a union bound gives for a tree with averaged subtrees.

    x is the smallest number at which the sum of P(|error| > x) over all releases is at most ``beta``. The
    result is a lower and an upper bound on x. With probability at least 1 - ``beta`` no running count has an
    error above the upper bound. With averaged subtrees, the estimate of a tree node also uses the noisy nodes
    below it. The noise is Gaussian with standard deviation ``sigma``.

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
    low, high = (
        bracket(_union_by_variance(leaves, scale, up), target, 5 * float(scale)) for up in (False, True)
    )
    return Bound(low[0], high[1])


def _union_by_variance(leaves: int, sigma: Fraction, up: bool) -> Decreasing:
    counts = _times_by_variance(leaves, up)

    def union(point: Fraction) -> flint.arb:
        total = flint.arb(0)
        for units, times in counts:
            total += times * arb_of(point * point * _GRAIN / (2 * units * sigma * sigma)).sqrt().erfc()
        return total

    return union


@lru_cache(maxsize=8)
def _times_by_variance(leaves: int, up: bool) -> tuple[tuple[int, int], ...]:
    """Return pairs (units, times): at how many of the times 1..K the rounded variance is that many grains."""
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
