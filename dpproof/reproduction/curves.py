"""Curves of cumulative regret, which runs of learners give: the stored points, tables, and plots.

An arm is a learner with its noise, which the plots show as one curve.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

Curves = Mapping[str, NDArray[np.float64]]
"""The cumulative regrets of each arm (a learner with its noise) by its name: an array (runs, points)."""
POINTS: Final = 200
"""Number of points at which a curve is stored."""


def points(episodes: int) -> NDArray[np.int64]:
    """Return the points at which a curve is stored. A point is a number of episodes played.

    >>> points(1000)[[0, -1]].tolist()
    [5, 1000]
    """
    return np.unique(np.linspace(0, episodes, POINTS + 1).astype(np.int64)[1:])


def kept(regrets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cumulative regret at the stored points. ``regrets`` holds the regret of every episode."""
    found: NDArray[np.float64] = regrets.cumsum()[points(len(regrets)) - 1]
    return found


def write_curves(file: Path, curves: Curves, episodes: int) -> None:
    """Write a CSV file with the mean and the standard deviation of each curve at the stored points."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("arm", "episode", "mean", "deviation"))
        for name, runs in curves.items():
            for place, m, d in zip(points(episodes), runs.mean(axis=0), runs.std(axis=0), strict=True):
                writer.writerow((name, place, f"{m:.1f}", f"{d:.1f}"))


def draw_curve(
    axes: Axes, runs: NDArray[np.float64], episodes: int, line: str, color: Any, label: str
) -> None:
    """Draw the mean curve of the runs, and a band of one standard deviation around it.

    ``runs`` is an array (runs, points), with one curve in each row.
    """
    places, mean, deviation = points(episodes), runs.mean(axis=0), runs.std(axis=0)
    axes.plot(places, mean, line, color=color, linewidth=1.4, label=label)
    axes.fill_between(places, mean - deviation, mean + deviation, color=color, alpha=0.15, linewidth=0)
