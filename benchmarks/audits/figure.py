"""Samples against the true epsilon, with the information limit: docs/images/audits.svg."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.audits import power
from benchmarks.audits.limits import gaussian_limit, laplace_limit, response_limit
from benchmarks.audits.rows import Row
from benchmarks.audits.tables import by
from dpproof.accountant.guarantees.notions import GaussianDP

COLOURS = {
    "Laplace, claim 1": "#0072b2",
    "Laplace, claim 0.1": "#d55e00",
    "randomised response, claim 1": "#009e73",
    "Gaussian, curve": "#0072b2",
    "Gaussian, point": "#d55e00",
}
TICKS = (1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0)
RATIOS = np.geomspace(1.04, 2.6, 40)
SHARES = (0.93, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.24)
FEW = tuple(float(e) for e in np.linspace(0, 1.2, 7))


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw means as dots, bars up to what nine of ten runs keep within, limits as lines."""
    settings = {
        "svg.hashsalt": "dpproof",
        "svg.fonttype": "none",
        "font.size": 9,
        "font.family": "sans-serif",
    }
    with mpl.rc_context(settings):
        figure = Figure(figsize=(9.0, 3.9), layout="constrained")
        pure, gaussian = figure.subplots(1, 2, sharey=True)
        _panel(pure, "Laplace and randomised response", rows, _pure_limits())
        _panel(gaussian, "Gaussian, claim (1, 1e-5)", rows, _gaussian_limits())
        pure.set_ylabel("samples of both inputs together")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
    path.write_text("\n".join(map(str.rstrip, path.read_text(encoding="utf-8").splitlines())) + "\n", "utf-8")


Curves = dict[str, tuple[Sequence[float], Sequence[float]]]


def _pure_limits() -> Curves:
    def curve(
        limit: Callable[[float, float], float], claimed: float
    ) -> tuple[Sequence[float], Sequence[float]]:
        return list(RATIOS), [limit(claimed, claimed * ratio) for ratio in RATIOS]

    return {
        "Laplace, claim 1": curve(laplace_limit, 1.0),
        "Laplace, claim 0.1": curve(laplace_limit, 0.1),
        "randomised response, claim 1": curve(response_limit, 1.0),
    }


def _gaussian_limits() -> Curves:
    mus = [1 / (power.SIGMA * share) for share in SHARES]
    ratios = [GaussianDP(mu).epsilon(power.DELTA).upper for mu in mus]
    return {
        "Gaussian, curve": (ratios, [gaussian_limit(power.CURVE, mu, FEW) for mu in mus]),
        "Gaussian, point": (ratios, [gaussian_limit(power.POINT, mu, (1.0,)) for mu in mus]),
    }


def _panel(axes: Axes, title: str, rows: Sequence[Row], limits: Curves) -> None:
    grouped = by(rows, "trial")
    for group, (ratios, samples) in limits.items():
        excess = np.array(ratios) - 1
        axes.plot(excess, samples, color=COLOURS[group], linewidth=1.2, label=group)
        trials = [t for t in power.TRIALS.values() if t.group == group and t.name in grouped]
        spent = [np.array([row["samples"] for row in grouped[trial.name]]) for trial in trials]
        means = np.array([found.mean() for found in spent])
        above = np.array([max(np.quantile(found, 0.9) - found.mean(), 0.0) for found in spent])
        axes.errorbar(
            [trial.true / trial.claimed - 1 for trial in trials],
            means,
            yerr=np.vstack([np.zeros_like(above), above]),
            fmt="o",
            markersize=4,
            capsize=2,
            color=COLOURS[group],
        )
    axes.set(title=title, xscale="log", yscale="log", xlabel="true epsilon / claimed epsilon")
    widest = max(max(ratios) for ratios, _ in limits.values())
    ticks = [tick for tick in TICKS if tick <= widest]
    axes.set_xticks([tick - 1 for tick in ticks], [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.legend(frameon=False, fontsize=7.5)
