"""Policies of many experts, as arrays or callables, and how many experts would play the same actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Experts(Protocol):
    """Interface of the policies of many experts."""

    @property
    def count(self) -> int:
        """Number of experts."""
        ...

    @property
    def actions(self) -> int:
        """Number of actions."""
        ...

    def probabilities(self, states: NDArray[Any]) -> Floats:
        """Return the probabilities of all actions, an array (experts, states, actions)."""
        ...


@dataclass(frozen=True, eq=False)
class TabularExperts:
    """The policies of many experts in finitely many states: a ``table`` (experts, states, actions).

    >>> TabularExperts(np.full((3, 2, 4), 0.25)).probabilities(np.array([1])).shape
    (3, 1, 4)

    Raises:
        ValueError: for another shape, or rows that are no probabilities.
    """

    table: Floats

    def __post_init__(self) -> None:
        if self.table.ndim != 3 or 0 in self.table.shape:
            raise ValueError(f"table (shape {self.table.shape}) must have shape (experts, states, actions)")
        _check_rows(self.table)

    @property
    def count(self) -> int:
        """Number of experts."""
        return int(self.table.shape[0])

    @property
    def actions(self) -> int:
        """Number of actions."""
        return int(self.table.shape[2])

    def probabilities(self, states: NDArray[Any]) -> Floats:
        """Return the probabilities of all actions, an array (experts, states, actions).

        ``states`` are the numbers of states.
        """
        return self.table[:, states]


@dataclass(frozen=True, eq=False)
class CallableExperts:
    """The policies of many experts, one function each.

    A function maps k states ``(k, ...)`` to the probabilities of all actions ``(k, actions)``.

    >>> coin = CallableExperts([lambda states: np.full((len(states), 2), 0.5)] * 3, 2)
    >>> coin.probabilities(np.zeros((5, 4))).shape
    (3, 5, 2)

    Raises:
        ValueError: without an expert, or fewer than two actions.
    """

    policies: Sequence[Callable[[NDArray[Any]], Floats]]
    actions: int

    def __post_init__(self) -> None:
        if not self.policies:
            raise ValueError("policies ([]) must hold at least one expert")
        if self.actions < 2:
            raise ValueError(f"actions ({self.actions!r}) must be at least 2")

    @property
    def count(self) -> int:
        """Number of experts."""
        return len(self.policies)

    def probabilities(self, states: NDArray[Any]) -> Floats:
        """Return the probabilities of all actions, an array (experts, states, actions)."""
        found = np.stack([np.asarray(policy(states), dtype=np.float64) for policy in self.policies])
        if found.shape != (self.count, len(states), self.actions):
            shape = (self.count, len(states), self.actions)
            raise ValueError(f"the policies' answer (shape {found.shape}) must have shape {shape}")
        _check_rows(found)
        return found


def _check_rows(table: Floats) -> None:
    wrong = ~((table >= 0).all(axis=-1) & (np.abs(table.sum(axis=-1) - 1) <= 1e-6))
    if wrong.any():
        expert, row = np.argwhere(wrong)[0]
        raise ValueError(f"expert {expert}: chances {table[expert, row]} must be at least 0 and add up to 1")


def prefix_counts(
    experts: Experts, states: NDArray[Any], actions: NDArray[np.int64], least_probability: float = 0.0
) -> Floats:
    """Return the expected number of experts who would play the first actions of one trajectory, ``(steps,)``.

    Entry k adds up, over all experts, the probability to play the first k + 1 actions in the given states.
    Source: Sharma et al. (2024), Algorithm 1, line 3: the sum over experts of the product of pi_i(a_j|s_j).

    >>> everybody = TabularExperts(np.full((10, 1, 2), 0.5))
    >>> prefix_counts(everybody, np.array([0, 0]), np.array([1, 0])).tolist()
    [5.0, 2.5]

    Raises:
        ValueError: for an expert who plays some action with less than ``least_probability``.
    """
    chances = experts.probabilities(states)
    low = chances < least_probability
    if low.any():
        expert, place, action = np.argwhere(low)[0]
        given = float(chances[expert, place, action])
        raise ValueError(
            f"expert {expert}: chance of action {action} ({given!r}) must be at least {least_probability!r}"
        )
    played = np.take_along_axis(chances, actions[None, :, None], axis=2)[:, :, 0]
    counts: Floats = np.cumprod(played, axis=1).sum(axis=0)
    return counts
