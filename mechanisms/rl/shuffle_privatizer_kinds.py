"""Privatizers of a batch's counts without noise; with noise they stand in modules of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mechanisms.rl.shuffle_privatizer import BatchCounts, ReleasedCounts, ReleaseShape

__all__ = ["NoPrivacy"]


@dataclass(frozen=True)
class NoPrivacy:
    """The true counts: policy elimination without privacy. Level 0; an unseen cell's counts are 0.

    >>> counts = BatchCounts(np.ones((1, 2, 1), int), np.ones((1, 2, 1, 2), int))
    >>> NoPrivacy().release(counts, 2, np.random.default_rng(0)).visits.tolist()
    [[[1.0], [1.0]]]
    """

    def release(self, counts: BatchCounts, users: int, rng: np.random.Generator) -> ReleasedCounts:
        """See ``BatchPrivatizer.release``; nothing is drawn."""
        visits, transitions = counts.visits.astype(np.float64), counts.transitions.astype(np.float64)
        rewards = None if counts.rewards is None else counts.rewards.astype(np.float64)
        return ReleasedCounts(visits, transitions, rewards)

    def level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Always 0."""
        return 0.0

    def printed_level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Always 0."""
        return 0.0
