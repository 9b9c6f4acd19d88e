"""Binomial numbers, drawn exactly: sums of independent coins whose probability of heads is not rounded.

The only random draws are uniform 64-bit words, whose bits are fair coins. A coin with another probability p is heads
if a uniform number in [0, 1) is below p. The binary digits of this number are fair coins. All coins of a sum are
compared with p digit by digit, so a coin needs two fair coins on average.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms import _checks

Ints = NDArray[np.int64]
_WORD = 64
_MOST_WORDS = 1 << 22
"""Random words that are held in memory at once. A sum of more coins is drawn alone."""


def coin_sums(trials: int, chance: Fraction, count: int, rng: np.random.Generator) -> Ints:
    """Return ``count`` independent draws from the distribution Binomial(``trials``, ``chance``).

    The time is proportional to ``trials`` times ``count``: about one second for 10^10 fair coins.

    >>> coin_sums(1000, Fraction(1, 2), 3, np.random.default_rng(0)).shape
    (3,)
    >>> coin_sums(5, Fraction(1), 2, np.random.default_rng(0)).tolist()
    [5, 5]

    Args:
        trials: number of coins of a sum, at least 0.
        chance: probability of heads, in [0, 1].
        count: number of sums, at least 0.
        rng: source of the words. With `Entropy` they are the operating system's.

    Raises:
        ValueError: an argument is outside its range.
    """
    held = np.full(_checks.at_least("count", count, 0), _checks.at_least("trials", trials, 0), np.int64)
    if not 0 <= chance <= 1:
        raise ValueError(f"chance ({chance!r}) must be in [0, 1]")
    if chance == 1:
        return held
    found, rest = np.zeros_like(held), chance
    while rest and held.any():
        rest *= 2
        ones = _fair_sums(held, rng)
        if rest >= 1:  # the digit of p is 1: a coin whose digit is 0 is below p
            rest -= 1
            found += held - ones
            held = ones
        else:  # the digit of p is 0: a coin whose digit is 1 is above p
            held = held - ones
    return found


def _fair_sums(trials: Ints, rng: np.random.Generator) -> Ints:
    """Return one draw from Binomial(t, 1/2) for each entry t."""
    sizes = -(-trials // _WORD)
    ends = np.cumsum(sizes)
    found, first = np.empty_like(trials), 0
    while first < len(trials):
        drawn = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, drawn + _MOST_WORDS, side="right")))
        found[first:last] = _counted(trials[first:last], sizes[first:last], rng)
        first = last
    return found


def _counted(trials: Ints, sizes: Ints, rng: np.random.Generator) -> Ints:
    """Return how many of the first t bits of fresh words are 1, for each entry t of ``trials``."""
    words = rng.integers(0, 1 << _WORD, int(sizes.sum()), dtype=np.uint64)
    used = sizes > 0
    ends = np.cumsum(sizes)[used]
    spare = (sizes[used] * _WORD - trials[used]).astype(np.uint64)
    words[ends - 1] >>= spare
    found = np.zeros_like(trials)
    if used.any():
        ones = np.bitwise_count(words).astype(np.int64)
        found[used] = np.add.reduceat(ones, ends - sizes[used])
    return found
