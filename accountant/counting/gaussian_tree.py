"""Accountant of the binary tree mechanism with Gaussian noise.

Every complete node of the tree gets independent noise of standard deviation sigma. All prefix counts are sums
of released nodes. A user who is in some leaves changes the nodes by a vector whose largest norm is known. So
the run is one Gaussian mechanism. Two streams that differ by the whole sensitivity at the worst leaves attain
the guarantee.

Source: Chan, Shi and Song, Private and continual release of statistics (2011); Dwork, Naor, Pitassi and
Rothblum, Differential privacy under continual observation (2010). The norm is this project's own
(docs/notes/counting.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import flint

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Integers, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult
from dpproof.accountant.claims.sensitivity import Measured, contributed, contribution
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.counting.sensitivity import (
    MOST,
    SIGNED,
    assumed,
    contributions,
    replacement_sensitivity,
    restarts,
    sensitivity,
    separated_replacement,
    separated_sensitivity,
)
from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision, round_down, round_up

_BITS = 192
_RELEASED = "every noisy node of the tree, and with it every running count"


@dataclass(frozen=True)
class TreeParameters(Measured):
    """Parameters of a tree counter: the length of the stream, the Gaussian noise, and what one user may contribute.

    >>> TreeParameters(leaves=16384, sigma=0.0)
    Traceback (most recent call last):
    ValueError: sigma (0.0) must be a number above 0
    """

    leaves: int = parameter(Integers(1), "leaves", "length of the stream")
    sigma: float = parameter(
        Reals(0, lower_open=True), "count", "standard deviation of the noise on each node", safer=1
    )
    sensitivity: float | None = sensitivity()
    participations: int = parameter(Integers(1, MOST), "leaves", "leaves of one tree that one user moves", 1)
    separation: int = parameter(
        Integers(1), "leaves", "least distance between leaves of one user within one tree", 1
    )
    restarts: int = restarts("trees")
    contributions: str = contributions()


def squared_norm(parameters: TreeParameters, adjacency: Adjacency) -> tuple[int, int]:
    """Return bounds on the largest squared L2 norm of one user's change of all tree nodes.

    A leaf is one time of the stream. A user contributes at most 1 to each of ``participations`` leaves.
    ``add-remove``: without the user, the user contributes 0, and the others' leaves stay in place.
    ``replace``: the user's values and leaves may both change. If the values may have either sign, the worst
    change is from -1 to +1 on the same leaves. ``by-sensitivity``: the two streams differ at no more than
    ``participations`` leaves. ``separation`` is the least distance between two leaves of a user. The two
    bounds are usually equal. They may differ if the separation is large. Under ``replace`` with a separation and
    nonnegative contributions they differ by at most the factor 2, if those of one user are equal.

    >>> squared_norm(TreeParameters(16384, 10.0), Adjacency.ADD_REMOVE)
    (15, 15)
    >>> squared_norm(TreeParameters(16384, 10.0), Adjacency.REPLACE)
    (60, 60)
    >>> squared_norm(TreeParameters(16384, 10.0, contributions="nonnegative"), Adjacency.REPLACE)
    (28, 28)

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
        ValueError: for more participations than can be computed.
    """
    if adjacency not in _NORMS:
        known = ", ".join(relation.value for relation in _NORMS)
        raise UnprovedAdjacencyError("tree", adjacency, f"Use one of: {known}")
    low, high = _NORMS[adjacency](parameters)
    return (parameters.restarts + 1) * low, (parameters.restarts + 1) * high


def _changed(parameters: TreeParameters) -> tuple[int, int]:
    return separated_sensitivity(parameters.leaves, parameters.participations, parameters.separation)


def _replaced(parameters: TreeParameters) -> tuple[int, int]:
    """Return the change if a user is replaced: twice one user's change for signed contributions, otherwise bounds."""
    if parameters.contributions == SIGNED:
        low, high = _changed(parameters)
        return 4 * low, 4 * high
    if parameters.separation > 1:
        return separated_replacement(parameters.leaves, parameters.participations, parameters.separation)
    worst = replacement_sensitivity(parameters.leaves, parameters.participations)
    return worst, worst


_NORMS = {
    Adjacency.BY_SENSITIVITY: _changed,
    Adjacency.ADD_REMOVE: _changed,
    Adjacency.REPLACE: _replaced,
}


def account(parameters: TreeParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY) -> PrivacyResult:
    """Return the guarantee: Gaussian DP with mu^2 = squared norm * sensitivity^2 / sigma^2.

    The squared norm is that of one user's change of the tree nodes; see ``squared_norm``. Some pair of
    streams attains the guarantee.

    >>> found = account(TreeParameters(16384, 10.0)).guarantee
    >>> found.epsilon("1e-6").lower, found.epsilon("1e-6").upper
    (1.704618035, 1.704618035)

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
        ValueError: for a mu beyond double precision.
    """
    with precision(_BITS):
        low, high = (finite_mu(mu, parameters.sigma) for mu in _mus(parameters, adjacency))
    pair = "streams that differ as far as allowed at the leaves with the largest norm"
    return PrivacyResult(
        GaussianDP(Bound(low.lower, high.upper)),
        adjacency,
        TrustModel.CENTRAL,
        _RELEASED,
        _statement(parameters, adjacency),
        attained=Attained(GaussianDP(low), pair),
        notes=assumed(parameters.contributions, adjacency),
        sensitivity=contribution(parameters, adjacency),
    )


def _statement(parameters: TreeParameters, adjacency: Adjacency) -> str:
    """Return the page that covers the result. The norm for several leaves is no formal goal."""
    doubled = adjacency is not Adjacency.REPLACE or parameters.contributions == SIGNED
    one_leaf = parameters.participations == 1 and doubled
    return "classic.tree_gaussian" if one_leaf else "classic.tree_gaussian.exact"


def _mus(parameters: TreeParameters, adjacency: Adjacency) -> list[flint.arb]:
    norms = squared_norm(parameters, adjacency)
    scale = arb_of(contributed(parameters, adjacency) / exact(parameters.sigma))
    return [flint.arb(norm).sqrt() * scale for norm in norms]


def finite_mu(mu: flint.arb, sigma: float) -> Bound:
    """Return bounds on ``mu`` as finite doubles.

    Raises:
        ValueError: if mu is too large for double precision.
    """
    found = bound_of(mu)
    if math.isinf(found.upper):
        raise ValueError(
            f"sigma ({sigma!r}) is too small for double precision. Use a larger sigma or a smaller sensitivity."
        )
    return found


def calibrated_sigma(norms: Sequence[flint.arb], epsilon: Any, delta: Any) -> Bound:
    """Return bounds on the smallest sigma with which a Gaussian mechanism meets (``epsilon``, ``delta``).

    ``norms`` are a lower and an upper bound on the L2 sensitivity, or the sensitivity alone. The upper bound
    on sigma meets the target if the sensitivity is the last of ``norms``. The lower bound on sigma misses the
    target if the sensitivity is the first of ``norms``. Call this inside ``precision``.

    Raises:
        ValueError: for a target that no noise within double precision meets.
    """
    meets, misses = gaussian_mu(exact(epsilon, "epsilon"), exact(delta, "delta"))
    margin = 1 + flint.arb(2) ** -50
    enough, short = norms[-1] / arb_of(exact(meets)), norms[0] / arb_of(exact(misses))
    found = Bound(round_down(short / margin), round_up(enough * margin))
    if not (found.lower > 0 and found.upper < float("inf")):
        raise ValueError(
            f"epsilon ({epsilon!r}) needs a sigma outside double precision. Use a less extreme epsilon."
        )
    return found


def _calibrate(
    parameters: TreeParameters, adjacency: Adjacency, epsilon: Any, delta: Any
) -> tuple[TreeParameters, TreeParameters]:
    """Return the smallest sigma that meets (epsilon, delta), and one just below it that does not."""
    with precision(_BITS):
        norms = _mus(replace(parameters, sigma=1.0), adjacency)
        sigma = calibrated_sigma(norms, epsilon, delta)
    return replace(parameters, sigma=sigma.upper), replace(parameters, sigma=sigma.lower)


ACCOUNTANT = Accountant(
    "tree",
    "Continual counting by a binary tree, Gaussian noise",
    TreeParameters,
    account,
    "sigma",
    _calibrate,
    Adjacency.BY_SENSITIVITY,
    example=TreeParameters(leaves=16, sigma=10.0, sensitivity=1.0),
)
