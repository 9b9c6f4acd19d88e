"""Privatizers of a batch's counts in the other models: none, a trusted curator, and users who trust nobody.

The Laplace ones are pure: a replaced user moves 2 ``shape.changes`` counters by one each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.rl.sdp_pe.privatizer import BatchCounts, ReleasedCounts, ReleaseShape
from dpproof.mechanisms.rl.sdp_pe.privatizer_program import made_consistent


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


@dataclass(frozen=True)
class LaplaceCounts:
    """Laplace noise of scale 2 changes / epsilon: once for each counter, or once for each user and counter.

    Attributes:
        epsilon: of all batches, pure, under replacement of a user: each user is in one batch.
        local: whether every user adds the noise to the own counts, so that a counter has a sum of them.
        failure: the chance that a release's level does not hold.

    >>> once, each = LaplaceCounts(1.0), LaplaceCounts(1.0, local=True)
    >>> shape = ReleaseShape(1, 4, 2, rewards=False)
    >>> once.level(shape, 1000, 0.01) < each.level(shape, 1000, 0.01) / 10
    True

    Raises:
        ValueError: for an epsilon that is not positive.
    """

    epsilon: float
    local: bool = False
    failure: float = 0.01

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf:
            raise ValueError(f"epsilon ({self.epsilon!r}) must be positive")

    def release(self, counts: BatchCounts, users: int, rng: np.random.Generator) -> ReleasedCounts:
        """See ``BatchPrivatizer.release``."""
        draws = users if self.local else 1
        scale = self._scale(counts.shape)

        def noisy(true: NDArray[np.int64]) -> NDArray[np.float64]:
            # a sum of k Laplace variables is a difference of two gamma variables of shape k
            found: NDArray[np.float64] = (
                true + rng.gamma(draws, scale, true.shape) - rng.gamma(draws, scale, true.shape)
            )
            return found

        rewards = None if counts.rewards is None else noisy(counts.rewards)
        level = self.level(counts.shape, users, self.failure)
        raw = noisy(counts.visits), noisy(counts.transitions)
        return ReleasedCounts(*made_consistent(*raw, level), rewards)

    def level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Four times what Chernoff's bound certifies for all counters; see ``BatchPrivatizer.level``."""
        if not 0 < failure < 1:
            raise ValueError(f"failure ({failure!r}) must be in (0, 1)")
        goal, draws = math.log(2 * shape.counters / failure), users if self.local else 1
        # P[noise > x scale] <= exp(-t x) (1 - t^2)^-draws for 0 < t < 1; the best t of a fine grid
        t = np.linspace(0, 1, 2049)[1:-1]
        least = float(((goal - draws * np.log1p(-t * t)) / t).min())
        return 4 * self._scale(shape) * least * (1 + 1e-12)

    def printed_level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """The same: the paper prints none for this noise."""
        return self.level(shape, users, failure)

    def _scale(self, shape: ReleaseShape) -> float:
        return 2 * shape.changes / self.epsilon
