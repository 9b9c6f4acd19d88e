"""PRIVATE-UCB: optimistic learning from private counts, by value iteration or by policy optimisation.

Source: Chowdhury and Zhou, "Differentially private regret minimization in episodic Markov decision processes"
(AAAI 2022), Algorithms 1 and 2. The learners minimise costs. The cost of reward r is 1 - r, so costs and rewards
have the same regret. A run is made in blocks of episodes, so the noise of all episodes is never in memory at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.environments.successors import law_of
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.randomness import Randomness, Source
from dpproof.mechanisms.rl.learning_run import LearningRun, RunsMany
from dpproof.mechanisms.rl.private_ucb import _kernels as kernels
from dpproof.mechanisms.rl.private_ucb.constants import THEORY, Constants
from dpproof.mechanisms.rl.private_ucb.privatizers import CountNoise, Privatizer

_EVERY = np.iinfo(np.int64).max


def rule_of(privatizer: Privatizer, constants: Constants, cost: float, transition: float) -> kernels.Rule:
    """Return the planning rule: the exploration bonus of every step, and how private counts are used.

    `cost` and `transition` are the widths of the confidence intervals of costs and of transitions. The function
    asks the privatizer for error bounds only if a constant above 0 multiplies them.
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
    """Return what a visit adds to the counter of costs (S, A): the cost 1 - r, or the reward r.

    ``constants.rewards`` says which of the two is counted.
    """
    return environment.rewards if constants.rewards else 1 - environment.rewards


def run_blocks(
    environment: TabularMDP,
    privatizer: Privatizer,
    rule: kernels.Rule,
    payoffs: NDArray[np.float64],
    rng: Source,
    *,
    first: float = 0.0,
    keep: bool,
) -> LearningRun:
    """Return the result of one run of the learner that plans by `rule`.

    A visit adds its entry of `payoffs` (S, A) to the counter of costs. All action values are `first` at the beginning.

    Raises:
        ValueError: the environment's S, A or H are not those of the privatizer.
    """
    p = privatizer.parameters
    for name in ("states", "actions", "horizon"):
        if getattr(environment, name) != getattr(p, name):
            given, wanted = getattr(environment, name), getattr(p, name)
            raise ValueError(f"{name} ({given}) must be {wanted}, as in the parameters of the privatizer")
    K, H, G = p.episodes, p.horizon, 1 if p.pooled else p.horizon
    best = environment.optimal_action_values().argmax(axis=2)
    law = law_of(environment)
    state = kernels.begin(law, best, G, rule, first)
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
        kernels.loop(law, payoffs, *state, rule, noise, draws, regrets[part], states[kept], actions[kept])
    if not keep:
        return LearningRun(regrets, K, simulated=randomness.simulated)
    rewards = environment.rewards[states[:, :-1], actions]
    return LearningRun(regrets, K, states, actions, rewards, simulated=randomness.simulated)


def _columns(found: CountNoise, reads: NDArray[np.bool_]) -> kernels.Noise:
    """Return the noise with one column for each counter, and no columns for a family without noise."""
    n = len(found.visits)
    families = (found.visits, found.costs, found.transitions)
    return kernels.Noise(found.first, reads, *(x.reshape(n, x.size // n) for x in families))


@dataclass(frozen=True)
class PrivateUCBVI(RunsMany):
    """A learner that runs PRIVATE-UCB-VI (Algorithm 2): optimistic value iteration with private counts.

    In step h, of H steps, the optimistic cost of an action is Q = min(H-h+1, max(0, c~ + P~ V - beta)). c~ and P~ are
    the cost and the transitions estimated from the private counts, and V is the value of the next state. beta is the
    sum of the exploration bonuses for costs and for transitions. The policy takes the action of least Q, and the first
    one in a tie.

    Attributes:
        privatizer: source of the noise. Its parameters fix the sizes, and whether all steps share one table of counts.
        constants: factors of the exploration bonus. The default is those of the theory.

    >>> from dpproof.mechanisms.environments.river_swim import river_swim
    >>> from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts
    >>> learner = PrivateUCBVI(ExactCounts(states=6, actions=2, horizon=20, episodes=50))
    >>> learner.run(river_swim(), np.random.default_rng(0)).regrets.shape
    (50,)
    """

    privatizer: Privatizer
    constants: Constants = field(default=THEORY)

    def run(self, environment: TabularMDP, rng: Source = None, *, keep: bool = False) -> LearningRun:
        """Return the result of learning in `environment` for all episodes.

        With `keep` the result holds the trajectories. If `rng` is a seed or a generator, the run is a simulation. The
        generator is split in two: one for the environment, one for the noise.

        Raises:
            ValueError: the environment's S, A or H are not those of the privatizer.
        """
        S, A, H = environment.states, environment.actions, environment.horizon
        wide = self.constants.cost_width(S, A, H * self.privatizer.parameters.episodes)
        rule = rule_of(self.privatizer, self.constants, wide, wide)
        costs = payoffs_of(environment, self.constants)
        return run_blocks(environment, self.privatizer, rule, costs, rng, keep=keep)


@dataclass(frozen=True)
class PrivateUCBPO(RunsMany):
    """A learner that runs PRIVATE-UCB-PO (Algorithm 1): optimistic policy optimisation with private counts.

    It evaluates its policy, then takes a step of mirror descent: the policy of episode k+1 is proportional to the
    policy of episode k times exp(-eta Q), where Q are the estimated action values and eta is the learning rate. The
    learner stores logarithms of probabilities, so no probability becomes 0 by rounding.

    Attributes:
        privatizer: as for `PrivateUCBVI`.
        constants: as for `PrivateUCBVI`. eta is ``constants.learning_rate`` times sqrt(2 log A/(H^2 K)), for A
            actions, H steps and K episodes.

    >>> from dpproof.mechanisms.environments.river_swim import river_swim
    >>> from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts
    >>> learner = PrivateUCBPO(ExactCounts(states=6, actions=2, horizon=20, episodes=50))
    >>> learner.run(river_swim(), np.random.default_rng(0)).regrets.shape
    (50,)
    """

    privatizer: Privatizer
    constants: Constants = field(default=THEORY)

    def learning_rate(self) -> float:
        """Return the learning rate eta of the run.

        Raises:
            ValueError: eta H K is infinite. The stored logarithms of probabilities are at least -eta H K.
        """
        p, scale = self.privatizer.parameters, self.constants.learning_rate
        eta = scale * math.sqrt(2 * math.log(p.actions) / (p.horizon**2 * p.episodes))
        if not math.isfinite(eta * p.horizon * p.episodes):
            raise ValueError(
                f"learning_rate ({scale!r}) is too large. It gives eta ({eta!r}), but eta * H * K must be finite."
            )
        return eta

    def run(self, environment: TabularMDP, rng: Source = None, *, keep: bool = False) -> LearningRun:
        """Return the result of a run, as `PrivateUCBVI.run` does.

        The method raises the errors of `PrivateUCBVI.run` and those of `learning_rate`.
        """
        rate = self.learning_rate()
        S, A, T = environment.states, environment.actions, self.privatizer.parameters.episodes
        T *= environment.horizon
        widths = self.constants.cost_width(S, A, T), self.constants.transition_width(S, A, T)
        rule = rule_of(self.privatizer, self.constants, *widths)._replace(way=kernels.MIRROR, rate=rate)
        costs = payoffs_of(environment, self.constants)
        return run_blocks(environment, self.privatizer, rule, costs, rng, keep=keep)
