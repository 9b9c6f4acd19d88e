"""What an audit would have seen: its power against a reference pair, by simulating the same bets.

The reference pair is the standard one of its epsilon: two Gaussians of unit variance where delta > 0, two
Laplace distributions of unit scale where delta = 0, with the likelihood ratio as the score. Counts are
simulated, not samples; the thresholds are the exact quantiles, which the audit's own come close to.
These figures describe the test, they carry no certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from audits.eprocess import LogWealth
from audits.sampling import POWER, generator
from audits.schedule import FIRST, block_sizes
from audits.tails import LEVELS, tally

__all__ = ["RUNS", "gaussian_mu", "would_have_seen"]

Floats = NDArray[np.float64]

RUNS, NEEDED = 200, 188
"""Power 0.9 is stated when so many of the runs see it: by chance below 0.9 with probability at most 0.03."""
LOOK = 4
"""The simulated wealth is looked at after every fourth block only: power is understated."""
LARGEST = 64.0
"""No violation above this multiple of the claimed epsilon (or of 0.05, if that is more) is tried."""


def would_have_seen(
    wealth: LogWealth, claimed: float, delta: float, *, log_hurdle: float, start: int, samples: int, seed: int
) -> float:
    """The smallest epsilon at ``delta``, within 3 %, at which the reference pair is refuted with power 0.9.

    Args:
        wealth: the bets.
        claimed: the claimed epsilon at ``delta``; smaller ones are no violation.
        delta: in [0, 1).
        log_hurdle: the log wealth that refutes.
        start: samples spent before the first bet.
        samples: samples spent in all.
        seed: the audit's.

    Returns:
        An epsilon above ``claimed``, or infinity if even the largest one tried is not seen.
    """
    base = max(claimed, 0.05)

    def seen(multiple: float) -> bool:
        return _power(wealth, multiple * base, delta, log_hurdle, start, samples, seed) >= NEEDED

    low, high = 1.0, 2.0
    while not seen(high):
        low, high = high, 2 * high
        if high > LARGEST:
            return math.inf
    while high / low > 1.03:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high * base


def _power(
    wealth: LogWealth, epsilon: float, delta: float, log_hurdle: float, start: int, samples: int, seed: int
) -> int:
    """How many of the simulated audits refute the claim, counted as far as `NEEDED`."""
    upper, lower = _laplace_tails(epsilon) if delta == 0 else _gaussian_tails(gaussian_mu(epsilon, delta))
    rng = generator(seed, POWER)
    counts = np.zeros((RUNS, LEVELS.size, 3, 3), np.int64)
    refuted = np.zeros(RUNS, bool)
    seen = 0
    for block, size in enumerate(block_sizes(samples)):
        if seen >= max(start, FIRST):
            active = LEVELS * seen >= FEWEST
            counts += active[:, None, None] * _block(upper, lower, size, rng)
        seen += size
        if block % LOOK == 0 or seen == samples:
            open_ = np.flatnonzero(~refuted)
            refuted[open_] = wealth(counts[open_]) >= log_hurdle
        if refuted.sum() >= NEEDED:
            break
    return int(refuted.sum())


def _block(upper: Floats, lower: Floats, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Tallies (RUNS, levels, kinds, 3) of a block; ``upper`` and ``lower`` are (2 labels, levels) chances."""
    ones = rng.binomial(size, 0.5, RUNS)
    sides = []
    for label, n in ((0, size - ones), (1, ones)):
        cells = np.concatenate([_shells(upper[label]), _shells(lower[label])])
        drawn = rng.multinomial(n, np.append(cells, max(0.0, 1 - cells.sum())))
        sides.append([_inner_sums(drawn[:, : LEVELS.size]), _inner_sums(drawn[:, LEVELS.size : -1])])
    inside = tuple(np.stack([sides[0][s], sides[1][s]]) for s in (0, 1))
    return tally((inside[0], inside[1]), np.zeros((2, LEVELS.size), bool), size)


def _shells(chances: Floats) -> Floats:
    """Chances of nested tails, largest first, as chances of the shells between them."""
    return np.asarray(chances - np.append(chances[1:], 0.0))


def _inner_sums(shells: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(shells[:, ::-1].cumsum(axis=1)[:, ::-1])


def _gaussian_tails(mu: float) -> tuple[Floats, Floats]:
    return _tails(lambda x: ndtr(np.asarray(x)), mu)


def _laplace_tails(epsilon: float) -> tuple[Floats, Floats]:
    return _tails(lambda x: np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2), epsilon)


def _tails(cdf: Callable[[Floats], Floats], shift: float) -> tuple[Floats, Floats]:
    """Chances under each label of the tails of the mixture, for a symmetric law and its shift."""

    def lower(x: Floats) -> Floats:
        return np.stack([cdf(x), cdf(x - shift)])

    left, right = np.full(LEVELS.size, -60.0), np.full(LEVELS.size, shift / 2)
    for _ in range(60):
        middle = (left + right) / 2
        below = lower(middle).mean(axis=0) < LEVELS
        left, right = np.where(below, middle, left), np.where(below, right, middle)
    tails = lower(right)
    return tails[::-1], tails
