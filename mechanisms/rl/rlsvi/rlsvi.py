"""RLSVI: randomized least-squares value iteration, whose exploration noise also makes it private.

Before every episode RLSVI computes a table Q of action values from the data so far, by backward induction, and adds
Gaussian noise to every entry. The next user takes the best actions by this table. Source: arXiv:2606.01952v1,
Algorithm 1.

The strongest test that tells two neighbouring sequences of users apart is the exact likelihood ratio of the tables.
If the tables released so far are the same, the two sequences have visited a state and action equally often, N times.
An entry of the next table is Gaussian with variance beta_k / (N + 1) for both sequences. Here beta_k depends on the
episode k. Only some means differ: in each step, that of the state and action that the changed user visited (Lemma
11).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.rlsvi import rlsvi as accounting
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.mechanisms import _checks
from dpproof.mechanisms.environments.successors import law_of
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.randomness import Randomness, Source
from dpproof.mechanisms.release.grid import GRID
from dpproof.mechanisms.rl.learning_run import LearningRun, RunsMany
from dpproof.mechanisms.rl.rlsvi import _kernels as kernels
from dpproof.mechanisms.rl.rlsvi.release import RLSVIRelease, RLSVISimulation, RLSVIStream
from dpproof.mechanisms.rl.rlsvi.users import (
    Users,
    check_sizes,
    check_users,
    differ_only_in_rewards_of_one_user,
)

if TYPE_CHECKING:
    from dpproof.accountant.claims.result import PrivacyResult


def log_likelihood_ratio(
    parameters: RLSVIParameters, tables: NDArray[np.float64], users: Users, other: Users
) -> NDArray[np.float64]:
    """Return ln(p_other(tables) / p_users(tables)), one number for each run.

    p_other and p_users are the densities of RLSVI's tables for the users `other` and `users`. If another algorithm
    made the tables, the result is a score and not a likelihood ratio.

    Args:
        parameters: the sizes and the noise of RLSVI.
        tables: float64 array (runs, K, H, S, A), as `RLSVI.release` returns it.
        users: the data in the denominator.
        other: the data in the numerator: `users` with the rewards of one user replaced.

    Raises:
        ValueError: the data are not neighbours, sizes do not fit, or a table holds NaN or infinity.

    >>> parameters = RLSVIParameters(states=1, actions=1, horizon=1, episodes=2)
    >>> users = Users([[[[0]]], [[[0]]]], [[[[0.0]]], [[[0.0]]]])
    >>> tables = np.array([0.3, 1.5]).reshape(1, 2, 1, 1, 1)
    >>> log_likelihood_ratio(parameters, tables, users, users.with_rewards(0, 1.0))
    array([2.885390...])
    """
    check_users(parameters, users)
    user = differ_only_in_rewards_of_one_user(users, other)
    given = np.ascontiguousarray(tables, dtype=np.float64)
    if given.shape[1:] != users.rewards.shape or given.ndim != 5:
        raise ValueError(
            f"the shape of tables {given.shape} must be the number of runs, followed by {users.rewards.shape}"
        )
    if not np.isfinite(given).all():
        raise ValueError("tables must be finite, but hold NaN or infinity")
    ratios = np.empty(given.shape[0])
    kernels.likelihood_loop(
        users.start,
        users.next_states,
        users.rewards,
        other.rewards[user] - users.rewards[user],
        user,
        kernels.scale_of(parameters, kernels.noise_widths(parameters)),
        given,
        ratios,
    )
    return ratios


@dataclass(frozen=True)
class RLSVI(RunsMany):
    """A learner that runs RLSVI with S states, A actions, H steps and K episodes. Each episode has one user.

    The action values of step h are Q_h = Rhat_h + Phat_h V_{h+1} + w. The noise w ~ N(0, beta_scale beta_k / (N_h +
    1)) is independent for each step, state and action. In episode k, beta_k = S H^3 log(2HSAk) / 2; beta_scale is
    one of ``parameters``. N_h is the number of visits so far in step h. Rhat_h and Phat_h are the mean reward and
    the frequencies of the next states, 0 without visits. V_h is the largest entry of Q_h in each state. The policy
    takes the first action with this entry. If ``parameters.clip`` is given, V is clipped to [0, clip] before the
    previous step uses it. The released Q is never clipped.

    With its own noise RLSVI hardly learns at small epsilon: on RiverSwim (S = 6, A = 2, H = 20) its mean
    regret over 100 runs is 3218 after 1,000 episodes (epsilon 1.634 at delta 1e-6), and 63335 after 20,000
    (epsilon 7.75). Without learning the regret is 3397 and 67945.

    Attributes:
        parameters: the sizes of the problem and the scale of the noise.

    >>> swim = RLSVI(RLSVIParameters(states=6, actions=2, horizon=20, episodes=50))
    >>> from dpproof.mechanisms.environments.river_swim import river_swim
    >>> swim.run(river_swim(), np.random.default_rng(0)).regrets.shape
    (50,)
    """

    parameters: RLSVIParameters

    def run(
        self,
        environment: TabularMDP,
        rng: Source = None,
        *,
        keep: bool = False,
        budget: float = math.inf,
    ) -> LearningRun:
        """Return the result of learning in `environment` for all episodes.

        With `keep` the result holds the trajectories. The run is an experiment in floating point. If `rng` is a seed
        or a generator, it is a simulation.

        With a finite `budget` the run is budget-zCDP and sqrt(2 budget)-GDP (Gaussian differential privacy) in real
        arithmetic, for any number of episodes. Neighbours differ in one user's rewards. A new table is released as
        long as the privacy cost of all tables, which depends on the visit counts, is within the budget. After that
        the policy stays the same. The conditions are those of `dpproof.accountant.rl.rlsvi.odometer.RewardsFilter`.

        Raises:
            ValueError: the environment's S, A or H are not those of the parameters; `budget` is negative or NaN; or
                `budget` is finite and a subclass replaces the noise.
        """
        check_sizes(self.parameters, environment)
        if not budget >= 0:
            raise ValueError(f"budget ({budget!r}) must be a number of at least 0")
        if budget < math.inf:
            self._check_noise("a budget")
        K, H = self.parameters.episodes, environment.horizon
        regrets = np.empty(K)
        states, actions = np.empty((K * keep, H + 1), np.int64), np.empty((K * keep, H), np.int64)
        best = environment.optimal_action_values().argmax(axis=2)
        scale = kernels.scale_of(self.parameters, self.noise_widths())
        law, randomness = law_of(environment), Randomness.of(rng)
        drawn = randomness.generator
        released = kernels.run_loop(law, best, K, scale, budget, drawn, regrets, states, actions)
        if not keep:
            return LearningRun(regrets, released, simulated=randomness.simulated)
        rewards = environment.rewards[states[:, :-1], actions]
        return LearningRun(regrets, released, states, actions, rewards, simulated=randomness.simulated)

    def release(self, users: Users, rng: np.random.Generator, runs: int = 1) -> NDArray[np.float64]:
        """Return the noisy tables of `runs` independent runs on the same users, an array (runs, K, H, S, A).

        They are a fast simulation in floating point, for experiments and audits. They have no guarantee. Use
        `publish` for a real release.

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
        """Return the tables of `release`, and the visit counts before each episode in an array of the same shape."""
        return self._release(users, rng, runs, counted=True)

    def publish(
        self, users: Users, seed: Source = None, *, exponent: int = GRID
    ) -> RLSVIRelease | RLSVISimulation:
        """Return the noisy tables of one run on `users`, drawn exactly. The guarantee covers every released bit.

        Args:
            users: the next states and rewards of each user, one user for each episode.
            seed: leave it out for a release, which draws from the operating system's entropy. A seed or a generator
                makes a simulation.
            exponent: table entries are multiples of 2^exponent. Choose it without looking at the data.

        Raises:
            ValueError: the users' K, H, S or A are not those of the parameters, or the exponent is out of
                range.

        >>> users = Users([[[[0, 0]]]] * 3, [[[[0.0, 1.0]]]] * 3)
        >>> RLSVI(RLSVIParameters(states=1, actions=2, horizon=1, episodes=3)).publish(users).tables.shape
        (3, 1, 1, 2)
        """
        self._check_noise("a release")
        check_users(self.parameters, users)
        stream = RLSVIStream(self.parameters, seed, exponent=exponent)
        steps = range(users.horizon)
        for k in range(users.count):
            policy, states = stream.policy(), [users.start]
            for h in steps:
                states.append(int(users.next_states[k, h, states[h], policy[h, states[h]]]))
            actions = policy[steps, states[:-1]]
            stream.see(states, actions, users.rewards[k, steps, states[:-1], actions])
        return stream.release()

    def sample(self, data: Users, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the noisy tables of `n` independent runs on `data`, an array (n, K, H, S, A).

        Audits call this method (`dpproof.mechanisms.primitives.Samples`).
        """
        return self.release(data, rng, n)

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the proved guarantee of one call of `publish`, which releases all tables.

        Raises:
            ValueError: a subclass replaces the noise, or nothing is proved under this adjacency.
        """
        self._check_noise("a guarantee")
        return accounting.account(self.parameters, Adjacency.of(adjacency))

    def _check_noise(self, what: str) -> None:
        """Refuse a subclass with other noise, because the proof covers only the noise of this class."""
        of = type(self)
        if of.noise_widths is not RLSVI.noise_widths or of.normals is not RLSVI.normals:
            raise ValueError(
                f"{of.__name__} must not replace noise_widths or normals. With other noise {what} does not hold."
            )

    def noise_widths(self) -> NDArray[np.float64]:
        """Return the standard deviations of simulated noise after 0, 1, ... visits, up to a common factor.

        In episode k they are divided by sqrt(beta_scale beta_k), with beta_k as in `RLSVI`.
        """
        return kernels.noise_widths(self.parameters)

    def normals(self, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.float64]:
        """Return independent standard normal numbers of this shape, the noise of simulated releases."""
        return rng.standard_normal(shape)

    def _release(
        self, users: Users, rng: np.random.Generator, runs: int, *, counted: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        check_users(self.parameters, users)
        shape = (_checks.at_least("runs", runs, 1), *users.rewards.shape)
        tables = self.normals(shape, rng)
        counts = np.empty(shape if counted else (0,) * 5, np.int64)
        scale = kernels.scale_of(self.parameters, self.noise_widths())
        kernels.release_loop(users.start, users.next_states, users.rewards, scale, tables, counts)
        return tables, counts
