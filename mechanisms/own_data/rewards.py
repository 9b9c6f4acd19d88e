"""Affine map of rewards from a known range to [0, 1], and the inverse map for values."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

RULE = (
    "Give reward_range=(low, high) from public knowledge. dpproof never takes it from the data, because it would"
    " reveal extreme rewards"
)

_RANGE = "must be two finite numbers with low below high"


@dataclass(frozen=True)
class RewardMap:
    """The map reward -> (reward - low) / (high - low), for a public range of rewards.

    >>> found = RewardMap(-100, 0)
    >>> found.forward(np.array([-25.0])), found.back(0.75), found.back(1.5, weight=2)
    (array([0.75]), -25.0, -50.0)

    Raises:
        ValueError: unless low and high are finite and low is below high.
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (self.low < self.high and math.isfinite(self.high - self.low)):
            raise ValueError(f"reward_range ({self.low!r}, {self.high!r}) {_RANGE}")

    @classmethod
    def of(cls, reward_range: object) -> RewardMap:
        """Return the map for the range of rewards that a caller gives.

        Raises:
            ValueError: unless it is two finite numbers, the smaller one first.
        """
        try:
            if isinstance(reward_range, str) or not isinstance(reward_range, Iterable):
                raise TypeError
            ends = [float(end) for end in reward_range]
        except (TypeError, ValueError, OverflowError):
            ends = []
        if len(ends) != 2:
            raise ValueError(f"reward_range ({reward_range!r}) {_RANGE}")
        return cls(*ends)

    def forward(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rewards, mapped from the range to [0, 1]."""
        moved = (rewards - self.low) / (self.high - self.low)
        return np.clip(moved, 0.0, 1.0)  # rounding only: the range was checked before

    def back(self, values: ArrayLike, weight: float = 1.0) -> NDArray[np.float64] | float:
        """Return values that were computed from rewards in [0, 1], in the units of the original rewards.

        Args:
            values: a reward, or sums of rewards times discounts.
            weight: the sum of those discounts: 1 for one reward, H for a sum over H steps, 1/(1 - discount) for
                discounted rewards without an end.
        """
        found = np.asarray(values, dtype=np.float64) * (self.high - self.low) + self.low * weight
        return found if found.ndim else float(found)
