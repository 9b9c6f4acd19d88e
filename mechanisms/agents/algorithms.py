"""The algorithms of agents by name: how each is calibrated and built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.rl.private_ucb.batched_counts import BatchedCountsParameters, encoder
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.accountant.rl.thompson.thompson import ThompsonParameters
from dpproof.mechanisms.agents.counted import (
    CountedLearner,
    Counters,
    Counting,
    Planner,
    Sums,
    Way,
    possible_transitions,
)
from dpproof.mechanisms.agents.learner import Ints, Learner
from dpproof.mechanisms.agents.others import RLSVILearner, ThompsonLearner
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.counting.lattice import LatticeSums
from dpproof.mechanisms.randomness import Randomness
from dpproof.mechanisms.release.words import WordSource, words_of
from dpproof.mechanisms.rl.private_ucb.constants import Constants


@dataclass(frozen=True)
class Built:
    """A calibrated algorithm: the mechanism that has the guarantee, its parameters, and how the learner is made."""

    mechanism: str
    parameters: Parameters
    learner: Callable[[Randomness], Learner]


@dataclass(frozen=True)
class Wish:
    """What the user of an agent asks for.

    Attributes:
        adjacency: the neighbouring relation.
        epsilon, delta: the guarantee that the whole run must have.
        constants: the constants of optimistic learning.
        counts: parameters of the counters; the cheapest ones if it is None.
    """

    adjacency: Adjacency
    epsilon: Any
    delta: Any
    constants: Constants
    counts: BatchedCountsParameters | None = None


def _counted(way: Way) -> Callable[[Task, Wish], Built]:
    """Return the builder of a learner that plans from private counts."""

    def build(task: Task, wish: Wish) -> Built:
        parameters = wish.counts or cheapest(task, wish)
        counting = counting_of(task, parameters, wish.constants)
        planner = Planner(task, wish.constants, way, counting, _BERNSTEIN)

        def learner(randomness: Randomness) -> Learner:
            words = words_of(randomness)
            gains = sums_of(parameters, counting, task, "costs", words)
            public = parameters.public_transitions
            transitions = None if public else sums_of(parameters, counting, task, "transitions", words)
            return CountedLearner(Counters(task, counting, gains, transitions), planner)

        return Built("batched-counts", parameters, learner)

    return build


_BERNSTEIN = 1.4142135623730951


def sums_of(
    parameters: BatchedCountsParameters, counting: Counting, task: Task, family: str, words: WordSource
) -> Sums:
    """Return the private running sums of one family of counters, ``costs`` or ``transitions``."""
    tables = 1 if parameters.pooled else task.horizon
    cells = task.states * task.actions.size
    counters = tables * (cells if family == "costs" else possible_transitions(task))
    grains = counting.grains if family == "costs" else 1
    scale = Fraction(parameters.sigma) * (Fraction(parameters.cost_factor) if family == "costs" else 1)
    units = scale * grains * 2 ** (parameters.bits or 0)
    most = task.episodes * task.horizon * grains
    return LatticeSums(encoder(parameters), counters, most, rounded_normal(units, words))


def _rlsvi(task: Task, wish: Wish) -> Built:
    sizes = RLSVIParameters(task.states + 1, task.actions.size, task.horizon, task.episodes)
    parameters, _ = accountant_for("rlsvi").least_noise(sizes, wish.adjacency, wish.epsilon, wish.delta)
    return Built("rlsvi", parameters, lambda randomness: RLSVILearner(task, parameters, randomness))


def _thompson(task: Task, wish: Wish) -> Built:
    if task.horizon != 1 or task.states != 1:
        raise ValueError(
            f"horizon ({task.horizon}) and the number of observations ({task.states}) must be 1 for thompson, which "
            "learns bandits. Use rlsvi or private-ucb-vi for longer episodes."
        )
    sizes = ThompsonParameters(arms=task.actions.size, rounds=task.episodes)
    parameters, _ = accountant_for("thompson").least_noise(sizes, wish.adjacency, wish.epsilon, wish.delta)
    return Built("thompson", parameters, lambda randomness: ThompsonLearner(task, parameters, randomness))


ALGORITHMS: Mapping[str, Callable[[Task, Wish], Built]] = {
    "private-ucb-vi": _counted(Way.GREEDY),
    "private-ucb-po": _counted(Way.MIRROR),
    "dp-ucbvi": _counted(Way.VARIANCE),
    "rlsvi": _rlsvi,
    "thompson": _thompson,
}
"""The builders of agents by the algorithm's name."""
