"""Privatizers of one batch's counts for policy elimination (Assumption 4 of SDP-PE), and simple examples.

    released = privatizer.release(counts, users, rng)
    level = privatizer.level(counts.shape, users, failure)

- ``counts`` are the true numbers of one batch (``BatchCounts``). The last axes of the arrays are step h, state s,
  action a and for transitions the next state s'. Any other axes come first, for example one for several runs. Crude
  exploration passes only the step that it explores, without rewards. Fine exploration passes all H steps and
  rewards. These sizes (``counts.shape``, a ``ReleaseShape``) decide how many counters a replaced user changes, so
  the noise depends on them only.
- ``users`` is the number of users (episodes) in the batch.
- ``released`` (``ReleasedCounts``) is private. N and R are the true visits, transitions and sums of rewards, N~ and
  R~ the released ones, and E is ``level``. Except with probability ``failure`` (for the whole release): |N~ - N| <=
  E for visits and transitions, |R~ - R| <= E, and N~(h, s, a) is at least N(h, s, a). Always: N~(h, s, a) is the
  sum of N~(h, s, a, .), and N~(h, s, a, s') is positive (with ``NoPrivacy`` it may be 0). Rewards are not corrected:
  they may be negative or exceed the visits. Clip estimates to [0, 1].
- ``release`` uses the error bound ``level`` at the privatizer's own ``failure``.

Privatizers: ``ShufflePrivatizer.printed`` and ``.calibrated`` (``shuffle_privatizer``); here ``NoPrivacy`` and
``LaplaceCounts``. ``LaplaceCounts`` works with a trusted curator or in the local model. It satisfies pure differential
privacy: a replaced user changes 2 ``shape.changes`` counters by one each.

Noisy counts are made consistent by a linear programme. For one (h, s, a) with noisy transitions a(s') and noisy visits
M its solution is the least t for which some n(s') >= 0 has |n(s') - a(s')| <= t and |sum n - M| <= slack. Given t,
each n(s') may be any number in [max(a - t, 0), a + t], so the sum of n fills an interval that grows with t. The least
t is the largest of three numbers: (a) max(0, -min a), (b) the t at which the sum of a + t reaches M - slack, (c) the t
at which the sum of max(a - t, 0) comes down to M + slack.

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
    """The true counts of one batch of users. Each reward is 0 or 1.

    >>> BatchCounts(np.ones((6, 4, 2), int), np.ones((6, 4, 2, 4), int), None).shape.counters
    240

    Raises:
        ValueError: for arrays whose shapes do not belong together, or that are not of integers.
    """

    visits: Ints
    """Number of visits, with axes (..., step, state, action)."""
    transitions: Ints
    """Number of visits for each next state, with axes (..., step, state, action, next state)."""
    rewards: Ints | None = None
    """Sum of rewards, with axes (..., step, state, action). It is None if no rewards are released."""

    def __post_init__(self) -> None:
        for name in ("visits", "transitions", "rewards"):
            value = getattr(self, name)
            if value is not None and np.asarray(value).dtype.kind not in "iu":
                raise ValueError(f"the dtype of {name} ({np.asarray(value).dtype}) must be an integer type")
        if self.visits.ndim < 3 or self.transitions.shape != (*self.visits.shape, self.visits.shape[-2]):
            rule = "that of visits, (..., steps, states, actions), followed by the number of states"
            raise ValueError(f"the shape of transitions {self.transitions.shape} must be {rule}")
        if self.rewards is not None and self.rewards.shape != self.visits.shape:
            raise ValueError(f"the shape of rewards {self.rewards.shape} must be {self.visits.shape}")

    @property
    def shape(self) -> ReleaseShape:
        """The numbers of steps, states and actions, and whether rewards are released."""
        steps, states, actions = self.visits.shape[-3:]
        return ReleaseShape(steps, states, actions, self.rewards is not None)


@dataclass(frozen=True)
class ReleasedCounts:
    """The private counts of one batch of users. Their arrays have the shapes of the true counts."""

    visits: Floats
    transitions: Floats
    rewards: Floats | None


class BatchPrivatizer(Protocol):
    """Interface of privatizers, which release private counts of one batch of users and bound their error."""

    def release(self, counts: BatchCounts, users: int, rng: np.random.Generator) -> ReleasedCounts:
        """Return private counts of a batch of ``users`` users. Visits are the sums of transitions."""
        ...

    def level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Return a certified bound on the errors of all counts, which fails with probability at most ``failure``."""
        ...

    def printed_level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Return the bound on the errors that the paper prints for this noise."""
        ...


def nearest_consistent(transitions: Floats, visits: Floats, slack: float) -> tuple[Floats, Floats]:
    """Return counts of at least 0 that are nearest to noisy transitions, with a sum near the noisy visits.

    The second result t is the largest change of a transition. It is as small as possible.

    Args:
        transitions: (..., S), the noisy transitions to each next state.
        visits: (...), the noisy visits.
        slack: at least 0; how far the sum of the counts may be from the visits.

    Several solutions may have this t. The function sets negative transitions to 0, moves each count by at most t, and
    moves the counts no further than the sum requires. If the visits are below -slack, no such counts exist. The
    function then replaces the visits by -slack, and the counts are 0.

    >>> found, t = nearest_consistent(np.array([[3.0, -1.0]]), np.array([5.0]), 1.0)
    >>> found.tolist(), t.tolist()
    ([[4.0, 0.0]], [1.0])

    Raises:
        ValueError: for shapes that do not belong together, or a slack below 0.
    """
    if visits.shape != transitions.shape[:-1]:
        raise ValueError(
            f"the shape of visits {visits.shape} must be {transitions.shape[:-1]}, as in transitions"
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
    """Return consistent visits and transitions, made from noisy ones as the paper's Assumption 4 asks.

    The transitions are the result of ``nearest_consistent`` plus level/(2 S) for each of S next states, so they are
    positive. The visits are the sums of the transitions. If the noisy counts are within ``level / 4`` of the true
    counts, the visits are at least the true visits and at most the true visits plus ``level``.

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
    """A privatizer that releases the true counts, for policy elimination without privacy. Its error bound is 0.

    >>> counts = BatchCounts(np.ones((1, 2, 1), int), np.ones((1, 2, 1, 2), int))
    >>> NoPrivacy().release(counts, 2, np.random.default_rng(0)).visits.tolist()
    [[[1.0], [1.0]]]
    """

    def release(self, counts: BatchCounts, users: int, rng: np.random.Generator) -> ReleasedCounts:
        """Return the true counts as floating-point numbers. Nothing is drawn."""
        visits, transitions = counts.visits.astype(np.float64), counts.transitions.astype(np.float64)
        rewards = None if counts.rewards is None else counts.rewards.astype(np.float64)
        return ReleasedCounts(visits, transitions, rewards)

    def level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Return the error bound 0."""
        return 0.0

    def printed_level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Return the error bound 0."""
        return 0.0


@dataclass(frozen=True)
class LaplaceCounts:
    """A privatizer with Laplace noise on every counter. A trusted server adds the noise, or each user does.

    The noise scale is 2 ``shape.changes`` / epsilon, where ``shape`` has the sizes of the release. A replaced user
    changes 2 ``shape.changes`` counters by one each.

    Attributes:
        epsilon: epsilon of all batches together if a user is replaced. Each user is in one batch.
        local: whether each user adds noise to the user's own counts. A counter then holds the noise of all users.
        failure: the probability that the error bound of a release does not hold.

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
        """Return private counts of a batch of ``users`` users. Visits are the sums of transitions."""
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
        """Return a bound on the errors of all counts, which fails with probability at most ``failure``.

        It is four times a Chernoff bound on the noise, which holds for all counters at once.
        """
        if not 0 < failure < 1:
            raise ValueError(f"failure ({failure!r}) must be in (0, 1)")
        goal, draws = math.log(2 * shape.counters / failure), users if self.local else 1
        # P[noise > x scale] <= exp(-t x) (1 - t^2)^-draws for 0 < t < 1; the best t of a fine grid
        t = np.linspace(0, 1, 2049)[1:-1]
        least = float(((goal - draws * np.log1p(-t * t)) / t).min())
        return 4 * self._scale(shape) * least * (1 + 1e-12)

    def printed_level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Return the same as `level`, because the paper prints no error bound for this noise."""
        return self.level(shape, users, failure)

    def _scale(self, shape: ReleaseShape) -> float:
        return 2 * shape.changes / self.epsilon
