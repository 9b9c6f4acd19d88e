"""What the runs say, as rows: mean and deviation of every arm's regret, and where private learning pays."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.reproduction.private_ucb.arms import Arm, Group
from dpproof.reproduction.private_ucb.runs import points

__all__ = ["paying", "rows", "write_curves"]

Curves = Mapping[str, NDArray[np.float64]]


def rows(arms: Sequence[Arm], curves: Curves) -> list[dict[str, Any]]:
    """One row an arm: what it is, its certified epsilon, and its total regret over the seeds."""
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
                "regret": float(totals.mean()),
                "deviation": float(totals.std(ddof=1)) if len(totals) > 1 else 0.0,
                "worst": float(totals.max()),
                "seeds": len(totals),
            }
        )
    return found


def paying(table: Sequence[Mapping[str, Any]], never: float, share: float = 0.5) -> list[dict[str, Any]]:
    """For each algorithm and kind of private counts: the least epsilon run with regret below share * never.

    `never` is the regret of never learning.
    """
    kinds = dict.fromkeys((row["algorithm"], row["counts"], row["group"]) for row in table if row["epsilon"])
    found = []
    for algorithm, counts, group in kinds:
        if group in (Group.CODE.value, Group.PRINTED.value):
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
