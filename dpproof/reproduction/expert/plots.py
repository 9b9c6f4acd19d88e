"""The plots of the experiment: returns by budget, and how much each release gives, as SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpproof.reproduction.style import STYLE, save

Row = Mapping[str, Any]
_COLOURS = {"DP-SGD": "#2471a3", "printed": "#c0392b", "calibrated": "#1e8449"}
_SHIFTS = {"DP-SGD": 0.97, "printed": 1.0, "calibrated": 1.03}
"""Beside each other, so that intervals do not hide each other."""


def write_figures(
    folder: Path, returns: Sequence[Row], releases: Sequence[Row], experts: Sequence[Row]
) -> list[Path]:
    """One SVG for each plot; their paths."""
    names = list(dict.fromkeys(row["problem"] for row in returns))
    files = []
    with mpl.rc_context(STYLE):
        plots: dict[str, Callable[[Any, str], None]] = {
            "returns": lambda axes, problem: _returns(axes, problem, returns, experts),
            "released": lambda axes, problem: _released(axes, problem, releases),
        }
        for name, draw in plots.items():
            figure = Figure(figsize=(3 * len(names), 2.8), layout="constrained")
            for axes, problem in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
                draw(axes, problem)
                axes.set(title=problem, xlabel="epsilon")
            files.append(save(figure, folder / f"{name}.svg"))
    return files


def _returns(axes: Axes, problem: str, returns: Sequence[Row], experts: Sequence[Row]) -> None:
    held = [row for row in returns if row["problem"] == problem]
    for row in held:
        if row["epsilon"] is None:
            axes.axhline(row["return"], color="#444444", linewidth=1, label="CQL, no privacy")
    for row in experts:
        if row["problem"] == problem:
            axes.axhline(row["mean"], color="#999999", linewidth=1, linestyle=":", label="experts")
    for method, colour in _COLOURS.items():
        mine = [row for row in held if row["method"] == method]
        if mine:
            places = [row["epsilon"] * _SHIFTS[method] for row in mine]
            values, errors = [row["return"] for row in mine], [row["interval"] for row in mine]
            axes.errorbar(
                places, values, errors, marker="o", markersize=3, linewidth=1, color=colour, label=method
            )
    axes.set(xscale="log", ylabel="mean return, 95% intervals")
    axes.legend(frameon=False, fontsize=6)


def _released(axes: Axes, problem: str, releases: Sequence[Row]) -> None:
    held = [row for row in releases if row["problem"] == problem]
    for kind in ("printed", "calibrated"):
        places, values = [row["epsilon"] for row in held], [row[f"{kind}_released"] for row in held]
        axes.plot(places, values, marker="o", markersize=3, linewidth=1, color=_COLOURS[kind], label=kind)
    axes.set(xscale="log", ylabel="released transitions, expected")
    axes.legend(frameon=False, fontsize=6)
