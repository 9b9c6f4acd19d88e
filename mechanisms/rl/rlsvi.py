"""RLSVI: randomized least-squares value iteration, whose exploration noise also makes it private.

Every episode solves the empirical model by backward induction, with Gaussian noise added to every Q; the
greedy policy of the perturbed table is rolled out by the next user. Source: arXiv:2606.01952v1, Algorithm 1.
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accountant.adjacency import Adjacency
from accountant.rl import rlsvi as accounting
from accountant.rl.rlsvi import RLSVIParameters
from mechanisms import _checks
from mechanisms.environments.tabular import TabularMDP
from mechanisms.rl import _rlsvi_kernels as kernels
from mechanisms.rl.learning_run import LearningRun, run_many
from mechanisms.rl.noise_rule import NoiseRule
from mechanisms.rl.users import Users

__all__ = ["RLSVI"]


@dataclass(frozen=True)
class RLSVI:
    """RLSVI for S states, A actions, H steps and K episodes, one user each.

    Q_h = Rhat_h + Phat_h V_{h+1} + w with w ~ N(0, beta_scale beta_k / (N_h + 1)), independent over cells,
    and beta_k = S H^3 log(2HSAk) / 2. Rhat and Phat are 0 where N = 0; N counts each step h by itself. The
    policy takes the first best action. V is not clipped unless the parameters say so, and then to
    [0, clip] as the step before sees it; the released Q never is.

    Attributes:
        parameters: the sizes of the problem and the scale of the noise.
        noise_rule: `NoiseRule.CORRECT`; every other rule is a fault planted for audits.

    >>> swim = RLSVI(RLSVIParameters(states=6, actions=2, horizon=20, episodes=50))
    >>> from mechanisms.environments.river_swim import river_swim
    >>> swim.run(river_swim(), np.random.default_rng(0)).regrets.shape
    (50,)
    """

    parameters: RLSVIParameters
    noise_rule: NoiseRule = NoiseRule.CORRECT

    def __post_init__(self) -> None:
        """Refuse a noise rule that does not exist."""
        object.__setattr__(self, "noise_rule", NoiseRule(self.noise_rule))

    def run(self, environment: TabularMDP, rng: np.random.Generator, *, keep: bool = False) -> LearningRun:
        """Learn in `environment` for K episodes; `keep` the trajectories if asked.

        Raises:
            ValueError: the environment's S, A or H are not those of the parameters.
        """
        self._check_sizes(environment.states, environment.actions, environment.horizon)
        K, H = self.parameters.episodes, environment.horizon
        regrets = np.empty(K)
        states, actions = np.empty((K * keep, H + 1), np.int64), np.empty((K * keep, H), np.int64)
        best = environment.optimal_action_values().argmax(axis=2)
        kernels.run_loop(_law(environment), best, K, self._scale(), rng, regrets, states, actions)
        if not keep:
            return LearningRun(regrets)
        return LearningRun(regrets, states, actions, environment.rewards[states[:, :-1], actions])

    def run_many(
        self,
        environment: TabularMDP,
        seed: int,
        runs: int,
        executor: Executor | None = None,
        *,
        keep: bool = False,
    ) -> tuple[LearningRun, ...]:
        """Return independent runs, one per child of the seed; see `learning_run.run_many`."""
        return run_many(self, environment, seed, runs, executor, keep=keep)

    def release(self, users: Users, rng: np.random.Generator, runs: int = 1) -> NDArray[np.float64]:
        """Return the perturbed Q tables of `runs` independent runs on the same users: (runs, K, H, S, A).

        >>> users = Users([[[[0, 0]]]] * 3, [[[[0.0, 1.0]]]] * 3)
        >>> rlsvi = RLSVI(RLSVIParameters(states=1, actions=2, horizon=1, episodes=3))
        >>> rlsvi.release(users, np.random.default_rng(0), runs=5).shape
        (5, 3, 1, 1, 2)

        Raises:
            ValueError: the users' K, H, S or A are not those of the parameters, or `runs` is below 1.
        """
        return self._release(users, rng, runs, counted=False)[0]

    def release_with_counts(
        self, users: Users, rng: np.random.Generator, runs: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the tables of `release` and the visit counts N_h^k(s, a) before episode k, shaped alike."""
        return self._release(users, rng, runs, counted=True)

    def sample(self, data: Users, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return `n` independent releases on `data`, an array (n, K, H, S, A); the `Samples` protocol."""
        return self.release(data, rng, n)

    def guarantee(self, adjacency: Adjacency) -> object:
        """Return the guarantee of releasing all tables once, as `accountant.rl.rlsvi.guarantee` proves it.

        Raises:
            ValueError: the noise rule is not `CORRECT`, or nothing is proved under this adjacency.
        """
        if self.noise_rule is not NoiseRule.CORRECT:
            raise ValueError(f"noise_rule ({self.noise_rule.name}) must be CORRECT for a guarantee to hold")
        return accounting.guarantee(self.parameters, adjacency)

    def _release(
        self, users: Users, rng: np.random.Generator, runs: int, *, counted: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        self._check_users(users)
        shape = (_checks.at_least("runs", runs, 1), *users.rewards.shape)
        tables = np.empty(shape)
        counts = np.empty(shape if counted else (0,) * 5, np.int64)
        kernels.release_loop(
            users.start, users.next_states, users.rewards, self._scale(), rng, tables, counts
        )
        return tables, counts

    def _check_users(self, users: Users) -> None:
        self._check_sizes(users.states, users.actions, users.horizon)
        if users.count != self.parameters.episodes:
            raise ValueError(f"users ({users.count}) must be as many as episodes, {self.parameters.episodes}")

    def _check_sizes(self, states: int, actions: int, horizon: int) -> None:
        wanted = self.parameters
        for name, given in (("states", states), ("actions", actions), ("horizon", horizon)):
            if given != getattr(wanted, name):
                raise ValueError(f"{name} ({given}) must be as in the parameters, {getattr(wanted, name)}")

    def _scale(self) -> kernels.Scale:
        p = self.parameters
        floor, ceiling = (-math.inf, math.inf) if p.clip is None else (0.0, float(p.clip))
        half = 0.5 * p.beta_scale * p.states * p.horizon**3
        return kernels.Scale(
            half, math.log(2 * p.horizon * p.states * p.actions), floor, ceiling, int(self.noise_rule)
        )


def _law(environment: TabularMDP) -> kernels.Law:
    """List the possible successors of every (s, a)."""
    possible = environment.transitions > 0
    order = np.argsort(~possible, axis=2, kind="stable")
    chances = np.take_along_axis(environment.transitions, order, axis=2)
    return kernels.Law(
        environment.rewards, possible.sum(axis=2), order, chances, chances.cumsum(axis=2), environment.start
    )
