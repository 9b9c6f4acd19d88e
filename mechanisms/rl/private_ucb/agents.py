"""PRIVATE-UCB: optimistic learning from private counts, by value iteration or by policy optimisation.

Source: Chowdhury and Zhou, "Differentially private regret minimization in episodic Markov decision processes"
(AAAI 2022), Algorithms 1 and 2. Costs are minimised: of an environment that pays r, they are 1 - r, and the
regret is the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.randomness import Source
from dpproof.mechanisms.rl.learning_run import LearningRun, RunsMany
from dpproof.mechanisms.rl.private_ucb import _kernels as kernels
from dpproof.mechanisms.rl.private_ucb._blocks import Outputs, State, payoffs_of, rule_of, run_blocks
from dpproof.mechanisms.rl.private_ucb.constants import THEORY, Constants
from dpproof.mechanisms.rl.private_ucb.privatizers import Privatizer
from dpproof.mechanisms.rl.rlsvi._inputs import law_of


@dataclass(frozen=True)
class PrivateUCBVI(RunsMany):
    """PRIVATE-UCB-VI, Algorithm 2: optimistic value iteration with private counts.

    Q = min(H-h+1, max(0, c~ + P~ V - beta)) with beta = beta_c + beta_pv; the policy takes the first action
    of least Q. The same noise and the same draws of the environment give the
    same run, whatever the privatizer.

    Attributes:
        privatizer: where the noise comes from; it also fixes the sizes, and whether counts are pooled over
            the steps.
        constants: those of the theory, or a named configuration.

    >>> from dpproof.mechanisms.environments.river_swim import river_swim
    >>> from dpproof.mechanisms.rl.private_ucb.exact_counts import ExactCounts
    >>> learner = PrivateUCBVI(ExactCounts(states=6, actions=2, horizon=20, episodes=50))
    >>> learner.run(river_swim(), np.random.default_rng(0)).regrets.shape
    (50,)

    """

    privatizer: Privatizer
    constants: Constants = field(default=THEORY)

    def run(self, environment: TabularMDP, rng: Source = None, *, keep: bool = False) -> LearningRun:
        """Learn in `environment` for K episodes; `keep` the trajectories if asked.

        A seed or a generator makes a simulation. The generator is split in two, the first for the
        environment, the second for the noise.

        Raises:
            ValueError: the environment's S, A or H are not those of the privatizer.

        """
        S, A, H = environment.states, environment.actions, environment.horizon
        wide = self.constants.cost_width(S, A, H * self.privatizer.parameters.episodes)
        rule = rule_of(self.privatizer, self.constants, wide, wide)
        law, costs = law_of(environment), payoffs_of(environment, self.constants)

        def block(state: State, noise: kernels.Noise, draws: np.random.Generator, out: Outputs) -> None:
            kernels.value_loop(law, costs, *state, rule, noise, draws, out[0], out[1], out[2])

        return run_blocks(environment, self.privatizer, rule, block, 0.0, rng, keep=keep)


@dataclass(frozen=True)
class PrivateUCBPO(RunsMany):
    """PRIVATE-UCB-PO, Algorithm 1: optimistic policy evaluation, then a step of mirror descent.

    pi^{k+1} is proportional to pi^k exp(-eta Q), kept as logarithms so that no action is ever lost to
    underflow; beta = beta_c + H beta_p.

    Attributes:
        privatizer: as for `PrivateUCBVI`.
        constants: as for `PrivateUCBVI`; eta is its learning rate times sqrt(2 log A/(H^2 K)).

    >>> from dpproof.mechanisms.environments.river_swim import river_swim
    >>> from dpproof.mechanisms.rl.private_ucb.exact_counts import ExactCounts
    >>> learner = PrivateUCBPO(ExactCounts(states=6, actions=2, horizon=20, episodes=50))
    >>> learner.run(river_swim(), np.random.default_rng(0)).regrets.shape
    (50,)

    """

    privatizer: Privatizer
    constants: Constants = field(default=THEORY)

    def learning_rate(self) -> float:
        """Eta of the run.

        Raises:
            ValueError: eta H K, which no logarithm of the policy falls below the negative of, is infinite.

        """
        p, scale = self.privatizer.parameters, self.constants.learning_rate
        eta = scale * math.sqrt(2 * math.log(p.actions) / (p.horizon**2 * p.episodes))
        if not math.isfinite(eta * p.horizon * p.episodes):
            raise ValueError(
                f"learning_rate ({scale!r}) gives eta ({eta!r}): eta H K must be a finite number"
            )
        return eta

    def run(self, environment: TabularMDP, rng: Source = None, *, keep: bool = False) -> LearningRun:
        """Learn as `PrivateUCBVI.run` does; the same errors, and those of `learning_rate`."""
        rate = self.learning_rate()
        S, A, T = environment.states, environment.actions, self.privatizer.parameters.episodes
        T *= environment.horizon
        widths = self.constants.cost_width(S, A, T), self.constants.transition_width(S, A, T)
        rule = rule_of(self.privatizer, self.constants, *widths)
        law, costs = law_of(environment), payoffs_of(environment, self.constants)

        def block(state: State, noise: kernels.Noise, draws: np.random.Generator, out: Outputs) -> None:
            kernels.policy_loop(law, costs, *state, rule, rate, noise, draws, out[0], out[1], out[2])

        return run_blocks(environment, self.privatizer, rule, block, 0.0, rng, keep=keep)
