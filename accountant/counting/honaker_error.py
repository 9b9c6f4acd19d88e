"""The error of all releases of a tree with averaged subtrees, Gaussian noise: a union, counted by variance.

The release at time t has the variance ``from_below(t)``, a sum of one node variance for each binary one of t.
How many times share a variance, rounded to multiples of 1/64 of a node's to either side, is counted exactly.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import flint

from dpproof.accountant.counting.honaker import node_variance
from dpproof.accountant.counting.tree import levels
from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact
from dpproof.accountant.numbers.inversion import Profile, bracket

__all__ = ["honaker_union_bound"]

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


def _union(leaves: int, sigma: Fraction, up: bool) -> Profile:
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
