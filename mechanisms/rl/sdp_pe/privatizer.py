"""What policy elimination needs of a privatizer of one batch's counts (Assumption 4 of SDP-PE).

    released = privatizer.release(counts, users, rng)
    level = privatizer.level(counts.shape, users, failure)

- ``counts`` are the true numbers of one batch (``BatchCounts``): arrays of any leading axes (seeds), then
  (h, s, a) or (h, s, a, s'). A crude layer passes the one step it explores (h = 1) and no rewards, a fine
  batch all H steps and rewards. What is passed decides how many counters a replaced user changes, so that
  ``counts.shape`` (a ``ReleaseShape``) is all that noise is set by.
- ``users`` is the number of users (episodes) in the batch, the same along all leading axes.
- ``released`` (``ReleasedCounts``) is private. With ``level`` as E, and but for chance ``failure`` (a bound
  for the whole release): |N~ - N| <= E for visits and transitions, |R~ - R| <= E; N~(h, s, a) is the sum of
  N~(h, s, a, .) and at least N(h, s, a); N~(h, s, a, s') is positive. Sums and signs hold surely. Rewards are
  raw: they may be negative or exceed the visits; clip estimates to [0, 1].
- The level used in ``release`` is the one for the privatizer's own ``failure``.

Privatizers: ``ShufflePrivatizer.printed`` and ``.calibrated`` (``shuffle_privatizer``), ``NoPrivacy``
and ``LaplaceCounts``, central or local (``shuffle_privatizer_kinds``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape

__all__ = ["BatchCounts", "BatchPrivatizer", "ReleaseShape", "ReleasedCounts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class BatchCounts:
    """One batch's true counts; ``rewards`` sums rewards in {0, 1}, None where they are not released.

    >>> BatchCounts(np.ones((6, 4, 2), int), np.ones((6, 4, 2, 4), int), None).shape.counters
    240

    Raises:
        ValueError: for arrays whose shapes do not belong together, or that are not of integers.
    """

    visits: Ints
    """(..., h, s, a)"""
    transitions: Ints
    """(..., h, s, a, s'), the visits by next state."""
    rewards: Ints | None = None
    """(..., h, s, a)"""

    def __post_init__(self) -> None:
        for name in ("visits", "transitions", "rewards"):
            value = getattr(self, name)
            if value is not None and np.asarray(value).dtype.kind not in "iu":
                raise ValueError(f"the dtype of {name} ({np.asarray(value).dtype}) must be an integer type")
        if self.visits.ndim < 3 or self.transitions.shape != (*self.visits.shape, self.visits.shape[-2]):
            rule = "(..., h, s, a, s') where visits are (..., h, s, a)"
            raise ValueError(f"the shape of transitions {self.transitions.shape} must be {rule}")
        if self.rewards is not None and self.rewards.shape != self.visits.shape:
            raise ValueError(f"the shape of rewards {self.rewards.shape} must be {self.visits.shape}")

    @property
    def shape(self) -> ReleaseShape:
        """How many steps, states, actions and families are released."""
        steps, states, actions = self.visits.shape[-3:]
        return ReleaseShape(steps, states, actions, self.rewards is not None)


@dataclass(frozen=True)
class ReleasedCounts:
    """One batch's private counts, of the shapes of the true ones."""

    visits: Floats
    transitions: Floats
    rewards: Floats | None


class BatchPrivatizer(Protocol):
    """Private counts of one batch of users, and how far they may be off."""

    def release(self, counts: BatchCounts, users: int, rng: np.random.Generator) -> ReleasedCounts:
        """The private, consistent counts of a batch of ``users``."""
        ...

    def level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """A certified precision level E of such a release, at failure probability ``failure``."""
        ...

    def printed_level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """The paper's precision level for this noise."""
        ...
