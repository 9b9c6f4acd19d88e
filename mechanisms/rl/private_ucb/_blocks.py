"""A run of an optimistic learner in blocks of episodes: the noise is never held for all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.randomness import Randomness, Source
from dpproof.mechanisms.rl.learning_run import LearningRun
from dpproof.mechanisms.rl.private_ucb import _kernels as kernels
from dpproof.mechanisms.rl.private_ucb.constants import Constants
from dpproof.mechanisms.rl.private_ucb.privatizers import CountNoise, Privatizer
from dpproof.mechanisms.rl.rlsvi._inputs import law_of

State: TypeAlias = tuple[kernels.Model, kernels.Learner]
Outputs: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]
Block: TypeAlias = Callable[[State, kernels.Noise, np.random.Generator, Outputs], None]

_EVERY = np.iinfo(np.int64).max


def rule_of(privatizer: Privatizer, constants: Constants, cost: float, transition: float) -> kernels.Rule:
    """Return the bonus of every step, its widths `cost` + H `transition`, and how counts are read.

    The privatizer's levels are asked for only where a constant multiplies them.
    """
    p = privatizer.parameters
    steps = (
        np.arange(p.horizon - 1, -1, -1.0) if constants.remaining else np.full(p.horizon, float(p.horizon))
    )
    first = second = costs = 0.0
    if constants.error > 0 or constants.shift > 0 or constants.threshold > 0:
        levels = privatizer.levels(constants.delta)
        first, second, costs = levels.E1, levels.E2, levels.costs
    errors = constants.error * (3 * first + steps * (p.states * second + 2 * first))
    return kernels.Rule(
        constants.shift * first,
        cost + steps * transition,
        errors,
        int(constants.projection),
        0.0,
        constants.threshold * second,
        constants.threshold * costs,
        constants.rewards,
        getattr(p, "cap", _EVERY),
        False,
    )


def payoffs_of(environment: TabularMDP, constants: Constants) -> NDArray[np.float64]:
    """Return what the second family counts, (S, A): costs 1 - r, or the rewards r."""
    return environment.rewards if constants.rewards else 1 - environment.rewards


def run_blocks(
    environment: TabularMDP,
    privatizer: Privatizer,
    rule: kernels.Rule,
    block: Block,
    first: float,
    rng: Source,
    *,
    keep: bool,
) -> LearningRun:
    """Return the run whose blocks `block` computes, Q starting as `first`.

    Raises:
        ValueError: the environment's S, A or H are not those of the privatizer.

    """
    p = privatizer.parameters
    for name in ("states", "actions", "horizon"):
        if getattr(environment, name) != getattr(p, name):
            given, wanted = getattr(environment, name), getattr(p, name)
            raise ValueError(f"{name} ({given}) must be as in the privatizer's parameters, {wanted}")
    K, H, G = p.episodes, p.horizon, 1 if p.pooled else p.horizon
    best = environment.optimal_action_values().argmax(axis=2)
    state = kernels.begin(law_of(environment), best, G, rule, first)
    randomness = Randomness.of(rng)
    draws, noises = randomness.generator.spawn(2)
    regrets = np.empty(K)
    rows = K if keep else 1
    states, actions = np.empty((rows, H + 1), np.int64), np.empty((rows, H), np.int64)
    reads = getattr(p, "reads", np.ones(K, np.bool_))
    for found in privatizer.noise(noises):
        noise = _columns(found, reads)
        part = slice(found.first, found.first + len(found.visits))
        kept = part if keep else slice(0, 1)
        block(state, noise, draws, (regrets[part], states[kept], actions[kept]))
    if not keep:
        return LearningRun(regrets, K, simulated=randomness.simulated)
    rewards = environment.rewards[states[:, :-1], actions]
    return LearningRun(regrets, K, states, actions, rewards, simulated=randomness.simulated)


def _columns(found: CountNoise, reads: NDArray[np.bool_]) -> kernels.Noise:
    """The noise with one column a counter; no columns where a family has none."""
    n = len(found.visits)
    families = (found.visits, found.costs, found.transitions)
    return kernels.Noise(found.first, reads, *(x.reshape(n, x.size // n) for x in families))
