"""Crude and fine exploration, Algorithms 2 and 3: what is played, and the models its private counts give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.rl.sdp_pe import _kernels as kernels
from dpproof.mechanisms.rl.sdp_pe.batches import Stage
from dpproof.mechanisms.rl.sdp_pe.constants import EliminationConstants, Problem
from dpproof.mechanisms.rl.sdp_pe.coverage import Coverage, cover, start_of
from dpproof.mechanisms.rl.sdp_pe.policies import PolicySpace
from dpproof.mechanisms.rl.sdp_pe.privatizer import BatchCounts, ReleasedCounts

__all__ = ["Crude", "Fine", "Mixture", "Play", "crude_exploration", "fine_exploration", "uniform"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Mixture(NamedTuple):
    """A policy drawn anew by every user: numbers (m,) in increasing order, and their chances (m,)."""

    numbers: Ints
    weights: Floats


class Play(NamedTuple):
    """How the exploration reaches users: to let them play, and to see their counts privately.

    `run` lets users follow a mixture and returns the true counts of their batch; `release` makes such counts
    private, and says at which level E.
    """

    run: Callable[[Mixture, int], BatchCounts]
    release: Callable[[BatchCounts, int], tuple[ReleasedCounts, float]]


@dataclass(frozen=True, eq=False)
class Crude:
    """What crude exploration leaves: the absorbing model, the infrequent tuples and the auxiliary mixture.

    Attributes:
        transitions: (H, n, A, n) over reachable states: `PolicySpace.reduced`.
        infrequent: bool (H, X, A, X): the set W.
        auxiliary: the uniform mixture of all policies that were sought out.
        heads: of the active policies: `kernels.heads`.
        level: the largest E of its releases.
    """

    transitions: Floats
    infrequent: Bools
    auxiliary: Mixture
    heads: list[Ints]
    level: float


@dataclass(frozen=True, eq=False)
class Fine:
    """What fine exploration leaves: the refined model (reduced), and how well the mixture covers."""

    transitions: Floats
    rewards: Floats
    coverage: Coverage
    level: float


def uniform(numbers: Ints) -> Mixture:
    """The uniform mixture of policies, each as often as it is named."""
    named, times = np.unique(numbers, return_counts=True)
    return Mixture(named, times / times.sum())


def crude_exploration(
    space: PolicySpace,
    problem: Problem,
    constants: EliminationConstants,
    active: Bools,
    scores: Floats,
    stage: Stage,
    play: Play,
) -> Crude:
    """Algorithm 2: step by step, policies that visit each pair most in the model of the steps before.

    A layer without episodes leaves all its tuples infrequent.
    """
    H, X, A = space.horizon, space.states, space.actions
    heads = kernels.heads(space.layout, active, scores)
    infrequent, model = np.ones((H, X, A, X), np.bool_), np.zeros((H, X, A, X))
    passed, sought, level = start_of(space), list[Ints](), 0.0
    for h, users in enumerate(stage.layers):
        policies, _ = kernels.explore(space.layout, h, passed, heads[h], scores)
        sought.append(policies[policies >= 0])
        if users > 0:
            counts = play.run(uniform(sought[-1]), users)
            layer = BatchCounts(counts.visits[h : h + 1], counts.transitions[h : h + 1])
            released, E = play.release(layer, users)
            level = max(level, E)
            infrequent[h] = without_margin(released, E, constants)[0] <= constants.infrequent(problem, E)
            model[h] = quotients(released, E, constants, infrequent[h : h + 1])[0]
        if h + 1 < H:
            passed = kernels.advance(space.layout, h, passed, space.reduced(model))
    return Crude(space.reduced(model), infrequent, uniform(np.concatenate(sought)), heads, level)


def fine_exploration(
    space: PolicySpace,
    constants: EliminationConstants,
    active: Bools,
    scores: Floats,
    crude: Crude,
    stage: Stage,
    play: Play,
) -> Fine:
    """Algorithm 3, with a mixture for equation (4): refined transitions and rewards, in one release."""
    coverage = cover(space, crude.transitions, active, heads=crude.heads, scores=scores)
    explored = play.run(Mixture(coverage.numbers, coverage.weights), stage.fine)
    auxiliary = play.run(crude.auxiliary, stage.auxiliary)
    users = stage.fine + stage.auxiliary
    released, E = play.release(_together(explored, auxiliary), users)
    transitions = quotients(released, E, constants, crude.infrequent)
    return Fine(space.reduced(transitions), space.reduced(rewards(released, E, constants)), coverage, E)


def _together(one: BatchCounts, other: BatchCounts) -> BatchCounts:
    assert one.rewards is not None
    assert other.rewards is not None
    return BatchCounts(
        one.visits + other.visits, one.transitions + other.transitions, one.rewards + other.rewards
    )


def quotients(
    released: ReleasedCounts, level: float, constants: EliminationConstants, infrequent: Bools
) -> Floats:
    """P~: released transitions over visits, 0 for infrequent tuples; what is missing is absorbed."""
    visits = _visits(released, level, constants)
    counts = without_margin(released, level, constants)
    counts = np.where(infrequent, 0.0, counts)
    return np.where(visits > 0, counts / np.where(visits > 0, visits, 1.0), 0.0)


def rewards(released: ReleasedCounts, level: float, constants: EliminationConstants) -> Floats:
    """r~: released rewards over visits."""
    assert released.rewards is not None
    visits = _visits(released, level, constants)[..., 0]
    found = np.where(visits > 0, released.rewards / np.where(visits > 0, visits, 1.0), 0.0)
    return np.clip(found, 0.0, 1.0) if constants.clip else found


def without_margin(released: ReleasedCounts, level: float, constants: EliminationConstants) -> Floats:
    """Released transitions less what the constants take back of the E/(2X) added to each."""
    states = released.transitions.shape[-1]
    found: Floats = np.maximum(released.transitions - (1 - constants.margin) * level / (2 * states), 0.0)
    return found


def _visits(released: ReleasedCounts, level: float, constants: EliminationConstants) -> Floats:
    """Visits likewise, with an axis more."""
    found: Floats = np.maximum(released.visits - (1 - constants.margin) * level / 2, 0.0)[..., None]
    return found
