"""Batches of episodes: the number of episodes in each stage, and the counts of a batch of users.

A privatizer receives sums over a batch. Given how many of a batch's users are in a state, the numbers of users in
the next states are multinomial. So the sums are drawn directly. They have the same distribution as if every user
were simulated. A reward is 0 or 1, and the environment's mean reward is the probability of a 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms import _checks
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.rl.sdp_pe.privatizer import BatchCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Stage:
    """The numbers of episodes in the three parts of one stage.

    Attributes:
        length: the number of episodes in each of the three parts.
        layers: episodes of crude exploration for each step, as equal as possible. Their sum is `length`.
        fine: episodes of fine exploration: `length`, and in the last stage up to two more, which remain after the
            division by 3.
        auxiliary: episodes in which users play the policies of crude exploration again: `length`.
    """

    length: int
    layers: tuple[int, ...]
    fine: int
    auxiliary: int

    @property
    def episodes(self) -> int:
        """Number of all episodes of the stage."""
        return sum(self.layers) + self.fine + self.auxiliary


def schedule(episodes: int, horizon: int, first: int = 2) -> tuple[Stage, ...]:
    """Return the stages of Algorithm 1. The three parts of stage b = 1, 2, ... have `first` 2^(b-1) episodes each.

    The last stage uses the remaining episodes. Line 3 of the algorithm has a sum over stages. Here the sum ends at
    stage b - 1. With the printed end, the length of the last stage would not be positive. If fewer than 3 episodes
    remain, they join the last stage.

    >>> [stage.length for stage in schedule(20_000, 6)]
    [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 2572]
    >>> schedule(20, 2)[-1]
    Stage(length=4, layers=(2, 2), fine=6, auxiliary=4)

    Raises:
        ValueError: fewer than 3 episodes, no step, or `first` below 1.
    """
    left, H = _checks.at_least("episodes", episodes, 3), _checks.at_least("horizon", horizon, 1)
    length, found = _checks.at_least("first", first, 1), list[Stage]()
    while left > 0:
        length = min(length, left // 3)
        left -= 3 * length
        rest = left if left < 3 else 0
        left -= rest
        layers = tuple(length * (h + 1) // H - length * h // H for h in range(H))
        found.append(Stage(length, layers, length + rest, length))
        length *= 2
    return tuple(found)


def user_counts_of_batch(
    environment: TabularMDP, policies: Ints, weights: Floats, users: int, rng: np.random.Generator
) -> BatchCounts:
    """Return the random counts of a batch of users.

    Each user follows one of the `policies` (n, H, X), drawn with the probabilities `weights` (n,).
    """
    H, X, A = environment.horizon, environment.states, environment.actions
    episodes = rng.multinomial(users, weights)
    used = episodes > 0
    chosen, states = policies[used], np.zeros((int(used.sum()), X), np.int64)
    states[:, environment.start] = episodes[used]
    transitions = np.zeros((H, X, A, X), np.int64)
    for h in range(H):
        law = environment.transitions[np.arange(X), chosen[:, h]]
        moved = rng.multinomial(states, law)
        np.add.at(transitions[h], (np.arange(X)[None, :], chosen[:, h]), moved)
        states = moved.sum(axis=1)
    visits = transitions.sum(axis=-1)
    return BatchCounts(visits, transitions, rng.binomial(visits, environment.rewards))
