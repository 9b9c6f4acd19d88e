"""The shuffled count of SDP-PE: the messages of one counter, in any order.

Shuffled messages say no more than how often each value came: with ``bits`` the number of ones, with
``sum`` how many users sent each printed sum. Coins are numpy's binomials, in floating point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

if TYPE_CHECKING:
    from dpproof.accountant.rl.sdp_pe.shuffled_count import ShuffledCountParameters

__all__ = ["MOST_VALUES", "shuffled_count"]

Ints = NDArray[np.int64]

MOST_VALUES = 4096
"""Printed sums of more values are not sampled."""


def shuffled_count(parameters: ShuffledCountParameters, ones: int, n: int, rng: np.random.Generator) -> Ints:
    """What is seen of ``users`` of whom ``ones`` hold the bit 1: the ones ``(n,)`` or a histogram of sums.

    Raises:
        ValueError: ``ones`` is not a number of users, or the printed sums have too many values.
    """
    if not 0 <= ones <= parameters.users:
        raise ValueError(f"ones ({ones!r}) must be an integer in [0, {parameters.users}]")
    if parameters.encoding == "bits":
        coins = parameters.users * max(parameters.noise_bits, 1)
        return np.asarray(ones + rng.binomial(coins, float(parameters.noise_chance), n))
    return _sums(parameters, ones, n, rng)


def _sums(parameters: ShuffledCountParameters, ones: int, n: int, rng: np.random.Generator) -> Ints:
    """How many users sent each of 0, ..., coins + 1: ``(n, coins + 2)``."""
    coins = max(parameters.noise_bits, 1)
    if coins + 2 > MOST_VALUES:
        raise ValueError(
            f"threshold ({parameters.threshold!r}) must give each user at most {MOST_VALUES - 2} noise bits"
        )
    k, p = np.arange(coins + 1), float(parameters.noise_chance)
    logs = gammaln(coins + 1) - gammaln(k + 1) - gammaln(coins - k + 1)
    chances = np.exp(logs) * p**k * (1 - p) ** (coins - k)
    chances /= chances.sum()
    zeros, others = (rng.multinomial(count, chances, n) for count in (parameters.users - ones, ones))
    return np.pad(zeros, ((0, 0), (0, 1))) + np.pad(others, ((0, 0), (1, 0)))
