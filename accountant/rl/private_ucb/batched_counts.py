"""Accountant of the counters of private reinforcement-learning agents, under every neighbouring relation.

Each user is one episode. In an episode at most ``cap`` visits of a state and action are counted, over all
steps together. Running counts are released before some episodes only. Their noise is that of the matrix
mechanism with the square root of the running-count matrix and Gaussian noise, or that of a binary tree over
the batches. One user changes one batch, by a vector whose largest norm is known. So with Gaussian noise the
run is one Gaussian mechanism, and with Laplace noise on a tree it is pure differential privacy
(docs/notes/ucb_batches.md).

Under ``rewards-only`` the visits and transitions of neighbours are equal. So only the payoffs need noise, and
transitions may be public.

With ``step_sigma``, transitions are counted for each step as well. An episode has one visit in each step, so that one
user adds at most H to the squared norm.

With ``threshold`` and ``opening_sigma``, the possible transitions are found (docs/notes/found_support.md).

Source: this project's own, from the matrix mechanism (`dpproof.accountant.counting.matrix_counting`).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import Target, UnreachableTargetError, calibrate_noise
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.counting.gaussian_tree import calibrated_sigma, finite_mu
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.guarantees.failing import WithFailure
from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision
from dpproof.accountant.rl.private_ucb.batched_parameters import (
    BatchedCountsParameters,
    most_counts,
    most_payoffs,
    squared_counts,
    squared_payoffs,
)
from dpproof.accountant.rl.private_ucb.encoder import nodes, squared_column
from dpproof.accountant.rl.private_ucb.noise import pure_ends
from dpproof.accountant.rl.private_ucb.openings import failure_probability

__all__ = ["ACCOUNTANT", "BatchedCountsParameters", "account", "squared_counts"]

_BITS = 192
_USERS = {Adjacency.ADD_REMOVE: 1, Adjacency.REPLACE: 2, Adjacency.REWARDS_ONLY: 1}
_RELEASED = "the noisy counts of every batch of users, and with them every private count"
_PUBLIC = (
    "every user's states and actions, the noisy payoffs of every batch, and with them every private count"
)
_STATEMENTS = {
    ("square-root", NoiseLaw.GAUSSIAN): "classic.matrix_counting",
    ("tree", NoiseLaw.GAUSSIAN): "classic.tree_gaussian",
    ("tree", NoiseLaw.LAPLACE): "classic.tree_laplace",
}
_MOVED = "how far one user moves a batch is proved in docs/notes/ucb_batches.md"
_PAYOFFS = "how far payoffs alone move the counts of an episode is ucb.capped_counts"
_LATTICE = "that the released lattice values are post-processing is proved in docs/notes/ucb_batches.md"
_OPENED = "what transitions that are found by thresholds cost is proved in docs/notes/found_support.md"
_PURE = "for Laplace noise the pure guarantee is stated at every delta"


def account(parameters: BatchedCountsParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the proved guarantee of all releases, in the central model.

    For Gaussian noise it is that of a Gaussian mechanism with mu = norm/sigma, where norm is an upper bound
    on the norm of one user's change of the counts. With a threshold, the probability that a pair is opened
    which one user alone has visited is added (docs/notes/found_support.md). For Laplace noise it is pure
    differential privacy. No pair of neighbours is known that attains the guarantee.

    Under ``rewards-only`` one user's payoffs change, and its states and actions stay.

    >>> best = BatchedCountsParameters(6, 2, 20, 20000, 100.0, cost_factor=2.0, cap=7, every=100)
    >>> round(account(best, Adjacency.REPLACE).guarantee.epsilon("1e-6").upper, 3)
    1.308
    >>> round(account(best, Adjacency.REWARDS_ONLY).guarantee.epsilon("1e-6").upper, 3)
    0.38

    Raises:
        UnprovedAdjacencyError: for a relation without a proof. If transitions are public, only
            ``rewards-only`` has one.
    """
    _check_relation(parameters, adjacency)
    return PrivacyResult(
        _GUARANTEES[NoiseLaw(parameters.noise)](parameters, adjacency),
        adjacency,
        TrustModel.CENTRAL,
        _PUBLIC if parameters.public_transitions else _RELEASED,
        _STATEMENTS[parameters.counter, NoiseLaw(parameters.noise)],
        "rlsvi.lemma9",
        notes=_notes(parameters, adjacency),
        exact_sampler=None if parameters.bits is None else "dpproof.agent",
    )


def _check_relation(parameters: BatchedCountsParameters, adjacency: Adjacency) -> None:
    if adjacency not in _USERS:
        known = ", ".join(relation.value for relation in _USERS)
        raise UnprovedAdjacencyError("batched-counts", adjacency, f"Use one of: {known}")
    if parameters.public_transitions and adjacency is not Adjacency.REWARDS_ONLY:
        remedy = "Transitions are released without noise. Use rewards-only, or set public_transitions=False."
        raise UnprovedAdjacencyError("batched-counts", adjacency, remedy)


def _notes(parameters: BatchedCountsParameters, adjacency: Adjacency) -> tuple[str, ...]:
    payoffs = (_PAYOFFS,) if adjacency is Adjacency.REWARDS_ONLY else ()
    lattice = () if parameters.bits is None else (_LATTICE,)
    opened = () if parameters.threshold is None else (_OPENED,)
    return (_MOVED, *payoffs, *lattice, *opened, *((_PURE,) if parameters.noise == NoiseLaw.LAPLACE else ()))


def _gaussian(parameters: BatchedCountsParameters, adjacency: Adjacency) -> Profile:
    with precision(_BITS):
        moved = _moved(parameters, adjacency) / arb_of(exact(parameters.sigma))
        inner = GaussianDP(finite_mu(moved, parameters.sigma))
    if parameters.threshold is None or adjacency is Adjacency.REWARDS_ONLY:
        return inner
    return WithFailure(inner, failure_probability(parameters))


def _laplace(parameters: BatchedCountsParameters, adjacency: Adjacency) -> Profile:
    return PureDP(_total(parameters, adjacency) / exact(parameters.sigma))


_GUARANTEES = {NoiseLaw.GAUSSIAN: _gaussian, NoiseLaw.LAPLACE: _laplace}


def _moved(parameters: BatchedCountsParameters, adjacency: Adjacency) -> flint.arb:
    """Return the norm of one user's change of the release for sigma = 1. Call it inside ``precision``."""
    p = parameters
    counts = squared_counts(p.states, p.actions, p.horizon, p.cap) if p.pooled else p.horizon
    payoffs = _two_users(adjacency, squared_payoffs(p), Fraction(counts))
    visits = _noisy_transitions(adjacency) * _USERS[adjacency] * counts
    steps = _noisy_transitions(adjacency) * _USERS[adjacency] * _in_steps(p)
    others = payoffs / exact(p.cost_factor) ** 2 + steps
    return (_visit(p) * visits + squared_column(p) * arb_of(others)).sqrt()


def _in_steps(parameters: BatchedCountsParameters) -> Fraction:
    """Return the squared norm of one user's transitions counted for each step, for noise of scale sigma."""
    p = parameters
    if p.step_sigma is None:
        return Fraction(0)
    return p.horizon * (exact(p.sigma) / exact(p.step_sigma)) ** 2


def _visit(parameters: BatchedCountsParameters) -> flint.arb:
    """Return the largest squared change of the release by one visit, for sigma = 1. Call it inside ``precision``.

    A transition has a counter, or it may still be found. So a visit moves either a counter or an opening.
    """
    column, p = squared_column(parameters), parameters
    if p.opening_sigma is None:
        return column
    return column.max(arb_of((exact(p.sigma) / exact(p.opening_sigma)) ** 2))


def _total(parameters: BatchedCountsParameters, adjacency: Adjacency) -> Fraction:
    """Return the sum of the absolute changes of all tree nodes by one user, for noise of scale 1."""
    p = parameters
    counts = most_counts(p.states, p.actions, p.horizon, p.cap) if p.pooled else p.horizon
    payoffs = _two_users(adjacency, most_payoffs(p), Fraction(counts))
    moved = _noisy_transitions(adjacency) * _USERS[adjacency] * counts + payoffs / exact(p.cost_factor)
    return nodes(p) * moved


def _two_users(adjacency: Adjacency, one: Fraction, counts: Fraction) -> Fraction:
    """Return the largest change of the payoffs: the sum of the squared or of the absolute changes.

    ``one`` is the largest sum for one user, and ``counts`` that of one user's visits. Under ``rewards-only`` both
    users have the same visits, so no payoff moves by more than the visits of its cell.
    """
    if adjacency is Adjacency.REWARDS_ONLY:
        return min(counts, 2 * one)
    return _USERS[adjacency] * one


def _noisy_transitions(adjacency: Adjacency) -> int:
    """Return 1 if the transitions of neighbours may differ, and 0 under ``rewards-only``."""
    return 0 if adjacency is Adjacency.REWARDS_ONLY else 1


def _calibrate(
    parameters: BatchedCountsParameters, adjacency: Adjacency, epsilon: Any, delta: Any
) -> tuple[BatchedCountsParameters, BatchedCountsParameters]:
    """Return the least sigma that meets (epsilon, delta), and one just below it that does not."""
    _check_relation(parameters, adjacency)
    if parameters.noise == NoiseLaw.LAPLACE:
        return _least_laplace(parameters, adjacency, Target(exact(epsilon, "epsilon"), exact(delta, "delta")))
    if parameters.step_sigma is not None:
        return _least_beside_steps(
            parameters, adjacency, Target(exact(epsilon, "epsilon"), exact(delta, "delta"))
        )
    if parameters.threshold is not None:
        return _least_beside_openings(
            parameters, adjacency, Target(exact(epsilon, "epsilon"), exact(delta, "delta"))
        )
    with precision(_BITS):
        found = calibrated_sigma([_moved(parameters, adjacency)], epsilon, delta)
    return replace(parameters, sigma=found.upper), replace(parameters, sigma=found.lower)


def _least_beside_openings(
    parameters: BatchedCountsParameters, adjacency: Adjacency, target: Target
) -> tuple[BatchedCountsParameters, BatchedCountsParameters]:
    """Return the least sigma beside the given openings, and one just below it. See `thresholds.with_openings`."""
    failure = failure_probability(parameters)
    if exact(failure.upper) >= target.delta and adjacency is not Adjacency.REWARDS_ONLY:
        raise UnreachableTargetError(
            f"{target} cannot be met, because openings alone fail with probability {failure}. Use a larger threshold."
        )
    start = replace(parameters, sigma=float(exact(parameters.opening_sigma or 1)))
    return calibrate_noise(start, "sigma", lambda p: _gaussian(p, adjacency), target.epsilon, target.delta)


def _least_beside_steps(
    parameters: BatchedCountsParameters, adjacency: Adjacency, target: Target
) -> tuple[BatchedCountsParameters, BatchedCountsParameters]:
    """Return the least sigma beside given noise on the counts of each step, and one just below it."""
    start = replace(parameters, sigma=float(exact(parameters.step_sigma or 1)))
    return calibrate_noise(start, "sigma", lambda p: _gaussian(p, adjacency), target.epsilon, target.delta)


def _least_laplace(
    parameters: BatchedCountsParameters, adjacency: Adjacency, target: Target
) -> tuple[BatchedCountsParameters, BatchedCountsParameters]:
    if target.epsilon == 0 and target.delta == 0:
        raise UnreachableTargetError(
            f"{target} cannot be met, because no noise hides a user completely. Use a larger epsilon."
        )
    total = _total(parameters, adjacency)
    if target.delta == 0:
        short, enough = pure_ends(total, target)
        return replace(parameters, sigma=enough), replace(parameters, sigma=short)
    start = replace(parameters, sigma=float(total / (target.epsilon + target.delta)))
    return calibrate_noise(start, "sigma", lambda p: _laplace(p, adjacency), target.epsilon, target.delta)


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
