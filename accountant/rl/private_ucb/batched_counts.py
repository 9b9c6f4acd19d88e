"""Accountant of PRIVATE-UCB's counts released in batches. Fewer releases and fewer counted visits need less noise.

Each user is one episode. In an episode at most ``cap`` visits of a state and action are counted, over all
steps together. Running counts are released before some episodes only. Their noise is that of the matrix
mechanism with the square root of the running-count matrix and Gaussian noise. One user changes one batch, by
a vector whose largest norm is known. So the run is one Gaussian mechanism (docs/notes/ucb_batches.md).

Source: this project's own, from the matrix mechanism (`dpproof.accountant.counting.matrix_counting`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import flint

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.counting.gaussian_tree import calibrated_sigma, finite_mu
from dpproof.accountant.counting.toeplitz import MOST_LEAVES, SquareRoot, participation_norm
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision

_MOST, _BITS = 10**12, 192
_USERS = {Adjacency.ADD_REMOVE: 1, Adjacency.REPLACE: 2}
_RELEASED = "the noisy counts of every batch of users, and with them every private count"


@dataclass(frozen=True)
class BatchedCountsParameters(Parameters):
    """Parameters of counts released in batches: the problem's sizes, the noise, the cap and the release times.

    ``cap`` is the largest number of visits of a state and action that are counted in one episode, over all
    its steps.

    >>> BatchedCountsParameters(6, 2, 20, 1000, sigma=100.0, cap=5, every=100).batches
    9

    Raises:
        ValueError: for a cap above the horizon, no release at all, or more releases than dpproof can handle.
    """

    states: int = parameter(Integers(1, _MOST), "states", "number of states S")
    actions: int = parameter(Integers(1, _MOST), "actions", "number of actions A")
    horizon: int = parameter(Integers(1, _MOST), "steps", "steps per episode H")
    episodes: int = parameter(Integers(1, _MOST), "episodes", "number of episodes K, one user each")
    sigma: float = parameter(
        Reals(0, lower_open=True), "count", "standard deviation of the noise on each entry of C x", safer=1
    )
    cost_factor: float = parameter(
        Reals(0, lower_open=True), "1", "noise of summed costs, in units of that of transitions", 1.0, safer=1
    )
    cap: int = parameter(
        Integers(1), "visits", "most visits of a state and action that an episode counts, at most H", 1
    )
    every: int = parameter(
        Integers(1), "episodes", "counts are released before the episodes every, 2 every, ...", 1
    )
    until: int | None = parameter(
        Integers(1), "episodes", "but none after this episode; K - 1 without it", None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cap > self.horizon:
            raise ValueError(f"cap ({self.cap}) must be at most horizon ({self.horizon})")
        if not self.batches:
            raise ValueError(
                f"every ({self.every}) must be at most {self.last}, the last episode with a release"
            )
        if self.batches > MOST_LEAVES:
            raise ValueError(
                f"every ({self.every}) is too small. There may be at most {MOST_LEAVES} releases."
            )

    @property
    def last(self) -> int:
        """The last episode before which counts may be released."""
        return self.episodes - 1 if self.until is None else min(self.until, self.episodes - 1)

    @property
    def batches(self) -> int:
        """The number of times that counts are released."""
        return self.last // self.every


def squared_counts(states: int, actions: int, horizon: int, cap: int) -> int:
    """Return the largest sum of squared counts in one episode, if each count is cut off at ``cap``.

    Each pair of a state and an action has one count of visits. The worst episode spreads its ``horizon``
    visits so that as many counts as possible equal ``cap`` (docs/notes/ucb_batches.md).

    >>> squared_counts(6, 2, 20, 5), squared_counts(6, 2, 20, 20), squared_counts(6, 2, 20, 1)
    (100, 400, 12)
    """
    full, rest = divmod(horizon, cap)
    if full >= states * actions:
        return states * actions * cap * cap
    return full * cap * cap + rest * rest


def account(parameters: BatchedCountsParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the proved guarantee of all releases, in the central model.

    It is that of a Gaussian mechanism with mu = norm/sigma, where norm is an upper bound on the norm of one
    user's change of the counts. No pair of neighbours is known that attains the guarantee.

    >>> best = BatchedCountsParameters(6, 2, 20, 20000, 100.0, cost_factor=2.0, cap=7, every=100)
    >>> round(account(best, Adjacency.REPLACE).guarantee.epsilon("1e-6").upper, 3)
    1.308

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    with precision(_BITS):
        mu = finite_mu(_moved(parameters, adjacency) / arb_of(exact(parameters.sigma)), parameters.sigma)
    return PrivacyResult(
        GaussianDP(mu),
        adjacency,
        TrustModel.CENTRAL,
        _RELEASED,
        "classic.matrix_counting",
        "rlsvi.lemma9",
        notes=("how far one user moves a batch is proved in docs/notes/ucb_batches.md",),
    )


def _moved(parameters: BatchedCountsParameters, adjacency: Adjacency) -> flint.arb:
    """Return the norm of one user's change of the release for sigma = 1. Call it inside ``precision``."""
    if adjacency not in _USERS:
        known = ", ".join(relation.value for relation in _USERS)
        raise UnprovedAdjacencyError("batched-counts", adjacency, f"Use one of: {known}")
    p = parameters
    most = _USERS[adjacency] * squared_counts(p.states, p.actions, p.horizon, p.cap)
    families = 1 + 1 / exact(p.cost_factor) ** 2
    return (participation_norm(SquareRoot(p.batches)) * arb_of(most * families)).sqrt()


def _calibrate(
    parameters: BatchedCountsParameters, adjacency: Adjacency, epsilon: Any, delta: Any
) -> tuple[BatchedCountsParameters, BatchedCountsParameters]:
    """Return the least sigma that meets (epsilon, delta), and one just below it that does not."""
    with precision(_BITS):
        found = calibrated_sigma([_moved(parameters, adjacency)], epsilon, delta)
    return replace(parameters, sigma=found.upper), replace(parameters, sigma=found.lower)


ACCOUNTANT = Accountant(
    "batched-counts",
    "Counts of PRIVATE-UCB in batches, capped, through the square root of the running count",
    BatchedCountsParameters,
    account,
    "sigma",
    _calibrate,
    unit="user",
    example=BatchedCountsParameters(states=2, actions=2, horizon=2, episodes=4, sigma=5.0),
)
