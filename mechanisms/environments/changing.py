"""Finite Markov decision processes whose laws change from step to step (non-stationary within an episode)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms import _checks


@dataclass(frozen=True, eq=False)
class ChangingMDP:
    """An episodic Markov decision process whose rewards and transitions depend on the step, with a fixed start.

    Attributes:
        transitions: float64 array (H, S, A, S); each row over the last axis is a distribution.
        rewards: float64 array (H, S, A) of values in [0, 1].
        start: the state in which every episode starts, one of 0, ..., S-1.

    Raises:
        ValueError: a shape does not fit, an entry is NaN or outside its range, a row does not sum to 1.

    >>> swap = np.array([[[[0.0, 1.0]], [[1.0, 0.0]]], [[[1.0, 0.0]], [[0.0, 1.0]]]])
    >>> one = ChangingMDP(swap, [[[0.0], [1.0]], [[0.0], [1.0]]])
    >>> one.horizon, one.states, one.actions
    (2, 2, 1)
    """

    transitions: NDArray[np.float64]
    rewards: NDArray[np.float64]
    start: int = 0

    def __post_init__(self) -> None:
        """Check and freeze the fields."""
        _set = object.__setattr__
        _set(self, "transitions", _checks.distributions("transitions", self.transitions))
        _set(self, "rewards", _checks.unit_interval("rewards", self.rewards))
        if self.rewards.ndim != 3 or 0 in self.rewards.shape:
            raise ValueError(
                f"the shape of rewards {self.rewards.shape} must be (steps, states, actions), at least one of each"
            )
        if self.transitions.shape != (*self.rewards.shape, self.states):
            wanted = (*self.rewards.shape, self.states)
            raise ValueError(f"the shape of transitions {self.transitions.shape} must be {wanted}")
        _set(self, "start", _checks.index("start", self.start, self.states))

    @property
    def horizon(self) -> int:
        """Number H of steps in an episode."""
        return int(self.rewards.shape[0])

    @property
    def states(self) -> int:
        """Number S of states."""
        return int(self.rewards.shape[1])

    @property
    def actions(self) -> int:
        """Number A of actions, available in every state."""
        return int(self.rewards.shape[2])
