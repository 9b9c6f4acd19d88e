"""The result of one run of a learner, and functions that make many runs."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.episodes import Episodes
from dpproof.mechanisms import _checks
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.randomness import Source, how_drawn


@dataclass(frozen=True, eq=False, repr=False)
class LearningRun:
    """The result of one learning run: K episodes of H steps in a known environment. It is not a private release.

    No guarantee ever covers regrets and trajectories. If the random numbers came from a seed or a given generator,
    the run is a simulation. Then no guarantee covers the policies of the run either.

    Attributes:
        regrets: float64 array (K,). Entry k is the largest possible expected reward of an episode minus the expected
            reward of episode k's policy. Both expected rewards are computed exactly, without sampling.
        released: the first `released` episodes each released a new policy. It is K if there was no privacy budget.
        states: int64 array (K, H+1) of the visited states, or None if they were not kept.
        actions: int64 array (K, H) of the actions, or None if they were not kept.
        rewards: float64 array (K, H) of the rewards, or None if they were not kept.
        simulated: whether the random draws came from a seed or a given generator, not from entropy.
    """

    regrets: NDArray[np.float64]
    released: int
    states: NDArray[np.int64] | None = None
    actions: NDArray[np.int64] | None = None
    rewards: NDArray[np.float64] | None = None
    simulated: bool = field(default=True, kw_only=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.regrets)} episodes; {how_drawn(self.simulated)}>"

    @property
    def total_regret(self) -> float:
        """Return the sum of the regrets."""
        return float(self.regrets.sum())

    def episodes(self) -> Episodes:
        """Return the trajectories as `Episodes`, one for each user.

        Raises:
            ValueError: they were not kept.
        """
        if self.states is None:
            raise ValueError("The trajectories were not kept. Run with keep=True.")
        return Episodes.rectangular(self.states[:, :-1], self.actions, self.rewards)


class Learner(Protocol):
    """Interface of a learner that can run in a known environment."""

    def run(self, environment: TabularMDP, rng: Source = None, *, keep: bool = False) -> LearningRun:
        """Return the result of one run. With `keep` the result holds the trajectories.

        If `rng` is a seed or a generator, the run is a simulation.
        """
        ...


def run_many(
    learner: Learner,
    environment: TabularMDP,
    seed: int | None,
    runs: int,
    executor: Executor | None = None,
    *,
    keep: bool = False,
) -> tuple[LearningRun, ...]:
    """Return the results of `runs` independent runs of `learner`.

    Run i gets its own seed: child number i of `numpy.random.SeedSequence(seed)`. If `seed` is None, each run draws
    from the operating system's entropy. With a seed, the results depend neither on the executor nor on its number
    of workers. Without an executor the runs are made in this process, one after the other. Compiled learners
    release the interpreter lock, so threads are as fast as processes.

    Raises:
        ValueError: `runs` is below 1, `seed` is negative, or `learner.run` raises this error.
    """
    count = _checks.at_least("runs", runs, 1)
    children: Sequence[np.random.SeedSequence | None] = [None] * count
    if seed is not None:
        children = np.random.SeedSequence(_checks.at_least("seed", seed, 0)).spawn(count)
    task = partial(_run_seeded, learner, environment, keep)
    return tuple(map(task, children) if executor is None else executor.map(task, children))


class RunsMany:
    """Base class of learners that have a method `run`. It adds the method `run_many`."""

    def run_many(
        self: Learner,
        environment: TabularMDP,
        seed: int | None,
        runs: int,
        executor: Executor | None = None,
        *,
        keep: bool = False,
    ) -> tuple[LearningRun, ...]:
        """Return the results of `runs` independent runs of this learner. See `learning_run.run_many`."""
        return run_many(self, environment, seed, runs, executor, keep=keep)


def _run_seeded(
    learner: Learner, environment: TabularMDP, keep: bool, seed: np.random.SeedSequence | None
) -> LearningRun:
    return learner.run(environment, seed, keep=keep)
