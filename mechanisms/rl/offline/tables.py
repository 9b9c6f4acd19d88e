"""Private offline learning for finite problems: a policy from logged episodes, and a lower bound on its value.

`learn` releases noisy counts of a log once. The policy and the lower bound are computed from these counts alone, so
they have the same guarantee. Planning is pessimistic: an action that the log shows seldom gets a low value.

Source: Qiao and Wang, "Offline reinforcement learning with differential privacy" (NeurIPS 2023, arXiv 2206.00810):
Gaussian noise on the counts of each step, then value iteration with a penalty. **Nothing here is a result about the
printed algorithm DP-APVI.** The text of its algorithm was not available, so its constants are not used. The bounds
are this project's own, and docs/notes/offline_tables.md proves them. They differ from a penalty of the kind
sqrt(Var/n) + S H E/n, where E bounds the noise of a count, in two ways. They hold for values that depend on the same
data, and noise is bounded for sets of states instead of single counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.accountant.noise.gaussian import ACCOUNTANT
from dpproof.mechanisms import _checks
from dpproof.mechanisms.own_data.episodes import OwnEpisodes
from dpproof.mechanisms.own_data.rewards import RewardMap
from dpproof.mechanisms.randomness import Randomness, Source
from dpproof.mechanisms.release.grid import GRID, how_released
from dpproof.mechanisms.rl.offline.bounds import Confidence, Floats, NoisyCounts, backward
from dpproof.mechanisms.rl.offline.counts import (
    LogParameters,
    ReleasedCounts,
    SimulatedCounts,
    counts_of,
    release,
)

if TYPE_CHECKING:
    from dpproof.accountant.claims.result import PrivacyResult

PESSIMISM = 0.25
"""The default scale of the bounds with which the policy is chosen. benchmarks/offline_tables.py says how it was set."""
REWARD_NOISE = 2.0
"""The default noise on sums of rewards, in units of the noise on counts."""


@dataclass(frozen=True, eq=False, repr=False)
class OfflinePolicy:
    """A policy learned from logged episodes, with a lower bound on its value and its privacy guarantee.

    Attributes:
        released: the noisy counts. Everything else is computed from them.
        policy: the action of each step and state, an int array (H, S).
        values: lower bounds (H+1, S) on the expected sum of rewards from a step and state on, in units of rewards. All
            of them hold at once with probability at least 1 - `failure`, over the log and the noise. The condition is
            that a logged state explains everything on which both the choice of the action and its outcome depend.
        failure: the largest probability that some lower bound is wrong.
        pessimism: the scale of the bounds with which the policy was chosen. The values always use the scale 1.
    """

    released: ReleasedCounts | SimulatedCounts
    policy: NDArray[np.int64]
    values: Floats
    failure: float
    pessimism: float

    @property
    def simulated(self) -> bool:
        """Whether a seed or a given generator drew the noise. If so, no guarantee holds."""
        return self.released.simulated

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the privacy guarantee of the noisy counts, the policy and the values together.

        Raises:
            SimulationError: a seed or a generator was given.
            UnprovedAdjacencyError: nothing is proved for this relation.
        """
        return self.released.account(adjacency)

    def act(self, state: int, step: int) -> int:
        """Return the action in a state at a step. Both are numbered from 0.

        Raises:
            ValueError: the state or the step does not exist.
        """
        H, S = self.policy.shape
        return int(self.policy[_checks.index("step", step, H), _checks.index("state", state, S)])

    def lower_bound(self, start: int | ArrayLike) -> float:
        """Return the lower bound on the value of the policy, in units of rewards. `values` has its condition.

        Args:
            start: the state in which episodes start, or the probability of each state.

        Raises:
            ValueError: the state does not exist, or ``start`` is not a distribution over the states.
        """
        first = self.values[0]
        if np.ndim(start) == 0:
            return float(first[_checks.index("start", start, len(first))])  # type: ignore[arg-type] # one number
        weights = _checks.distributions("start", start)
        if weights.shape != first.shape:
            raise ValueError(f"the shape of start {weights.shape} must be {first.shape}")
        return float(weights @ first)

    def as_json(self) -> dict[str, Any]:
        """Return policy, values and noisy counts as JSON data. It holds no seed."""
        return {
            "policy": self.policy.tolist(),
            "values": self.values.tolist(),
            "failure": self.failure,
            "pessimism": self.pessimism,
            "released": self.released.as_json(),
        }

    def __repr__(self) -> str:
        (H, S), A = self.policy.shape, self.released.parameters.actions
        how = how_released(self.simulated)
        return f"<OfflinePolicy: {S} states, {A} actions, {H} steps; {how}>"


def learn(
    episodes: Episodes,
    *,
    states: int,
    actions: int,
    horizon: int,
    epsilon: float,
    delta: float,
    adjacency: Adjacency | str,
    reward_range: tuple[float, float] | None = None,
    rewards: ArrayLike | None = None,
    possible: ArrayLike | None = None,
    variance_aware: bool = True,
    failure: float = 0.05,
    pessimism: float = PESSIMISM,
    complete: bool = False,
    episodes_per_user: int = 1,
    reward_noise: float = REWARD_NOISE,
    exponent: int = GRID,
    seed: Source = None,
) -> OfflinePolicy:
    """Return a policy learned from logged episodes under (epsilon, delta)-differential privacy.

    The lower bounds need a log whose states explain everything on which both the choice of an action and its outcome
    depend. If whoever chose the actions saw more than the log holds, the bounds may be far too high. The log cannot
    show this.

    Args:
        episodes: the log. `dpproof.read_episodes` reads files.
        states, actions, horizon: the numbers of states, actions and steps. They are public.
        epsilon, delta: the guarantee that the noise is calibrated to. It protects all episodes of a user.
        adjacency: `"replace"`, `"add-remove"` or `"rewards-only"`. With `"rewards-only"` states and actions are public
            and get no noise.
        reward_range: the public range of rewards. `read_episodes` has stored it in the log; other logs have rewards in
            [0, 1], and the range tells which rewards were moved to 0 and 1.
        rewards: expected rewards (S, A) or (H, S, A), in their own units, if they are public. Then rewards in the log
            are not used, and the noise is smaller.
        possible: a bool array (S, A, S+1): which next states are possible, from public knowledge. The last column says
            whether an episode may end. It makes the lower bounds better if few next states are possible.
        variance_aware: whether the bounds depend on the variance of the next state. If not, Hoeffding's inequality is
            used, which is weaker.
        failure: the probability that a lower bound may be wrong.
        pessimism: the scale of the bounds with which the policy is chosen. It does not affect the validity of the
            returned lower bounds.
        complete: whether every episode that is shorter than the horizon really ended, so that nothing was earned after
            it. If not, it may have been cut off. The bounds then take the least reward for every missing step, if
            rewards may be negative.
        episodes_per_user: the largest number of episodes of a user. The noise is proportional to it.
        reward_noise: noise on sums of rewards, in units of the noise on counts.
        exponent: noisy counts are multiples of 2^exponent. Choose it without looking at the data.
        seed: leave it out for a release. A seed or a generator makes a simulation, which has no guarantee.

    >>> log = Episodes.rectangular([[0, 1]] * 5000, [[1, 0]] * 5000, [[0.0, 1.0]] * 5000)
    >>> found = learn(log, states=2, actions=2, horizon=2, epsilon=1, delta=1e-6, adjacency="replace", seed=1)
    >>> found.act(state=0, step=0), found.simulated
    (1, True)

    Raises:
        ValueError: an argument is outside its domain, or the log does not fit the arguments. Nothing is drawn then.
        UnprovedAdjacencyError: nothing is proved for this relation.
    """
    map_, relation = _range(episodes, reward_range), Adjacency.of(adjacency)
    _check_numbers(epsilon, failure, pessimism, reward_noise)
    public = LogParameters(
        states,
        actions,
        horizon,
        sigma=1.0,
        reward_noise=0.0 if rewards is not None else reward_noise,
        per_user=episodes_per_user,
        public_counts=relation is Adjacency.REWARDS_ONLY,
        possible=None if possible is None else np.asarray(possible),
    )
    known = None if rewards is None else _known(rewards, public)
    parameters = _calibrated(public, relation, epsilon, delta)
    randomness = Randomness.of(seed)
    drawn = release(counts_of(episodes, parameters), parameters, randomness, exponent)
    policy, values = plan(
        noisy_counts(drawn, map_, known, complete=complete),
        pessimism=pessimism,
        confidence=Confidence(failure, 1.0, variance_aware),
    )
    return OfflinePolicy(drawn, policy, values, failure, pessimism)


def plan(
    counts: NoisyCounts, *, pessimism: float, confidence: Confidence
) -> tuple[NDArray[np.int64], Floats]:
    """Return a policy (H, S) chosen with bounds of the scale `pessimism`, and lower bounds (H+1, S) on its values."""
    chosen = Confidence(confidence.failure, pessimism, confidence.variance_aware)
    policy, _ = backward(counts, chosen)
    return backward(counts, confidence, policy)


def noisy_counts(
    drawn: ReleasedCounts | SimulatedCounts,
    map_: RewardMap,
    known: Floats | None = None,
    *,
    complete: bool = True,
) -> NoisyCounts:
    """Return released counts in the form that planning takes. `known` are known rewards (H, S, A)."""
    p = drawn.parameters
    least = map_.low if known is None else float(known.min())
    return NoisyCounts(
        drawn.transitions,
        p.counted,
        drawn.rewards if known is None else known,
        map_.low,
        map_.high,
        0.0 if p.public_counts else p.sigma,
        p.sigma * p.reward_noise,
        math.ldexp(1.0, drawn.exponent),
        known is not None,
        0.0 if complete else min(least, 0.0),
    )


def _calibrated(public: LogParameters, relation: Adjacency, epsilon: float, delta: float) -> LogParameters:
    """Return the parameters with the least noise that meets (epsilon, delta)."""
    found, _ = ACCOUNTANT.least_noise(public.as_gaussian(relation), relation, epsilon, delta)
    return LogParameters(**vars(public) | {"sigma": found.sigma})


def _range(episodes: Episodes, reward_range: tuple[float, float] | None) -> RewardMap:
    if not isinstance(episodes, OwnEpisodes):
        return RewardMap() if reward_range is None else RewardMap.of(reward_range)
    if reward_range is not None and RewardMap.of(reward_range) != episodes.reward_map:
        own = (episodes.reward_map.low, episodes.reward_map.high)
        raise ValueError(
            f"reward_range ({reward_range!r}) must be {own!r}, the range with which the log was read"
        )
    return episodes.reward_map


def _check_numbers(epsilon: float, failure: float, pessimism: float, reward_noise: float) -> None:
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon ({epsilon!r}) must be a finite number above 0")
    if not 0 < failure < 1:
        raise ValueError(f"failure ({failure!r}) must be in (0, 1)")
    if not 0 <= pessimism < math.inf:
        raise ValueError(f"pessimism ({pessimism!r}) must be a finite number at least 0")
    if not 0 < reward_noise < math.inf:
        raise ValueError(f"reward_noise ({reward_noise!r}) must be a finite number above 0")


def _known(rewards: ArrayLike, p: LogParameters) -> Floats:
    found = np.array(rewards, np.float64)
    shapes = ((p.states, p.actions), (p.horizon, p.states, p.actions))
    if found.shape not in shapes:
        raise ValueError(f"the shape of rewards {found.shape} must be {shapes[0]} or {shapes[1]}")
    if not np.isfinite(found).all():
        raise ValueError("rewards must be finite numbers")
    return np.broadcast_to(found, shapes[1]).copy()
