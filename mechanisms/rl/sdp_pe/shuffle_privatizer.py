"""The shuffle privatizer: users add noise bits to every counter, and the noisy counts are made consistent.

Messages are single bits. The release has the same distribution as ``mechanisms.rl.sdp_pe.shuffled_count``, but it is
drawn as one binomial number for each counter. ``ShufflePrivatizer.printed`` has the paper's noise, and
``ShufflePrivatizer.calibrated`` has the least noise for a given guarantee.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.enclosures import Number
from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape, batch_loss, printed_threshold
from dpproof.accountant.rl.sdp_pe.thresholds import batch_threshold, precision_level, printed_level
from dpproof.mechanisms import _checks
from dpproof.mechanisms.rl.sdp_pe.privatizer import BatchCounts, Floats, ReleasedCounts, made_consistent
from dpproof.mechanisms.rl.sdp_pe.shuffled_count import BitEncoder

Thresholds = Callable[[ReleaseShape, int], float]
"""Type of a function from a release's shape and the number of users to tau, the amount of noise."""


@dataclass(frozen=True)
class _Same:
    """The same tau for every release."""

    tau: float

    def __call__(self, shape: ReleaseShape, users: int) -> float:
        return self.tau


@dataclass(frozen=True)
class _Least:
    """The least tau of each release."""

    epsilon: Number
    beta: Number

    def __call__(self, shape: ReleaseShape, users: int) -> float:
        return batch_threshold(shape, users, self.epsilon, self.beta)[0]


@dataclass(frozen=True)
class ShufflePrivatizer:
    """A privatizer that releases a batch's counts in the shuffle model, with an amount of noise called tau.

    If tau is at least n, the number of users, each user adds ceil(tau/n) noise bits that are 1 with probability 1/2.
    Otherwise each user adds one noise bit, which is 1 with probability tau/(2n).

    Attributes:
        threshold_of: function that returns tau for a release's shape and the number of users.
        failure: the probability that a release's error bound does not hold. Noisy counts are made consistent
            with this bound.
        own_visits: whether visits have counters of their own, or are the sums of the transitions.

    >>> privatizer = ShufflePrivatizer.calibrated(epsilon=1.0, beta=1e-6)
    >>> counts = BatchCounts(np.full((1, 4, 2), 512), np.full((1, 4, 2, 4), 128))
    >>> found = privatizer.release(counts, 4096, np.random.default_rng(0))
    >>> bool((found.visits >= 512).all() and (found.transitions > 0).all())
    True
    """

    threshold_of: Thresholds
    failure: float = 0.01
    own_visits: bool = True
    _levels: dict[tuple[ReleaseShape, int], tuple[float, float]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def printed(
        cls,
        horizon: int,
        states: int,
        actions: int,
        epsilon: Number,
        beta: Number,
        *,
        failure: float = 0.01,
        beyond_proof: bool = False,
    ) -> Self:
        """Return a privatizer with the paper's amount of noise for every release.

        Epsilon must be below 1, because the paper's proof needs it. ``beyond_proof`` allows larger values.
        """
        tau = printed_threshold(horizon, states, actions, epsilon, beta, beyond_proof=beyond_proof)
        return cls(_Same(tau), failure)

    @classmethod
    def calibrated(
        cls, epsilon: Number, beta: Number, *, failure: float = 0.01, own_visits: bool = True
    ) -> Self:
        """Return a privatizer with the least noise for which each release is (epsilon, beta)-private.

        In neighbouring data sets one user is replaced. ``beta`` is the delta of the guarantee. Each user is in one
        batch, so all batches together satisfy the same guarantee.
        """
        return cls(_Least(epsilon, beta), failure, own_visits)

    def release(self, counts: BatchCounts, users: int, rng: np.random.Generator) -> ReleasedCounts:
        """Return private counts of a batch of ``users`` users. Visits are the sums of transitions.

        Raises:
            ValueError: for no users, or a count above their number.
        """
        _checks.at_least("users", users, 1)
        return self.estimates(self.sums(counts, users, rng), users)

    def sums(self, counts: BatchCounts, users: int, rng: np.random.Generator) -> BatchCounts:
        """Return how many messages are 1 in each counter. This is all that leaves the shuffler.

        Without ``own_visits`` the visits of the result are sums of its transitions. From entropy the noise is exactly
        binomial.
        """
        encoder = BitEncoder(users, self.threshold(counts.shape, users))
        transitions = encoder.sums(counts.transitions, rng)
        visits = encoder.sums(counts.visits, rng) if self.own_visits else transitions.sum(axis=-1)
        rewards = None if counts.rewards is None else encoder.sums(counts.rewards, rng)
        return BatchCounts(visits, transitions, rewards)

    def estimates(self, sums: BatchCounts, users: int) -> ReleasedCounts:
        """Return the consistent counts that follow from the sums of all messages. Nothing is drawn."""
        tau, level = self._noise(self._shape(sums.shape), users)
        mean = np.float64(BitEncoder(users, tau).mean)
        transitions: Floats = (sums.transitions - mean).astype(np.float64)
        visits: Floats = (
            (sums.visits - mean).astype(np.float64) if self.own_visits else transitions.sum(axis=-1)
        )
        rewards = None if sums.rewards is None else (sums.rewards - mean).astype(np.float64)
        return ReleasedCounts(*made_consistent(visits, transitions, level), rewards)

    def threshold(self, shape: ReleaseShape, users: int) -> float:
        """Return tau, the amount of noise of a release with this shape and number of users."""
        return self._noise(self._shape(shape), users)[0]

    def level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Return a bound on the errors of all counts, which fails with probability at most ``failure``.

        It is computed from the exact tails of the noise.
        """
        own = self._shape(shape)
        return precision_level(own, users, self.threshold(shape, users), failure)

    def printed_level(self, shape: ReleaseShape, users: int, failure: float) -> float:
        """Return the bound on the errors that follows from the tail bound in the paper's proof of Lemma 10."""
        return printed_level(self._shape(shape), self.threshold(shape, users), failure)

    def account(self, shape: ReleaseShape, users: int) -> Profile:
        """Return the privacy profile of a release if one user is replaced.

        It is computed exactly, and jointly for all counters that the user changes.
        """
        return batch_loss(self._shape(shape), users, self.threshold(shape, users))

    def _shape(self, shape: ReleaseShape) -> ReleaseShape:
        return replace(shape, own_visits=self.own_visits)

    def _noise(self, shape: ReleaseShape, users: int) -> tuple[float, float]:
        """Return tau and the level at ``failure``. Each pair is computed once."""
        if (shape, users) not in self._levels:
            tau = self.threshold_of(shape, users)
            self._levels[shape, users] = tau, precision_level(shape, users, tau, self.failure)
        return self._levels[shape, users]
