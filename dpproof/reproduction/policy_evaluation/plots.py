"""The plots of Figure 1, and one at a small delta: means and standard errors, as SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from dpproof.reproduction.policy_evaluation.kinds import FEATURES
from dpproof.reproduction.style import STYLE, save

__all__ = ["write_figures"]

Row = Mapping[str, Any]
_COLOURS = {"no privacy": "#444444", "printed": "#c0392b", "room": "#2471a3", "planned": "#1e8449"}
_NONE = "no privacy"


def write_figures(folder: Path, table: Sequence[Row], swept: Sequence[Row]) -> list[Path]:
    """One SVG for each plot; their paths."""
    batches = "trajectories m"
    plots: dict[str, Callable[[Any], None]] = {
        "non_private": lambda f: _pair(f, table, lambda r: r["kind"] == _NONE, "rmse", batches),
        "ridge": lambda f: _ridges(f, table, swept),
        "aggregated": lambda f: _pair(f, table, _loose("0.1"), "rmse", batches, ("aggregated",)),
        "tabular": lambda f: _pair(f, table, _loose("0.1"), "rmse", batches, ("tabular",)),
        "risk": lambda f: _pair(f, table, _loose("0.1", none=False), "risk", batches),
        "small_delta": lambda f: _pair(f, table, _loose("1e-6"), "rmse", batches),
        "public_bound": lambda f: _pair(f, table, _tight, "rmse", batches),
    }
    files = []
    with mpl.rc_context(STYLE):
        for name, draw in plots.items():
            figure = Figure(figsize=(9, 3.6), layout="constrained")
            draw(figure)
            files.append(save(figure, folder / f"{name}.svg"))
    return files


def _loose(delta: str, none: bool = True) -> Callable[[Row], bool]:
    def chosen(row: Row) -> bool:
        return (none and row["kind"] == _NONE) or f"delta {delta}, Fmax 100" in row["kind"]

    return chosen


def _tight(row: Row) -> bool:
    return bool(row["kind"] == _NONE or row["kind"].endswith("delta 1e-6, Fmax 1"))


def _pair(
    figure: Any, table: Sequence[Row], chosen: Callable[[Row], bool], what: str, label: str,
    features: Iterable[str] = tuple(FEATURES),
) -> None:  # fmt: skip
    """A panel for each kind of features."""
    names = tuple(features)
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        held = [row for row in table if row["features"] == name and chosen(row)]
        _lines(axes, held, "trajectories", what)
        axes.set(title=name, xlabel=label, ylabel="RMSE" if what == "rmse" else "excess empirical risk")


def _ridges(figure: Any, table: Sequence[Row], swept: Sequence[Row]) -> None:
    """A panel for each batch size: LSL against lambda, LSW as level lines."""
    sizes = sorted({row["trajectories"] for row in swept})
    for axes, size in zip(figure.subplots(1, len(sizes), squeeze=False)[0], sizes, strict=True):
        held = [row for row in swept if row["trajectories"] == size]
        _lines(axes, held, "ridge", "rmse")
        kinds = {row["kind"] for row in held}
        for row in table:
            if (row["trajectories"], row["features"], row["algorithm"]) == (size, "tabular", "LSW") and row[
                "kind"
            ] in kinds:
                axes.axhline(row["rmse"], color=_colour(row["kind"]), linestyle="--", linewidth=1)
        axes.set(title=f"tabular, m = {size} (dashed: LSW)", xlabel="lambda", ylabel="RMSE")


def _colour(kind: str) -> str:
    return _COLOURS[kind.split(",")[0]]


def _lines(axes: Any, table: Sequence[Row], along: str, what: str) -> None:
    for algorithm, style in (("LSW", "--"), ("LSL", "-")):
        for kind in dict.fromkeys(row["kind"] for row in table):
            held = [row for row in table if (row["algorithm"], row["kind"]) == (algorithm, kind)]
            if held:
                places, values = [row[along] for row in held], [row[what] for row in held]
                errors = [row[f"{what}_error"] for row in held]
                label = f"{algorithm}, {kind.split(', delta')[0]}"
                axes.errorbar(
                    places, values, errors, linestyle=style, color=_colour(kind), linewidth=1.2, label=label
                )
    axes.set(xscale="log", yscale="log")
    axes.legend(frameon=False, fontsize=6)
