"""How much data DP-LSW needs: beside values of 0, and beside Gaussian noise on counts and sums."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.rl.policy_evaluation.noise import Noise, with_room
from dpproof.mechanisms.environments.chain import chain_values
from dpproof.mechanisms.rl.policy_evaluation.data import FirstVisits
from dpproof.reproduction.policy_evaluation.kinds import DISCOUNT, LOOSE, STATES, Size, squares
from dpproof.reproduction.policy_evaluation.runs import grown

Row = Mapping[str, Any]
EPSILON: Final = "1"
DELTA: Final = "1e-5"
BOUNDS: Final = (LOOSE, 1.0)
"""Fmax: the default bound on returns, and the one that is true of this chain."""
METHODS: Final = ("DP-LSW", "Gaussian counts and sums", "values of 0")


def small_data(size: Size, seed: int) -> list[dict[str, Any]]:
    """RMSE by batch size, bound and method on tabular features: mean and standard error over the runs."""
    found: dict[tuple[int, float, str], list[float]] = defaultdict(list)
    for child in np.random.SeedSequence(seed).spawn(size.small_runs):
        rng = np.random.default_rng(child)
        for data in grown(size.small, rng):
            for bound in BOUNDS:
                for method, error in zip(METHODS, _errors(data, bound, rng), strict=True):
                    found[data.trajectories, bound, method].append(error)
    return [
        {
            "trajectories": trajectories,
            "bound": bound,
            "method": method,
            "rmse": float(np.mean(errors)),
            "rmse_error": float(np.std(errors, ddof=1) / math.sqrt(len(errors))),
            "runs": len(errors),
            "root": seed,
        }
        for (trajectories, bound, method), errors in found.items()
    ]


def _errors(data: FirstVisits, bound: float, rng: np.random.Generator) -> Iterator[float]:
    """The RMSE of each method on one batch."""
    truth = chain_values(STATES, DISCOUNT)
    draws = rng.standard_normal((3, STATES))
    chosen = squares("LSW", "tabular", data.trajectories)
    scale = _noise().deviation(chosen.bound(data)) * chosen.unit(bound)
    yield _rmse(chosen.solve(data) + scale * draws[0], truth)
    yield _rmse(_by_counts(data, bound, draws[1:]), truth)
    yield _rmse(np.zeros(STATES), truth)


def _rmse(values: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean((values - truth) ** 2)))


def _by_counts(data: FirstVisits, bound: float, draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Noisy sums over noisy counts, cut to [0, Fmax]: (epsilon, delta)-DP if one trajectory is replaced.

    A trajectory changes the count of each state by at most 1 and the sum of its returns by at most Fmax, so
    that counts and sums in units of Fmax move by at most sqrt(2N) together in the L2 norm.
    """
    sigma = math.sqrt(2 * STATES) / _mu()
    counts, sums = data.visits + sigma * draws[0], data.sums + bound * sigma * draws[1]
    found: NDArray[np.float64] = np.clip(sums / np.maximum(counts, 1.0), 0.0, bound)
    return found


@cache
def _mu() -> float:
    return gaussian_mu(Fraction(EPSILON), Fraction(DELTA))[0]


@cache
def _noise() -> Noise:
    return with_room(EPSILON, DELTA, STATES)
