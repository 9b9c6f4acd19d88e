"""Learners that plan from private counts: PRIVATE-UCB by value iteration and by policy optimisation, and DP-UCBVI."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from dpproof.mechanisms.agents import _kernels as kernels
from dpproof.mechanisms.agents.counters import Counters, Counting
from dpproof.mechanisms.agents.learner import Floats, Ints, Learner, Path, Paths, Record, Weights
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.rl.private_ucb.constants import Constants


class Way(enum.Enum):
    """How a learner improves its policy."""

    GREEDY = "value iteration"
    MIRROR = "policy optimisation"
    VARIANCE = "value iteration with a bonus that depends on the variance"


class Plans(Protocol):
    """Interface of what computes policies from released counts."""

    weights: Weights

    def read(self, after: Ints, gains: Floats, transitions: Floats, *, noisy: bool) -> None:
        """Use newly released counts: next states (S A, b), sums of gains (G, S A), transitions (G, S A, b)."""
        ...

    def next_user(self) -> None:
        """Change a policy that changes with every user."""
        ...


class Planner:
    """The policy that optimistic learning computes from released counts.

    Args:
        task: the sizes.
        constants: the factors of the bonus, and the threshold below which a released count becomes 0.
        way: how the policy is improved.
        counting: the noise levels.
        bernstein: with `Way.VARIANCE`, the factor of the standard deviation in the bonus.
    """

    def __init__(
        self, task: Task, constants: Constants, way: Way, counting: Counting, bernstein: float = 0.0
    ) -> None:
        S, A, H = task.states, task.actions.size, task.horizon
        self._constants, self._way, self._counting = constants, way, counting
        self._end = 1.0 - task.zero_gain
        self._bonus = _bonus(task, constants, counting, way, bernstein)
        self._values, self._table = np.zeros((H + 1, S + 1)), np.zeros((H, S * A))
        self.weights: Weights = np.full((H, S, A), 1.0 / A, np.float32)
        self._logs = np.zeros((H, S, A)) if way is Way.MIRROR else np.zeros((0, 0, 0))
        self._rate = constants.learning_rate * math.sqrt(2 * math.log(max(A, 2)) / (H**2 * task.episodes))
        self._estimates: kernels.Estimates | None = None

    def read(self, after: Ints, gains: Floats, transitions: Floats, *, noisy: bool) -> None:
        """Use newly released counts: next states (S A, b), sums of gains (G, S A), transitions (G, S A, b)."""
        constants, counting = self._constants, self._counting
        kept = np.where(transitions < constants.threshold * counting.transition_level, 0.0, transitions)
        kept = kept if noisy else transitions
        visits = np.maximum(kept, 0.0).sum(axis=2)
        gains = np.where(gains < constants.threshold * counting.gain_level, 0.0, gains)
        costs = visits - np.clip(gains, 0.0, visits)
        shift = constants.shift * max(counting.gain_level, counting.transition_level)
        sizes = np.maximum(1.0, visits + shift)
        chances = np.maximum(kept, 0.0) / sizes[:, :, None]
        self._estimates = kernels.Estimates(np.ascontiguousarray(after), chances, costs / sizes, sizes)
        if self._way is not Way.MIRROR:
            weights = np.empty_like(self.weights)
            monotone = self._way is Way.VARIANCE and constants.error > 0  # else noise would stay for ever
            kernels.improve(
                self._estimates, self._bonus, self._end, monotone, self._values, self._table, weights
            )
            self.weights = weights

    def next_user(self) -> None:
        """Change a policy that changes with every user, as mirror descent does."""
        if self._way is Way.MIRROR and self._estimates is not None:
            kernels.evaluate(self._estimates, self._bonus, self._end, self.weights, self._values, self._table)
            weights = np.empty_like(self.weights)
            kernels.mirror(self._rate, self._table, self._logs, weights)
            self.weights = weights


def _bonus(task: Task, constants: Constants, counting: Counting, way: Way, bernstein: float) -> kernels.Bonus:
    S, A, H = task.states, task.actions.size, task.horizon
    steps = np.arange(H - 1, -1, -1.0) if constants.remaining else np.full(H, float(H))
    T = H * task.episodes
    cost = constants.cost_width(S, A, T)
    second = counting.transition_level
    first = max(counting.gain_level, second)
    errors = constants.error * (3 * first + steps * (task.branches * second + 2 * first))
    match way:
        case Way.GREEDY:
            return kernels.Bonus(cost * (1 + steps), errors, 0.0)
        case Way.MIRROR:
            return kernels.Bonus(cost + steps * constants.transition_width(S, A, T), errors, 0.0)
        case Way.VARIANCE:
            return kernels.Bonus(np.full(H, cost), errors, bernstein * cost)


class CountedLearner(Learner):
    """A learner that counts users, releases their counts after every batch, and plans from what was released.

    Args:
        task: the sizes.
        counters: the private counters.
        planner: the planner.

    `dpproof.mechanisms.agents.agent` makes it, and calibrates its noise.
    """

    def __init__(self, counters: Counters, planner: Plans) -> None:
        self._counters, self._planner = counters, planner
        self._due = counters.counting.every
        self.overlapping = True
        self.begun = 0
        """The number of users who have begun. It decides when a batch ends, no matter who has finished."""
        self.releases = 0

    @property
    def weights(self) -> Weights:
        """The present policy, probabilities (H, S, A) of actions."""
        return self._planner.weights

    def for_user(self) -> Weights:
        """Return the present policy."""
        return self.weights

    def sent(self, path: Path) -> Record:
        """Return the path, which a trusted server sees.

        Raises:
            ValueError: a transition of the path is not among the possible ones.
        """
        self._counters.check(Paths.of(path))
        return path.record()

    def absent(self) -> Record | None:
        """Return None: the server gets nothing of an absent user."""
        return None

    def see(self, record: Record) -> None:
        """Count a user. See `Learner.see`."""
        self._counters.count(Paths.of(Path(**record)))

    @property
    def together(self) -> int:
        """The number of users who can begin before the next release."""
        due = self._due
        return (due if self.begun < due else self._counters.counting.due(due)) - self.begun

    def see_all(self, paths: Paths) -> None:
        """Count users. See `Learner.see_all`."""
        self._counters.check(paths)
        self._counters.count(paths)

    def skip(self) -> None:
        """Pass over an absent user, who adds nothing to the counters."""

    def begin(self) -> None:
        """Note that a user begins. If the present batch is over, release its counts and plan from them."""
        if self.begun == self._due:
            self._due = self._counters.counting.due(self._due)
            if self.releases < self._counters.counting.releases:
                self._release()
        if self.begun:
            self._planner.next_user()
        self.begun += 1

    def _release(self) -> None:
        """Release the counts of the batch, and plan from them."""
        gains, transitions = self._counters.release()
        self.releases += 1
        noisy = self._counters.possible > 0
        self._planner.read(self._counters.after, gains, transitions, noisy=noisy)


class LocalLearner(CountedLearner):
    """A learner that gets every user's own counts with noise, which the user adds before sending them.

    Args:
        counters: the counters without noise of their own.
        planner: the planner.
        noise: functions that draw the noise of the user's gains and of the user's transitions.
    """

    def __init__(self, counters: Counters, planner: Plans, *noise: Callable[[int], Ints]) -> None:
        super().__init__(counters, planner)
        self._noise = noise

    def sent(self, path: Path) -> Record:
        """Return the user's noisy counts. The server never sees the path.

        Raises:
            ValueError: a transition of the path is not among the possible ones.
        """
        found = self._counters.amounts(path)
        return {
            name: values + draw(values.size)
            for name, values, draw in zip(("gains", "transitions"), found, self._noise, strict=True)
        }

    def absent(self) -> Record | None:
        """Return noise alone, so that the server cannot tell an absent user from one who took part."""
        return self.sent(Path(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0)))

    def see(self, record: Record) -> None:
        """Add a user's noisy counts."""
        self._counters.add(record["gains"], record["transitions"])

    def see_all(self, paths: Paths) -> None:
        """Add the noisy counts of users. See `Learner.see_all`."""
        Learner.see_all(self, paths)
