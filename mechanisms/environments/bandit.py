"""Bandits with rewards 0 or 1, as decision processes of one state and one step.

The bandit of Bai, Talebi, Zhao, Cheng and Chen (2026), section VI: arm a pays 1 with probability r(a), drawn
uniformly from [0, 0.99]. For user k the probability is r(a) + z, clipped to [0, 1], where z is normal with
deviation 0.1 and independent for each user and arm. Each user plays once, so the rewards of one arm are
independent bits. The probability of 1 is the mean of a clipped normal variable, which has a closed form.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from dpproof.mechanisms import _checks
from dpproof.mechanisms.environments.tabular import TabularMDP

HIGHEST_MEAN: Final = 0.99
"""Largest possible mean reward of an arm in `heterogeneous_bandit`."""


def bandit(means: ArrayLike) -> TabularMDP:
    """Return the bandit whose arms pay 1 with the probabilities ``means`` (A,), each in [0, 1].

    >>> bandit([0.25, 0.5]).optimal_values()[0, 0]
    np.float64(0.5)
    """
    given = _checks.unit_interval("means", means)
    if given.ndim != 1 or given.size == 0:
        raise ValueError(
            f"means (shape {given.shape}) must be a list with one mean for each arm, and at least one arm"
        )
    return TabularMDP(np.ones((1, given.size, 1)), given[None, :], horizon=1)


def heterogeneous_bandit(rng: np.random.Generator, arms: int = 20, deviation: float = 0.1) -> TabularMDP:
    """Return a random bandit with `arms` arms whose users have different reward probabilities.

    `deviation` is the standard deviation of a user's probabilities around those of the arms, before clipping. The
    docstring of the module describes the distribution.

    >>> heterogeneous_bandit(np.random.default_rng(0)).actions
    20
    """
    means = rng.uniform(0, HIGHEST_MEAN, _checks.at_least("arms", arms, 1))
    return bandit(clipped_mean(means, deviation))


def clipped_mean(means: ArrayLike, deviation: float) -> NDArray[np.float64]:
    """Return the means of normal variables after clipping to [0, 1]. `means` are the means before clipping.

    >>> clipped_mean([0.5, 0.0], 0.1).round(4).tolist()
    [0.5, 0.0399]

    Raises:
        ValueError: for a deviation that is negative, infinite or NaN.
    """
    if not 0 <= deviation < math.inf:
        raise ValueError(f"deviation ({deviation!r}) must be a finite number at least 0")
    m = np.asarray(means, dtype=np.float64)
    if deviation == 0:
        return np.clip(m, 0.0, 1.0)
    low, high = -m / deviation, (1 - m) / deviation
    inside = m * (ndtr(high) - ndtr(low)) - deviation * (_density(high) - _density(low))
    found: NDArray[np.float64] = np.clip(inside + ndtr(-high), 0.0, 1.0)
    return found


def _density(z: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return found
