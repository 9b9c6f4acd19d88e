"""The error of all releases of a factorised counter: the union bound, enclosed by blocks of releases.

Release t errs by a normal variable of variance sigma^2 (b_0^2 + ... + b_{t-1}^2), which grows with t: the
union's terms in a block of times lie between those of its first and its last.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import flint

from dpproof.accountant.counting.toeplitz import Strategy
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, bound_of, exact, precision
from dpproof.accountant.numbers.inversion import Profile, bracket

__all__ = ["factorised_union_bound", "release_variance"]

_BITS, _BLOCKS = 192, 200


def release_variance(strategy: Strategy, sigma: Number, time: int) -> Bound:
    """The variance of the release at ``time``, noise of standard deviation ``sigma`` on each entry of C x.

    >>> from dpproof.accountant.counting.toeplitz import SquareRoot
    >>> release_variance(SquareRoot(100), 2, 2).upper
    5.0

    Raises:
        ValueError: for a time outside 1..K, or a sigma not above 0.
    """
    if isinstance(time, bool) or not isinstance(time, int) or not 1 <= time <= strategy.leaves:
        raise ValueError(f"time ({time!r}) must be an integer in [1, {strategy.leaves}]")
    with precision(_BITS):
        return bound_of(_variances(strategy, _positive(sigma))[time - 1])


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
    with precision(_BITS):
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


def _union_of(variances: list[flint.arb], edges: list[int], side: int) -> Profile:
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
