"""The figures as SVG: regret against epsilon, against the episode, in the bandit, and against switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from dpproof.reproduction.sdp_pe.arms import Arm, Kind
from dpproof.reproduction.sdp_pe.runs import Found, points
from dpproof.reproduction.style import STYLE, save

__all__ = ["write_figures"]

_SHADES = {kind: f"C{place}" for place, kind in enumerate(Kind)}
_HIDDEN = (Kind.PE_LITERAL, Kind.LITERAL)


def write_figures(
    folder: Path,
    arms: Sequence[Arm],
    found: Mapping[str, Found],
    table: Sequence[Mapping[str, Any]],
    never: float,
) -> list[Path]:
    """Write all figures and return their paths."""
    swim = [arm for arm in arms if arm.problem == "RiverSwim"]
    epsilons = sorted({arm.epsilon for arm in swim if arm.epsilon is not None})
    with mpl.rc_context(STYLE):
        files = [save(_against_epsilon(swim, found, never), folder / "epsilon.svg")]
        for epsilon in epsilons:
            chosen = [a for a in swim if a.epsilon in (None, epsilon) and a.kind not in _HIDDEN]
            title = f"RiverSwim, epsilon {epsilon:g}"
            files.append(save(_curves(chosen, found, title), folder / f"curves_{epsilon:g}.svg"))
        bandit = [arm for arm in arms if arm.problem == "bandit"]
        files.append(save(_curves(bandit, found, "bandit of 20 arms"), folder / "bandit.svg"))
        files.append(save(_switches(table), folder / "switches.svg"))
    return files


def _figure() -> tuple[Figure, Any]:
    figure = Figure(figsize=(6, 4), layout="constrained")
    return figure, figure.subplots()


def _against_epsilon(arms: Sequence[Arm], found: Mapping[str, Found], never: float) -> Figure:
    figure, axes = _figure()
    for kind in Kind:
        chosen = [arm for arm in arms if arm.kind is kind]
        totals = [found[arm.name].curves[:, -1] for arm in chosen]
        if chosen and chosen[0].epsilon is None:
            axes.axhline(totals[0].mean(), color=_SHADES[kind], linestyle=":", label=kind.value)
        elif chosen:
            epsilons = [arm.epsilon for arm in chosen]
            means, spreads = [t.mean() for t in totals], [t.std() for t in totals]
            axes.errorbar(epsilons, means, spreads, color=_SHADES[kind], label=kind.value, capsize=2)
    axes.axhline(never, color="#999999", linewidth=0.8, label="never learning")
    axes.set(xscale="log", xlabel="epsilon", ylabel="final regret", ylim=(0, 1.05 * never))
    axes.legend(frameon=False, fontsize=6)
    return figure


def _curves(arms: Sequence[Arm], found: Mapping[str, Found], title: str) -> Figure:
    figure, axes = _figure()
    for arm in arms:
        curves = found[arm.name].curves
        mean, spread = curves.mean(axis=0), curves.std(axis=0)
        places = points(arm.episodes)
        axes.plot(places, mean, color=_SHADES[arm.kind], linewidth=1.4, label=arm.kind.value)
        axes.fill_between(
            places, mean - spread, mean + spread, color=_SHADES[arm.kind], alpha=0.15, linewidth=0
        )
    axes.set(xlabel="episode", ylabel="cumulative regret", title=title, ylim=(0, None))
    axes.legend(frameon=False, fontsize=6)
    return figure


def _switches(table: Sequence[Mapping[str, Any]]) -> Figure:
    figure, axes = _figure()
    for row in table:
        if row["problem"] == "RiverSwim" and row["epsilon"] in (None, 1.0):
            kind = Kind(row["algorithm"])
            axes.plot(max(row["switches"], 1), row["regret"], "o", color=_SHADES[kind], label=kind.value)
    axes.set(xscale="log", xlabel="policy switches", ylabel="final regret", ylim=(0, None))
    axes.legend(frameon=False, fontsize=6)
    return figure
