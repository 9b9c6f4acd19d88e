"""Gaussian Thompson sampling: a bandit learner whose own random draws make it private.

Source: Agrawal and Goyal (2017), "Near-optimal regret bounds for Thompson sampling", Algorithm 2. The initial
pulls and the factor on the variance are those of Ou, Avella Medina and Cummings (AISTATS 2024),
arXiv:2407.14879v1.

In every round the learner draws one Gaussian number for each arm, and pulls the arm with the largest number. Arm i
has n_i rewards with sum S_i. Its draw has mean S_i/(n_i + 1) and variance c/(n_i + 1), with a public factor c.
Mean and variance are exact rationals, because rewards are rounded to multiples of 2^-30 when a user arrives. A
release holds the draws as integers: exactly rounded multiples of 2^exponent
(`dpproof.mechanisms.release.rounded_gaussian`). The integers determine the pulled arms. docs/notes/thompson.md has
the argument.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.rl.thompson import thompson as accounting
from dpproof.accountant.rl.thompson.thompson import ThompsonParameters
from dpproof.mechanisms import _checks
from dpproof.mechanisms.randomness import Randomness, Source, how_drawn
from dpproof.mechanisms.release.grid import (
    GRID,
    REWARD_BITS,
    OnGrid,
    Released,
    Simulated,
    checked_exponent,
    doubles,
    grains,
)
from dpproof.mechanisms.release.rounded_gaussian import rounded_gaussian
from dpproof.mechanisms.release.words import words_of

if TYPE_CHECKING:
    from dpproof.accountant.claims.result import PrivacyResult


class _Draws(OnGrid):
    """The draws of one run: integers (T, N) in steps of the grid."""

    mechanism = "thompson"

    @property
    def draws(self) -> NDArray[np.float64]:
        """The draws of T rounds for N arms as doubles (T, N), computed from the integers."""
        return doubles(self.integers, self.exponent)

    @property
    def arms(self) -> list[int]:
        """The arm that is pulled in each round. It has the largest draw, and is the first such arm in a tie."""
        return [row.index(max(row)) for row in self.integers]


class ThompsonRelease(_Draws, Released):
    """The released Gaussian draws of one run of Thompson sampling. The guarantee covers every bit."""


class ThompsonSimulation(_Draws, Simulated):
    """The Gaussian draws of one run, made from a seed or a given generator. They have no guarantee."""


def publish(
    parameters: ThompsonParameters, rewards: ArrayLike, seed: Source = None, *, exponent: int = GRID
) -> ThompsonRelease | ThompsonSimulation:
    """Return the Gaussian draws of one run of Thompson sampling, as `Thompson.publish` describes."""
    exponent, randomness = checked_exponent(exponent), Randomness.of(seed)
    paid, words = grains(rewards), words_of(randomness)
    arms, before = parameters.arms, parameters.arms * parameters.pulls
    counts, sums = [0] * arms, [0] * arms
    released: list[tuple[int, ...]] = []
    for user, row in enumerate(paid.tolist()):
        arm = user % arms
        if user >= before:
            means = [Fraction(s, n + 1 << REWARD_BITS) for s, n in zip(sums, counts, strict=True)]
            variances = [exact(parameters.variance) / (n + 1) for n in counts]
            released.append(tuple(rounded_gaussian(means, variances, exponent, source=words)))
            arm = released[-1].index(max(released[-1]))
        counts[arm] += 1
        sums[arm] += row[arm]
    kind = ThompsonSimulation if randomness.simulated else ThompsonRelease
    return kind(parameters, tuple(released), exponent, randomness)


Floats = NDArray[np.float64]
Pay = Callable[[int, NDArray[np.int64]], Floats]
"""Type of a function from a user's number and the arm pulled in each run to the reward in each run."""


@dataclass(frozen=True, eq=False, repr=False)
class ThompsonRun:
    """The result of n runs of Thompson sampling with T rounds and N arms.

    Attributes:
        draws: float64 (n, T, N), the Gaussian number drawn for each arm in each round.
        arms: int64 (n, T), the arm pulled in each round: the one with the largest draw.
        simulated: whether the draws came from a seed or a given generator.
    """

    draws: Floats
    arms: NDArray[np.int64]
    simulated: bool = True

    def __repr__(self) -> str:
        return f"<ThompsonRun of {len(self.draws)} runs; {how_drawn(self.simulated)}>"


@dataclass(frozen=True)
class Thompson:
    """A bandit learner that uses Thompson sampling with Gaussian draws, for rewards in [0, 1].

    Attributes:
        parameters: the number of arms, of rounds and of initial pulls of each arm, and a factor on the variance.

    >>> learner = Thompson(ThompsonParameters(arms=2, rounds=200))
    >>> run = learner.learn([0.1, 0.9], 3, np.random.default_rng(0))
    >>> (run.arms == 1).mean() > 0.8
    np.True_
    """

    parameters: ThompsonParameters

    @property
    def users(self) -> int:
        """Number of users: one for each pull, including the initial pulls."""
        return self.parameters.arms * self.parameters.pulls + self.parameters.rounds

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the proved guarantee of one call of `publish`, which releases all draws.

        `dpproof.accountant.rl.thompson.thompson` has the theorem.
        """
        return accounting.account(self.parameters, Adjacency.of(adjacency))

    def learn(self, means: ArrayLike, n: int, rng: Source = None) -> ThompsonRun:
        """Return the results of n independent runs with users whose rewards are random, 0 or 1.

        Args:
            means: (N,), the probability of reward 1 for each of the N arms, in [0, 1].
            n: the number of runs, at least 1.
            rng: the source of all randomness; a seed or a generator makes a simulation.
        """
        chances = _checks.unit_interval("means", means)
        if chances.shape != (self.parameters.arms,):
            raise ValueError(f"the shape of means {chances.shape} must be ({self.parameters.arms},)")
        randomness = Randomness.of(rng)

        def bits(_user: int, arms: NDArray[np.int64]) -> Floats:
            return (randomness.generator.random(arms.size) < chances[arms]).astype(float)

        return self._run(bits, n, randomness)

    def sample(self, rewards: ArrayLike, n: int, rng: np.random.Generator) -> Floats:
        """Return the Gaussian draws of n independent runs for users with given rewards.

        They are a fast simulation in floating point, for audits. Use `publish` for a real release.

        Args:
            rewards: (users, N) in [0, 1]: the reward of each user for each arm. Pull t is made for user t.
            n: the number of runs.
            rng: the source of all randomness.

        Returns:
            float64 (n, T, N), the draws in T rounds for N arms.

        Raises:
            ValueError: another shape, or a reward outside [0, 1].

        >>> learner = Thompson(ThompsonParameters(arms=1, rounds=2))
        >>> learner.sample([[0.5], [1.0]], 4, np.random.default_rng(0)).shape
        (4, 2, 1)
        """
        paid = self.checked(rewards)
        return self._run(partial(_paid, paid), n, Randomness.of(rng)).draws

    def publish(
        self, rewards: ArrayLike, seed: Source = None, *, exponent: int = GRID
    ) -> ThompsonRelease | ThompsonSimulation:
        """Return the Gaussian draws of one run, exactly rounded. The guarantee covers every released bit.

        Args:
            rewards: (users, N) in [0, 1]: the reward of each user for each of the N arms. Pull t is made for user t.
            seed: leave it out for a release, which draws from the operating system's entropy. A seed or a generator
                makes a simulation.
            exponent: draws are rounded to multiples of 2^exponent. Choose it without looking at the data.

        Raises:
            ValueError: another shape, a reward outside [0, 1], or an exponent out of range.

        >>> Thompson(ThompsonParameters(arms=1, rounds=2)).publish([[0.5], [1.0]]).draws.shape
        (2, 1)
        """
        return publish(self.parameters, self.checked(rewards), seed, exponent=exponent)

    def _run(self, pay: Pay, n: int, randomness: Randomness) -> ThompsonRun:
        _checks.at_least("n", n, 1)
        rng = randomness.generator
        law = Posterior.of(self, n)
        self.pull_before(law, pay)
        rounds, arms = self.parameters.rounds, self.parameters.arms
        draws = np.empty((n, rounds, arms))
        for t in range(rounds):
            draws[:, t] = law.means + np.sqrt(law.variances) * rng.standard_normal((n, arms))
            chosen = draws[:, t].argmax(axis=1)
            law.see(chosen, pay(t + self.users - rounds, chosen))
        return ThompsonRun(draws, draws.argmax(axis=2), randomness.simulated)

    def pull_before(self, law: Posterior, pay: Pay) -> None:
        """Make the initial pulls, ``parameters.pulls`` of every arm in turn.

        Add their rewards to ``law``, which holds the data so far.
        """
        for user in range(self.users - self.parameters.rounds):
            arms = np.full(len(law.sums), user % self.parameters.arms)
            law.see(arms, pay(user, arms))

    def checked(self, rewards: ArrayLike) -> Floats:
        """Return the users' rewards as an array. Raise ValueError for a wrong shape or a reward outside [0, 1]."""
        given = _checks.unit_interval("rewards", rewards)
        if given.shape != (self.users, self.parameters.arms):
            shape = (self.users, self.parameters.arms)
            raise ValueError(f"the shape of rewards {given.shape} must be {shape}, for users and arms")
        return given


@dataclass(eq=False)
class Posterior:
    """The rewards of N arms in n runs so far: their number and their sum, two arrays (n, N).

    ``factor`` is the factor on the variance of the next draws.
    """

    counts: Floats
    sums: Floats
    factor: float

    @classmethod
    def of(cls, learner: Thompson, n: int) -> Posterior:
        """Return the state of n runs before any reward. All numbers and sums are 0."""
        shape = (n, learner.parameters.arms)
        return cls(np.zeros(shape), np.zeros(shape), learner.parameters.variance)

    @property
    def means(self) -> Floats:
        """The means of the next draws, an array (n, N) for n runs and N arms."""
        return self.sums / (self.counts + 1)

    @property
    def variances(self) -> Floats:
        """The variances of the next draws, an array (n, N) for n runs and N arms."""
        return self.factor / (self.counts + 1)

    def see(self, arms: NDArray[np.int64], rewards: Floats) -> None:
        """Add one reward in each of n runs: ``rewards`` (n,) of the pulled ``arms`` (n,)."""
        rows = np.arange(len(arms))
        self.counts[rows, arms] += 1
        self.sums[rows, arms] += rewards


def sample(parameters: ThompsonParameters, rewards: ArrayLike, n: int, rng: np.random.Generator) -> Floats:
    """Return the Gaussian draws (n, T, N) of n runs with T rounds and N arms. See `Thompson.sample`."""
    return Thompson(parameters).sample(rewards, n, rng)


def log_likelihood_ratio(
    draws: Floats, parameters: ThompsonParameters, first: ArrayLike, second: ArrayLike
) -> Floats:
    """Return ln(p_second(draws) / p_first(draws)) for each run, the best score to tell two inputs apart.

    p_first and p_second are the densities of the draws if the users' rewards are ``first`` or ``second``. The pulled
    arms follow from the draws, so the pulls and the variances are the same for both inputs.

    Args:
        draws: (n, T, N), as `Thompson.sample` returns them.
        parameters: those of the learner.
        first: the rewards of the users in the denominator, (users, N).
        second: the rewards of the users in the numerator, (users, N).

    >>> one = ThompsonParameters(arms=1, rounds=2)
    >>> log_likelihood_ratio(np.array([[[0.0], [1.0]]]), one, [[0.0], [0.0]], [[1.0], [0.0]])
    array([0.75])
    """
    learner, ratio = Thompson(parameters), np.zeros(len(draws))
    sides = [(Posterior.of(learner, len(draws)), learner.checked(given)) for given in (first, second)]
    for law, paid in sides:
        learner.pull_before(law, partial(_paid, paid))
    for t in range(parameters.rounds):
        near, far = ((draws[:, t] - law.means) ** 2 for law, _ in sides)
        ratio += ((near - far) / (2 * sides[0][0].variances)).sum(axis=1)
        arms, user = draws[:, t].argmax(axis=1), t + learner.users - parameters.rounds
        for law, paid in sides:
            law.see(arms, paid[user, arms])
    return ratio


def _paid(rewards: Floats, user: int, arms: NDArray[np.int64]) -> Floats:
    paid: Floats = rewards[user, arms]
    return paid
