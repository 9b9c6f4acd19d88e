"""Pessimistic planning from noisy counts: lower bounds on action values that hold with a stated probability.

Let V be values of the next step, and a set B_j the j best next states by V. Then the mean of V is V_min plus the sum of
(V_(j) - V_(j+1)) P(B_j). So a lower bound on the probability of every set B gives a lower bound for every V, also for
values that depend on the same data. The bound on P(B) includes the noise of the counts and the sampling error.
docs/notes/offline_tables.md proves that all bounds together hold with probability 1 - failure.

Everything here is computed from noisy counts alone, in doubles. Rounding errors of doubles are not bounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtri_exp, xlogy

Floats = NDArray[np.float64]
_HALVINGS = 50
_ROOM = 1 + 1e-9
_GRAIN = 2.0**-30
"""Rewards are rounded to multiples of 2^-30 of their range before they are counted."""


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Noisy counts and what is public about them.

    Attributes:
        transitions: noisy counts (H, S, A, S+1). Column S counts ends of episodes.
        counted: which transitions are counted and have noise, a bool array of the same shape.
        rewards: noisy sums (H, S, A) of (reward - low)/(high - low) - 1/2, or known rewards if `known`.
        low, high: the range of rewards.
        sigma: standard deviation of the noise on a count. It may be 0.
        reward_sigma: standard deviation of the noise on a sum of rewards. It may be 0.
        grid: the distance of two neighbouring points of the public grid, or 0.
        known: whether `rewards` are the expected rewards themselves.
        lowest: the least that each step after the end of a shorter episode may have earned: 0 if it really ended.
    """

    transitions: Floats
    counted: NDArray[np.bool_]
    rewards: Floats
    low: float
    high: float
    sigma: float = 0.0
    reward_sigma: float = 0.0
    grid: float = 0.0
    known: bool = False
    lowest: float = 0.0


@dataclass(frozen=True)
class Confidence:
    """How pessimistic bounds are.

    Attributes:
        failure: the probability, in (0, 1), that some bound is wrong if `scale` is 1.
        scale: multiplies the bounds on the noise and on the sampling error. Only 1 has a proof.
        variance_aware: whether widths depend on the variance of the next state. If not, they are those of Hoeffding's
            inequality, which are never smaller.
    """

    failure: float = 0.05
    scale: float = 1.0
    variance_aware: bool = True


def lower_share(successes: Floats, failures: Floats, level: Floats, variance_aware: bool = True) -> Floats:
    """Return the least p with (a + b) KL(a/(a + b), p) <= level, for a successes and b failures.

    Without `variance_aware` the result is a/(a + b) - sqrt(level/(2 (a + b))), or 0 if that is negative. By Pinsker's
    inequality it is never larger.

    >>> found = lower_share(np.array([90.0, 0.0]), np.array([10.0, 5.0]), np.array([2.0, 2.0]))
    >>> found.round(3).tolist()
    [0.830, 0.0]
    """
    a, b, level = np.broadcast_arrays(successes, failures, level)
    n = np.maximum(a + b, 1e-300)
    share = a / n
    if not variance_aware:
        return np.asarray(np.maximum(share - np.sqrt(level / (2 * n)), 0.0))
    low, high = np.zeros(share.shape), share.copy()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # a log(a/(n p)) + b log(b/(n (1 - p)))
        rest = np.maximum(1 - middle, 1e-300)
        apart = xlogy(a, share / np.maximum(middle, 1e-300)) + xlogy(b, (b / n) / rest)
        far = apart > level
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    return low


def backward(
    counts: NoisyCounts, confidence: Confidence, policy: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], Floats]:
    """Return a policy (H, S) and the lower bounds (H+1, S) of its values, from the last step to the first.

    Without a given `policy`, the policy takes the action with the largest lower bound; of equal ones the first.
    """
    H, S = counts.transitions.shape[:2]
    values, found = np.zeros((H + 1, S)), np.zeros((H, S), np.int64)
    for h in reversed(range(H)):
        table = action_values(counts, h, values[h + 1], confidence)
        found[h] = table.argmax(axis=1) if policy is None else policy[h]
        values[h] = table[np.arange(S), found[h]]
    return found, values


def action_values(counts: NoisyCounts, h: int, following: Floats, confidence: Confidence) -> Floats:
    """Return lower bounds (S, A) on the expected reward of step h plus the mean of the next values `following` (S,).

    After the end of an episode the value is that of the missing steps, each with `NoisyCounts.lowest`.
    """
    rewards = counts.rewards[h] if counts.known else _mean_reward(counts, h, confidence)
    return np.asarray(rewards + _mean_value(counts, h, following, confidence))


def _share_of_failure(counts: NoisyCounts, confidence: Confidence) -> float:
    """Return the logarithm of the failure probability of each of the four events of a cell (h, s, a)."""
    return math.log(confidence.failure) - math.log(4 * math.prod(counts.transitions.shape[:3]))


def _noise(counts: NoisyCounts, size: Floats, of: Floats, confidence: Confidence) -> Floats:
    """Return bounds on the noise of a sum of `size` counts, for all such sums of `of` counts at once."""
    half = size * counts.grid / 2
    if not counts.sigma:
        return half
    sets = gammaln(of + 1) - gammaln(size + 1) - gammaln(of - size + 1)
    share = _share_of_failure(counts, confidence) - np.log(2 * np.maximum(of, 1)) - sets
    quantile = -ndtri_exp(share) * _ROOM * confidence.scale
    return np.asarray(half + counts.sigma * np.sqrt(size) * quantile)


def _level(counts: NoisyCounts, sets: Floats, visits: Floats, confidence: Confidence) -> Floats:
    """Return the level of `lower_share`: `sets` is the logarithm of the number of events that share a failure."""
    log = sets - _share_of_failure(counts, confidence) + np.log1p(visits)
    return np.asarray(log * confidence.scale**2 * _ROOM)


def _mean_value(counts: NoisyCounts, h: int, following: Floats, confidence: Confidence) -> Floats:
    values = np.append(following, counts.lowest * (len(counts.transitions) - 1 - h))
    order = np.argsort(-values, kind="stable")
    top = counts.transitions[h][..., order].cumsum(axis=2)
    size = counts.counted[h][..., order].cumsum(axis=2).astype(np.float64)
    total, of = top[..., -1:], size[..., -1:]
    inside = np.maximum(top - _noise(counts, size, of, confidence), 0.0)
    outside = np.maximum(total - top + _noise(counts, of - size, of, confidence), 0.0)
    visits = np.maximum(total + _noise(counts, of, of, confidence), 0.0)
    sets = gammaln(of + 1) - gammaln(size + 1) - gammaln(of - size + 1) + np.log(np.maximum(of - 1, 1))
    level = _level(counts, sets, visits, confidence)
    share = lower_share(inside, outside, level, confidence.variance_aware)
    share = np.where(size == 0, 0.0, np.where(size == of, 1.0, share))
    share = np.maximum.accumulate(share, axis=2)
    falls = values[order][:-1] - values[order][1:]
    return np.asarray(values[order][-1] + (share[..., :-1] * falls).sum(axis=2))


def _mean_reward(counts: NoisyCounts, h: int, confidence: Confidence) -> Floats:
    of = counts.counted[h].sum(axis=2).astype(np.float64)
    total, error = counts.transitions[h].sum(axis=2), _noise(counts, of, of, confidence)
    fewest, most = np.maximum(total - error, 0.0), np.maximum(total + error, 0.0)
    quantile = 0.0
    if counts.reward_sigma:
        quantile = -float(ndtri_exp(_share_of_failure(counts, confidence) - math.log(2))) * _ROOM
    width = counts.reward_sigma * quantile * confidence.scale + counts.grid / 2
    earned = np.maximum(fewest / 2 + counts.rewards[h] - width, 0.0)
    missed = np.maximum(most / 2 - counts.rewards[h] + width, 0.0)
    level = _level(counts, np.zeros(()), most, confidence)
    share = lower_share(earned, missed, level, confidence.variance_aware)
    return np.asarray(counts.low + (counts.high - counts.low) * np.maximum(share - _GRAIN, 0.0))
