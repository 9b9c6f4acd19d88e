"""Accountant of LOCAL-PRIVATIZER: the exact guarantee of one user's noise, beside the paper's epsilon.

Every user adds noise to each of its own counts and sends them. The paper's scale 3H/epsilon assumes that two
trajectories differ in one count of each kind (visits, costs, transitions) in each step, but they differ in
two. So the true epsilon is twice the paper's. For trajectories that share the first state and action it is 2
- 1/H times the paper's (docs/notes/ucb_privacy.md).

Source: Chowdhury and Zhou (AAAI 2022), Lemma 5.4; the exact statements are this project's own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import flint

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import Attained, PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.counting.gaussian_tree import finite_mu
from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import precision
from dpproof.accountant.rl.private_ucb.changes import between
from dpproof.accountant.rl.private_ucb.noise import (
    Moved,
    discrete_gaussian,
    gaussian,
    laplace,
    law_notes,
    least_scale,
    published_guarantee,
)
from dpproof.accountant.rl.private_ucb.parameters import LocalCountsParameters

__all__ = ["ACCOUNTANT", "LocalCountsParameters", "account", "moved"]

_BITS = 192


def moved(parameters: LocalCountsParameters, adjacency: Adjacency) -> Moved:
    """Return the largest changes of the counts that a user sends, between neighbours under ``adjacency``.

    >>> moved(LocalCountsParameters(6, 2, 20, 9, scale=1.0), Adjacency.REPLACE).total()
    Fraction(120, 1)

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    changes = between(
        "local-counts",
        parameters.sizes,
        adjacency,
        any_start=parameters.start == "any",
        own_actions=parameters.own_actions,
    )
    return Moved(parameters, changes, 1)


def account(parameters: LocalCountsParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the proved guarantee of what one user sends, in the local model. A pair of trajectories attains it.

    ``replace`` compares any two trajectories, as Definition 2.3 does. ``add-remove`` compares a trajectory
    with none: a user without a trajectory sends the noise alone. ``rewards-only`` compares two trajectories
    that differ in costs only.

    >>> found = account(LocalCountsParameters(6, 2, 20, 20000, printed_epsilon=1.0), Adjacency.REPLACE)
    >>> found.guarantee.epsilon(0).upper, found.published.epsilon(0).upper
    (2.0, 1.0)

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    user = moved(parameters, adjacency)
    found, attained = _NOISE[NoiseLaw(parameters.noise)](user)
    return PrivacyResult(
        found,
        adjacency,
        TrustModel.LOCAL,
        "one user's noisy counts",
        _STATEMENTS[NoiseLaw(parameters.noise)],
        published=published_guarantee(parameters, "ucb.lemma5_4.privacy"),
        attained=None if attained is None else Attained(attained, _PAIRS[adjacency]),
        notes=(*_notes(parameters, adjacency), *law_notes(parameters, attained)),
        exact_sampler="dpproof.local_report" if parameters.integer else None,
    )


def _mu(user: Moved) -> Bound:
    with precision(_BITS):
        return finite_mu(gaussian(user, flint.arb(1)), user.parameters.scale or 0.0)


def _gaussian(user: Moved) -> tuple[Profile, Profile | None]:
    found = GaussianDP(_mu(user))
    return found, found


def _discrete_gaussian(user: Moved) -> tuple[Profile, Profile | None]:
    return discrete_gaussian(_mu(user)), None


_NOISE = {
    NoiseLaw.LAPLACE: laplace,
    NoiseLaw.GAUSSIAN: _gaussian,
    NoiseLaw.DISCRETE_LAPLACE: laplace,
    NoiseLaw.DISCRETE_GAUSSIAN: _discrete_gaussian,
}
_STATEMENTS = {
    NoiseLaw.LAPLACE: "ucb.local_privacy",
    NoiseLaw.GAUSSIAN: "classic.gaussian",
    NoiseLaw.DISCRETE_LAPLACE: "ucb.local_privacy",
    NoiseLaw.DISCRETE_GAUSSIAN: "classic.discrete_gaussian",
}
_PAIRS = {
    Adjacency.ADD_REMOVE: "a trajectory with costs 1 against none",
    Adjacency.REPLACE: "two trajectories in different cells where they can be, costs that tell them apart",
    Adjacency.REWARDS_ONLY: "a trajectory in one cell with costs 1, and with costs 0",
}


def _notes(parameters: LocalCountsParameters, adjacency: Adjacency) -> tuple[str, ...]:
    """Return the assumptions of the guarantee, which are printed beside it."""
    counted = ("how many counts one user moves is ucb.local_privacy's",)
    unsaid = ("no scale was given: the noise is the paper's for the printed epsilon",)
    borrowed = ("the paper prints Laplace noise: its scale is taken as the standard deviation here",)
    costs = ("how far costs alone move the counts is proved in docs/notes/ucb_counters_exact.md",)
    return (
        *(costs if adjacency is Adjacency.REWARDS_ONLY else ()),
        *(counted if NoiseLaw(parameters.noise).gaussian else ()),
        *(unsaid if parameters.scale is None else ()),
        *(borrowed if parameters.scale is None and NoiseLaw(parameters.noise).gaussian else ()),
    )


def _calibrate(
    parameters: LocalCountsParameters, adjacency: Adjacency, epsilon: Any, delta: Any
) -> tuple[LocalCountsParameters, LocalCountsParameters]:
    """Return the least scale that meets (epsilon, delta), and one just below it that does not."""
    unit = replace(parameters, printed_epsilon=None, scale=1.0)
    user = moved(unit, adjacency)
    with precision(_BITS):
        mu = gaussian(user, flint.arb(1))
    return least_scale(unit, user, mu, lambda p: account(p, adjacency).guarantee, epsilon, delta)


ACCOUNTANT = Accountant(
    "local-counts",
    "Counts of PRIVATE-UCB by the LOCAL-PRIVATIZER",
    LocalCountsParameters,
    account,
    "scale",
    _calibrate,
    unit="user",
    example=LocalCountsParameters(states=2, actions=2, horizon=2, episodes=4),
)
