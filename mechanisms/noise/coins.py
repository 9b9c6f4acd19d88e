"""Biased coins, tossed exactly: the probability of heads is not rounded.

The only random draws are uniform integers, and they are compared with exact fractions. The only assumption is
that the generator's integers are uniform and independent (Canonne, Kamath and Steinke, arXiv:2004.00010,
Algorithm 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

WORD = 1 << 62
_MOST_COINS = 1 << 62
"""Costs above this number are cut off: 2^62 successes in a row, each of probability 1/e, do not occur."""


def exponential_coins(costs: Sequence[Fraction], which: Ints, rng: np.random.Generator) -> Bools:
    """Toss a coin for each index i in ``which``, and return which coins came up heads.

    The probability of heads is exactly exp(-costs[i]). To toss coin i, split costs[i] into its whole part w and
    a rest r < 1. Toss w coins that have probability 1/e of heads, and one that has probability exp(-r). Coin i comes
    up heads if all of these do.

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
    """Toss `exponential_coins` for costs at most 1.

    In a row of coins of probabilities cost/1, cost/2, ..., the first that fails has an odd number with
    probability exp(-cost).
    """
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
    """Toss a coin for each index i in ``which``, and return which coins came up heads.

    The probability of heads is exactly ``chances[i]``. Further bits are drawn if the first 62 do not decide.
    """
    scaled = [chance * WORD for chance in chances]
    digits = np.array([math.floor(chance) for chance in scaled], np.int64)[which]
    words = rng.integers(0, WORD, which.size)
    came = np.asarray(words < digits)
    tied = np.flatnonzero(words == digits)
    rests = [chance % 1 for chance in scaled]
    if tied.size and any(rests):
        came[tied] = coins(rests, which[tied], rng)
    return came
