"""Accountant of CENTRAL-PRIVATIZER: the exact guarantee of its noise, beside the paper's epsilon.

Each user is one of K episodes of H steps. Running counts of visits, costs and transitions are released before
each episode through one binary tree for each counter. The paper's scale 3H log K/epsilon assumes that a user
changes one count of each kind in each step, but replacing a user changes two. It also assumes that a user is
in log K noisy nodes of a tree, but there are ceil(log2 K). So the true epsilon is (2 - 1/H) ceil(log2 K)/log
K times the paper's, and some pair of users attains it (docs/notes/ucb_privacy.md). Gaussian noise, averaged
subtrees and the square root of the running count are accounted for in the same way.

Source: Chowdhury and Zhou (AAAI 2022), Lemma 5.1; the exact statements are this project's own.
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
from dpproof.accountant.counting.toeplitz import participation_norm
from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
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
    pure_epsilon,
)
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters

__all__ = ["ACCOUNTANT", "CentralCountsParameters", "account", "moved"]

_BITS = 192
_RELEASED = "every private count before every episode"


def moved(parameters: CentralCountsParameters, adjacency: Adjacency) -> Moved:
    """Return the largest changes of the counts by one user, and the number of noisy tree nodes with each.

    >>> from dpproof.accountant.rl.private_ucb.noise import Moved
    >>> moved(CentralCountsParameters(6, 2, 20, 20000, scale=1.0), Adjacency.REPLACE).total()
    Fraction(1755, 1)

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    changes = between(
        "central-counts",
        parameters.sizes,
        adjacency,
        any_start=parameters.start == "any",
        own_actions=parameters.own_actions,
    )
    return Moved(parameters, changes, parameters.levels)


def account(parameters: CentralCountsParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the proved guarantee of all releases, in the central model. A pair of users attains it.

    If a user is added or removed, only this user's counts change, from or to 0. The other users keep their
    episodes. The guarantee also holds for the actions of the other users, as joint privacy.

    >>> found = account(CentralCountsParameters(6, 2, 20, 20000, printed_epsilon=1.0), Adjacency.REPLACE)
    >>> found.guarantee.epsilon(0).upper, found.published.epsilon(0).upper
    (2.953505, 1.0)

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    return _NOISE[NoiseLaw(parameters.noise)](parameters, moved(parameters, adjacency), adjacency)


def _laplace(parameters: CentralCountsParameters, user: Moved, adjacency: Adjacency) -> PrivacyResult:
    found, attained = laplace(user)
    return PrivacyResult(
        found,
        adjacency,
        TrustModel.CENTRAL,
        _RELEASED,
        "ucb.central_privacy",
        "ucb.central_privacy",
        published_guarantee(parameters, "ucb.lemma5_1.privacy"),
        None if attained is None else Attained(attained, _PAIRS[adjacency]),
        (*_notes(parameters, adjacency), *_other_base(parameters, user), *law_notes(parameters, attained)),
        exact_sampler=_sampler(parameters),
    )


def _sampler(parameters: CentralCountsParameters) -> str | None:
    """Return the exact sampler of integer noise on the integer counts of the tree; None for other noise."""
    return "dpproof.PrivateCounts" if parameters.integer and parameters.counter == "tree" else None


def _gaussian(parameters: CentralCountsParameters, user: Moved, adjacency: Adjacency) -> PrivacyResult:
    found = GaussianDP(_mu(parameters, user))
    statement = "classic.matrix_counting" if parameters.counter == "square-root" else "classic.tree_gaussian"
    return _by_norm(parameters, adjacency, found, statement, Attained(found, _PAIRS[adjacency]))


def _discrete_gaussian(
    parameters: CentralCountsParameters, user: Moved, adjacency: Adjacency
) -> PrivacyResult:
    found = discrete_gaussian(_mu(parameters, user))
    return _by_norm(parameters, adjacency, found, "classic.discrete_gaussian", None)


def _mu(parameters: CentralCountsParameters, user: Moved) -> Bound:
    with precision(_BITS):
        return finite_mu(gaussian(user, _norm(parameters)), parameters.scale or 0.0)


def _by_norm(
    parameters: CentralCountsParameters,
    adjacency: Adjacency,
    found: Profile,
    statement: str,
    attained: Attained | None,
) -> PrivacyResult:
    return PrivacyResult(
        found,
        adjacency,
        TrustModel.CENTRAL,
        _RELEASED,
        statement,
        "rlsvi.lemma9",
        attained=attained,
        notes=(_COUNTED, *_notes(parameters, adjacency), *law_notes(parameters, found)),
        exact_sampler=_sampler(parameters),
    )


_NOISE = {
    NoiseLaw.LAPLACE: _laplace,
    NoiseLaw.GAUSSIAN: _gaussian,
    NoiseLaw.DISCRETE_LAPLACE: _laplace,
    NoiseLaw.DISCRETE_GAUSSIAN: _discrete_gaussian,
}


def _norm(parameters: CentralCountsParameters) -> flint.arb:
    """Return the squared norm of one user's unit change: nodes of a tree, or a column of the factor."""
    if parameters.counter == "square-root":
        return participation_norm(parameters.strategy)
    return flint.arb(parameters.levels)


_PAIRS = {
    Adjacency.ADD_REMOVE: "the first user with costs 1 against none, counted as 0",
    Adjacency.REPLACE: "two first users in different cells as soon as can be, costs that tell them apart",
    Adjacency.REWARDS_ONLY: "first users in one cell with costs 1, and with costs 0",
}
_STARTS = {
    "same": "all users start in one state, and the algorithm draws the actions; start any drops both",
    "any": "a replaced user may start anywhere and take any actions",
}
_COSTS_ALONE = "how far costs alone move the counts is proved in docs/notes/ucb_counters_exact.md"
_COUNTED = "how many counts one user moves is ucb.central_privacy's"


def _notes(parameters: CentralCountsParameters, adjacency: Adjacency) -> tuple[str, ...]:
    """Return the assumptions of the guarantee, which are printed beside it."""
    shifted = {
        Adjacency.ADD_REMOVE: ("the other users keep their episodes",),
        Adjacency.REPLACE: (_STARTS[parameters.start],),
        Adjacency.REWARDS_ONLY: (_COSTS_ALONE,),
    }
    unsaid = ("no scale was given: the noise is the paper's for the printed epsilon",)
    borrowed = ("the paper prints Laplace noise: its scale is taken as the standard deviation here",)
    return (
        *shifted.get(adjacency, ()),
        *(unsaid if parameters.scale is None else ()),
        *(borrowed if parameters.scale is None and NoiseLaw(parameters.noise).gaussian else ()),
    )


def _other_base(parameters: CentralCountsParameters, user: Moved) -> tuple[str, ...]:
    """Return a note about the printed noise with log K to the other base; the paper does not name the base."""
    if parameters.scale is not None:
        return ()
    other = {"natural": "binary", "binary": "natural"}[parameters.log_base]
    most = pure_epsilon(replace(user, parameters=replace(parameters, log_base=other)))
    ends = PureDP(most).epsilon(0)
    return (f"log K is {parameters.log_base}; {other}, epsilon at delta 0 would be {ends.upper:.6g}",)


def _calibrate(
    parameters: CentralCountsParameters, adjacency: Adjacency, epsilon: Any, delta: Any
) -> tuple[CentralCountsParameters, CentralCountsParameters]:
    """Return the least scale that meets (epsilon, delta), and one just below it that does not."""
    unit = replace(parameters, printed_epsilon=None, scale=1.0)
    with precision(_BITS):
        mu = gaussian(moved(unit, adjacency), _norm(unit))
    return least_scale(
        unit, moved(unit, adjacency), mu, lambda p: account(p, adjacency).guarantee, epsilon, delta
    )


ACCOUNTANT = Accountant(
    "central-counts",
    "Counts of PRIVATE-UCB by the CENTRAL-PRIVATIZER",
    CentralCountsParameters,
    account,
    "scale",
    _calibrate,
    unit="user",
    example=CentralCountsParameters(states=2, actions=2, horizon=2, episodes=4),
)
