"""Random policies: every user draws a policy, and follows it for an episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.rl.sdp_pe.batches import user_counts_of_batch
from dpproof.mechanisms.rl.sdp_pe.privatizer import BatchCounts

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class RandomPolicy(Protocol):
    """Interface of a random policy for H steps and X states."""

    def draw(self, rng: np.random.Generator) -> Ints:
        """Return the policy of one user: actions (H, X)."""
        ...

    def play(self, environment: TabularMDP, users: int, rng: np.random.Generator) -> BatchCounts:
        """Return the random counts of users who each draw a policy and follow it in the environment."""
        ...

    def value(self, environment: TabularMDP) -> float:
        """Return the expected sum of rewards of a user."""
        ...

    def same(self, other: RandomPolicy) -> bool:
        """Return whether the other random policy is stored with the same numbers."""
        ...


@dataclass(frozen=True, eq=False)
class Mixture:
    """A random policy that is one of m deterministic policies.

    Attributes:
        policies: int64 array (m, H, X) of actions.
        weights: float64 array (m,), the probabilities of the policies.

    >>> uniform(np.array([[[1]], [[0]], [[1]]])).weights.tolist()
    [0.333..., 0.666...]
    """

    policies: Ints
    weights: Floats

    def draw(self, rng: np.random.Generator) -> Ints:
        """Return the policy of one user: actions (H, X)."""
        place = np.searchsorted(np.cumsum(self.weights), rng.random() * self.weights.sum(), side="right")
        found: Ints = self.policies[min(int(place), len(self.weights) - 1)].copy()
        return found

    def play(self, environment: TabularMDP, users: int, rng: np.random.Generator) -> BatchCounts:
        """Return the random counts of users who each draw a policy and follow it in the environment."""
        return user_counts_of_batch(environment, self.policies, self.weights, users, rng)

    def value(self, environment: TabularMDP) -> float:
        """Return the expected sum of rewards of a user."""
        m, H, X = self.policies.shape
        values, every = np.zeros((m, X)), np.arange(X)
        for h in reversed(range(H)):
            chosen = self.policies[:, h]
            following = np.einsum("mst,mt->ms", environment.transitions[every, chosen], values)
            values = environment.rewards[every, chosen] + following
        return float(self.weights @ values[:, environment.start])

    def same(self, other: RandomPolicy) -> bool:
        """Return whether the other random policy is stored with the same numbers."""
        if not isinstance(other, Mixture):
            return False
        return np.array_equal(self.policies, other.policies) and np.array_equal(self.weights, other.weights)


@dataclass(frozen=True, eq=False)
class Markov:
    """A random policy whose actions are drawn independently for each step and state.

    An episode is at most once in a state at a step. So a user may draw all actions beforehand, or one at a time.

    Attributes:
        chances: float64 array (H, X, A) of action probabilities.

    >>> Markov(np.array([[[0.0, 1.0]]])).draw(np.random.default_rng(0)).tolist()
    [[1]]
    """

    chances: Floats

    def draw(self, rng: np.random.Generator) -> Ints:
        """Return the policy of one user: actions (H, X)."""
        ends = np.cumsum(self.chances, axis=2)
        points = rng.random(ends.shape[:2])[..., None] * ends[..., -1:]
        found: Ints = np.argmax(ends > points, axis=2).astype(np.int64)
        return found

    def play(self, environment: TabularMDP, users: int, rng: np.random.Generator) -> BatchCounts:
        """Return the random counts of users who each draw a policy and follow it in the environment."""
        H, X, A = self.chances.shape
        transitions, states = np.zeros((H, X, A, X), np.int64), np.zeros(X, np.int64)
        states[environment.start] = users
        for h in range(H):
            taken = rng.multinomial(states, self.chances[h])
            transitions[h] = rng.multinomial(taken, environment.transitions)
            states = transitions[h].sum(axis=(0, 1))
        visits = transitions.sum(axis=-1)
        return BatchCounts(visits, transitions, rng.binomial(visits, environment.rewards))

    def value(self, environment: TabularMDP) -> float:
        """Return the expected sum of rewards of a user."""
        values = np.zeros(environment.states)
        for h in reversed(range(len(self.chances))):
            values = (self.chances[h] * (environment.rewards + environment.transitions @ values)).sum(axis=1)
        return float(values[environment.start])

    def same(self, other: RandomPolicy) -> bool:
        """Return whether the other random policy is stored with the same numbers."""
        return isinstance(other, Markov) and np.array_equal(self.chances, other.chances)


def uniform(policies: Ints) -> Mixture:
    """Return the uniform mixture of the listed policies (n, H, X), in lexicographic order.

    A policy that is listed twice has twice the weight.
    """
    named, times = np.unique(policies.reshape(len(policies), -1), axis=0, return_counts=True)
    return Mixture(named.reshape(-1, *policies.shape[1:]), times / times.sum())
