"""Optimistic learning in bandits with rewards 0 or 1, for comparison with policy elimination.

`PrivateUCBVI` counts the mean rewards of an environment, so in a bandit there is nothing to learn. Here
rewards are random. Every episode pulls the arm a with the largest index

    R~(a)/n + width sqrt(log(2AK/delta)/n), n = max(1, N~(a)),

for A arms and K episodes. R~ and N~ are the private sums of rewards and numbers of pulls so far, and R~ is clipped
to [0, n]. Section VI of the paper names the comparison, but not its constants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.randomness import Randomness, Source
from dpproof.mechanisms.rl.learning_run import LearningRun
from dpproof.mechanisms.rl.private_ucb.privatizers import Privatizer
from dpproof.mechanisms.rl.sdp_pe import _kernels as kernels


@dataclass(frozen=True)
class PrivateBanditUCB:
    """A bandit learner that pulls the arm with the largest optimistic index, computed from private counts.

    The docstring of the module gives the formula of the index.

    Attributes:
        privatizer: source of the noise, for one state and one step. Its counters of costs add up rewards here.
        width: factor of the square root in the index.
        delta: failure probability, in (0, 1).

    >>> from dpproof.mechanisms.environments.bandit import bandit
    >>> from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts
    >>> learner = PrivateBanditUCB(ExactCounts(states=1, actions=2, horizon=1, episodes=50))
    >>> learner.run(bandit([0.1, 0.9]), np.random.default_rng(0)).regrets.shape
    (50,)
    """

    privatizer: Privatizer
    width: float = 0.25
    delta: float = 0.05

    def run(self, environment: TabularMDP, rng: Source = None, *, keep: bool = False) -> LearningRun:
        """Return the result of learning in a bandit. The generator is split: one for rewards, one for noise.

        Raises:
            ValueError: the environment is not a bandit with the privatizer's number of arms, or `keep` is true.
        """
        p = self.privatizer.parameters
        if (environment.states, environment.horizon, environment.actions) != (1, 1, p.actions):
            raise ValueError(
                f"environment ({environment.states} states) must be a bandit of {p.actions} arms"
            )
        if keep:
            raise ValueError("keep (True) must be False, because only rewards are drawn, not trajectories")
        randomness = Randomness.of(rng)
        draws, noises = randomness.generator.spawn(2)
        A, K = p.actions, p.episodes
        root = self.width * math.sqrt(math.log(2 * A * K / self.delta))
        counts, regrets = np.zeros((2, A)), np.zeros(K)
        for first, visits, costs, _ in self.privatizer.noise(noises):
            n = len(visits)
            noise = np.zeros((2, n, A), np.float32)
            if visits.size:
                noise[0], noise[1] = visits.reshape(n, A), costs.reshape(n, A)
            uniforms = draws.random(n)
            kernels.pull(environment.rewards[0], noise, root, counts, uniforms, regrets[first : first + n])
        return LearningRun(regrets, K, simulated=randomness.simulated)
