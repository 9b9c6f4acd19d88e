"""A privatizer that needs less noise, because it releases counts less often and caps the visits of a user.

It differs from other privatizers in two ways. First, it releases counts only before some episodes, because every
further release needs more noise. Second, in an episode of H steps it counts at most `cap` visits of a state and
action, so the L2 norm of a user's counts is at most the square root of H cap. Counted transitions still have the same
distribution, because whether a visit counts is known before its next state is drawn.

Source: this project's own; the guarantee is `dpproof.accountant.rl.private_ucb.batched_counts`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.counting.toeplitz import SquareRoot
from dpproof.accountant.rl.private_ucb import batched_counts as private_ucb_batches
from dpproof.accountant.rl.private_ucb.batched_counts import BatchedCountsParameters
from dpproof.mechanisms.counting.paths import DRAWS, FactorisedPaths, row_coefficients
from dpproof.mechanisms.rl.private_ucb.privatizers import CountNoise, Levels


@dataclass(frozen=True)
class BatchedCounts:
    """A privatizer with a trusted server and Gaussian noise that releases counts only before some episodes.

    All steps share one table, and visits are capped. The users between two releases form a batch. The server releases
    running counts over the batches. It makes the noise of these counts with the square root of the matrix that computes
    running sums. The visits of a state and action are the sum of its released transitions.

    The fields are explained in `dpproof.accountant.rl.private_ucb.batched_parameters.BatchedCountsParameters`.

    >>> batched = BatchedCounts(6, 2, 20, 1000, sigma=100.0, cap=5, every=100)
    >>> batched.releases.tolist()
    [100, 200, 300, 400, 500, 600, 700, 800, 900]

    Raises:
        ValueError: for parameters that the accountant rejects.
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
        _ = self.parameters  # checks the fields

    def meeting(self, adjacency: Adjacency | str, epsilon: Any, delta: Any) -> BatchedCounts:
        """Return this privatizer with the least noise that makes it (epsilon, delta)-private under `adjacency`.

        >>> sizes = BatchedCounts(6, 2, 20, 20000, sigma=1.0, cost_factor=2.0, cap=5, every=100)
        >>> 180 < sizes.meeting(Adjacency.REPLACE, 1, "1e-6").deviation < 190
        True
        """
        found, _ = private_ucb_batches.ACCOUNTANT.least_noise(self.parameters, adjacency, epsilon, delta)
        return replace(self, sigma=found.sigma)

    @cached_property
    def parameters(self) -> BatchedCountsParameters:
        """The parameters of the accountant, with the values of the fields."""
        return BatchedCountsParameters(**{field.name: getattr(self, field.name) for field in fields(self)})

    @property
    def pooled(self) -> bool:
        """Whether all steps share one table of counts. This is always true here."""
        return True

    @cached_property
    def releases(self) -> NDArray[np.int64]:
        """The numbers of the episodes before which counts are released."""
        return np.arange(self.every, self.parameters.last + 1, self.every)

    @cached_property
    def reads(self) -> NDArray[np.bool_]:
        """A boolean array (K,). Entry k says whether counts are released before episode k = 0, ..., K-1."""
        found = np.zeros(self.episodes, np.bool_)
        found[self.releases] = True
        return found

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on a count of transitions in the last release, where it is largest."""
        row = row_coefficients(SquareRoot(len(self.releases)))
        return self.sigma * float(np.linalg.norm(row))

    def noise(self, rng: np.random.Generator, block: int = 512) -> Iterator[CountNoise]:
        """Yield the noise as `Privatizer.noise` describes. Rows of episodes without a release are 0."""
        S, A, R = self.states, self.actions, len(self.releases)
        paths = FactorisedPaths(DRAWS[NoiseLaw.GAUSSIAN], SquareRoot(R))
        found = next(paths.blocks(rng, R + 1, S * A * (S + 1), R + 1))[1:] * np.float32(self.sigma)
        rows = np.zeros((self.episodes, S * A * (S + 1)), np.float32)
        rows[self.releases] = found
        for first in range(0, self.episodes, block):
            part = rows[first : first + block]
            transitions = part[:, : S * A * S].reshape(-1, 1, S, A, S)
            costs = part[:, S * A * S :].reshape(-1, 1, S, A) * np.float32(self.cost_factor)
            yield CountNoise(first, transitions.sum(axis=-1), costs, transitions)

    def levels(self, delta: float) -> Levels:
        """Return error bounds that hold for all counters and releases at once with probability 1 - `delta`.

        They follow from a union bound and the standard deviation of the last release's noise.
        """
        from scipy.special import ndtri_exp

        cells, R = self.states * self.actions, len(self.releases)
        share = math.log(_failure(delta) / (2 * cells * (self.states + 2) * R))
        quantile = -float(ndtri_exp(share)) * (1 + 1e-9) * self.deviation
        return Levels(quantile * math.sqrt(self.states), quantile * self.cost_factor, quantile)

    def printed_levels(self, delta: float) -> Levels:
        """Return the same as `levels`, because no paper prints levels for these counts."""
        return self.levels(delta)

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee of all releases. It is mu-Gaussian differential privacy with mu = norm / sigma.

        docs/notes/ucb_batches.md computes the norm, the L2 sensitivity of all batches together.

        Raises:
            UnprovedAdjacencyError: no guarantee is proved under this neighbouring relation.
        """
        return private_ucb_batches.account(self.parameters, Adjacency.of(adjacency))


def _failure(delta: float) -> float:
    if not 0 < delta < 1:
        raise ValueError(f"delta ({delta!r}) must be in (0, 1)")
    return delta
