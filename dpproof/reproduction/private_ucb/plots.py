"""The figure: cumulative regret against the episode, mean and one standard deviation, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dpproof.reproduction.private_ucb.arms import Arm, Group
from dpproof.reproduction.private_ucb.runs import points
from dpproof.reproduction.style import STYLE, save

_PANELS = {
    "code": (Group.CODE, Group.EXACT),
    "printed": (Group.PRINTED, Group.EXACT),
    "honest": (Group.HONEST, Group.EXACT),
    "pooled": (Group.POOLED, Group.EXACT),
    "best": (Group.ROOT, Group.BEST, Group.EXACT),
}
_LINES = {"joint": "-", "local": "--", "pooled": "-", "per step": "-"}


def write_figures(
    folder: Path, arms: Sequence[Arm], curves: Mapping[str, NDArray[np.float64]], episodes: int, never: float
) -> list[Path]:
    """One SVG a group of counters, value iteration left and policy optimisation right; their paths."""
    files = []
    with mpl.rc_context(STYLE):
        for name, groups in _PANELS.items():
            figure = Figure(figsize=(10, 4), layout="constrained")
            for axes, algorithm in zip(figure.subplots(1, 2, sharey=True), ("VI", "PO"), strict=True):
                chosen = [arm for arm in arms if arm.algorithm == algorithm and arm.group in groups]
                _draw(axes, [arm for arm in chosen if _shown(arm, name)], curves, episodes, never)
                axes.set_title(f"PRIVATE-UCB-{algorithm}, {groups[0].value}")
            files.append(save(figure, folder / f"{name}.svg"))
    return files


def _shown(arm: Arm, name: str) -> bool:
    """Without privacy the counters that the panel's private ones are compared with."""
    pooled = name not in ("printed", "honest")
    return arm.group is not Group.EXACT or arm.trust == ("pooled" if pooled else "per step")


def _draw(
    axes: mpl.axes.Axes,
    arms: Sequence[Arm],
    curves: Mapping[str, NDArray[np.float64]],
    episodes: int,
    never: float,
) -> None:
    places = points(episodes)
    shades = mpl.colormaps["viridis"]
    levels = sorted({arm.epsilon for arm in arms})
    for arm in arms:
        colour = shades(0.9 * levels.index(arm.epsilon) / max(1, len(levels) - 1))
        mean, deviation = curves[arm.name].mean(axis=0), curves[arm.name].std(axis=0)
        line = ":" if arm.group is Group.ROOT else _LINES[arm.trust]
        axes.plot(places, mean, line, color=colour, linewidth=1.4, label=_label(arm))
        axes.fill_between(places, mean - deviation, mean + deviation, color=colour, alpha=0.15, linewidth=0)
    axes.plot([0, episodes], [0, never], color="#999999", linewidth=0.8, label="never learning")
    axes.set(xlabel="episode", ylabel="cumulative regret", ylim=(0, 1.05 * never))
    axes.legend(frameon=False, fontsize=6, ncols=2)


def _label(arm: Arm) -> str:
    if arm.group is Group.EXACT:
        return "no privacy"
    kind = {Group.ROOT: "square root", Group.BEST: "batches"}.get(arm.group, arm.trust)
    return f"{kind}, epsilon {arm.epsilon:g}"
