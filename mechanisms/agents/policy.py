"""A policy that may be published: what to do in each step for each observation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpproof.mechanisms import _checks
from dpproof.mechanisms.agents.boxes import Observations
from dpproof.mechanisms.agents.learner import Chances, Floats
from dpproof.mechanisms.agents.spaces import FiniteSpace
from dpproof.mechanisms.randomness import Randomness, Source


@dataclass(frozen=True, eq=False)
class Policy:
    """A policy for H steps and A actions.

    Attributes:
        observations: the set of observations.
        actions: the set of actions.
        weights: the probabilities of actions: a float32 array (H, S, A) for S observations, or a network for
            observations that are vectors of real numbers.

    >>> two = FiniteSpace.of("observation", 2), FiniteSpace.of("action", ["left", "right"])
    >>> Policy(*two, np.array([[[1, 0], [0, 1]]], np.float32)).best(1)
    'right'
    """

    observations: Observations
    actions: FiniteSpace
    weights: Chances

    @property
    def horizon(self) -> int:
        """The number of steps H."""
        return len(self.weights)

    def act(self, observation: Any, step: int = 0, rng: Source = None) -> Any:
        """Return a random action with the policy's probabilities.

        Args:
            observation: one of the declared observations.
            step: the number of the step, counted from 0.
            rng: the source of randomness: a generator, a seed, or the operating system's entropy without it.

        Raises:
            ValueError: an observation that was not declared, or a step beyond the horizon.
        """
        return self.actions.value(drawn(self._row(observation, step), Randomness.of(rng).generator))

    def evaluate(self, env: Any, episodes: int = 100, seed: int | None = None) -> Floats:
        """Return the sum of rewards of each of some episodes in a Gymnasium environment, played by this policy.

        Use a simulator or users who agreed: no guarantee covers the sums of rewards.

        Args:
            env: an environment with the observations and actions of this policy.
            episodes: the number of episodes. Each is cut off after as many steps as the policy has.
            seed: a seed for the environment and for the policy's own draws.
        """
        found, rng = np.zeros(_checks.at_least("episodes", episodes, 1)), Randomness.of(seed).generator
        for number in range(episodes):
            seen, _ = env.reset(seed=seed if number == 0 else None)
            for step in range(self.horizon):
                seen, reward, ended, cut, _ = env.step(self.act(seen, step, rng))
                found[number] += float(reward)
                if ended or cut:
                    break
        return found

    def best(self, observation: Any, step: int = 0) -> Any:
        """Return the most likely action; the first of several."""
        return self.actions.value(int(self._row(observation, step).argmax()))

    def _row(self, observation: Any, step: int) -> Any:
        state = self.observations.number(observation)
        if _checks.at_least("step", step, 0) >= self.horizon:
            raise ValueError(f"step ({step}) must be below the horizon ({self.horizon})")
        return self.weights[step, state]


def drawn(row: Any, rng: np.random.Generator) -> int:
    """Return the number of an action, drawn with the probabilities in ``row``."""
    likely = np.flatnonzero(row)
    if len(likely) == 1:
        return int(likely[0])
    sums = np.cumsum(row[likely], dtype=np.float64)
    place = np.searchsorted(sums, rng.random() * sums[-1], side="right")
    return int(likely[min(int(place), len(likely) - 1)])
