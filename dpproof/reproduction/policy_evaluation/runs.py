"""The runs of the experiment on private policy evaluation, all in the chain environment.

Every kind of noise is tried on the same batches. Other tables show how much data each kind of noise needs, and how
large the errors are with few data.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.rl.policy_evaluation.alternatives import alternatives
from dpproof.accountant.rl.policy_evaluation.noise import Noise, with_room
from dpproof.mechanisms.environments.chain import chain_values
from dpproof.mechanisms.rl.policy_evaluation.chain import chain_visits
from dpproof.mechanisms.rl.policy_evaluation.data import FirstVisits
from dpproof.reproduction.policy_evaluation.kinds import (
    DISCOUNT,
    EPSILON,
    FEATURES,
    KINDS,
    LOOSE,
    STATES,
    Kind,
    Size,
    planned,
    squares,
)

Row = Mapping[str, Any]
Key = tuple[Any, ...]
COLUMNS = ("features", "algorithm", "kind", "trajectories", "ridge")
_FARTHEST = 10**15


def grown(batches: Sequence[int], rng: np.random.Generator) -> Iterator[FirstVisits]:
    """Yield the statistics of batches of these sizes. Each batch contains the batch before it."""
    held: FirstVisits | None = None
    for wanted in batches:
        more = wanted - (0 if held is None else held.trajectories)
        drawn = chain_visits(STATES, more, DISCOUNT, rng)
        held = drawn if held is None else held + drawn
        yield held


def _measured(
    data: FirstVisits, where: Key, kinds: Sequence[Kind], draws: NDArray[np.float64]
) -> Iterator[tuple[Key, tuple[float, float, float]]]:
    """Yield RMSE, excess empirical risk and noise of each kind, for one setting."""
    features, algorithm, given = where
    chosen = squares(algorithm, features, data.trajectories, given)
    theta, truth = chosen.solve(data), chain_values(STATES, DISCOUNT)
    for kind in kinds:
        deviation = kind.deviation(chosen, data)
        error = deviation * draws[: len(theta)]
        wrong = FEATURES[features] @ (theta + error) - truth
        ridge = getattr(chosen, "ridge", None)
        found = (float(np.sqrt(np.mean(wrong**2))), chosen.excess(data, error), deviation)
        yield (features, algorithm, kind.name, data.trajectories, ridge), found


def _summary(found: Mapping[Key, Sequence[tuple[float, float, float]]]) -> list[dict[str, Any]]:
    """Return mean and standard error over the runs, with a row for each setting and kind."""
    table = []
    for key, values in found.items():
        columns = np.array(values)
        mean, error = columns.mean(axis=0), columns.std(axis=0, ddof=1) / np.sqrt(len(columns))
        row: dict[str, Any] = dict(zip(COLUMNS, key, strict=True))
        row |= {"rmse": float(mean[0]), "rmse_error": float(error[0])}
        row |= {
            "risk": float(mean[1]),
            "risk_error": float(error[1]),
            "noise": float(mean[2]),
            "runs": len(values),
        }
        table.append(row)
    return table


def rows(size: Size, seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return two tables of results: for all batch sizes, and for several ridge parameters.

    The second table has tabular features and two batch sizes only.
    """
    found: dict[Key, list[tuple[float, float, float]]] = defaultdict(list)
    swept: dict[Key, list[tuple[float, float, float]]] = defaultdict(list)
    for child in np.random.SeedSequence(seed).spawn(size.runs):
        rng = np.random.default_rng(child)
        for data in grown(size.batches, rng):
            draws = rng.standard_normal(STATES)
            for where in ((f, a, None) for f in FEATURES for a in ("LSW", "LSL")):
                for key, values in _measured(data, where, KINDS, draws):
                    found[key].append(values)
            if data.trajectories in size.swept:
                for ridge in sweep(data.trajectories):
                    for key, values in _measured(data, ("tabular", "LSL", ridge), _swept(), draws):
                        swept[key].append(values)
    return _summary(found), _summary(swept)


def _swept() -> list[Kind]:
    """Return the kind without privacy, and every calibration at delta 0.1 with the printed bound on returns."""
    return [kind for kind in KINDS if kind.delta == "0.1" and kind.bound > 1]


def sweep(trajectories: int) -> list[float]:
    """Return the compared ridge parameters for a batch of m trajectories: 2 m^p for powers p from 0 to 2.

    >>> [round(value) for value in sweep(10_000)][::4]
    [2, 200, 20000, 2000000, 200000000]
    """
    return [2.0 * trajectories ** float(power) for power in np.linspace(0, 2, 17)]


def needed(error: float) -> list[dict[str, Any]]:
    """Return how many trajectories each kind of noise needs for a standard deviation of at most `error`.

    This assumes that states are visited as often as expected. The returned number is enough. From 100 on it is at most
    1.3 percent above the least one. It is None if 10^15 trajectories are not enough. The ridge parameter of DP-LSL is
    the default of `squares`.
    """
    return [
        {
            "features": features,
            "algorithm": algorithm,
            "kind": kind.name,
            "trajectories": _least(kind, algorithm, features, error),
        }
        for algorithm in ("LSW", "LSL")
        for features in FEATURES
        for kind in KINDS[1:]
    ]


def _least(kind: Kind, algorithm: str, features: str, error: float) -> int | None:
    def enough(trajectories: int) -> bool:
        return kind.deviation(squares(algorithm, features, trajectories), planned(trajectories)) <= error

    low, high = 100, 200
    while not enough(high):
        low, high = high, 2 * high
        if low > _FARTHEST:
            return None
    while high - low > max(1, low // 500):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return rounded_up(high) if high <= _FARTHEST else None


def other_noise(trajectories: int) -> list[dict[str, Any]]:
    """Return the standard deviation of several noise distributions for DP-LSW, as the rows of a table.

    This assumes that states are visited as often as expected in a batch with this number of trajectories.
    """
    table = []
    for features in FEATURES:
        chosen = squares("LSW", features, trajectories)
        bound = chosen.bound(planned(trajectories))
        for delta in ("0.1", "1e-6"):
            for kind in alternatives(EPSILON, delta, chosen.features.shape[1], bound):
                table.append(
                    {
                        "features": features,
                        "delta": delta,
                        "trajectories": trajectories,
                        "noise": kind.name,
                        "beta": kind.beta,
                        "deviation": kind.deviation * chosen.unit(1.0),
                    }
                )
    return table


def rounded_up(count: int, digits: int = 3) -> int:
    """Return `count` rounded up to a number with `digits` significant digits.

    >>> rounded_up(142_001), rounded_up(4762), rounded_up(7)
    (143000, 4770, 7)
    """
    unit = int(f"1{'0' * max(len(str(count)) - digits, 0)}")
    return -(-count // unit) * unit


SMALL_EPSILON: Final = "1"
SMALL_DELTA: Final = "1e-5"
BOUNDS: Final = (LOOSE, 1.0)
"""The two compared bounds on returns: the default one, and the largest return in this chain."""
METHODS: Final = ("DP-LSW", "Gaussian counts and sums", "values of 0")


def small_data(size: Size, seed: int) -> list[dict[str, Any]]:
    """Return the root mean squared error of each method for small batches, with its standard error.

    There is a row for each batch size, bound on returns and method. The features are tabular.
    """
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
    """Yield the RMSE of each method on one batch."""
    truth = chain_values(STATES, DISCOUNT)
    draws = rng.standard_normal((3, STATES))
    chosen = squares("LSW", "tabular", data.trajectories)
    scale = _noise().deviation(chosen.bound(data)) * chosen.unit(bound)
    yield _distance(chosen.solve(data) + scale * draws[0], truth)
    yield _distance(_by_counts(data, bound, draws[1:]), truth)
    yield _distance(np.zeros(STATES), truth)


def _distance(values: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean((values - truth) ** 2)))


def _by_counts(data: FirstVisits, bound: float, draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return noisy sums divided by noisy counts, clipped to [0, Fmax].

    They are (epsilon, delta)-DP if one trajectory is replaced.

    A trajectory changes the count of each state by at most 1 and the sum of its returns by at most Fmax, so
    the joint L2 sensitivity of counts and of sums in units of Fmax is at most sqrt(2N).
    """
    sigma = math.sqrt(2 * STATES) / _mu()
    counts, sums = data.visits + sigma * draws[0], data.sums + bound * sigma * draws[1]
    found: NDArray[np.float64] = np.clip(sums / np.maximum(counts, 1.0), 0.0, bound)
    return found


@cache
def _mu() -> float:
    return gaussian_mu(Fraction(SMALL_EPSILON), Fraction(SMALL_DELTA))[0]


@cache
def _noise() -> Noise:
    return with_room(SMALL_EPSILON, SMALL_DELTA, STATES)
