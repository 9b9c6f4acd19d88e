"""The private counters of learners: what an episode adds to them, and when they are released.

A user adds to two families of counters: the sums of gains, one counter for each state and action, and the numbers of
transitions, one for each possible next state as well. Transitions of each step may be counted beside them. Gains are
rounded to multiples of 1/grains, user by user, so neighbours stay neighbours. All counters are integers and get integer
noise (`dpproof.mechanisms.counting.lattice`). A counter gets its noise whether its count is 0 or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpproof.accountant.rl.private_ucb.batched_parameters import batch_after
from dpproof.mechanisms.agents._visits import counted
from dpproof.mechanisms.agents.learner import Floats, Ints, Path, Paths
from dpproof.mechanisms.agents.task import Task


class Sums(Protocol):
    """Interface of private running sums of integers, such as `dpproof.mechanisms.counting.lattice.LatticeSums`."""

    running: Floats

    def add(self, places: ArrayLike, amounts: ArrayLike) -> None:
        """Add integers to counters of the present batch."""
        ...

    def close(self) -> object:
        """Complete the batch and update the running sums."""
        ...


@dataclass(frozen=True)
class Counting:
    """How users are counted and released.

    Attributes:
        grains: gains are multiples of 1/grains.
        most_grains: the largest sum of gains that an episode counts, in grains; None for no limit.
        every: a batch has at least so many users. Counts are released after it.
        releases: the largest number of releases.
        cap: the largest number of visits of a state and action that an episode counts.
        pooled: whether all steps share one table.
        gain_level, transition_level: bounds on the noise of one counter, in units of a gain of 1 and of a visit. They
            hold for all counters and releases at once, except with the failure probability of the constants.
        growth: a batch has at least this share of all users before it; 0 if all batches are equal.
    """

    grains: int
    most_grains: int | None
    every: int
    releases: int
    cap: int
    pooled: bool
    gain_level: float
    transition_level: float
    growth: Fraction = Fraction(0)

    def due(self, users: int) -> int:
        """Return the number of users who have begun at the release that follows the one after so many users."""
        return users + batch_after(self.every, self.growth, users)


class Counters:
    """The counts of a task, as they are known before the next release, and the private counters behind them.

    Args:
        task: the sizes, and the possible transitions.
        counting: how users are counted.
        gains: private sums of gains, in units of 1/grains, with G S A counters.
        transitions: private numbers of transitions, G times the number of possible transitions; None if states and
            actions are public. Transitions are then counted exactly.
        steps: private numbers of transitions of each step, H times the number of possible transitions; None if they
            are not counted.
    """

    def __init__(
        self, task: Task, counting: Counting, gains: Sums, transitions: Sums | None, steps: Sums | None = None
    ) -> None:
        self.counting, self._gains, self._transitions, self._steps = counting, gains, transitions, steps
        self.tables = 1 if counting.pooled else task.horizon
        self.cells = task.states * task.actions.size
        self._actions = task.actions.size
        self.after = task.rows() if transitions is not None else np.full((self.cells, 1), -1, np.int64)
        self.known = self.after >= 0
        self.possible = possible_transitions(task) if transitions is not None else 0
        self._pair = np.cumsum(self.known.reshape(-1)).reshape(self.known.shape) - 1
        self._exact = np.zeros((self.tables, *self.after.shape))
        self._places: dict[tuple[int, int], int] = {}
        self._dense = transitions is not None and task.successors is None
        self._turns = np.zeros(self.cells, np.int64)

    def count(self, paths: Paths) -> None:
        """Add users to the present batch.

        Raises:
            ValueError: a transition is not among the possible ones. Nothing is counted then.
        """
        tables, cells, after, grains = self._visits(paths, pooled=self.counting.pooled)
        branches = self._branches(cells, after)
        if self._steps is not None:
            self._count_steps(self._steps, paths)
        self._gains.add(tables * self.cells + cells, grains)
        if self._transitions is None:
            np.add.at(self._exact, (tables, cells, branches), 1.0)
        else:
            places = tables * self.possible + self._pair[cells, branches]
            self._transitions.add(places, np.ones_like(places))

    def _count_steps(self, steps: Sums, paths: Paths) -> None:
        """Count every transition in the table of its step."""
        tables, cells, after, _ = self._visits(paths, pooled=False)
        places = tables * self.possible + self._pair[cells, self._branches(cells, after)]
        steps.add(places, np.ones_like(places))

    def amounts(self, path: Path) -> tuple[Ints, Ints]:
        """Return what one user adds to every counter: gains in grains, and transitions."""
        tables, cells, after, grains = self._visits(Paths.of(path), pooled=self.counting.pooled)
        gains = np.bincount(tables * self.cells + cells, grains, self.tables * self.cells)
        places = tables * self.possible + self._pair[cells, self._branches(cells, after)]
        moves = np.bincount(places, minlength=self.tables * self.possible)
        return gains.astype(np.int64), moves.astype(np.int64)

    def add(self, gains: Ints, transitions: Ints) -> None:
        """Add amounts to every counter."""
        self._gains.add(np.arange(gains.size), gains)
        if self._transitions is not None:
            self._transitions.add(np.arange(transitions.size), transitions)

    def _visits(self, paths: Paths, *, pooled: bool) -> Ints:
        """Return the table, the cell, the next state and the grains of every counted visit, an array (4, visits)."""
        counting = self.counting
        grains = np.rint(paths.gains * counting.grains).astype(np.int64)
        most = np.iinfo(np.int64).max if counting.most_grains is None else counting.most_grains
        found = np.empty((4, grains.size), np.int64)
        count = counted(
            paths.states,
            paths.actions,
            grains,
            self._actions,
            counting.cap,
            most,
            pooled,
            self._turns,
            found,
        )
        return found[:, :count]

    def release(self) -> tuple[Floats, Floats]:
        """Complete the batch. Return the private sums of gains (G, S A) and numbers of transitions (G, S A, b)."""
        self._gains.close()
        gains = self._gains.running.reshape(self.tables, self.cells) / self.counting.grains
        if self._transitions is None:
            return gains, self._exact.copy()
        self._transitions.close()
        if self._steps is not None:
            self._steps.close()
        return gains, self._unfolded(self._transitions)

    def step_counts(self) -> Floats | None:
        """Return the private numbers of transitions of each step (H, S A, b); None if they are not counted."""
        return None if self._steps is None else self._unfolded(self._steps)

    def _unfolded(self, sums: Sums) -> Floats:
        """Return running sums of transitions as an array (tables, S A, b)."""
        running = sums.running.reshape(-1, self.possible)
        found = np.zeros((len(running), *self.after.shape))
        found[:, self.known] = running
        return found

    def check(self, paths: Paths) -> None:
        """Check that every transition is possible, also those that are not counted.

        Raises:
            ValueError: a transition is not among the possible ones.
        """
        if not self._dense:
            taken = paths.actions >= 0
            cells = paths.states[:, :-1][taken] * self._actions + paths.actions[taken]
            self._branches(cells, paths.states[:, 1:][taken])

    def _branches(self, cells: Ints, after: Ints) -> Ints:
        """Return the place of each next state among the possible next states of its cell."""
        if self._dense:
            return after
        hits = self.after[cells] == after[:, None]
        new = np.flatnonzero(~hits.any(axis=1))
        if new.size and self._transitions is not None:
            raise ValueError(
                f"the transition to state number {after[new[0]]} from state number {cells[new[0]] // self._actions} by "
                f"action number {cells[new[0]] % self._actions} must be in the declared support"
            )
        if new.size:
            for pair in dict.fromkeys(zip(cells[new].tolist(), after[new].tolist(), strict=True)):
                self._open(*pair)
            hits = self.after[cells] == after[:, None]
        return np.asarray(hits.argmax(axis=1), np.int64)

    def _open(self, cell: int, after: int) -> None:
        """Note a public transition that is seen for the first time."""
        row = self.after[cell]
        free = np.flatnonzero(row < 0)
        if not free.size:
            extra = np.full((self.cells, 1), -1, np.int64)
            self.after = np.hstack([self.after, extra])
            self._exact = np.concatenate([self._exact, np.zeros((self.tables, self.cells, 1))], axis=2)
            free = np.array([self.after.shape[1] - 1])
        self.after[cell, free[0]] = after
        self._places[cell, after] = int(free[0])


def possible_transitions(task: Task) -> int:
    """Return the number of possible transitions, which is the number of transition counters of one table.

    If transitions are found, it is the largest number that users can take.
    """
    if task.found:
        cells = task.states * task.actions.size
        return min(cells * (task.states + 1), task.episodes * task.horizon)
    return int((task.rows() >= 0).sum()) if task.successors is not None else task.rows().size
