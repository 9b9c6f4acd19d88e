"""Whole answers plus two-sided geometric noise, drawn exactly.

The binary digits of a geometric variable are independent coins, so a draw is cheap at every scale.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dpproof.accountant.numbers.enclosures import exact
from dpproof.mechanisms.noise.answers import whole_answers
from dpproof.mechanisms.noise.coins import Bools, Ints, exponential_coins

if TYPE_CHECKING:
    from dpproof.accountant.noise.geometric import GeometricParameters

LARGEST = 1 << 53
"""Largest noise scale. With a larger one, sums could exceed 64-bit integers."""


def sample(parameters: GeometricParameters, answers: ArrayLike, n: int, rng: np.random.Generator) -> Ints:
    """Return ``n`` draws of the whole numbers ``answers`` plus exact two-sided geometric noise.

    The result is an array (n, compositions), and ``parameters.compositions`` is the number of answers. For histograms
    see `dpproof.mechanisms.noise.answers.real_answers`.
    """
    true = whole_answers(answers, parameters)
    return true + geometric_noise(exact(parameters.scale), n * true.size, rng).reshape(n, -1)


def geometric_noise(scale: Fraction, n: int, rng: np.random.Generator) -> Ints:
    """Return ``n`` random whole numbers x with probability proportional to exp(-|x|/scale).

    Each number is the difference of two geometric variables.

    Args:
        scale: above 0, at most 2^53.
        n: how many numbers are drawn.
        rng: all randomness comes from this generator.

    Raises:
        ValueError: the scale is outside that range.

    >>> geometric_noise(Fraction(3), 4, np.random.default_rng(0)).dtype.name
    'int64'
    """
    if not 0 < scale <= LARGEST:
        raise ValueError(f"scale ({float(scale)!r}) must be above 0 and at most 2^53 to be drawn exactly")
    drawn = _geometric(1 / scale, 2 * n, rng)
    return drawn[:n] - drawn[n:]


def _geometric(rate: Fraction, n: int, rng: np.random.Generator) -> Ints:
    """Draw ``n`` counts with probability proportional to exp(-rate x).

    The low binary digits are coins. The rest is counted one by one.
    """
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
    """Toss coins of probability exp(-cost) / (1 + exp(-cost)).

    A fair coin is tossed. Tails mean tails. After heads, a coin of probability exp(-cost) must come up, or
    the toss is repeated.
    """
    found = np.zeros(n, bool)
    tossed = np.arange(n)
    while tossed.size:
        heads = tossed[rng.integers(0, 2, tossed.size) == 1]
        passed = exponential_coins([cost], np.zeros(heads.size, np.int64), rng)
        found[heads[passed]] = True
        tossed = heads[~passed]
    return found
