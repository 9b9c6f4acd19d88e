"""Counts released now and then: fewer releases, and fewer visits of a user counted, need less noise.

Two changes of what is released, besides the counter's matrix. A release costs noise whether or not the policy
would change, so that counts are released before some episodes only; and an episode counts at most `cap`
visits of a state and action, so that nobody weighs more than the square root of H cap. Transitions counted
are still draws of the same law: which visit is the first, second, ... is known before its successor is.

Source: this project's own, from the matrix mechanism (`accountant.counting.matrix_counting`); the norm is
proved in docs/notes/ucb_batches.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from accountant.accounted import Accounted
from accountant.adjacency import Adjacency, UnprovedAdjacencyError
from accountant.counting.factorisation import participation_norm
from accountant.counting.gaussian_tree import calibrated_sigma, finite_mu
from accountant.counting.toeplitz import SquareRoot
from accountant.enclosures import arb_of, exact, precision
from accountant.notions import GaussianDP
from accountant.trust import TrustModel
from mechanisms import _checks
from mechanisms.counting.draws import DRAWS
from mechanisms.counting.factorised import FactorisedPaths, row_coefficients
from mechanisms.rl.privatizers import CountNoise, Levels

__all__ = ["BatchedCounts", "squared_counts"]

_BITS = 192
_RELATIONS = {Adjacency.ADD_REMOVE: 1, Adjacency.REPLACE: 2}
_RELEASED = "the noisy counts of every batch of users, and with them every private count"


def squared_counts(states: int, actions: int, horizon: int, cap: int) -> int:
    """The largest sum of squared visits of cells in one episode, at most `cap` of each counted.

    H visits are spread over S A cells, `cap` in a cell where possible (docs/notes/ucb_batches.md).

    >>> squared_counts(6, 2, 20, 5), squared_counts(6, 2, 20, 20), squared_counts(6, 2, 20, 1)
    (100, 400, 12)
    """
    full, rest = divmod(horizon, cap)
    if full >= states * actions:
        return states * actions * cap * cap
    return full * cap * cap + rest * rest


@dataclass(frozen=True)
class BatchedCounts:
    """A central privatizer of pooled, capped counts with Gaussian noise, released before some episodes.

    Batch i holds the users between releases i - 1 and i; running counts over the batches are released
    through the square root of their matrix. Visits N(s, a) are the sum of the released transitions.

    Attributes:
        states, actions, horizon, episodes: the sizes S, A, H, K.
        sigma: standard deviation of the noise on each entry of the matrix's first factor times the batches'
            transitions.
        cost_factor: the noise of costs (or rewards) in units of that.
        cap: the most visits of one state and action that an episode counts, at most H.
        every: counts are released before the episodes every, 2 every, ...
        until: but none after this episode; K - 1 where not said.

    Raises:
        ValueError: a size, cap or period below 1, a cap above H, no release at all, a sigma or factor that is
            not a finite number above 0.

    >>> batched = BatchedCounts(6, 2, 20, 1000, sigma=100.0, cap=5, every=100)
    >>> batched.releases.tolist()
    [100, 200, 300, 400, 500, 600, 700, 800, 900]

    """

    states: int
    actions: int
    horizon: int
    episodes: int
    sigma: float
    cost_factor: float = 1.0
    cap: int = 1
    every: int = 1
    until: int | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        for name in ("states", "actions", "horizon", "episodes", "cap", "every"):
            object.__setattr__(self, name, _checks.at_least(name, getattr(self, name), 1))
        if self.cap > self.horizon:
            raise ValueError(f"cap ({self.cap}) must be at most horizon ({self.horizon})")
        for name in ("sigma", "cost_factor"):
            if not (0 < getattr(self, name) < math.inf):
                raise ValueError(f"{name} ({getattr(self, name)!r}) must be a finite number above 0")
        if not len(self.releases):
            raise ValueError(f"every ({self.every}) must be at most the last release's episode, {self.last}")

    def meeting(self, adjacency: Adjacency, epsilon: Any, delta: Any) -> BatchedCounts:
        """The same with the least noise that keeps (epsilon, delta) under `adjacency`.

        >>> sizes = BatchedCounts(6, 2, 20, 20000, sigma=1.0, cost_factor=2.0, cap=5, every=100)
        >>> 180 < sizes.meeting(Adjacency.REPLACE, 1, "1e-6").deviation < 190
        True
        """
        with precision(_BITS):
            sigma = calibrated_sigma([self._moved(adjacency)], epsilon, delta).upper
        return replace(self, sigma=sigma)

    @property
    def parameters(self) -> BatchedCounts:
        """The sizes: this object itself."""
        return self

    @property
    def pooled(self) -> bool:
        """Counts are those of all steps together."""
        return True

    @property
    def last(self) -> int:
        """The last episode before which counts may be released."""
        return self.episodes - 1 if self.until is None else min(self.until, self.episodes - 1)

    @cached_property
    def releases(self) -> NDArray[np.int64]:
        """The episodes before which counts are released."""
        return np.arange(self.every, self.last + 1, self.every)

    @cached_property
    def reads(self) -> NDArray[np.bool_]:
        """Whether counts are released before the episodes 0, ..., K-1."""
        found = np.zeros(self.episodes, np.bool_)
        found[self.releases] = True
        return found

    @property
    def deviation(self) -> float:
        """The standard deviation of a transition's last, noisiest, release."""
        row = row_coefficients(SquareRoot(len(self.releases)))
        return self.sigma * float(np.linalg.norm(row))

    def noise(self, rng: np.random.Generator, block: int = 512) -> Iterator[CountNoise]:
        """See `Privatizer.noise`; between releases rows are 0 and are not read."""
        S, A, R = self.states, self.actions, len(self.releases)
        paths = FactorisedPaths(DRAWS["gaussian"], SquareRoot(R))
        found = next(paths.blocks(rng, R + 1, S * A * (S + 1), R + 1))[1:] * np.float32(self.sigma)
        rows = np.zeros((self.episodes, S * A * (S + 1)), np.float32)
        rows[self.releases] = found
        for first in range(0, self.episodes, block):
            part = rows[first : first + block]
            transitions = part[:, : S * A * S].reshape(-1, 1, S, A, S)
            costs = part[:, S * A * S :].reshape(-1, 1, S, A) * np.float32(self.cost_factor)
            yield CountNoise(first, transitions.sum(axis=-1), costs, transitions)

    def levels(self, delta: float) -> Levels:
        """A union bound over all counters and releases, by the standard deviation of the last."""
        from scipy.special import ndtri_exp

        cells, R = self.states * self.actions, len(self.releases)
        share = math.log(_failure(delta) / (2 * cells * (self.states + 2) * R))
        quantile = -float(ndtri_exp(share)) * (1 + 1e-9) * self.deviation
        return Levels(quantile * math.sqrt(self.states), quantile * self.cost_factor, quantile)

    def printed_levels(self, delta: float) -> Levels:
        """The levels of `levels`: no paper prints any for these counts."""
        return self.levels(delta)

    def guarantee(self, adjacency: Adjacency) -> Accounted:
        """Gaussian differential privacy of all releases: mu = norm / sigma (docs/notes/ucb_batches.md).

        Raises:
            UnprovedAdjacencyError: for a relation without a proof.

        """
        with precision(_BITS):
            mu = finite_mu(self._moved(adjacency) / arb_of(exact(self.sigma)), self.sigma)
        return Accounted(
            GaussianDP(mu),
            adjacency,
            TrustModel.CENTRAL,
            _RELEASED,
            "classic.matrix_counting",
            "rlsvi.lemma9",
            notes=("how far one user moves a batch: docs/notes/ucb_batches.md",),
        )

    def _moved(self, adjacency: Adjacency) -> flint.arb:
        """How far one user moves what is released before noise, in units of sigma = 1."""
        if adjacency not in _RELATIONS:
            known = ", ".join(relation.value for relation in _RELATIONS)
            raise UnprovedAdjacencyError("batched-counts", adjacency, f"proved relations: {known}")
        most = _RELATIONS[adjacency] * squared_counts(self.states, self.actions, self.horizon, self.cap)
        families = 1 + 1 / exact(self.cost_factor) ** 2
        return (participation_norm(SquareRoot(len(self.releases))) * arb_of(most * families)).sqrt()


def _failure(delta: float) -> float:
    if not 0 < delta < 1:
        raise ValueError(f"delta ({delta!r}) must be in (0, 1)")
    return delta
