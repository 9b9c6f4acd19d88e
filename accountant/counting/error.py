"""The error of a tree's releases: the exact law of each, and the union bound over all of them.

The release at time t adds as many nodes as t has binary ones, so its error is a sum of that many
independent copies of the noise. How many times share a number of ones is counted exactly.

What Chan, Shi and Song print for the error of a release, beside the exact one.

The error of all releases of a factorised counter: the union bound, enclosed by blocks of releases.

Release t errs by a normal variable of variance sigma^2 (b_0^2 + ... + b_{t-1}^2), which grows with t: the
union's terms in a block of times lie between those of its first and its last.
"""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction

import flint

from dpproof.accountant.counting.noise import Noise
from dpproof.accountant.counting.toeplitz import Strategy
from dpproof.accountant.counting.tree import releases_by_size
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision
from dpproof.accountant.numbers.inversion import Decreasing, bracket

_BITS = 128


def union_bound(leaves: int, noise: Noise, beta: Number) -> Bound:
    """The smallest x at which the sum over all times of P(|error| > x) is at most ``beta``, certified.

    With probability at least 1 - ``beta`` no release in 1..K errs by more than the upper end. The bound
    speaks of the union bound's value; ``maximum_error_bound`` finds the quantile itself.

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
    """The standard deviation, roughly: where a search begins."""
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
    """Ends around the smallest x at which the union over all releases of P(|error| > x) is ``beta``.

    With probability at least 1 - ``beta`` no release errs by more than the upper end.

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
    """Times 0 = t_0 < ... < K, evenly spaced and with growing steps."""
    even = {leaves * i // _BLOCKS for i in range(_BLOCKS + 1)}
    growing = {round(leaves ** (i / _BLOCKS)) for i in range(_BLOCKS + 1)}
    return sorted(even | growing | {0, leaves})


def _union_of(variances: list[flint.arb], edges: list[int], side: int) -> Decreasing:
    """The union with each block's terms replaced by its first (side 0) or its last (side 1)."""

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
