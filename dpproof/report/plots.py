"""The report's plots, as SVG text that a page can hold."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl

from accountant.accounted import Accounted, accountant_for
from accountant.adjacency import Adjacency

__all__ = ["growth", "profile"]

Curve = tuple[str, str, Sequence[float], Sequence[float]]
"""Label, colour, abscissae, ordinates."""

_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dpproof",
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
}
_COLOURS = {
    "published": "#b3261e",
    "published, as Gaussians": "#d98c00",
    "tight": "#1a6fb0",
    "attained": "#2e7d32",
}


def growth(name: str, parameters: Mapping[str, Any], adjacency: Adjacency, delta: str, along: str) -> str:
    """Epsilon at ``delta`` against the parameter ``along``, one curve for each kind of answer."""
    accountant = accountant_for(name)
    last = int(parameters[along])
    places = sorted({max(2, round(last ** (i / 16))) for i in range(1, 17)})
    found = [
        accountant.guarantee(accountant.parameters.read({**parameters, along: place}), adjacency)
        for place in places
    ]
    curves = [
        (label, colour, places, [_epsilon(answer, label, delta) for answer in found])
        for label, colour in _COLOURS.items()
    ]
    return _draw(curves, along, f"epsilon at delta = {delta}", ("log", "log"))


def profile(name: str, parameters: Mapping[str, Any], adjacency: Adjacency) -> str:
    """The privacy profile: delta against epsilon, published and tight."""
    accountant = accountant_for(name)
    found = accountant.guarantee(accountant.parameters.read(parameters), adjacency)
    notions = {"tight": found.guarantee}
    if found.published is not None:
        notions["published, as Gaussians"] = found.published.exact
    if found.attained is not None:
        notions["attained"] = found.attained.guarantee
    reach = max(notion.epsilon(_FLOOR).upper for notion in notions.values())
    places = [reach * i / 120 for i in range(121)]
    curves = [
        (label, _COLOURS[label], places, [_above_floor(notion.delta(x).upper) for x in places])
        for label, notion in notions.items()
    ]
    return _draw(curves, "epsilon", "delta", ("linear", "log"))


_FLOOR = "1e-12"


def _above_floor(value: float) -> float:
    """The value, or nothing to draw."""
    return value if value >= float(_FLOOR) else math.nan


def _epsilon(answer: Accounted, label: str, delta: str) -> float:
    published, attained = answer.published, answer.attained
    if label == "tight":
        return answer.guarantee.epsilon(delta).upper
    if label == "attained":
        return math.nan if attained is None else attained.guarantee.epsilon(delta).lower
    if published is None:
        return math.nan
    return (published.epsilon(delta) if label == "published" else published.exact.epsilon(delta)).upper


def _draw(curves: Sequence[Curve], x: str, y: str, scales: tuple[str, str]) -> str:
    """One set of axes as SVG text, the same bytes for the same curves."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(6.4, 3.8), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        for label, colour, places, values in curves:
            if not all(math.isnan(value) for value in values):
                axes.plot(places, values, label=label, color=colour, linewidth=1.8)
        axes.set(xlabel=x, ylabel=y, xscale=scales[0], yscale=scales[1])
        axes.legend(frameon=False)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    return stream.getvalue()[stream.getvalue().index("<svg") :]
