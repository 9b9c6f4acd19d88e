"""Tail events of a score, with thresholds and directions fixed before the samples they are counted on.

The thresholds of a block are quantiles of the scores of earlier blocks, so each is predictable, and a bet
on ``{score >= t}`` or ``{score <= t}`` has the same fixed stake throughout. Hence the wealth of a bet
depends on three counts only: samples won, lost and passed. See docs/notes/audit_betting.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["BOTH", "KINDS", "LEVELS", "LOWER", "UPPER", "TailCounts", "tally"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEVELS: Floats = np.array([0.5, 0.4, 0.3, 0.2, 0.12, 0.06, 0.03, 0.01, 0.003, 0.0005])
"""The shares of all samples, of both labels, that lie in a tail."""
KINDS = ("upper", "lower", "both")
UPPER, LOWER, BOTH = range(3)
FEWEST = 1.5
"""A tail is bet on once so many earlier samples are expected in it."""
MEMORY = 1 << 15
"""The thresholds are quantiles of so many of the latest scores."""


class TailCounts:
    """The counts of all tail bets on one score.

    Args:
        oriented: high scores speak for label 1. Otherwise the direction of each tail is the one that the
            earlier samples in it speak for.

    Attributes:
        counts: int64 array (levels, kinds, 3): samples won, lost and passed, per tail.
    """

    def __init__(self, *, oriented: bool) -> None:
        self.counts: Ints = np.zeros((LEVELS.size, 3, 3), np.int64)
        self._oriented = oriented
        self._past: tuple[Floats, Floats] = (np.empty(0), np.empty(0))
        self._active = np.zeros(LEVELS.size, bool)
        self._high = self._low = np.zeros(LEVELS.size)
        self._flips = np.zeros((2, LEVELS.size), bool)

    def bet(self, scores: Floats, labels: Ints) -> None:
        """Add a block of fresh samples to the counts, under the thresholds fixed before."""
        inside = _inside(_by_label(scores, labels), self._high, self._low)
        self.counts += self._active[:, None, None] * tally(inside, self._flips, scores.size)

    def learn(self, scores: Floats, labels: Ints) -> None:
        """Set thresholds and directions for the blocks to come; afterwards these samples are the past."""
        # In the order of the stream: what is forgotten must be the oldest scores, not the smallest.
        self._past = (_join(self._past[0], scores[labels == 0]), _join(self._past[1], scores[labels == 1]))
        past = np.sort(np.concatenate(self._past))
        self._active = LEVELS * past.size >= FEWEST
        reach = np.minimum(np.maximum(np.rint(LEVELS * past.size).astype(np.int64), 1), past.size) - 1
        self._high, self._low = past[::-1][reach], past[reach]
        if not self._oriented:
            upper, lower = _inside((np.sort(self._past[0]), np.sort(self._past[1])), self._high, self._low)
            self._flips = np.stack([upper[0] > upper[1], lower[1] > lower[0]])

    def forget(self) -> None:
        """Drop the past, not the counts: the score has changed."""
        self._past = (np.empty(0), np.empty(0))
        self._active = np.zeros(LEVELS.size, bool)

    def describe(self, level: int, kind: int) -> dict[str, object]:
        """The event as JSON data: which tail, of which mass, and its latest thresholds and directions."""
        sides = ((UPPER, "at_least", self._high), (LOWER, "at_most", self._low))
        chosen = [(side, name, float(at[level])) for side, name, at in sides if kind in (side, BOTH)]
        return {
            "tail": KINDS[kind],
            "mass": float(LEVELS[level]),
            **{name: at if np.isfinite(at) else repr(at) for _, name, at in chosen},
            "speaks_for": [int((side == UPPER) ^ bool(self._flips[side, level])) for side, _, _ in chosen],
        }


def tally(inside: tuple[Ints, Ints], flips: NDArray[np.bool_], size: int | Ints) -> Ints:
    """Won, lost and passed per level and kind.

    Args:
        inside: per side (upper, lower) the samples in the tail, an array (2 labels, ..., levels).
        flips: bool array (2 sides, levels): the upper tail speaks for label 0, the lower for label 1.
        size: the number of samples, an integer or an array that broadcasts with (..., levels).

    Returns:
        int64 array (..., levels, kinds, 3).
    """
    (upper0, upper1), (lower0, lower1) = inside
    won_upper, lost_upper = np.where(flips[0], upper0, upper1), np.where(flips[0], upper1, upper0)
    won_lower, lost_lower = np.where(flips[1], lower1, lower0), np.where(flips[1], lower0, lower1)
    won = np.stack([won_upper, won_lower, won_upper + won_lower], axis=-1)
    lost = np.stack([lost_upper, lost_lower, lost_upper + lost_lower], axis=-1)
    return np.stack([won, lost, np.asarray(size)[..., None] - won - lost], axis=-1)


def _by_label(scores: Floats, labels: Ints) -> tuple[Floats, Floats]:
    return np.sort(scores[labels == 0]), np.sort(scores[labels == 1])


def _join(past: Floats, fresh: Floats) -> Floats:
    return np.concatenate([past, fresh])[-MEMORY:]


def _inside(by_label: tuple[Floats, Floats], high: Floats, low: Floats) -> tuple[Ints, Ints]:
    """How many of each label lie at or above ``high``, and how many of the others at or below ``low``."""
    below = np.stack([np.searchsorted(s, high, "left") for s in by_label])
    at_most = np.stack([np.searchsorted(s, low, "right") for s in by_label])
    sizes = np.array([[s.size] for s in by_label])
    return sizes - below, np.minimum(at_most, below)
