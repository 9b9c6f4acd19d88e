"""Faults found in published code for private reinforcement learning, beside their sound siblings.

K users, one an episode; each visits one of two cells. Replacing a user moves two counts by 1.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from accountant.adjacency import Adjacency
from accountant.bounds import Bound
from accountant.counting.laplace_tree import LaplaceTreeParameters, pure_epsilon
from accountant.notions import PureDP
from audits.corpus import private_counts
from audits.corpus.case import Case
from audits.corpus.laplace_cases import stated
from audits.evidence import Verdict
from audits.pairs import Pair
from audits.scores import Projection

__all__ = ["CASES"]

PASS, FAIL = Verdict.CONSISTENT, Verdict.VIOLATION
EPISODES, LEVELS, HORIZON, MOVED = 64, 7, 20, 2
SHORT = 2
"""A stream of two episodes: a leaf lies in two nodes, and floor(ln 2) + 1 is 1."""
CLAIM = PureDP(1)


def _one_user_replaced(first: Any, second: Any) -> None:
    changed = np.flatnonzero((first != second).any(axis=1))
    if changed.size > 1:
        raise ValueError(f"users {changed[:5].tolist()} differ; only one may")


def _streams(episodes: int) -> Pair:
    """User 1, whose leaf lies in a node of every level, visits one cell or the other."""
    first, second = np.zeros((2, episodes, MOVED), np.int64)
    first[:, 0] = second[:, 0] = 1
    second[0] = [0, 1]
    return Pair(first, second, Adjacency.REPLACE, "user 1 visits cell 1 or cell 2", _one_user_replaced)


def _any_two(_first: Any, _second: Any) -> None:
    """Local privacy: any two trajectories are neighbours."""


STREAMS = _streams(EPISODES)
AVERAGE = Projection(tuple(np.repeat([-1.0, 1.0], EPISODES) / EPISODES))
"""The attack on fresh noise: the mean release of one counter less that of the other."""
VISITS = Pair(
    np.array([HORIZON, 0]), np.array([0, HORIZON]), "any two users", "all steps in one cell", _any_two
)
ENDED = Pair(np.array([1, 1]), np.array([1, 0]), "any two users", "a visit that goes on or ends", _any_two)


def _case(
    name: str, sampler: Any, pair: Pair, expected: Verdict, truth: Any, reason: str, **more: Any
) -> Case:
    options = {"pair": pair, "claim": CLAIM, "expected": expected, "budget": 20_000, **more}
    return Case(name=f"counts, {name}", mechanism=sampler, truth=truth, reason=reason, **options)


def _tree(name: str, episodes: int, scale: float, expected: Verdict, reason: str, **more: Any) -> Case:
    def truth() -> Bound:
        tree = LaplaceTreeParameters(episodes, scale)
        return stated(MOVED * pure_epsilon(tree, Adjacency.ADD_REMOVE))

    sampler = partial(private_counts.central, scale=scale)
    return _case(name, sampler, _streams(episodes), expected, truth, reason, **more)


def _local(name: str, scale: float, expected: Verdict, reason: str) -> Case:
    truth = partial(stated, 2 * HORIZON / scale)
    return _case(name, partial(private_counts.local, scale=scale), VISITS, expected, truth, reason)


CASES: tuple[Case, ...] = (
    _tree("tree", EPISODES, float(MOVED * LEVELS), PASS, "two counters, seven levels"),
    _tree("tree, noise for one node", EPISODES, 1.0, FAIL, "scale 1/epsilon on fourteen nodes"),
    _tree(
        "tree, depth by the natural logarithm",
        SHORT,
        float(MOVED * private_counts.short_levels(SHORT)),
        FAIL,
        "floor(ln 2) + 1 = 1 level counted, two there",
        budget=200_000,
    ),
    _case(
        "fresh noise every episode",
        partial(private_counts.fresh_noise, scale=float(MOVED * LEVELS)),
        STREAMS,
        FAIL,
        partial(stated, f"{EPISODES}/{LEVELS}"),
        "the same running count released 64 times",
        scores=(AVERAGE,),
    ),
    _local("local", 2.0 * HORIZON, PASS, "a trajectory moves 2H visits"),
    _local("local, scale 1/epsilon", 1.0, FAIL, "as if a trajectory were one visit"),
    _local("local, one-sided count", float(HORIZON), FAIL, "H visits counted, replacement moves 2H"),
    _case(
        "local, shared noise",
        partial(private_counts.shared_noise, scale=2.0 * HORIZON),
        VISITS,
        FAIL,
        None,
        "differences of cells are exact: no finite epsilon",
    ),
    _case(
        "one noise in both denominators",
        partial(private_counts.shared_denominators, scale=2.0),
        ENDED,
        FAIL,
        None,
        "how many visits ended is exact: no finite epsilon",
    ),
)  # fmt: skip
