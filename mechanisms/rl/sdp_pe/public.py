"""What a learner of SDP-PE knows about an environment before it starts: which starts and transitions are possible."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.mechanisms import _checks
from dpproof.mechanisms.environments.tabular import TabularMDP

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PublicModel:
    """Public knowledge about an environment with X states and A actions. Probabilities and rewards are not known.

    With several start states the learner adds a first step, in which an extra state leads to a start state. Its
    episodes then have one step more than those of the environment.

    Attributes:
        support: bool array (X, A, X), whether an action can lead from a state to a next state.
        horizon: largest number H of actions in an episode, at least 1.
        starts: the states in which an episode can start.
        terminal: the states that end an episode. No action is taken in them.

    Raises:
        ValueError: a shape does not fit, a state is out of range, a state that is not terminal leads nowhere, there is
            no start state, or a start state is terminal.

    >>> model = PublicModel(np.ones((2, 1, 2), bool), horizon=3, terminal=(1,))
    >>> model.reachable.tolist()
    [[True, False], [True, False], [True, False]]
    """

    support: Bools
    horizon: int
    starts: tuple[int, ...] = (0,)
    terminal: tuple[int, ...] = ()
    ends: Bools = field(init=False, repr=False)
    """Bool array of all states, with the extra state: whether a state is terminal."""

    def __post_init__(self) -> None:
        """Check the fields, and make the arrays read-only."""
        support = np.array(self.support, dtype=np.bool_)
        if support.ndim != 3 or 0 in support.shape or support.shape[0] != support.shape[2]:
            raise ValueError(f"the shape of support {support.shape} must be (states, actions, states)")
        _checks.at_least("horizon", self.horizon, 1)
        X = support.shape[0]
        starts, terminal = (
            tuple(sorted({_checks.index(name, x, X) for x in given}))
            for name, given in (("starts", self.starts), ("terminal", self.terminal))
        )
        if not starts or set(starts) & set(terminal):
            raise ValueError(f"starts {starts} must name at least one state, and none of terminal {terminal}")
        ends = np.zeros(X + (len(starts) > 1), np.bool_)
        ends[list(terminal)] = True
        stuck = np.argwhere(~support.any(axis=2) & ~ends[:X, None])
        if len(stuck):
            raise ValueError(f"support must allow a next state for state {stuck[0, 0]}, action {stuck[0, 1]}")
        for name, value in {"support": support, "starts": starts, "terminal": terminal, "ends": ends}.items():
            object.__setattr__(self, name, value)
        support.flags.writeable = ends.flags.writeable = False

    @classmethod
    def of(cls, environment: TabularMDP) -> Self:
        """Return the public model of a known environment: transitions of positive probability are possible."""
        return cls(environment.transitions > 0, environment.horizon, (environment.start,))

    @property
    def actions(self) -> int:
        """Number A of actions."""
        return int(self.support.shape[1])

    @property
    def extra(self) -> int:
        """The number of steps and states that the learner adds: 1 with several start states, otherwise 0."""
        return int(len(self.starts) > 1)

    @property
    def steps(self) -> int:
        """Number of steps of the learner's episodes: the horizon, and the extra step if there is one."""
        return self.horizon + self.extra

    @property
    def states(self) -> int:
        """Number of the learner's states: those of the environment, and the extra state if there is one."""
        return int(self.support.shape[0]) + self.extra

    @property
    def start(self) -> int:
        """The state in which the learner's episodes start. It is the extra state if there is one."""
        return self.states - 1 if self.extra else self.starts[0]

    @property
    def possible(self) -> Bools:
        """Bool array (states, A, states) of the learner's possible transitions. A terminal state leads nowhere."""
        found = np.zeros((self.states, self.actions, self.states), np.bool_)
        X = self.support.shape[0]
        found[:X, :, :X] = self.support
        found[self.ends] = False
        if self.extra:
            found[X, :, list(self.starts)] = True
        return found

    @property
    def reachable(self) -> Bools:
        """Bool array (steps, states): whether an action may have to be chosen in a state at a step.

        If all states of a step are terminal, its first reachable state is marked, because a step needs a state.
        """
        found = np.zeros((self.steps, self.states), np.bool_)
        found[0, self.start] = True
        possible: Bools = np.asarray(self.possible.any(axis=1))
        entered = found[0]
        for h in range(1, self.steps):
            entered = np.asarray(possible[entered].any(axis=0))
            found[h] = entered & ~self.ends
            if not found[h].any():
                found[h, np.argmax(entered) if entered.any() else self.start] = True
        return found

    def trajectory(
        self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike
    ) -> tuple[Ints, Ints, Floats]:
        """Return the states, actions and rewards of one user in the learner's steps, after checks.

        A user has n + 1 states, n actions and n rewards. The number n is the horizon, or less if the last state is
        terminal. What follows a terminal state is left out.

        Raises:
            ValueError: a length, a state, an action or a reward is not allowed, or a start or a transition is
                impossible.
        """
        X = self.support.shape[0]
        visited, taken = (
            _checks.indices("states", states, X),
            _checks.indices("actions", actions, self.actions),
        )
        paid = _checks.unit_interval("rewards", rewards)
        if visited.ndim != 1 or taken.shape != paid.shape or visited.shape != (taken.size + 1,):
            raise ValueError(
                f"the lengths of states, actions and rewards ({visited.shape}, {taken.shape}, {paid.shape}) must be "
                "n + 1, n and n"
            )
        over = np.flatnonzero(self.ends[visited])
        n = int(over[0]) if over.size else taken.size
        visited, taken, paid = visited[: n + 1], taken[:n], paid[:n]
        self._check(visited, taken)
        if self.extra:
            visited, taken, paid = np.append(X, visited), np.append(0, taken), np.append(0.0, paid)
        return visited, taken, paid

    def _check(self, visited: Ints, taken: Ints) -> None:
        """Check the start, the transitions and the end of a trajectory."""
        if int(visited[0]) not in self.starts:
            raise ValueError(
                f"states must begin with one of the start states {self.starts}, not {visited[0]}"
            )
        if taken.size != self.horizon and not (taken.size < self.horizon and self.ends[visited[-1]]):
            raise ValueError(
                f"actions ({taken.size} steps) must have {self.horizon} steps, or fewer if a terminal state follows"
            )
        wrong = np.flatnonzero(~self.support[visited[:-1], taken, visited[1:]])
        if wrong.size:
            h = int(wrong[0])
            move = f"from state {visited[h]} by action {taken[h]} to state {visited[h + 1]}"
            raise ValueError(f"states must follow the public support, which has no transition {move}")
