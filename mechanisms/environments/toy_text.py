"""Environments of Gymnasium's family toy text, as finite decision processes whose model is known.

They need the extra `rl`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Env

from dpproof.mechanisms.environments.tabular import TabularMDP

_ONE_START = 1 - 1e-12
"""A start state with at least this probability is the only one."""


def toy_text(env: Env[Any, Any], horizon: int, reward_range: tuple[float, float]) -> TabularMDP:
    """Return the decision process of an environment such as FrozenLake, CliffWalking or Taxi.

    Rewards are moved to [0, 1]: r becomes (r - low) / (high - low). An episode that ends goes to one more state, which
    is never left and pays what a reward of 0 becomes. If there are several first states, episodes begin in another
    added state, whose one step leads to a first state and pays what a reward of 0 becomes. The horizon is then
    larger by 1.

    Args:
        env: an environment of Gymnasium with the attribute ``P``, and with ``initial_state_distrib`` unless each
            episode begins in the state 0.
        horizon: the number of steps after which an episode is cut.
        reward_range: the smallest and the largest reward, with 0 between them.

    Raises:
        ValueError: a reward is outside the range, or 0 is.

    >>> import gymnasium
    >>> lake = toy_text(gymnasium.make("FrozenLake-v1"), 20, (0, 1))
    >>> lake.states, lake.actions, lake.optimal_values()[0, lake.start].round(3)
    (17, 4, np.float64(0.199...))
    """
    low, high = reward_range
    unwrapped: Any = env.unwrapped
    model = unwrapped.P
    S, A = len(model), len(model[0])
    starts = np.asarray(getattr(unwrapped, "initial_state_distrib", np.eye(S)[0]), np.float64)
    several = starts.max() < _ONE_START
    count = S + 1 + several
    transitions, rewards = np.zeros((count, A, count)), np.full((count, A), _scaled(0.0, low, high))
    for s, a in np.ndindex(S, A):
        rewards[s, a] = 0.0
        for chance, after, reward, ends in model[s][a]:
            transitions[s, a, S if ends else after] += chance
            rewards[s, a] += chance * _scaled(float(reward), low, high)
    transitions[S, :, S] = 1.0
    if several:
        transitions[S + 1, :, :S] = starts
    rewards = np.clip(rewards, 0.0, 1.0)  # sums of probabilities are rounded
    transitions /= transitions.sum(axis=2, keepdims=True)
    start = S + 1 if several else int(starts.argmax())
    return TabularMDP(transitions, rewards, horizon + several, start)


def _scaled(reward: float, low: float, high: float) -> float:
    if not low <= reward <= high:
        raise ValueError(f"reward_range ({low}, {high}) must contain the reward {reward}")
    return (reward - low) / (high - low)
