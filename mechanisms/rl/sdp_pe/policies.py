"""All deterministic policies of a small problem, numbered.

Policies that agree on reachable states count as one.

Write a policy's number in base A, the number of actions. Its digits are the policy's actions at all reachable pairs
of a step and a state, beginning with the first step. So policies that agree in the first steps have consecutive
numbers, and values that they share are computed once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.mechanisms import _checks
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.rl.sdp_pe._kernels import Layout
from dpproof.mechanisms.rl.sdp_pe.public import PublicModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_POLICIES: Final = 2**22
"""Largest number of policies that are enumerated."""


class UnreachableStateError(ValueError):
    """Raised for a state that no episode can reach at the given step."""


@dataclass(frozen=True, eq=False)
class PolicySpace:
    """All deterministic policies of a problem. Policies that agree on all reachable states count as one.

    Attributes:
        reachable: bool array (H, X): whether an episode can be in state x at step h. The first row has one
            state, the start.
        actions: number A of actions.

    Raises:
        ValueError: there is not exactly one start state, a step has no state, or there are more than `MOST_POLICIES`
            policies.

    >>> from dpproof.mechanisms.environments.river_swim import river_swim
    >>> PolicySpace.of(river_swim(states=4, horizon=6)).count
    262144
    """

    reachable: NDArray[np.bool_]
    actions: int
    layout: Layout = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the fields, and compute the numbering."""
        reachable = np.array(self.reachable, dtype=np.bool_)
        A = _checks.at_least("actions", self.actions, 1)
        sizes = reachable.sum(axis=1) if reachable.ndim == 2 else np.zeros(1, np.int64)
        if reachable.ndim != 2 or sizes[0] != 1 or not (sizes > 0).all():
            raise ValueError(
                "reachable must have shape (steps, states), with exactly one reachable state at the first step "
                "and at least one at every other step"
            )
        if sizes.sum() * math.log(A) > math.log(MOST_POLICIES) * (1 + 1e-12):
            raise ValueError(
                f"policies ({A}**{sizes.sum()}) must be at most {MOST_POLICIES}, because all are enumerated"
            )
        object.__setattr__(self, "reachable", reachable)
        object.__setattr__(self, "layout", _layout(reachable, A))

    @classmethod
    def of(cls, environment: TabularMDP) -> PolicySpace:
        """Return the policies of an environment. A state is reachable at a step if transitions can lead there."""
        return cls(PublicModel.of(environment).reachable, environment.actions)

    @property
    def horizon(self) -> int:
        """Number H of steps."""
        return int(self.reachable.shape[0])

    @property
    def states(self) -> int:
        """Number X of states."""
        return int(self.reachable.shape[1])

    @property
    def count(self) -> int:
        """Number of policies."""
        return int(self.layout.suffixes[0])

    @property
    def cells(self) -> int:
        """Number of reachable combinations of a step, a state and an action."""
        return int(self.reachable.sum()) * self.actions

    def policies(self, numbers: ArrayLike) -> Ints:
        """Return the n policies with these numbers: actions (n, H, X), with action 0 in unreachable states.

        Raises:
            ValueError: a number is not one of 0, ..., `count` - 1.
        """
        rest = np.array(_checks.indices("numbers", numbers, self.count)).reshape(-1)
        found = np.zeros((len(rest), self.horizon, self.states), np.int64)
        for h, x in reversed(list(zip(*np.nonzero(self.reachable), strict=True))):
            found[:, h, x] = rest % self.actions
            rest = rest // self.actions
        return found

    def number(self, policy: ArrayLike) -> int:
        """Return the number of a policy (H, X). Its actions in unreachable states are ignored.

        >>> space = PolicySpace(np.array([[True, False], [True, True]]), 2)
        >>> space.number([[1, 0], [0, 1]]), space.policies([5])[0].tolist()
        (5, [[1, 0], [0, 1]])
        """
        given = _checks.indices("policy", policy, self.actions)
        if given.shape != self.reachable.shape:
            raise ValueError(f"the shape of policy {given.shape} must be {self.reachable.shape}")
        found = 0
        for action in given[self.reachable]:
            found = found * self.actions + int(action)
        return found

    def reduced(self, table: ArrayLike) -> Floats:
        """Return a table without its unreachable states.

        A table (H, X, A) becomes (H, n, A), and a table (H, X, A, X) becomes (H, n, A, n). There are H steps, X states
        and A actions; n is the largest number of states reachable at a step. Unused entries are 0. In a table (H, X, A,
        X), all entries of the last step are 0, too.
        """
        given = np.asarray(table, dtype=np.float64)
        H, X, A = self.horizon, self.states, self.actions
        if given.shape not in ((H, X, A), (H, X, A, X)):
            raise ValueError(f"the shape of table {given.shape} must be {(H, X, A)} or {(H, X, A, X)}")
        states = self.layout.states
        rows = np.take_along_axis(
            given, np.maximum(states, 0).reshape(H, -1, *[1] * (given.ndim - 2)), axis=1
        )
        rows = np.where((states >= 0).reshape(H, -1, *[1] * (given.ndim - 2)), rows, 0.0)
        if given.ndim == 3:
            return np.ascontiguousarray(rows)
        after = np.vstack([states[1:], np.full((1, states.shape[1]), -1)])[:, None, None, :]
        return np.where(after >= 0, np.take_along_axis(rows, np.maximum(after, 0), axis=3), 0.0)

    def place(self, step: int, state: int) -> int:
        """Return the index of a state among the states that are reachable at a step. All numbers start at 0.

        Raises:
            UnreachableStateError: if no episode is there at that step.
        """
        h = _checks.index("step", step, self.horizon)
        x = _checks.index("state", state, self.states)
        if not self.reachable[h, x]:
            raise UnreachableStateError(f"state ({x}) must be reachable at step {h}")
        return int(self.reachable[h, :x].sum())


def _layout(reachable: NDArray[np.bool_], A: int) -> Layout:
    sizes = reachable.sum(axis=1).astype(np.int64)
    configurations = np.array([A**n for n in sizes.tolist()], np.int64)
    suffixes = np.append(np.cumprod(configurations[::-1])[::-1], 1).astype(np.int64)
    offsets = np.append(0, np.cumsum(sizes * A * suffixes[1:])).astype(np.int64)
    states = np.full((len(sizes), int(sizes.max())), -1, np.int64)
    for h, row in enumerate(reachable):
        states[h, : sizes[h]] = np.nonzero(row)[0]
    return Layout(A, sizes, configurations, suffixes, offsets, states)
