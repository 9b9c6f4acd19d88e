"""What the runs say, as rows: regret, switches, noise and what became of the active policies."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpproof.reproduction.sdp_pe.arms import BETA, Arm
from dpproof.reproduction.sdp_pe.runs import Found, points

__all__ = ["rows", "stage_rows", "write_curves"]


def rows(arms: Sequence[Arm], found: Mapping[str, Found]) -> list[dict[str, Any]]:
    """One row an arm; regrets and switches are means over the seeds."""
    return [_row(arm, found[arm.name]) for arm in arms]


def _row(arm: Arm, runs: Found) -> dict[str, Any]:
    totals = runs.curves[:, -1]
    kept = [stages[-1].optimal_stays for stages in runs.stages if stages]
    return {
        "problem": arm.problem,
        "algorithm": arm.kind.value,
        "epsilon": arm.epsilon,
        "certified_epsilon": arm.epsilon if runs.certified is None else runs.certified,
        "delta": None if arm.epsilon is None else float(BETA),
        "noise": runs.noise,
        "regret": float(totals.mean()),
        "deviation": float(totals.std(ddof=1)) if len(totals) > 1 else 0.0,
        "worst": float(totals.max()),
        "switches": float(np.mean(runs.switches)),
        "stages": len(runs.stages[0]) or None,
        "optimal_stays": float(np.mean(kept)) if kept else None,
        "seeds": len(totals),
    }


def stage_rows(arms: Sequence[Arm], found: Mapping[str, Found]) -> list[dict[str, Any]]:
    """One row for each stage of each arm that eliminates: means over the seeds."""
    return [
        {
            "problem": arm.problem,
            "algorithm": arm.kind.value,
            "epsilon": arm.epsilon,
            "stage": number + 1,
            "length": reports[0].length,
            "level": float(np.mean([report.level for report in reports])),
            "infrequent": float(np.mean([report.infrequent for report in reports])),
            "coverage_gap": max(report.coverage_gap for report in reports),
            "threshold": float(np.mean([report.threshold for report in reports])),
            "active": float(np.mean([report.active for report in reports])),
            "optimal_stays": float(np.mean([report.optimal_stays for report in reports])),
            "worst_regret": float(np.mean([report.worst_regret for report in reports])),
        }
        for arm in arms
        for number, reports in enumerate(zip(*found[arm.name].stages, strict=True))
    ]


def write_curves(file: Path, arms: Sequence[Arm], found: Mapping[str, Found], episodes: int) -> None:
    """Write mean and standard deviation of every arm's cumulative regret at the kept episodes, as CSV."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("arm", "episode", "mean", "deviation"))
        for arm in arms:
            curves = found[arm.name].curves
            for place, m, d in zip(points(episodes), curves.mean(axis=0), curves.std(axis=0), strict=True):
                writer.writerow((arm.name, place, f"{m:.1f}", f"{d:.1f}"))
