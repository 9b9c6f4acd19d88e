"""Noise on whole numbers, drawn exactly: every chance is that of the law, not that of a rounding of it.

All randomness is uniform integers; chances are compared as fractions, so the only assumption is that the
generator's words are uniform and independent. A geometric variable's binary digits are independent coins,
which makes the two-sided geometric law cheap at every scale; the discrete Gaussian is drawn from it by
rejection (Canonne, Kamath and Steinke, arXiv:2004.00010, Algorithms 1 to 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["coins", "discrete_gaussian_noise", "exponential_coins", "geometric_noise"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

WORD = 1 << 62
LARGEST = 1 << 53
"""Scales beyond it are refused: sums would leave the 64-bit integers."""
_MOST_COINS = 1 << 62
"""Costs are cut off here: 2^62 successes in a row, each of probability 1/e, do not occur."""


def geometric_noise(scale: Fraction, n: int, rng: np.random.Generator) -> Ints:
    """Draw ``n`` whole numbers of mass proportional to exp(-|x|/scale).

    It is the difference of two geometric variables.

    Args:
        scale: above 0, at most 2^53.
        n: how many.
        rng: all randomness comes from it.

    Raises:
        ValueError: the scale is outside that range.

    >>> geometric_noise(Fraction(3), 4, np.random.default_rng(0)).dtype.name
    'int64'
    """
    if not 0 < scale <= LARGEST:
        raise ValueError(f"scale ({float(scale)!r}) must be above 0 and at most 2^53 to be drawn exactly")
    drawn = _geometric(1 / scale, 2 * n, rng)
    return drawn[:n] - drawn[n:]


def discrete_gaussian_noise(variance: Fraction, n: int, rng: np.random.Generator) -> Ints:
    """Draw ``n`` whole numbers of mass proportional to exp(-x^2 / (2 variance)).

    Candidates are two-sided geometric of scale t = floor(sigma) + 1; x is kept with chance
    exp(-(|x| - variance/t)^2 / (2 variance)).

    Args:
        variance: the law's parameter sigma^2, above 0, at most 2^100.
        n: how many.
        rng: all randomness comes from it.

    Raises:
        ValueError: the variance is outside that range.
    """
    if not 0 < variance <= 1 << 100:
        raise ValueError(f"variance ({float(variance)!r}) must be above 0 and at most 2^100")
    t = math.isqrt(math.floor(variance)) + 1
    found = np.empty(n, np.int64)
    missing = np.arange(n)
    while missing.size:
        tried = geometric_noise(Fraction(t), missing.size, rng)
        sizes, which = np.unique(np.abs(tried), return_inverse=True)
        costs = [(abs(int(x)) - variance / t) ** 2 / (2 * variance) for x in sizes]
        kept = exponential_coins(costs, which, rng)
        found[missing[kept]] = tried[kept]
        missing = missing[~kept]
    return found


def exponential_coins(costs: Sequence[Fraction], which: Ints, rng: np.random.Generator) -> Bools:
    """A coin of chance exp(-costs[which]) for each entry of ``which``, exactly.

    A cost is split into coins of chance 1/e, all of which must come up, and one for the rest.

    >>> rng = np.random.default_rng(0)
    >>> round(float(exponential_coins([Fraction(1, 2)], np.zeros(1_000_000, int), rng).mean()), 2)
    0.61
    """
    whole = np.array([min(math.floor(cost), _MOST_COINS) for cost in costs], np.int64)[which]
    up = np.ones(which.size, bool)
    for step in range(int(whole.max(initial=0))):
        tossed = np.flatnonzero(up & (whole > step))
        if not tossed.size:
            break
        up[tossed] = _small_coins([Fraction(1)], np.zeros(tossed.size, np.int64), rng)
    left = np.flatnonzero(up)
    up[left] = _small_coins([cost % 1 for cost in costs], which[left], rng)
    return up


def _small_coins(costs: Sequence[Fraction], which: Ints, rng: np.random.Generator) -> Bools:
    """The same for costs at most 1: of coins of chance cost/1, cost/2, ... the first that fails is odd."""
    odd = np.ones(which.size, bool)
    tossed = np.arange(which.size)
    k = 0
    while tossed.size:
        k += 1
        came = coins([cost / k for cost in costs], which[tossed], rng)
        odd[tossed[~came]] = bool(k % 2)
        tossed = tossed[came]
    return odd


def coins(chances: Sequence[Fraction], which: Ints, rng: np.random.Generator) -> Bools:
    """A coin of chance ``chances[which]`` for each entry: a word of its digits at a time, ties looking on."""
    scaled = [chance * WORD for chance in chances]
    digits = np.array([math.floor(chance) for chance in scaled], np.int64)[which]
    words = rng.integers(0, WORD, which.size)
    came = np.asarray(words < digits)
    tied = np.flatnonzero(words == digits)
    rests = [chance % 1 for chance in scaled]
    if tied.size and any(rests):
        came[tied] = coins(rests, which[tied], rng)
    return came


def _geometric(rate: Fraction, n: int, rng: np.random.Generator) -> Ints:
    """Draw ``n`` counts of mass proportional to exp(-rate x): low digits as coins, the rest one by one."""
    digits = max(0, math.ceil(1 / rate) - 1).bit_length()
    drawn = np.zeros(n, np.int64)
    for digit in range(digits):
        drawn += _digits(rate * 2**digit, n, rng).astype(np.int64) << digit
    counted, step = np.arange(n), rate * 2**digits
    while counted.size:
        up = exponential_coins([step], np.zeros(counted.size, np.int64), rng)
        counted = counted[up]
        drawn[counted] += 1 << digits
    return drawn


def _digits(cost: Fraction, n: int, rng: np.random.Generator) -> Bools:
    """Coins of chance exp(-cost) / (1 + exp(-cost)): a fair coin's head must pass a coin of exp(-cost)."""
    found = np.zeros(n, bool)
    tossed = np.arange(n)
    while tossed.size:
        heads = tossed[rng.integers(0, 2, tossed.size) == 1]
        passed = exponential_coins([cost], np.zeros(heads.size, np.int64), rng)
        found[heads[passed]] = True
        tossed = heads[~passed]
    return found
