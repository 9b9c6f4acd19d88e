"""What one run of a learner leaves behind, and how many runs are made side by side."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from accountant.episodes import Episodes
from mechanisms import _checks
from mechanisms.environments.tabular import TabularMDP

__all__ = ["Learner", "LearningRun", "RunsMany", "run_many"]


@dataclass(frozen=True, eq=False)
class LearningRun:
    """K episodes of a learner in a known environment.

    Attributes:
        regrets: float64 array (K,): V*_1(s_1) - V^{pi_k}_1(s_1), the exact expected reward that episode k's
            policy gives away; nothing of it is sampled.
        released: in how many episodes, from the first on, a new policy was released; K without a budget.
        states: int64 array (K, H+1) of the states passed, or None if they were not kept.
        actions: int64 array (K, H), or None alike.
        rewards: float64 array (K, H), or None alike.

    """

    regrets: NDArray[np.float64]
    released: int
    states: NDArray[np.int64] | None = None
    actions: NDArray[np.int64] | None = None
    rewards: NDArray[np.float64] | None = None

    @property
    def total_regret(self) -> float:
        """The sum of the regrets."""
        return float(self.regrets.sum())

    def episodes(self) -> Episodes:
        """Return the trajectories as a batch, one user each.

        Raises:
            ValueError: they were not kept.

        """
        if self.states is None:
            raise ValueError("the trajectories were not kept; run with keep=True")
        return Episodes.rectangular(self.states[:, :-1], self.actions, self.rewards)


class Learner(Protocol):
    """Whatever learns in an environment with the randomness it is given."""

    def run(self, environment: TabularMDP, rng: np.random.Generator, *, keep: bool = False) -> LearningRun:
        """Run once; `keep` the trajectories if asked."""
        ...


def run_many(
    learner: Learner,
    environment: TabularMDP,
    seed: int,
    runs: int,
    executor: Executor | None = None,
    *,
    keep: bool = False,
) -> tuple[LearningRun, ...]:
    """Return independent runs, the i-th seeded by the i-th child of `numpy.random.SeedSequence(seed)`.

    The result depends neither on the executor nor on the number of its workers; without one the runs are
    made here, one after the other. Compiled learners release the interpreter lock: threads serve as well as
    processes.

    Raises:
        ValueError: `runs` is below 1, `seed` is negative, or what the learner itself refuses.

    """
    children = np.random.SeedSequence(_checks.at_least("seed", seed, 0)).spawn(
        _checks.at_least("runs", runs, 1)
    )
    task = partial(_run_seeded, learner, environment, keep)
    return tuple(map(task, children) if executor is None else executor.map(task, children))


class RunsMany:
    """What a learner gets besides its `run`."""

    def run_many(
        self: Learner,
        environment: TabularMDP,
        seed: int,
        runs: int,
        executor: Executor | None = None,
        *,
        keep: bool = False,
    ) -> tuple[LearningRun, ...]:
        """Return independent runs, one per child of the seed; see `learning_run.run_many`."""
        return run_many(self, environment, seed, runs, executor, keep=keep)


def _run_seeded(
    learner: Learner, environment: TabularMDP, keep: bool, seed: np.random.SeedSequence
) -> LearningRun:
    return learner.run(environment, np.random.default_rng(seed), keep=keep)
