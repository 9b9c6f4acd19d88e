"""Private policy evaluation: both calibrations on hard batches, and faults in what the noise is scaled by.

Users have one trajectory each. The pairs: returns all 0 or all at the bound, everybody everywhere; states
that one or two users visit; states that nobody or one user visits.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from accountant.adjacency import Adjacency
from accountant.episodes import Episodes
from accountant.rl.policy_evaluation_noise import Noise, guarantee_of, printed, with_room
from audits.corpus.case import Case
from audits.corpus.evaluation import Evaluation, Fault, one_trajectory_replaced
from audits.evidence import Verdict
from audits.pairs import Pair
from audits.scores import Projection
from mechanisms.rl.policy_evaluation import RidgeSquares, WeightedSquares
from mechanisms.rl.policy_evaluation_features import tabular

__all__ = ["CASES"]

PASS, FAIL = Verdict.CONSISTENT, Verdict.VIOLATION
STATES, USERS = 8, 4
EPSILON, DELTA = 1, "1e-6"
LOOSE_EPSILON, LOOSE_DELTA = 5, "0.1"
"""Where noise with room has a strong smoothing: a lost factor exp(-beta/2) is more than the room."""
EVERYWHERE, AT_HOME = tuple(range(STATES)), (0,)


def _batch(*trajectories: tuple[tuple[int, ...], float]) -> Episodes:
    """Users who walk through given states, each earning the same at every step."""
    states = np.concatenate([np.array(walk) for walk, _ in trajectories])
    rewards = np.concatenate([np.full(len(walk), reward) for walk, reward in trajectories])
    lengths = np.array([len(walk) for walk, _ in trajectories])
    return Episodes(states, np.zeros_like(states), rewards, lengths, np.arange(len(lengths)))


def _pair(others: int, home: tuple[int, ...], one: Any, other: Any, described: str) -> Pair:
    """`others` users on `home` who earn nothing, and one user who is replaced."""
    first, second = (_batch(*[(home, 0.0)] * others, last) for last in (one, other))
    return Pair(first, second, Adjacency.REPLACE, described, one_trajectory_replaced)


SHIFTED = _pair(
    USERS - 1, EVERYWHERE, (EVERYWHERE, 0.0), (EVERYWHERE, 1.0), "one user's returns all 0 or all 1"
)
RARE = _pair(1, EVERYWHERE, (EVERYWHERE, 0.0), (AT_HOME, 0.0), "states that two users visit, or one")
UNVISITED = _pair(USERS - 1, AT_HOME, (AT_HOME, 0.0), (EVERYWHERE, 1.0), "states nobody visits, or one user")
RANGED = _pair(USERS - 1, EVERYWHERE, (EVERYWHERE, 0.1), (EVERYWHERE, 1.0), "returns up to 0.2 or up to 1")
ONE_STATE = _pair(999, AT_HOME, (AT_HOME, 0.0), (AT_HOME, 1.0), "one state, one of 1,000 returns 0 or 1")
EVEN, SINGLE = (
    WeightedSquares(tabular(STATES), np.full(STATES, 1 / STATES)),
    WeightedSquares(tabular(1), np.ones(1)),
)
RIDGED = RidgeSquares(tabular(STATES), np.ones(STATES), 2.0)
ALONG = (Projection((1.0,) * STATES),)


def _case(
    name: str,
    sampler: Evaluation,
    pair: Pair,
    expected: Verdict,
    reason: str,
    delta: str = DELTA,
    **more: Any,
) -> Case:
    return Case(
        name=f"policy evaluation, {name}",
        mechanism=sampler,
        pair=pair,
        claim=guarantee_of(sampler.noise, len(sampler.squares.features.T)),
        delta=float(delta),
        expected=expected,
        truth=partial(sampler.epsilon, pair.first, pair.second, Fraction(delta)),
        reason=reason,
        budget=40_000,
        **more,
    )


def _exact() -> Noise:
    return with_room(EPSILON, DELTA, STATES)


def _cases() -> tuple[Case, ...]:
    exact, theirs = _exact(), printed(EPSILON, DELTA, STATES)
    loose = with_room(LOOSE_EPSILON, LOOSE_DELTA, 1)
    sound = Evaluation(EVEN, exact)

    def faulty(fault: Fault) -> Evaluation:
        return Evaluation(EVEN, exact, fault)

    alone, short = Evaluation(SINGLE, loose), Evaluation(SINGLE, loose, Fault.NO_FIRST_TERM)
    lost = "exp(-beta/2) short, which is more than the room"
    return (
        _case(
            "exact", sound, SHIFTED, PASS, "attains the local bound; the smooth one is larger", scores=ALONG
        ),
        _case("exact, rare states", sound, RARE, PASS, "the smooth bound hardly moves"),
        _case("exact, unvisited states", sound, UNVISITED, PASS, "as far apart as a return", scores=ALONG),
        _case("exact, one state", alone, ONE_STATE, PASS, "on its claim but for room", LOOSE_DELTA),
        _case("printed", Evaluation(EVEN, theirs), SHIFTED, PASS, "against its exact curve", scores=ALONG),
        _case(
            "ridge", Evaluation(RIDGED, exact), SHIFTED, PASS, "its stability bound is loose", scores=ALONG
        ),
        _case("local sensitivity", faulty(Fault.LOCAL), RARE, FAIL, "the noise shows how many visited"),
        _case("sqrt(w) for w", faulty(Fault.ROOT_WEIGHTS), UNVISITED, FAIL, "8^(1/4) short", scores=ALONG),
        _case("psi without k = 0", short, ONE_STATE, FAIL, lost, LOOSE_DELTA),
        _case("range from the data", faulty(Fault.RANGE_FROM_DATA), RANGED, FAIL, "the noise shows a return"),
    )


CASES: tuple[Case, ...] = _cases()
