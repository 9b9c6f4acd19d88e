"""Finite Markov decision processes: their transitions, rewards and exact values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.mechanisms import _checks


@dataclass(frozen=True, eq=False)
class TabularMDP:
    """An episodic Markov decision process with finitely many states and actions and a fixed start.

    Taking action a in state s pays `rewards[s, a]`, which is not random, and leads to state t with
    probability `transitions[s, a, t]`. Both are the same at every step. The arrays are copied and made
    read-only.

    Attributes:
        transitions: float64 array (S, A, S); each row over the last axis is a distribution.
        rewards: float64 array (S, A) of values in [0, 1].
        horizon: number H of steps in an episode, at least 1.
        start: the state in which every episode starts, one of 0, ..., S-1.

    Raises:
        ValueError: a shape does not fit, an entry is NaN or outside its range, a row does not sum to 1.

    >>> coin = TabularMDP([[[0.5, 0.5]], [[0.0, 1.0]]], [[1.0], [0.0]], horizon=3)
    >>> coin.policy_values([[0, 0]] * 3)[:, 0]
    array([1.75, 1.5 , 1.  , 0.  ])
    """

    transitions: NDArray[np.float64]
    rewards: NDArray[np.float64]
    horizon: int
    start: int = 0

    def __post_init__(self) -> None:
        """Check and freeze the fields."""
        _set = object.__setattr__
        _set(self, "transitions", _checks.distributions("transitions", self.transitions))
        _set(self, "rewards", _checks.unit_interval("rewards", self.rewards))
        S = _states(self.transitions, self.rewards)
        _set(self, "horizon", _checks.at_least("horizon", self.horizon, 1))
        _set(self, "start", _checks.index("start", self.start, S))

    @property
    def states(self) -> int:
        """Number S of states."""
        return int(self.rewards.shape[0])

    @property
    def actions(self) -> int:
        """Number A of actions, available in every state."""
        return int(self.rewards.shape[1])

    def optimal_action_values(self) -> NDArray[np.float64]:
        """Return the optimal action values, an array (H, S, A).

        Entry (h, s, a) is the best expected sum of rewards from step h on, if step h takes action a in state s.
        """
        table = np.empty((self.horizon, self.states, self.actions))
        following = np.zeros(self.states)
        for h in reversed(range(self.horizon)):
            table[h] = self.rewards + self.transitions @ following
            following = table[h].max(axis=1)
        return table

    def optimal_values(self) -> NDArray[np.float64]:
        """Return the optimal values, an array (H+1, S). Row h is for step h, and the last row is 0."""
        return np.vstack([self.optimal_action_values().max(axis=2), np.zeros(self.states)])

    def policy_values(self, policy: ArrayLike) -> NDArray[np.float64]:
        """Return the values of a policy, an array (H+1, S). Row h is for step h, and the last row is 0.

        `policy` is an int array (H, S) of actions, or a float array (H, S, A) of action probabilities.
        """
        chances = self._chances(policy)
        values = np.zeros((self.horizon + 1, self.states))
        for h in reversed(range(self.horizon)):
            after = self.rewards + self.transitions @ values[h + 1]
            values[h] = (chances[h] * after).sum(axis=1)
        return values

    def discounted_values(self, chances: ArrayLike, discount: float) -> NDArray[np.float64]:
        """Return the values (S,) of a stationary policy: the expected discounted sums of an endless episode.

        The sum is that of discount^t r_t over all steps t with rewards r_t. `chances` is a float array (S, A) of
        action probabilities. The horizon is not used. Raises ValueError unless 0 <= discount < 1.
        """
        discount = _checks.discount(discount)
        weights = _checks.distributions("chances", chances)
        if weights.shape != self.rewards.shape:
            raise ValueError(f"the shape of chances {weights.shape} must be {self.rewards.shape}")
        law = np.einsum("sa,sat->st", weights, self.transitions)
        return np.linalg.solve(np.eye(self.states) - discount * law, (weights * self.rewards).sum(axis=1))

    def _chances(self, policy: ArrayLike) -> NDArray[np.float64]:
        given = np.asarray(policy)
        shape = (self.horizon, self.states, self.actions)
        if given.ndim == 2:
            given = np.eye(self.actions)[_checks.indices("policy", given, self.actions)]
        if given.shape != shape:
            raise ValueError(f"the shape of policy {np.shape(policy)} must be {shape[:2]} or {shape}")
        return _checks.distributions("policy", given)


def _states(transitions: NDArray[np.float64], rewards: NDArray[np.float64]) -> int:
    if rewards.ndim != 2 or 0 in rewards.shape:
        raise ValueError(
            f"the shape of rewards {rewards.shape} must be (states, actions), with at least one of each"
        )
    S, A = rewards.shape
    if transitions.shape != (S, A, S):
        raise ValueError(f"the shape of transitions {transitions.shape} must be {(S, A, S)}")
    return int(S)
