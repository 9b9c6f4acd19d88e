"""How ``first-visit-vi`` is calibrated: pooled counters with a check, and counters of each step if the check fails."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.rl.private_ucb.batched_parameters import (
    BatchedCountsParameters,
    squared_counts,
    squared_payoffs,
)
from dpproof.accountant.rl.private_ucb.encoder import encoder
from dpproof.mechanisms.agents.counters import Counters, possible_transitions
from dpproof.mechanisms.agents.first_visits import FirstVisitLearner, Noise, Trust, TrustPlanner
from dpproof.mechanisms.agents.plans import (
    GRAINS,
    Plan,
    Wish,
    coarse_enough,
    counters_of,
    counting_of,
    plan_of,
)
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.counting.lattice import LatticeSums
from dpproof.mechanisms.release.words import WordSource

CAP, FIRST, GROWTH, COST_FACTOR = 1, 3.0, 1 / 16, 1.2
"""Visits of a cell that an episode counts; the first batch, in standard deviations of its noise; the growth of batches;
the noise of gains, in units of that of transitions, if gains are not limited. `benchmarks.first_visits` lists the
environments on which they were chosen."""
CHECK = 0.05
"""The share of the squared budget mu^2 that pays for transitions of each step."""
_BITS, _WHOLE, _LEAST_BATCHES = 16, 53, 16
_MOST = 60_000
"""The largest number of counters of steps. Beyond it, laws are pooled without a check."""


def first_visit_counts(task: Task, wish: Wish) -> tuple[BatchedCountsParameters, ...]:
    """Return the calibrated parameters: pooled with a check, then a table for each step.

    The second is missing if counters of steps would be too many.

    Raises:
        UnprovedAdjacencyError: for ``rewards-only``, under which transitions are public.
        ValueError: for delta 0, another privatizer than ``auto``, or a single episode.
    """
    if wish.adjacency is Adjacency.REWARDS_ONLY:
        raise UnprovedAdjacencyError("first-visit-vi", wish.adjacency, "Use dp-ucbvi there.")
    if exact(wish.delta) == 0:
        raise ValueError("delta (0) must be above 0 for first-visit-vi. Use dp-ucbvi for delta 0.")
    if task.episodes < 2:
        raise ValueError(
            f"episodes ({task.episodes}) must be at least 2, because no release counts the last user"
        )
    unit = _shape(task, wish)
    if task.horizon == 1 or task.horizon * possible_transitions(task) > _MOST:
        found: tuple[BatchedCountsParameters, ...] = (_least(unit, wish),)
    else:
        found = _checked(unit, wish), _least(replace(unit, pooled=False), wish)
    if wish.privatizer not in ("auto", found[0]):
        raise ValueError("privatizer must be 'auto' for first-visit-vi, which chooses its own counters")
    return found


def _shape(task: Task, wish: Wish) -> BatchedCountsParameters:
    """Return parameters without noise. The first batch is some standard deviations of the noise of a single release."""
    gains = task.episodes * task.horizon * GRAINS
    one = BatchedCountsParameters(
        task.states, task.actions.size, task.horizon, task.episodes, 1.0, COST_FACTOR, min(CAP, task.horizon),
        task.episodes - 1, most_payoff=task.most_gain, bits=min(_BITS, _WHOLE - 1 - gains.bit_length()), grains=GRAINS,
    )  # fmt: skip
    one = replace(one, cost_factor=max(0.001, round(COST_FACTOR * _paid(one) ** 0.25, 3)))
    deviation = _least(one, wish).sigma
    every = min(max(1, round(FIRST * deviation)), max(1, task.episodes // _LEAST_BATCHES))
    return replace(one, every=every, growth=GROWTH)


def _visited(parameters: BatchedCountsParameters) -> int:
    """Return the largest squared norm of the counted visits of an episode."""
    return squared_counts(parameters.states, parameters.actions, parameters.horizon, parameters.cap)


def _paid(parameters: BatchedCountsParameters) -> float:
    """Return the squared norm of an episode's gains as a share of that of its visits; 1 without a limit on gains.

    The least squared error of both kinds of counts has noise of gains that grows with its fourth root (ucb_batches.md).
    """
    return float(squared_payoffs(parameters) / _visited(parameters))


def _least(parameters: BatchedCountsParameters, wish: Wish) -> BatchedCountsParameters:
    """Return the parameters with the least noise, on a grid that is coarse enough for it."""
    account = accountant_for("batched-counts")
    found = coarse_enough(account.least_noise(parameters, wish.adjacency, wish.epsilon, wish.delta)[0])
    calibrated: BatchedCountsParameters = account.least_noise(
        found, wish.adjacency, wish.epsilon, wish.delta
    )[0]
    return calibrated


def _checked(unit: BatchedCountsParameters, wish: Wish) -> BatchedCountsParameters:
    """Return pooled parameters with noise on counts of steps, which have the share `CHECK` of the squared budget.

    A user adds H to the squared norm of the counts of steps, and B + P/f^2 to that of the others. B is the part of the
    visits, and P that of the gains.
    """
    alone = _least(unit, wish)
    own = _visited(unit) * (1 + _paid(unit) / unit.cost_factor**2)
    step = alone.sigma * (unit.horizon / own / CHECK) ** 0.5
    return _least(replace(alone, step_sigma=step), wish)


def noise_of(plan: Plan) -> Noise:
    """Return the standard deviation of every released running sum."""
    p = plan.parameters
    if not isinstance(p, BatchedCountsParameters):
        raise TypeError("first visits need the mechanism batched-counts")
    column = (*encoder(p), *[0] * (p.batches - len(encoder(p))))
    spreads = LatticeSums(column, 0, 1, lambda count: np.zeros(count, np.int64)).spreads * plan.lattice
    scales = float(plan.gain_scale), float(plan.scale), float(plan.step_scale or 0)
    gains, transitions, steps = (scale * spreads for scale in scales)
    return Noise(gains, transitions, steps)


def first_visit_learner(
    task: Task, wish: Wish, counts: tuple[BatchedCountsParameters, ...], words: WordSource, trust: Trust
) -> FirstVisitLearner:
    """Return the learner of calibrated parameters."""

    def begun(parameters: BatchedCountsParameters) -> tuple[Counters, TrustPlanner]:
        plan = plan_of(task, parameters)
        counters = counters_of(task, plan, counting_of(task, plan, wish.constants), words)
        return counters, TrustPlanner(task, trust, noise_of(plan))

    again = partial(begun, counts[1]) if len(counts) > 1 else None
    return FirstVisitLearner(*begun(counts[0]), again)
