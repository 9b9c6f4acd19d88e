"""What the runs say, as rows: mean and deviation of every arm's regret, and where private learning pays."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpproof.reproduction.private_ucb.arms import Arm, Group
from dpproof.reproduction.private_ucb.runs import points

Curves = Mapping[str, NDArray[np.float64]]


FAILED: Final = 0.25
"""A run has failed when its regret is above this share of never learning."""


def rows(arms: Sequence[Arm], curves: Curves, never: float, seed: int) -> list[dict[str, Any]]:
    """One row an arm: what it is, its certified epsilon, and the law of its total regret over the runs.

    `never` is the regret of never learning, `seed` the root of the runs.
    """
    found = []
    for arm in arms:
        totals = curves[arm.name][:, -1]
        found.append(
            {
                "algorithm": arm.algorithm,
                "counts": arm.trust,
                "group": arm.group.value,
                "epsilon": arm.epsilon if np.isfinite(arm.epsilon) else None,
                "certified_epsilon": arm.true_epsilon(),
                "delta": float(arm.delta) if np.isfinite(arm.epsilon) else None,
                **_law(totals, never),
                "seeds": len(totals),
                "root": seed,
            }
        )
    return found


def _law(totals: NDArray[np.float64], never: float) -> dict[str, float]:
    """Mean, standard error, deviation, quantiles, maximum and share of failures of total regrets."""
    deviation = float(totals.std(ddof=1)) if len(totals) > 1 else 0.0
    low, median, high = map(float, np.quantile(totals, [0.1, 0.5, 0.9]))
    return {
        "regret": float(totals.mean()),
        "standard_error": deviation / math.sqrt(len(totals)),
        "deviation": deviation,
        "low": low,
        "median": median,
        "high": high,
        "worst": float(totals.max()),
        "failed": float((totals > FAILED * never).mean()),
    }


def paying(table: Sequence[Mapping[str, Any]], never: float, share: float = 0.5) -> list[dict[str, Any]]:
    """For each algorithm and kind of private counts: the least epsilon run with regret below share * never.

    `never` is the regret of never learning.
    """
    kinds = dict.fromkeys((row["algorithm"], row["counts"], row["group"]) for row in table if row["epsilon"])
    found = []
    for algorithm, counts, group in kinds:
        if group in (Group.THEORY.value, Group.CODE.value, Group.PRINTED.value):
            continue
        least = [
            row["epsilon"]
            for row in table
            if (row["algorithm"], row["counts"], row["group"]) == (algorithm, counts, group)
            and row["epsilon"]
            and row["regret"] < share * never
        ]
        found.append(
            {
                "algorithm": algorithm,
                "counts": counts,
                "group": group,
                "epsilon": min(least) if least else None,
            }
        )
    return found


def write_curves(file: Path, arms: Sequence[Arm], curves: Curves, episodes: int) -> None:
    """Write mean and standard deviation of every arm's cumulative regret at the kept episodes, as CSV."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("arm", "episode", "mean", "deviation"))
        for arm in arms:
            mean, deviation = curves[arm.name].mean(axis=0), curves[arm.name].std(axis=0)
            for place, m, d in zip(points(episodes), mean, deviation, strict=True):
                writer.writerow((arm.name, place, f"{m:.1f}", f"{d:.1f}"))
