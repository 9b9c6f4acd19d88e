"""The algorithms of agents by name: how each is calibrated and built."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Parameters
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.accountant.rl.thompson.thompson import ThompsonParameters
from dpproof.mechanisms.agents.counted import (
    CountedLearner,
    LocalLearner,
    Planner,
    Way,
)
from dpproof.mechanisms.agents.first_visit_plans import first_visit_counts, first_visit_learner
from dpproof.mechanisms.agents.first_visits import Trust
from dpproof.mechanisms.agents.gradient_learner import GradientLearner
from dpproof.mechanisms.agents.gradient_sums import MECHANISM, GradientSums, least_noise, noise_of
from dpproof.mechanisms.agents.learner import Learner
from dpproof.mechanisms.agents.network import size_of
from dpproof.mechanisms.agents.others import EliminationLearner, RLSVILearner, ThompsonLearner
from dpproof.mechanisms.agents.plans import (
    Wish,
    central_plan,
    counters_of,
    counting_of,
    local_plan,
    plan_of,
    signal_of,
)
from dpproof.mechanisms.agents.presets import Signal
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.randomness import Randomness
from dpproof.mechanisms.release.words import words_of
from dpproof.mechanisms.rl.sdp_pe.public import PublicModel
from dpproof.mechanisms.rl.sdp_pe.shuffle_privatizer import ShufflePrivatizer
from dpproof.mechanisms.rl.sdp_pe.stream import EliminationStream


@dataclass(frozen=True)
class Built:
    """A calibrated algorithm: the mechanism that has the guarantee, its parameters, and how the learner is made."""

    mechanism: str
    releases: tuple[Parameters, ...]
    learner: Callable[[Randomness], Learner]
    signal: Signal | None = None


_BERNSTEIN = math.sqrt(2)
_LARGEST = 20_000_000
"""The largest table of SDP-PE. It holds several of them."""


def _counted(way: Way) -> Callable[[Task, Wish], Built]:
    """Return the builder of a learner that plans from counts of a trusted server, or from users' own noisy counts."""

    def build(task: Task, wish: Wish) -> Built:
        plan = local_plan(task, wish) if wish.privatizer == "local" else central_plan(task, wish)
        counting = counting_of(task, plan, wish.constants)

        def learner(randomness: Randomness) -> Learner:
            planner = Planner(task, wish.constants, way, counting, _BERNSTEIN)
            if plan.local:  # a user's noise is not in the server's journal
                own = words_of(Randomness.of(randomness.generator if randomness.simulated else None))
                noise = [plan.noise(scale, units, own) for scale, units in plan.families]
                return LocalLearner(counters_of(task, plan, counting, own), planner, *noise)
            return CountedLearner(counters_of(task, plan, counting, words_of(randomness)), planner)

        return Built(plan.mechanism, (plan.parameters,), learner, signal_of(task, plan))

    return build


def _first_visits(task: Task, wish: Wish) -> Built:
    counts = first_visit_counts(task, wish)
    return Built(
        "batched-counts",
        counts,
        lambda randomness: first_visit_learner(task, wish, counts, words_of(randomness), Trust()),
        signal_of(task, plan_of(task, counts[0])),
    )


def _rlsvi(task: Task, wish: Wish) -> Built:
    if wish.adjacency is not Adjacency.REWARDS_ONLY:
        raise UnprovedAdjacencyError("rlsvi", wish.adjacency, "An agent has one under rewards-only.")
    sizes = RLSVIParameters(task.states + 1, task.actions.size, task.horizon, task.episodes)
    parameters, _ = accountant_for("rlsvi").least_noise(sizes, wish.adjacency, wish.epsilon, wish.delta)
    return Built("rlsvi", (parameters,), lambda randomness: RLSVILearner(task, parameters, randomness))


def elimination_stream(task: Task, wish: Wish, randomness: Randomness | None) -> EliminationStream:
    """Return a run of SDP-PE for a task. The end of an episode is a state that is never left.

    Raises:
        ValueError: the relation is not ``replace``.
    """
    if wish.adjacency is not Adjacency.REPLACE:
        raise UnprovedAdjacencyError("sdp-pe", wish.adjacency, "Use replace.")
    privatizer = ShufflePrivatizer.calibrated(wish.epsilon, wish.delta, own_visits=False)
    return EliminationStream(public_model(task), privatizer, task.episodes, seed=randomness)


def public_model(task: Task) -> PublicModel:
    """Return the possible transitions of a task. An episode may begin in every state, unless the task says where.

    Raises:
        ValueError: the tables for all steps would be too large.
    """
    S, A = task.states, task.actions.size
    entries = task.horizon * A * (S + 2) ** 2
    if entries > _LARGEST:
        raise ValueError(
            f"sdp-pe would keep {entries} numbers: one for every step, state, action and next state. It can keep "
            f"{_LARGEST}. Use private-ucb-vi or dp-ucbvi, which need less."
        )
    possible = np.zeros((S + 1, A, S + 1), np.bool_)
    cells, branches = np.nonzero(task.rows() >= 0)
    possible[cells // A, cells % A, task.rows()[cells, branches]] = True
    possible[S, :, S] = True
    return PublicModel(possible, task.horizon, task.starts or tuple(range(S)))


def _thompson(task: Task, wish: Wish) -> Built:
    if task.horizon != 1 or task.states != 1:
        raise ValueError(
            f"horizon ({task.horizon}) and the number of observations ({task.states}) must be 1 for thompson, which "
            "learns bandits. Use rlsvi or private-ucb-vi for longer episodes."
        )
    sizes = ThompsonParameters(arms=task.actions.size, rounds=task.episodes)
    parameters, _ = accountant_for("thompson").least_noise(sizes, wish.adjacency, wish.epsilon, wish.delta)
    return Built("thompson", (parameters,), lambda randomness: ThompsonLearner(task, parameters, randomness))


def _sdp_pe(task: Task, wish: Wish) -> Built:
    stream = elimination_stream(task, wish, None)
    return Built(
        "shuffled-batch",
        stream.planned(),
        lambda randomness: EliminationLearner(task, elimination_stream(task, wish, randomness)),
    )


def _policy_gradient(task: Task, wish: Wish) -> Built:
    constants = wish.constants
    if task.episodes < 2:
        raise ValueError(
            f"episodes ({task.episodes}) must be at least 2, because no release counts the last user"
        )
    size = size_of(constants.widths(task.observations.size, task.actions.size))
    parameters = least_noise(wish.adjacency, wish.epsilon, wish.delta)

    def learner(randomness: Randomness) -> Learner:
        words = words_of(randomness)
        return GradientLearner(task, constants, GradientSums(size, noise_of(parameters, words)), words)

    noise = parameters.sigma * math.sqrt(size * (-(-task.episodes // constants.every(task.episodes))))
    signal = Signal(
        task.episodes, task.episodes, noise, 0.0, "all sums of gradients together",
        "the largest norm that the gradients of all users can have together",
        "a smaller network, or fewer batches",
    )  # fmt: skip
    return Built(MECHANISM, (parameters,), learner, signal)


ALGORITHMS: Mapping[str, Callable[[Task, Wish], Built]] = {
    "private-ucb-vi": _counted(Way.GREEDY),
    "private-ucb-po": _counted(Way.MIRROR),
    "dp-ucbvi": _counted(Way.VARIANCE),
    "first-visit-vi": _first_visits,
    "rlsvi": _rlsvi,
    "sdp-pe": _sdp_pe,
    "thompson": _thompson,
    "policy-gradient": _policy_gradient,
}
"""The builders of agents by the algorithm's name."""
_OF_COUNTS = ("batched-counts", "local-counts")
MECHANISMS: Mapping[str, tuple[str, ...]] = {
    "private-ucb-vi": _OF_COUNTS,
    "private-ucb-po": _OF_COUNTS,
    "dp-ucbvi": _OF_COUNTS,
    "first-visit-vi": ("batched-counts",),
    "rlsvi": ("rlsvi",),
    "sdp-pe": ("shuffled-batch",),
    "thompson": ("thompson",),
    "policy-gradient": (MECHANISM,),
}
"""The mechanisms that each algorithm may release by."""
