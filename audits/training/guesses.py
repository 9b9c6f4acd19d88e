"""Guesses about which canaries took part: the number of right ones, and the power in the best case.

The reference is that of `engine.power.simulated`: each canary's score is drawn from one of two standard distributions,
independently of the others. Real canaries disturb each other, so this is the best case. The figures are not certified.
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
"""The default numbers of guesses, as multiples of the square root of the number of canaries. Few guesses suit rare
strong evidence, and many guesses suit common weak evidence."""


@dataclass(frozen=True)
class Guesses:
    """The outcome of guessing in one run.

    Attributes:
        canaries: the number of fair coins that were thrown, m.
        guesses: the number of coins about which a guess was made, r; fixed before the run.
        right: the number of right guesses, v.

    Raises:
        ValueError: unless 0 <= right <= guesses <= canaries, guesses >= 1.

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
    """Return the numbers of guesses to try: different even numbers that depend on the arguments only.

    Args:
        canaries: the number of canaries, at least 2.
        shares: the shares of the canaries to guess about; by default `ROOTS` times the square root of ``canaries``.

    >>> guess_counts(1000), guess_counts(10), guess_counts(1000, (0.5, 0.1))
    ((474, 158), (10,), (500, 100))
    """
    wanted = [share * canaries for share in shares] if shares else [c * canaries**0.5 for c in ROOTS]
    halves = (min(max(1, round(number / 2)), canaries // 2) for number in wanted)
    return tuple(sorted({2 * half for half in halves}, reverse=True))


def guess(scores: NDArray[np.float64], coins: NDArray[np.bool_], guesses: int) -> Guesses:
    """Guess that the canaries with the highest scores took part and those with the lowest did not, half each.

    Ties are broken by place, so the guesses are a function of the scores alone.

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
    """Return the smallest number of right guesses that refutes; ``guesses`` + 1 if no number does."""
    low, high = 0, guesses + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refuted(Guesses(canaries, guesses, middle)) else (middle, high)
    return high


def one_run_would_have_seen(
    canaries: int, needed: dict[int, int], claimed: float, delta: float, seed: int
) -> float:
    """Return the smallest epsilon at ``delta``, within 3 %, detected with power 0.9; infinity if there is none.

    Args:
        canaries: the number of canaries.
        needed: for each number of guesses, the smallest number of right ones that refutes.
        claimed: the claimed epsilon at ``delta``.
        delta: in [0, 1).
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
