"""Privatizers of one batch's counts for policy elimination (Assumption 4 of SDP-PE), and simple examples.

    released = privatizer.release(counts, users, rng)
    level = privatizer.level(counts.shape, users, failure)

- ``counts`` are the true numbers of one batch (``BatchCounts``): arrays of any leading axes (seeds), then (h,
  s, a) or (h, s, a, s'). A crude layer passes the one step it explores (h = 1) and no rewards, a fine batch all
  H steps and rewards. The passed arrays decide how many counters a replaced user changes, so the noise depends
  on ``counts.shape`` (a ``ReleaseShape``) only.
- ``users`` is the number of users (episodes) in the batch, the same along all leading axes.
- ``released`` (``ReleasedCounts``) is private. With ``level`` as E, except with probability ``failure`` (a
  bound for the whole release): |N~ - N| <= E for visits and transitions, |R~ - R| <= E; N~(h, s, a) is the sum
  of N~(h, s, a, .) and at least N(h, s, a); N~(h, s, a, s') is positive. Sums and signs always hold. Rewards
  are raw: they may be negative or exceed the visits; clip estimates to [0, 1].
- The level used in ``release`` is the one for the privatizer's own ``failure``.

Privatizers: ``ShufflePrivatizer.printed`` and ``.calibrated`` (``shuffle_privatizer``); here ``NoPrivacy`` and
``LaplaceCounts``, with a trusted curator or in the local model. The Laplace ones are purely private: a replaced
user changes 2 ``shape.changes`` counters by one each.

A linear programme makes raw counts consistent, in closed form for all cells of a batch at once. For one (h, s,
a) with raw counts a(s') and M it finds the least t for which some n(s') >= 0 has |n(s') - a(s')| <= t and |sum
n - M| <= slack. Given t, n(s') may be anything in [max(a - t, 0), a + t], so that its sum fills an interval
that grows with t. The least t is the largest of three numbers: (a) max(0, -min a), (b) what the sum of a + t
needs to reach M - slack, (c) what the sum of max(a - t, 0) needs to come down to M + slack.

Source: Section V of the paper; docs/notes/sdp_batches.md, section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class BatchCounts:
    """One batch's true counts. ``rewards`` sums rewards in {0, 1}; it is None if they are not released.

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
            rule = "(..., h, s, a, s') if that of visits is (..., h, s, a)"
            raise ValueError(f"the shape of transitions {self.transitions.shape} must be {rule}")
        if self.rewards is not None and self.rewards.shape != self.visits.shape:
            raise ValueError(f"the shape of rewards {self.rewards.shape} must be {self.visits.shape}")

    @property
    def shape(self) -> ReleaseShape:
        """Numbers of released steps, states, actions and families."""
        steps, states, actions = self.visits.shape[-3:]
        return ReleaseShape(steps, states, actions, self.rewards is not None)


@dataclass(frozen=True)
class ReleasedCounts:
    """One batch's private counts, in the shapes of the true ones."""

    visits: Floats
    transitions: Floats
    rewards: Floats | None


class BatchPrivatizer(Protocol):
    """Private counts of one batch of users, and bounds on their error."""

    def release(self, counts: BatchCounts, users: int, rng: np.random.Generator) -> ReleasedCounts:
        """Return the private, consistent counts of a batch of ``users``."""
        ...

    def level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Return a certified precision level E of such a release, at failure probability ``failure``."""
        ...

    def printed_level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Return the paper's precision level for this noise."""
        ...


def nearest_consistent(transitions: Floats, visits: Floats, slack: float) -> tuple[Floats, Floats]:
    """Return a minimiser n(s') of each cell's programme, and its value t.

    Args:
        transitions: (..., S), the raw a(s').
        visits: (...), the raw M.
        slack: at least 0; how far the sum may be from M.

    Of all minimisers it is the one nearest to max(a, 0) along the segment to the interval's end, so no count
    changes without need. If M < -slack, no n is feasible. Then M is replaced by -slack, and n is 0.

    >>> found, t = nearest_consistent(np.array([[3.0, -1.0]]), np.array([5.0]), 1.0)
    >>> found.tolist(), t.tolist()
    ([[4.0, 0.0]], [1.0])

    Raises:
        ValueError: for shapes that do not belong together, or a slack below 0.
    """
    if visits.shape != transitions.shape[:-1]:
        raise ValueError(
            f"the shape of visits {visits.shape} must be {transitions.shape[:-1]}, one entry for each row"
        )
    if not slack >= 0:
        raise ValueError(f"slack ({slack!r}) must be at least 0")
    least, most = np.maximum(visits - slack, 0.0), np.maximum(visits + slack, 0.0)
    width = transitions.shape[-1]
    rising = (least - transitions.sum(axis=-1)) / width
    t = np.maximum.reduce(
        [np.zeros_like(visits), -transitions.min(axis=-1), rising, _lowering(transitions, most)]
    )
    low = np.maximum(transitions - t[..., None], 0.0)
    high = np.maximum(transitions + t[..., None], 0.0)
    start = np.clip(np.maximum(transitions, 0.0), low, high)
    sums = start.sum(axis=-1)
    up = _share(least - sums, high.sum(axis=-1) - sums)[..., None]
    down = _share(sums - most, sums - low.sum(axis=-1))[..., None]
    return start + up * (high - start) - down * (start - low), t


def made_consistent(visits: Floats, transitions: Floats, level: float) -> tuple[Floats, Floats]:
    """Return visits and transitions as in Assumption 4, if the raw ones are within ``level / 4``.

    The result is the programme's minimiser plus level/(2 S) for each next state. Sums agree and every
    transition is positive. If the raw counts are within ``level / 4`` of the truth, a sum is between the
    truth and the truth + level.

    >>> [x.tolist() for x in made_consistent(np.array([5.0]), np.array([[3.0, -1.0]]), 4.0)]
    [[6.0], [[5.0, 1.0]]]
    """
    kept, _ = nearest_consistent(transitions, visits, level / 4)
    kept = kept + level / (2 * transitions.shape[-1])
    return kept.sum(axis=-1), kept


def _share(needed: Floats, possible: Floats) -> Floats:
    """Return the needed part of the possible change, clipped to [0, 1] because of rounding."""
    part: Floats = np.clip(needed / np.where(possible > 0, possible, 1.0), 0.0, 1.0)
    return part


def _lowering(values: Floats, total: Floats) -> Floats:
    """Return the least t >= 0 at which the sum of max(values - t, 0) is at most ``total`` >= 0."""
    falling = -np.sort(-values, axis=-1)
    ranks = np.arange(1, values.shape[-1] + 1)
    shifts = (np.cumsum(falling, axis=-1) - total[..., None]) / ranks
    # with j counts above t the sum is (sum of the j largest) - j t: the largest of these lines is the sum
    least: Floats = np.maximum(shifts.max(axis=-1), 0.0)
    return least


@dataclass(frozen=True)
class NoPrivacy:
    """The true counts, for policy elimination without privacy. The level is 0; an unseen cell's counts are 0.

    >>> counts = BatchCounts(np.ones((1, 2, 1), int), np.ones((1, 2, 1, 2), int))
    >>> NoPrivacy().release(counts, 2, np.random.default_rng(0)).visits.tolist()
    [[[1.0], [1.0]]]
    """

    def release(self, counts: BatchCounts, users: int, rng: np.random.Generator) -> ReleasedCounts:
        """See ``BatchPrivatizer.release``. Nothing is drawn."""
        visits, transitions = counts.visits.astype(np.float64), counts.transitions.astype(np.float64)
        rewards = None if counts.rewards is None else counts.rewards.astype(np.float64)
        return ReleasedCounts(visits, transitions, rewards)

    def level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Return 0."""
        return 0.0

    def printed_level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Return 0."""
        return 0.0


@dataclass(frozen=True)
class LaplaceCounts:
    """Laplace noise of scale 2 changes / epsilon, once for each counter, or once for each user and counter.

    Attributes:
        epsilon: pure epsilon of all batches under replacement of a user, because each user is in one batch.
        local: whether every user adds noise to their own counts, so that a counter has a sum of noises.
        failure: the probability that a release's level does not hold.

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
        """Return four times Chernoff's bound for all counters. See ``BatchPrivatizer.level``."""
        if not 0 < failure < 1:
            raise ValueError(f"failure ({failure!r}) must be in (0, 1)")
        goal, draws = math.log(2 * shape.counters / failure), users if self.local else 1
        # P[noise > x scale] <= exp(-t x) (1 - t^2)^-draws for 0 < t < 1; the best t of a fine grid
        t = np.linspace(0, 1, 2049)[1:-1]
        least = float(((goal - draws * np.log1p(-t * t)) / t).min())
        return 4 * self._scale(shape) * least * (1 + 1e-12)

    def printed_level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Return the same as `level`, because the paper prints no level for this noise."""
        return self.level(shape, users, failure)

    def _scale(self, shape: ReleaseShape) -> float:
        return 2 * shape.changes / self.epsilon
