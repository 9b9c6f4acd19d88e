"""Test cases of private policy evaluation: correct noise on the worst batches, and faults in the noise scale.

Every user has one trajectory. In one kind of neighbouring inputs, every user visits every state, and one user's
returns are 0 or at the bound. In other kinds, some states are visited by one user or two, or by no user or one. A
faulty case is the algorithm DP-LSW with another noise scale.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.policy_evaluation.noise import Noise, guarantee_of, printed, with_room
from dpproof.audits.corpus.case import Case
from dpproof.audits.data.pairs import Neighbours, episodes_pair
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.targets.rl.policy_evaluation.policy_evaluation import (
    Model,
    batch_of,
    evaluation_scores,
    pair_epsilon,
)
from dpproof.mechanisms.rl.policy_evaluation.data import FirstVisits
from dpproof.mechanisms.rl.policy_evaluation.estimator import DPLSL, DPLSW
from dpproof.mechanisms.rl.policy_evaluation.features import pseudo_inverse_norm
from dpproof.mechanisms.rl.policy_evaluation.policy_evaluation import Squares, WeightedSquares

PLACE = 10
PAPER = "policy-evaluation"
QUICK = (
    "policy evaluation, ridge",
    "policy evaluation, local sensitivity",
)
"""The cases that take seconds; `dpproof check papers` audits them."""


class LocalBound(DPLSW):
    """Fault: the noise is scaled by the local sensitivity bound instead of the smooth bound."""

    def _variance(self, squares: Squares, data: FirstVisits) -> Fraction:
        unit = Fraction(self.constants().alpha) * squares.unit(data.bound)
        return unit**2 * Fraction(squares.bound(data).local())


class RootWeights(DPLSW):
    """Fault: the norm of the pseudo-inverse is computed with the square roots of the weights w instead of w."""

    def _variance(self, squares: Squares, data: FirstVisits) -> Fraction:
        assert isinstance(squares, WeightedSquares), "DP-LSW's"
        wrong = pseudo_inverse_norm(squares.features, np.sqrt(squares.weights))
        right = pseudo_inverse_norm(squares.features, squares.weights)
        return super()._variance(squares, data) * (Fraction(wrong) / Fraction(right)) ** 2


class NoFirstTerm(DPLSW):
    """Fault: in the smooth bound, the maximum over the distance k starts at k = 1, without the term k = 0."""

    def _variance(self, squares: Squares, data: FirstVisits) -> Fraction:
        fewer, sums = np.maximum(data.visits - 1, 0), np.zeros(data.states)
        moved = FirstVisits(fewer, sums, data.trajectories, data.bound)
        return super()._variance(squares, moved) * Fraction(math.exp(-self.constants().beta))


class RangeFromData(DPLSW):
    """Fault: the largest average return of the data is used instead of the public bound on returns."""

    def _variance(self, squares: Squares, data: FirstVisits) -> Fraction:
        largest, sums = float(data.means.max()) or 2.0**-500, np.zeros(data.states)
        clipped = FirstVisits(data.visits, sums, data.trajectories, largest)
        return super()._variance(squares, clipped)


FAULTS: tuple[type[DPLSW], ...] = (LocalBound, RootWeights, NoFirstTerm, RangeFromData)


PASS, FAIL = Finding.CONSISTENT, Finding.VIOLATION
STATES, USERS, MANY = 8, 4, 40_000
EPSILON, DELTA = 1, "1e-6"
LOOSE_EPSILON, LOOSE_DELTA = 5, "0.1"
"""A claim for which the smoothing beta is so large that a missing factor exp(-beta/2) violates the claim."""
BOUNDED: dict[str, Any] = {"discount": 0.5, "return_bound": 1.0}
Walk = tuple[tuple[int, ...], float]
"""The states that a user visits, and the user's reward at each state."""
EVERYWHERE, AT_HOME = tuple(range(STATES)), (0,) * STATES


def _pair(
    others: int, home: tuple[int, ...], one: Walk, other: Walk, described: str, earned: float = 0.0
) -> Neighbours:
    """Return a pair of batches with `others` users who visit `home`, and one user who is replaced."""
    first, second = (batch_of(others, home, *last) for last in (one, other))
    return episodes_pair(first, second, Adjacency.REPLACE, described)


SHIFTED = _pair(
    USERS - 1, EVERYWHERE, (EVERYWHERE, 0.0), (EVERYWHERE, 1.0), "one user's returns all 0 or all 1"
)
RARE = _pair(1, EVERYWHERE, (EVERYWHERE, 0.0), (AT_HOME, 0.0), "states that two users visit, or one")
UNVISITED = _pair(USERS - 1, AT_HOME, (AT_HOME, 0.0), (EVERYWHERE, 1.0), "states nobody visits, or one user")
RANGED = _pair(USERS - 1, EVERYWHERE, (EVERYWHERE, 0.1), (EVERYWHERE, 1.0), "returns up to 0.2 or up to 1")
ONE_STATE = _pair(999, (0,), ((0,), 0.0), ((0,), 1.0), "one state, one of 1,000 returns 0 or 1")


def _case(
    name: str,
    model: Model,
    pair: Neighbours,
    expected: Finding,
    reason: str,
    delta: str = DELTA,
    budget: int = 10_000,
) -> Case:
    return Case(
        name=f"policy evaluation, {name}",
        mechanism=model,
        pair=pair,
        claim=guarantee_of(model.constants(), int(model.states or 0)),
        delta=float(delta),
        expected=expected,
        truth=partial(pair_epsilon, model, pair, Fraction(delta)),
        reason=reason,
        scores=evaluation_scores(model, pair)[:1],
        budget=budget,
    )


def _cases() -> tuple[Case, ...]:
    exact, theirs = with_room(EPSILON, DELTA, STATES), printed(EPSILON, DELTA, STATES)
    loose = with_room(LOOSE_EPSILON, LOOSE_DELTA, 1)

    def of(kind: type[DPLSW] = DPLSW, noise: Noise = exact, states: int = STATES) -> DPLSW:
        return kind(states=states, noise=noise, **BOUNDED)

    ridge = DPLSL(states=STATES, noise=exact, **BOUNDED)
    alone, short = (of(kind, loose, 1) for kind in (DPLSW, NoFirstTerm))
    lost = "exp(-beta/2) short, which is more than the room"
    return (
        _case("exact", of(), SHIFTED, PASS, "attains the local bound; the smooth one is larger"),
        _case("exact, rare states", of(), RARE, PASS, "the smooth bound hardly moves"),
        _case("exact, unvisited states", of(), UNVISITED, PASS, "as far apart as a return"),
        _case("exact, one state", alone, ONE_STATE, PASS, "on its claim but for room", LOOSE_DELTA),
        _case("printed", of(noise=theirs), SHIFTED, PASS, "against its exact curve", budget=MANY),
        _case("printed, rare states", of(noise=theirs), RARE, PASS, "hardly moves", budget=MANY),
        _case("printed, unvisited states", of(noise=theirs), UNVISITED, PASS, "a return apart", budget=MANY),
        _case("ridge", ridge, SHIFTED, PASS, "its stability bound is loose"),
        _case("local sensitivity", of(LocalBound), RARE, FAIL, "the noise shows how many visited"),
        _case("sqrt(w) for w", of(RootWeights), UNVISITED, FAIL, "8^(1/4) short"),
        _case("psi without k = 0", short, ONE_STATE, FAIL, lost, LOOSE_DELTA, MANY),
        _case("range from the data", of(RangeFromData), RANGED, FAIL, "the noise shows a return"),
    )


CASES: tuple[Case, ...] = _cases()
