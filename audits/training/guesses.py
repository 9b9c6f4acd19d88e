"""Guesses about which canaries (test records) took part in a run: how many are right, and how many are needed.

The power is simulated as in `engine.power.simulated`: each canary's score is drawn from one of two standard
distributions, independently of the other canaries. Real canaries disturb each other, so the simulated power is the
best case. The numbers are not certified.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from dpproof.audits.engine.betting.reference import gaussian_mu
from dpproof.audits.engine.power.simulated import RUNS, smallest_seen
from dpproof.audits.engine.sampling.callables import POWER, generator

ROOTS = (5.0, 15.0)
"""The default numbers of guesses, as multiples of the square root of the number of canaries (test records). Few guesses
are best if some canaries show strong evidence, and many guesses if most canaries show weak evidence."""


@dataclass(frozen=True)
class Guesses:
    """The result of an audit that guessed which canaries (test records) took part in one run.

    Attributes:
        canaries: the number m of canaries, each of which took part if its fair coin decided so.
        guesses: the number r of canaries about which a guess was made; fixed before the run.
        right: the number v of right guesses.

    Raises:
        ValueError: the numbers do not satisfy 0 <= right <= guesses <= canaries and guesses >= 1.

    >>> Guesses(1000, 100, 75).wrong
    25
    """

    canaries: int
    guesses: int
    right: int

    def __post_init__(self) -> None:
        if not (0 <= self.right <= self.guesses <= self.canaries and self.guesses >= 1):
            raise ValueError(
                f"right ({self.right!r}), guesses ({self.guesses!r}) and canaries ({self.canaries!r}) must satisfy"
                " 0 <= right <= guesses <= canaries and guesses >= 1"
            )

    @property
    def wrong(self) -> int:
        """The number of wrong guesses."""
        return self.guesses - self.right

    @property
    def abstained(self) -> int:
        """The number of canaries about which no guess was made."""
        return self.canaries - self.guesses


def guess_counts(canaries: int, shares: tuple[float, ...] | None = None) -> tuple[int, ...]:
    """Return the numbers of guesses that an audit tries: different even numbers, fixed before the run.

    Args:
        canaries: the number of canaries (test records that may take part in the run), at least 2.
        shares: the shares of the canaries to guess about. Without shares, the numbers of guesses are `ROOTS` times
            the square root of ``canaries``.

    >>> guess_counts(1000), guess_counts(10), guess_counts(1000, (0.5, 0.1))
    ((474, 158), (10,), (500, 100))
    """
    wanted = [share * canaries for share in shares] if shares else [c * canaries**0.5 for c in ROOTS]
    halves = (min(max(1, round(number / 2)), canaries // 2) for number in wanted)
    return tuple(sorted({2 * half for half in halves}, reverse=True))


def guess(scores: NDArray[np.float64], coins: NDArray[np.bool_], guesses: int) -> Guesses:
    """Return the result of guessing from the scores which test records took part.

    One half of the guesses: the records with the highest scores took part. The other half: the records with the
    lowest scores did not take part. If scores are equal, their places decide, so the guesses depend on the scores
    alone.

    Args:
        scores: one number per canary ``(m,)``; a high number indicates that the canary took part.
        coins: True for the canaries that took part, ``(m,)``.
        guesses: an even number, at most m.

    >>> guess(np.array([3.0, 1.0, 2.0, 0.0]), np.array([True, True, False, False]), 2)
    Guesses(canaries=4, guesses=2, right=2)
    """
    order, half = np.argsort(scores, kind="stable"), guesses // 2
    right = np.count_nonzero(coins[order[len(order) - half :]]) + np.count_nonzero(~coins[order[:half]])
    return Guesses(len(scores), 2 * half, int(right))


Floats = NDArray[np.float64]


def needed_right(canaries: int, guesses: int, refuted: Callable[[Guesses], bool]) -> int:
    """Return the smallest number of right guesses that refutes the claim; ``guesses`` + 1 if there is none."""
    low, high = 0, guesses + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refuted(Guesses(canaries, guesses, middle)) else (middle, high)
    return high


def one_run_would_have_seen(
    canaries: int, needed: dict[int, int], claimed: float, delta: float, seed: int
) -> float:
    """Return the smallest epsilon at ``delta`` that a one-run audit detects with power 0.9, within 3 %; or infinity.

    Args:
        canaries: the number of canaries (test records that may take part in the run).
        needed: for each number of guesses, the smallest number of right guesses that refutes the claim.
        claimed: the claimed epsilon at ``delta``.
        delta: the delta of the result, in [0, 1).
        seed: the audit's seed.
    """
    return smallest_seen(
        lambda epsilon: _seen(canaries, needed, epsilon, delta, generator(seed, POWER)), claimed
    )


def _seen(
    canaries: int, needed: dict[int, int], epsilon: float, delta: float, rng: np.random.Generator
) -> int:
    """Return the number of simulated runs that refute the claim with some number of guesses."""
    sizes = np.array(sorted(needed))
    right = np.diff(_accuracies(sizes / canaries, epsilon, delta) * sizes, prepend=0.0)
    shells = np.diff(sizes, prepend=0)
    counts = rng.binomial(shells, np.clip(right / shells, 0, 1), (RUNS, sizes.size)).cumsum(axis=1)
    return int((counts >= [needed[int(size)] for size in sizes]).any(axis=1).sum())


def _accuracies(shares: Floats, epsilon: float, delta: float) -> Floats:
    """Return the probability of a right guess for each share of canaries, half of it at each end of the scores."""
    shift, above = (epsilon, _laplace) if delta == 0 else (gaussian_mu(epsilon, delta), _gaussian)

    def excess(x: float, mass: float) -> float:
        return (above(x) + above(x - shift)) / 2 - mass

    cuts = [brentq(excess, shift / 2 - 1e-9, 60.0 + shift, (min(share / 2, 0.5),)) for share in shares]
    return np.array([above(x - shift) / (above(x) + above(x - shift)) for x in cuts])


def _gaussian(x: float) -> float:
    return float(ndtr(-x))


def _laplace(x: float) -> float:
    return math.exp(-x) / 2 if x > 0 else 1 - math.exp(x) / 2
