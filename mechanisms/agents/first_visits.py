"""Learning from first visits (``first-visit-vi``): an algorithm of this project for few users and much noise.

1. An episode counts the first visit of each state and action (cell) only, so one user moves the counts little.
2. Batches grow with the number of users, so there are few releases.
3. The model trusts a cell as far as the noise allows. After N visits, with noise of standard deviation d, the counts
   have the weight N/(N + shrink d). The rest has a prior by which every step to come pays the same.
4. The laws are pooled over the steps of an episode. A part of the budget pays for transitions that are counted for each
   step. If these refute the pooled laws, the learner begins again with a table for each step and the users to come.

docs/notes/first_visits.md has the proofs of privacy and of optimism.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpproof.mechanisms.agents import _kernels as kernels
from dpproof.mechanisms.agents.counted import CountedLearner
from dpproof.mechanisms.agents.counters import Counters
from dpproof.mechanisms.agents.learner import Floats, Ints, Weights
from dpproof.mechanisms.agents.task import Task


@dataclass(frozen=True)
class Trust:
    """Constants of learning from first visits. They cost no privacy.

    Attributes:
        prior: what each step to come pays in a cell that nothing is known of: the mean gain of all counted visits, plus
            this share of what it lacks to the largest gain 1. In [0, 1]; with 1 the prior is optimistic.
        shrink: the weight of the prior, in standard deviations of the noise of a transition.
        bonus: the bonus of a cell with N visits, in units of (steps to come) times (standard deviation)/N.
        transitions, gains: counts below so many standard deviations of their noise become 0.
        refuted: pooled laws are refuted if the counts of a step are so many standard deviations away from them.

    Raises:
        ValueError: a value is negative or not finite, or ``prior`` is above 1.
    """

    prior: float = 0.1
    shrink: float = 1.0
    bonus: float = 0.02
    transitions: float = 2.0
    gains: float = 2.0
    refuted: float = 6.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} ({value!r}) must be a finite number at least 0")
        if self.prior > 1:
            raise ValueError(f"prior ({self.prior!r}) must be at most 1")


@dataclass(frozen=True, eq=False)
class Noise:
    """The standard deviations of released running sums, one for each release.

    Attributes:
        gains: of a sum of gains, in units of a gain of 1.
        transitions: of a number of transitions.
        steps: of a number of transitions of one step; 0 if they are not counted.
    """

    gains: Floats
    transitions: Floats
    steps: Floats


class TrustPlanner:
    """The policy that value iteration computes from counts whose noise is known.

    Args:
        task: the sizes.
        trust: the constants.
        noise: the noise of each release.
    """

    def __init__(self, task: Task, trust: Trust, noise: Noise) -> None:
        S, A, H = task.states, task.actions.size, task.horizon
        self.trust, self.noise = trust, noise
        self._end, self._most = 1.0 - task.zero_gain, float(task.most_gain or H)
        self._values = np.zeros((H + 1, S + 1))
        self.weights: Weights = np.full((H, S, A), 1.0 / A, np.float32)
        self.releases = 0

    def read(self, after: Ints, gains: Floats, transitions: Floats, *, noisy: bool = True) -> None:
        """Use newly released counts: next states (S A, b), sums of gains (G, S A), transitions (G, S A, b)."""
        trust, place = self.trust, self.releases
        of_gain, of_move = self.noise.gains[place], self.noise.transitions[place] if noisy else 0.0
        self.releases += 1
        kept = np.where(transitions < trust.transitions * of_move, 0.0, np.maximum(transitions, 0.0))
        visits = kept.sum(axis=2)
        earned = np.where(gains < trust.gains * of_gain, 0.0, np.clip(gains, 0.0, visits))
        sizes = np.where(visits > 0, visits, 1.0)
        found = kernels.Estimates(
            np.ascontiguousarray(after), kept / sizes[:, :, None], (visits - earned) / sizes, sizes
        )
        doubt = max(of_move, of_gain) if not noisy else of_move
        bonus = np.where(visits > 0, trust.bonus * doubt / sizes, 0.0)
        shares = np.where(visits > 0, visits / (sizes + trust.shrink * doubt), 0.0)
        weights = np.empty_like(self.weights)
        mean = float(earned.sum() / max(visits.sum(), 1.0))
        prior = mean + trust.prior * (1.0 - mean)
        kernels.trusting(found, bonus, shares, 1.0 - prior, self._most, self._end, self._values, weights)
        self.weights = weights

    def next_user(self) -> None:
        """Do nothing: the policy changes only when counts are released."""


class FirstVisitLearner(CountedLearner):
    """A learner that pools the steps of an episode, and begins again without pooling if the counts refute it.

    Args:
        counters: private counters, pooled over steps, with transitions of each step beside them.
        planner: the planner.
        again: a function that returns counters and a planner with a table for each step; None if there are none.
    """

    def __init__(
        self,
        counters: Counters,
        planner: TrustPlanner,
        again: Callable[[], tuple[Counters, TrustPlanner]] | None = None,
    ) -> None:
        super().__init__(counters, planner)
        self._trusting, self._again = planner, again

    @property
    def pooled(self) -> bool:
        """Whether the present estimates are pooled over steps."""
        return self._counters.counting.pooled

    def _release(self) -> None:
        """Release the counts of the batch and plan from them, or begin again if they refute the pooled laws."""
        gains, transitions = self._counters.release()
        self.releases += 1
        self._planner.read(self._counters.after, gains, transitions, noisy=self._counters.possible > 0)
        steps = self._counters.step_counts()
        if self._again is not None and steps is not None and self._refuted(transitions[0], steps):
            (self._counters, self._planner), self._again = self._again(), None
            self.begun, self.releases, self._due = 0, 0, self._counters.counting.every

    def _refuted(self, pooled: Floats, steps: Floats) -> bool:
        """Return whether the counts of steps (H, S A, b) are too far from the pooled laws, by counts (S A, b).

        Counts of one step, and sums over the first steps, are compared with what the pooled law says of these visits.
        The deviations are those of the noise of both, and of chance. The test uses released numbers only.
        """
        place, noise, known = self.releases - 1, self._trusting.noise, self._counters.known
        branches = known.sum(axis=1)[:, None]
        visits = np.maximum(pooled.sum(axis=1, keepdims=True), 1.0)
        sure = visits > 2 * self._trusting.trust.transitions * noise.transitions[place] * np.sqrt(branches)
        law = np.clip(pooled / visits, 0.0, 1.0)
        shape = 1 - 2 * law + branches * law**2  # the variance of x - law sum(x), for entries x of variance 1
        numbers = np.arange(1.0, len(steps) + 1)[:, None, None]
        for counts, terms in ((steps, 1.0), (steps.cumsum(axis=0), numbers)):
            total = np.maximum(counts.sum(axis=2, keepdims=True), 0.0)
            chance = (total + total**2 / visits) / 4
            doubt = shape * (
                terms * noise.steps[place] ** 2 + (total * noise.transitions[place] / visits) ** 2
            )
            away = np.abs(counts - law * counts.sum(axis=2, keepdims=True))
            if (away > self._trusting.trust.refuted * np.sqrt(doubt + chance))[:, known & sure].any():
                return True
        return False
