"""The error of a tree's releases: the exact law of each, and the union bound over all of them.

The release at time t adds as many nodes as t has binary ones, so its error is a sum of that many
independent copies of the noise. How many times share a number of ones is counted exactly.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import flint

from dpproof.accountant.counting.noise import Noise
from dpproof.accountant.counting.tree import levels, releases_by_size
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, bound_of, exact, precision
from dpproof.accountant.numbers.inversion import bracket

__all__ = [
    "mean_squared_error",
    "release_error_bound",
    "release_error_probability",
    "union_bound",
    "union_probability",
]

_BITS = 128


def release_error_probability(time: int, noise: Noise, error: Number) -> Bound:
    """P(|error of the release at ``time``| > ``error``), certified, down to 1e-300 and beyond.

    >>> from dpproof.accountant.counting.noise import LaplaceNoise
    >>> release_error_probability(7, LaplaceNoise(1), 10).upper
    0.000897

    Raises:
        ValueError: for a time below 1 or an error that is not a number at least 0.
    """
    levels(time)
    point = _error(error)
    with precision(_BITS):
        return bound_of(2 * noise.tail(time.bit_count(), point))


def release_error_bound(time: int, noise: Noise, beta: Number) -> Bound:
    """The smallest x with P(|error of the release at ``time``| > x) <= ``beta``, certified on both sides.

    >>> from dpproof.accountant.counting.noise import GaussianNoise
    >>> release_error_bound(3, GaussianNoise(1), "0.05").upper
    2.771808

    Raises:
        ValueError: for a time below 1, or a failure probability outside (0, 1].
    """
    levels(time)
    target, terms = _failure(beta), time.bit_count()
    return Bound(*bracket(lambda x: 2 * noise.tail(terms, x), target, _deviation(noise, terms)))


def union_probability(leaves: int, noise: Noise, error: Number) -> Bound:
    """The sum over all times 1..K of P(|error of the release| > ``error``); it may be above 1.

    >>> from dpproof.accountant.counting.noise import GaussianNoise
    >>> union_probability(2**20, GaussianNoise(1), 24).upper
    3.719e-05

    Raises:
        ValueError: for fewer than one leaf or an error that is not a number at least 0.
    """
    point, counts = _error(error), releases_by_size(leaves)
    with precision(_BITS):
        return bound_of(_union(counts, noise, point))


def union_bound(leaves: int, noise: Noise, beta: Number) -> Bound:
    """The smallest x at which ``union_probability`` is at most ``beta``, certified on both sides.

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


def mean_squared_error(leaves: int, noise: Noise) -> Fraction:
    """The mean over all times 1..K of the variance of the release's error, exactly.

    >>> from dpproof.accountant.counting.noise import GaussianNoise
    >>> mean_squared_error(6, GaussianNoise(1))
    Fraction(3, 2)

    Raises:
        ValueError: for fewer than one leaf.
    """
    total = sum(terms * count for terms, count in enumerate(releases_by_size(leaves)))
    return noise.variance * Fraction(total, leaves)


def _union(counts: tuple[int, ...], noise: Noise, point: Fraction) -> flint.arb:
    tails = (2 * count * noise.tail(terms, point) for terms, count in enumerate(counts) if count)
    return sum(tails, flint.arb(0))


def _deviation(noise: Noise, terms: int) -> float:
    """The standard deviation, roughly: where a search begins."""
    try:
        return math.sqrt(terms * noise.variance)
    except OverflowError:
        return math.sqrt(sys.float_info.max)


def _error(value: Number) -> Fraction:
    point = exact(value, "error")
    if point < 0:
        raise ValueError(f"error ({value!r}) must be at least 0")
    return point


def _failure(value: Number) -> Fraction:
    beta = exact(value, "beta")
    if not 0 < beta <= 1:
        raise ValueError(f"beta ({value!r}) must be in (0, 1]")
    return beta
