"""Guesses about which canaries took part: how many are right, and how many would be right at best.

The reference is that of `engine.power.simulated`: each canary's score is drawn from one of two standard laws,
here independently of the others. Real canaries disturb each other, so this is the best case. The figures carry
no certificate.
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
"""By default guesses are made about so many times the root of the number of canaries: few where the level
allows it, for rare strong evidence; many for common weak evidence."""


@dataclass(frozen=True)
class Guesses:
    """The outcome of guessing in one run.

    Attributes:
        canaries: how many fair coins were thrown, m.
        guesses: about how many of them a guess was made, r; fixed before the run.
        right: how many guesses were right, v.

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
                f"right ({self.right!r}), guesses ({self.guesses!r}) and canaries ({self.canaries!r}) must be"
                " in this order, right at least 0 and guesses at least 1"
            )

    @property
    def wrong(self) -> int:
        """Guesses that were wrong."""
        return self.guesses - self.right

    @property
    def abstained(self) -> int:
        """Canaries about which nothing was guessed."""
        return self.canaries - self.guesses


def guess_counts(canaries: int, shares: tuple[float, ...] | None = None) -> tuple[int, ...]:
    """The numbers of guesses to try: even, at least 2, each once, fixed by the number of canaries alone.

    Args:
        canaries: how many there are, at least 2.
        shares: shares of them to guess about; by default `ROOTS` times the root.

    >>> guess_counts(1000), guess_counts(10), guess_counts(1000, (0.5, 0.1))
    ((474, 158), (10,), (500, 100))
    """
    wanted = [share * canaries for share in shares] if shares else [c * canaries**0.5 for c in ROOTS]
    halves = (min(max(1, round(number / 2)), canaries // 2) for number in wanted)
    return tuple(sorted({2 * half for half in halves}, reverse=True))


def guess(scores: NDArray[np.float64], coins: NDArray[np.bool_], guesses: int) -> Guesses:
    """Guess that the highest scores took part and the lowest did not, half of the guesses each.

    Ties are broken by place, so the guesses are a function of the scores alone.

    Args:
        scores: one number per canary ``(m,)``; high ones speak for having taken part.
        coins: which canaries did, ``(m,)``.
        guesses: an even number, at most m.

    >>> guess(np.array([3.0, 1.0, 2.0, 0.0]), np.array([True, True, False, False]), 2)
    Guesses(canaries=4, guesses=2, right=2)
    """
    order, half = np.argsort(scores, kind="stable"), guesses // 2
    right = np.count_nonzero(coins[order[len(order) - half :]]) + np.count_nonzero(~coins[order[:half]])
    return Guesses(len(scores), 2 * half, int(right))


Floats = NDArray[np.float64]


def needed_right(canaries: int, guesses: int, refuted: Callable[[Guesses], bool]) -> int:
    """The fewest right guesses that refute; ``guesses`` + 1 if none do."""
    low, high = 0, guesses + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refuted(Guesses(canaries, guesses, middle)) else (middle, high)
    return high


def one_run_would_have_seen(
    canaries: int, needed: dict[int, int], claimed: float, delta: float, seed: int
) -> float:
    """The smallest epsilon at ``delta``, within 3 %, detected with power 0.9; infinity if there is none.

    Args:
        canaries: how many there are.
        needed: from numbers of guesses to the fewest right ones that refute.
        claimed: the claimed epsilon at ``delta``.
        delta: in [0, 1).
        seed: the audit's.
    """
    return smallest_seen(
        lambda epsilon: _seen(canaries, needed, epsilon, delta, generator(seed, POWER)), claimed
    )


def _seen(
    canaries: int, needed: dict[int, int], epsilon: float, delta: float, rng: np.random.Generator
) -> int:
    """In how many of the simulated runs some number of right guesses refutes the claim."""
    sizes = np.array(sorted(needed))
    right = np.diff(_accuracies(sizes / canaries, epsilon, delta) * sizes, prepend=0.0)
    shells = np.diff(sizes, prepend=0)
    counts = rng.binomial(shells, np.clip(right / shells, 0, 1), (RUNS, sizes.size)).cumsum(axis=1)
    return int((counts >= [needed[int(size)] for size in sizes]).any(axis=1).sum())


def _accuracies(shares: Floats, epsilon: float, delta: float) -> Floats:
    """How often a guess is right if a share of all canaries is guessed, half of it at each end."""
    shift, above = (epsilon, _laplace) if delta == 0 else (gaussian_mu(epsilon, delta), _gaussian)

    def excess(x: float, mass: float) -> float:
        return (above(x) + above(x - shift)) / 2 - mass

    cuts = [brentq(excess, shift / 2 - 1e-9, 60.0 + shift, (min(share / 2, 0.5),)) for share in shares]
    return np.array([above(x - shift) / (above(x) + above(x - shift)) for x in cuts])


def _gaussian(x: float) -> float:
    return float(ndtr(-x))


def _laplace(x: float) -> float:
    return math.exp(-x) / 2 if x > 0 else 1 - math.exp(x) / 2
