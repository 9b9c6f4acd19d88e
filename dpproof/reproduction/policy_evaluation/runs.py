"""Runs on the chain: every kind of noise on the same batches, and the trajectories each needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.reproduction.policy_evaluation.kinds import (
    DISCOUNT,
    FEATURES,
    KINDS,
    STATES,
    Kind,
    Size,
    planned,
    squares,
)
from mechanisms.environments.chain import chain_values
from mechanisms.rl.policy_evaluation_chain import chain_visits
from mechanisms.rl.policy_evaluation_data import FirstVisits

__all__ = ["needed", "rows", "sweep"]

Row = Mapping[str, Any]
Key = tuple[Any, ...]
COLUMNS = ("features", "algorithm", "kind", "trajectories", "ridge")
_FARTHEST = 2**50


def _batches(size: Size, rng: np.random.Generator) -> Iterator[FirstVisits]:
    """The statistics of growing batches, each the one before and more."""
    held: FirstVisits | None = None
    for wanted in size.batches:
        more = wanted - (0 if held is None else held.trajectories)
        drawn = chain_visits(STATES, more, DISCOUNT, rng)
        held = drawn if held is None else held + drawn
        yield held


def _measured(
    data: FirstVisits, where: Key, kinds: Sequence[Kind], draws: NDArray[np.float64]
) -> Iterator[tuple[Key, tuple[float, float, float]]]:
    """RMSE, excess empirical risk and noise of each kind at one place."""
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
    """Mean and standard error over the runs, a row a place and kind."""
    table = []
    for key, values in found.items():
        columns = np.array(values)
        mean, error = columns.mean(axis=0), columns.std(axis=0, ddof=1) / np.sqrt(len(columns))
        row: dict[str, Any] = dict(zip(COLUMNS, key, strict=True))
        row |= {"rmse": float(mean[0]), "rmse_error": float(error[0])}
        row |= {"risk": float(mean[1]), "risk_error": float(error[1]), "noise": float(mean[2])}
        table.append(row)
    return table


def rows(size: Size, seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The table by batch size, and the one of the sweep over lambda (tabular, two batch sizes)."""
    found: dict[Key, list[tuple[float, float, float]]] = defaultdict(list)
    swept: dict[Key, list[tuple[float, float, float]]] = defaultdict(list)
    for child in np.random.SeedSequence(seed).spawn(size.runs):
        rng = np.random.default_rng(child)
        for data in _batches(size, rng):
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
    """No privacy, and every calibration at delta 0.1 with the printed bound on returns."""
    return [kind for kind in KINDS if kind.delta == "0.1" and kind.bound > 1]


def sweep(trajectories: int) -> list[float]:
    """The values of lambda that are run, from near the least that DP-LSL allows to the batch size.

    >>> len(sweep(10_000))
    12
    """
    return [float(value) for value in np.geomspace(2.0, trajectories, 12)]


def needed(error: float) -> list[dict[str, Any]]:
    """How many trajectories each kind needs, for noise of deviation at most `error` on expected visits (LSW).

    On tabular and on aggregated features the noise's part of the RMSE is its deviation. It falls as there are
    more trajectories; bisection finds the least number to half a percent, from 100 on.
    """
    table = []
    for features in FEATURES:
        chosen = squares("LSW", features, 1)
        for kind in KINDS[1:]:
            table.append(
                {"features": features, "kind": kind.name, "trajectories": _least(kind, chosen, error)}
            )
    return table


def _least(kind: Kind, chosen: Any, error: float) -> int:
    low, high = 100, 200
    while kind.deviation(chosen, planned(high)) > error:
        low, high = high, 2 * high
        if high > _FARTHEST:
            raise ArithmeticError(f"{kind.name} needs more than {_FARTHEST} trajectories")
    while high - low > max(1, high // 200):
        middle = (low + high) // 2
        low, high = (middle, high) if kind.deviation(chosen, planned(middle)) > error else (low, middle)
    return high
