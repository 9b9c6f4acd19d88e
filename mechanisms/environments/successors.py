"""Tabular decision processes for compiled code: random successors of a state and action, and exact values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.compiled import inlined
from dpproof.mechanisms.environments.tabular import TabularMDP


class Law(NamedTuple):
    """A decision process as arrays for compiled code, with the possible next states of each state and action.

    `rewards` (S, A) and `successors` (S, A) hold the reward and the number of possible next states. The other
    arrays have the shape (S, A, S). `next_states` holds the next states, the possible ones first. `next_chances` holds
    the probabilities of these states, and `next_sums` the cumulative sums of the probabilities.
    """

    rewards: NDArray[np.float64]
    successors: NDArray[np.int64]
    next_states: NDArray[np.int64]
    next_chances: NDArray[np.float64]
    next_sums: NDArray[np.float64]
    start: int


def law_of(environment: TabularMDP) -> Law:
    """Return the decision process of `environment` as a `Law`, for compiled code."""
    possible = environment.transitions > 0
    order = np.argsort(~possible, axis=2, kind="stable")
    chances = np.take_along_axis(environment.transitions, order, axis=2)
    return Law(
        environment.rewards, possible.sum(axis=2), order, chances, chances.cumsum(axis=2), environment.start
    )


@inlined
def step(law: Law, s: int, a: int, rng: np.random.Generator) -> int:
    """Return a random next state after action `a` in state `s`, from one uniform random number.

    A state of probability 0 is never drawn.
    """
    u = rng.random()
    place = 0
    while place < law.successors[s, a] - 1 and u >= law.next_sums[s, a, place]:
        place += 1
    return law.next_states[s, a, place]  # type: ignore[no-any-return] # an array entry


@inlined
def action_value(law: Law, s: int, a: int, following: NDArray[np.float64]) -> float:
    """Return the reward of action `a` in state `s` plus the expected value of the next state.

    `following` (S,) holds the values of the next states.
    """
    total = law.rewards[s, a]
    for j in range(law.successors[s, a]):
        total += law.next_chances[s, a, j] * following[law.next_states[s, a, j]]
    return total  # type: ignore[no-any-return] # an array entry


@inlined
def policy_value(law: Law, policy: NDArray[np.int64], values: NDArray[np.float64]) -> float:
    """Return the exact value of `policy` (H, S) from the start state.

    `values` (H+1, S) is overwritten with the values of all states. Its last row must be 0.
    """
    for h in range(policy.shape[0] - 1, -1, -1):
        for s in range(policy.shape[1]):
            values[h, s] = action_value(law, s, policy[h, s], values[h + 1])
    return values[0, law.start]  # type: ignore[no-any-return] # an array entry
