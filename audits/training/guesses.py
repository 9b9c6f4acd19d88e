"""Guesses about canaries: which of them took part, and how many guesses came out right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    """How many guesses to make: even numbers at least 2, each once, fixed by the number of canaries alone.

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
