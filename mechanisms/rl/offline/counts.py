"""Noisy counts of logged episodes: what they count, their sensitivity, and their exact release.

At step h an episode visits a state s, takes an action a, earns a reward, and moves to a state t or ends. Each step has
tables of its own. The table of transitions counts (h, s, a, t), where t = S means that the episode ended. The table of
rewards adds up (reward - low)/(high - low) - 1/2 for each (h, s, a), so each summand is between -1/2 and 1/2. At the
last step only visits are counted, because the next state does not matter. Visits are sums of transitions. They need no
noise of their own.

All entries get independent Gaussian noise and are rounded to a public grid. docs/notes/offline_tables.md computes the
sensitivity and proves that the guarantee is that of one Gaussian mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.noise.gaussian import GaussianParameters
from dpproof.accountant.noise.gaussian import account as gaussian_guarantee
from dpproof.mechanisms import _checks
from dpproof.mechanisms.randomness import Randomness, guaranteed
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

Floats = NDArray[np.float64]
_MECHANISM = "offline learning from tables"
_SAMPLER = "dpproof.mechanisms.rl.offline.tables.learn"
_PROVED = (Adjacency.REPLACE, Adjacency.ADD_REMOVE, Adjacency.REWARDS_ONLY)


@dataclass(frozen=True)
class LogParameters:
    """Public parameters of noisy counts: the sizes of the problem and the noise.

    Attributes:
        states, actions: the numbers S and A.
        horizon: the number H of steps. No episode is longer.
        sigma: standard deviation of the noise on a count. With `public_counts` it applies to sums of rewards only.
        reward_noise: standard deviation of the noise on a sum of rewards, in units of `sigma`. It is 0 if the rewards
            are known, so that no rewards are counted.
        per_user: the largest number of episodes of one user.
        public_counts: whether states and actions are public. Then only sums of rewards get noise.
        possible: a bool array (S, A, S+1): which next states are possible. The last column says whether an episode may
            end before the horizon. None means that everything is possible. This must be public knowledge.

    >>> LogParameters(3, 2, 5, sigma=4.0).squared_sensitivity(Adjacency.REPLACE)
    Fraction(87, 8)

    Raises:
        ValueError: a field is outside its domain.
    """

    states: int
    actions: int
    horizon: int
    sigma: float
    reward_noise: float = 2.0
    per_user: int = 1
    public_counts: bool = False
    possible: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        for name in ("states", "actions", "horizon", "per_user"):
            object.__setattr__(self, name, _checks.at_least(name, getattr(self, name), 1))
        if not 0 < self.sigma < math.inf:
            raise ValueError(f"sigma ({self.sigma!r}) must be a finite number above 0")
        if not 0 <= self.reward_noise < math.inf:
            raise ValueError(f"reward_noise ({self.reward_noise!r}) must be a finite number at least 0")
        if self.public_counts and not self.reward_noise:
            raise ValueError(
                "reward_noise (0) must be above 0 if only rewards are private. With known rewards nothing is private."
            )
        if self.possible is not None:
            object.__setattr__(self, "possible", self._possible())

    def _possible(self) -> NDArray[np.bool_]:
        found, shape = np.array(self.possible), (self.states, self.actions, self.states + 1)
        if found.shape != shape or found.dtype != bool:
            raise ValueError(
                f"possible (shape {found.shape}, dtype {found.dtype}) must be a bool array of shape {shape}"
            )
        if not found.any(axis=2).all():
            s, a = map(int, np.argwhere(~found.any(axis=2))[0])
            raise ValueError(f"possible must allow a next state, or an end, after state {s} and action {a}")
        found.setflags(write=False)
        return found

    @property
    def counted(self) -> NDArray[np.bool_]:
        """The transitions that are counted, a bool array (H, S, A, S+1). The last step has only the column of ends."""
        S, A, H = self.states, self.actions, self.horizon
        one = np.ones((S, A, S + 1), np.bool_) if self.possible is None else self.possible
        found = np.repeat(one[None], H, axis=0)
        found[-1, ..., :S], found[-1, ..., S] = False, True
        return found

    def squared_sensitivity(self, adjacency: Adjacency) -> Fraction:
        """Return a bound on the squared L2 norm of the change of the release, with sums of rewards over `reward_noise`.

        Raises:
            UnprovedAdjacencyError: nothing is proved for this relation.
        """
        known = [Adjacency.REWARDS_ONLY] if self.public_counts else _PROVED
        if adjacency not in known:
            names = ", ".join(relation.value for relation in known)
            raise UnprovedAdjacencyError(_MECHANISM, adjacency, f"Use one of: {names}")
        rewards = 1 / Fraction(self.reward_noise) ** 2 if self.reward_noise else Fraction(0)
        pairs, rest = divmod(self.horizon, 2)
        match adjacency:
            case Adjacency.REWARDS_ONLY:
                found = self.horizon * rewards
            case Adjacency.ADD_REMOVE:
                found = self.horizon * (1 + rewards / 4)
            case _:  # the cells of two successive steps cannot both be equal and lead to different states
                found = pairs * max(4 + rewards * 3 / 2, 2 * rewards) + rest * max(2 + rewards / 2, rewards)
        return found * self.per_user**2

    def as_gaussian(self, adjacency: Adjacency) -> GaussianParameters:
        """Return the parameters of the Gaussian mechanism that is no more private than this release."""
        square = self.squared_sensitivity(adjacency)
        root = math.sqrt(square)
        while Fraction(root) ** 2 < square:
            root = math.nextafter(root, math.inf)
        return GaussianParameters(sigma=self.sigma, sensitivity=root)

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee of the release. It protects all episodes of one user, at most `per_user`.

        >>> LogParameters(3, 2, 5, sigma=20.0).account("replace").guarantee.epsilon("1e-6").upper
        0.7...
        """
        relation = Adjacency.of(adjacency)
        found = gaussian_guarantee(self.as_gaussian(relation), relation)
        return replace(
            found,
            released="the noisy counts of the log, the policy and its lower bounds",
            published=None,
            attained=None,
            notes=("docs/notes/offline_tables.md computes the sensitivity",),
            exact_sampler=_SAMPLER,
            unit="user",
        )

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        return vars(self) | {"possible": None if self.possible is None else self.possible.tolist()}


class Counts(NamedTuple):
    """Exact tables of a log: transitions (H, S, A, S+1), and rewards (H, S, A) in units of 2^-30. They are private."""

    transitions: NDArray[np.int64]
    rewards: NDArray[np.int64]


def counts_of(episodes: Episodes, parameters: LogParameters) -> Counts:
    """Return the exact tables of a log.

    >>> log = Episodes.rectangular([[0, 1]], [[0, 0]], [[1.0, 0.5]])
    >>> found = counts_of(log, LogParameters(2, 1, 3, sigma=1.0))
    >>> found.transitions[:2, :, 0].tolist(), (found.rewards[:, :, 0] / 2**30).tolist()
    ([[[0, 1, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 1]]], [[0.5, 0.0], [0.0, 0.0], [0.0, 0.0]])

    Raises:
        ValueError: the episodes do not fit the parameters. The message names the field and the rule that it breaks.
    """
    p = parameters
    check_log(episodes, p)
    step, after = _steps(episodes, p)
    cells = (step, episodes.states, episodes.actions)
    transitions = np.zeros((p.horizon, p.states, p.actions, p.states + 1), np.int64)
    rewards = np.zeros(transitions.shape[:3], np.int64)
    np.add.at(transitions, (*cells, after), 1)
    np.add.at(rewards, cells, grains(episodes.rewards) - (1 << (REWARD_BITS - 1)))
    return Counts(transitions, rewards)


def _steps(episodes: Episodes, p: LogParameters) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number and the next state of each step. The next state after the last step of an episode is S."""
    ends = np.cumsum(episodes.lengths) - 1
    step = np.arange(len(episodes.states)) - np.repeat(ends - episodes.lengths + 1, episodes.lengths)
    after = np.append(episodes.states[1:], p.states)
    after[ends] = p.states
    return step, np.where(step == p.horizon - 1, p.states, after)


def check_log(episodes: Episodes, parameters: LogParameters) -> None:
    """Check that a log fits the parameters.

    Raises:
        ValueError: a state, an action or a transition is not possible, an episode is too long, or a user has too many
            episodes.
    """
    p = parameters
    _checks.log(episodes, p.states, p.horizon, "horizon", p.per_user, "Give episodes_per_user={}")
    _checks.indices("actions", episodes.actions, p.actions)
    step, after = _steps(episodes, p)
    wrong = np.flatnonzero(~p.counted[step, episodes.states, episodes.actions, after])
    if wrong.size:
        s, a, t = (int(x[wrong[0]]) for x in (episodes.states, episodes.actions, after))
        what = "ends the episode" if t == p.states else f"leads to state {t}"
        raise ValueError(f"possible says that no step in state {s} with action {a} {what}, but a step does")


class _Tables(OnGrid):
    """Noisy counts: two rows of integers, those of counted transitions and those of sums of rewards."""

    parameters: LogParameters

    @property
    def transitions(self) -> Floats:
        """Noisy counts of transitions, an array (H, S, A, S+1). Entries that are not counted are 0."""
        counted = self.parameters.counted
        found = np.zeros(counted.shape)
        found[counted] = doubles(self.integers[0], self.exponent)
        return found

    @property
    def rewards(self) -> Floats:
        """Noisy sums of rewards, moved to [-1/2, 1/2], an array (H, S, A). They are 0 if rewards are known."""
        shape = self.parameters.counted.shape[:3]
        if not self.parameters.reward_noise:
            return np.zeros(shape)
        return doubles(self.integers[1], self.exponent).reshape(shape)

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee of the counts, which holds for everything that is computed from them alone.

        Raises:
            SimulationError: a seed or a generator was given.
            UnprovedAdjacencyError: nothing is proved for this relation.
        """
        return guaranteed(self.simulated, lambda: self.parameters.account(adjacency))


class ReleasedCounts(_Tables, Released):
    """Noisy counts drawn exactly from the operating system's entropy. The guarantee covers every bit of them."""


class SimulatedCounts(_Tables, Simulated):
    """Noisy counts with noise from a seed or a generator. They have no guarantee."""


def release(
    counts: Counts, parameters: LogParameters, randomness: Randomness, exponent: int = GRID
) -> ReleasedCounts | SimulatedCounts:
    """Return noisy counts. Each is exactly round((count + noise)/2^exponent), with real Gaussian noise.

    Args:
        counts: the exact tables of the log, as `counts_of` returns them.
        parameters: the public parameters.
        randomness: entropy for a release; anything else makes a simulation.
        exponent: the public grid consists of the multiples of 2^exponent, at most 0.

    Raises:
        ValueError: for an exponent outside [-200, 0].
    """
    p = parameters
    if checked_exponent(exponent) > 0:
        raise ValueError(f"exponent ({exponent}) must be at most 0, because counts are whole numbers")
    drawn = rounded_gaussian(*_laws(counts, p), exponent, source=words_of(randomness))
    if p.public_counts:
        drawn = [count << -exponent for count in counts.transitions[p.counted].tolist()] + drawn
    end = int(p.counted.sum())
    kind = SimulatedCounts if randomness.simulated else ReleasedCounts
    return kind(p, (tuple(drawn[:end]), tuple(drawn[end:])), exponent, randomness)


def _laws(counts: Counts, p: LogParameters) -> tuple[list[Fraction], list[Fraction]]:
    """Return the exact mean and variance of each number that gets noise: counts first, then sums of rewards."""
    variance = Fraction(p.sigma) ** 2
    whole = [] if p.public_counts else counts.transitions[p.counted].tolist()
    sums = counts.rewards.ravel().tolist() if p.reward_noise else []
    means = [Fraction(x) for x in whole] + [Fraction(x, 1 << REWARD_BITS) for x in sums]
    return means, [variance] * len(whole) + [variance * Fraction(p.reward_noise) ** 2] * len(sums)


def sample(parameters: LogParameters, data: Episodes, n: int, rng: np.random.Generator) -> Floats:
    """Return the numbers that get noise in `n` simulated releases of a log, an array (n, numbers).

    An audit draws its samples with this function. The order is that of `exact_numbers`.
    """
    means, variances = _laws(counts_of(data, parameters), parameters)
    words = words_of(Randomness.of(rng))
    drawn = rounded_gaussian(means, variances, GRID, times=_checks.at_least("n", n, 1), source=words)
    return doubles(drawn, GRID).reshape(n, len(means))


def exact_numbers(parameters: LogParameters, data: Episodes) -> tuple[Floats, Floats]:
    """Return the numbers of a log that get noise, and the standard deviation of the noise of each. They are private."""
    means, variances = _laws(counts_of(data, parameters), parameters)
    return np.array(means, np.float64), np.sqrt(np.array(variances, np.float64))
