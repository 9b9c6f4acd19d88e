"""Plots: the report's, as SVG text that a page can hold, and that of one answer, as a file."""

from __future__ import annotations

import html
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import assume, in_words, recorded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def growth(name: str, parameters: Mapping[str, object], adjacency: Adjacency, delta: str, along: str) -> str:
    """Epsilon at ``delta`` against the parameter ``along``, one curve for each kind of answer."""
    accountant = accountant_for(name)
    last = getattr(accountant.parameters.read(parameters), along)
    places = sorted({max(2, round(last ** (i / 16))) for i in range(1, 17)})
    found = [
        accountant.account(accountant.parameters.read({**parameters, along: place}), adjacency)
        for place in places
    ]
    curves = [
        (label, colour, places, [_epsilon(answer, label, delta) for answer in found])
        for label, colour in _COLOURS.items()
    ]
    return _draw(curves, along, f"epsilon at delta = {delta}", ("log", "log"))


def profile(name: str, parameters: Mapping[str, object], adjacency: Adjacency) -> str:
    """The privacy profile: delta against epsilon, published and tight."""
    curves = [
        (label, _COLOURS[label], [x for x, _ in points], [_above_floor(y) for _, y in points])
        for label, points in _profiles(name, parameters, adjacency).items()
    ]
    return _draw(curves, "epsilon", "delta", ("linear", "log"))


def trade_off(name: str, parameters: Mapping[str, object], adjacency: Adjacency) -> str:
    """What the profiles leave to the best test between neighbours: misses against false alarms."""
    places = [i / 100 for i in range(101)]
    curves = [
        (label, _COLOURS[label], places, [_least_missed(points, x) for x in places])
        for label, points in _profiles(name, parameters, adjacency).items()
        if label != "attained"  # its profile is a lower end, which bounds no misses from below
    ]
    return _draw(curves, "false alarms", "misses, at least", ("linear", "linear"))


def _profiles(
    name: str, parameters: Mapping[str, object], adjacency: Adjacency
) -> dict[str, list[tuple[float, float]]]:
    """Points of the privacy profile of every guarantee that is known."""
    accountant = accountant_for(name)
    found = accountant.account(accountant.parameters.read(parameters), adjacency)
    notions = {"tight": found.guarantee}
    if found.published is not None:
        notions["published, as Gaussians"] = found.published.exact
    if found.attained is not None:
        notions["attained"] = found.attained.guarantee
    return {label: _profile_points(notion) for label, notion in notions.items()}


_FLOOR = "1e-12"


def _above_floor(value: float) -> float:
    """The value, or nothing to draw."""
    return value if value >= float(_FLOOR) else math.nan


def _epsilon(answer: PrivacyResult, label: str, delta: str) -> float:
    published, attained = answer.published, answer.attained
    if label == "tight":
        return answer.guarantee.epsilon(delta).upper
    if label == "attained":
        return math.nan if attained is None else attained.guarantee.epsilon(delta).lower
    if published is None:
        return math.nan
    return (published.epsilon(delta) if label == "published" else published.exact.epsilon(delta)).upper


def write_plot(file: Path, found: PrivacyResult, title: str) -> None:
    """Draw the privacy profile and the trade-off function of an answer into an SVG, PNG or HTML file.

    What is drawn are upper ends of delta, and the lower ends of the error of the second kind that these
    imply: curves that the mechanism is certified to keep to.
    """
    from matplotlib.figure import Figure

    with recorded() as used:
        assume(*found.assumptions)
        points = _profile_points(found.guarantee)
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(9.6, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        shown = [(epsilon, _above_floor(delta)) for epsilon, delta in points]
        left.plot(*zip(*shown, strict=True), color=_COLOURS["tight"])
        left.set(xlabel="epsilon", ylabel="delta, at most", yscale="log", title="privacy profile")
        places = [i / 400 for i in range(401)]
        right.plot(places, [_least_missed(points, x) for x in places], color=_COLOURS["tight"])
        right.plot([0, 1], [1, 0], color="#777777", linewidth=0.8, linestyle="--")
        right.set(xlabel="false alarms", ylabel="misses, at least", title="trade-off function")
        told = f"released bits: {found.released_bits}\n{in_words(used)}"
        figure.suptitle(f"{title}\n{told}", fontsize=9, wrap=True)
        content = _rendered(figure, file.suffix, title)
    file.write_bytes(content)


_PLACES = 40


def _profile_points(guarantee: Profile) -> list[tuple[float, float]]:
    """(epsilon, an upper end of delta) from 0 to where delta leaves the picture; denser towards 0."""
    reach = min(guarantee.epsilon(_FLOOR).upper, guarantee.epsilon(0).upper)
    reach = reach if 0 < reach < math.inf else 1.0
    places = [reach * (i / _PLACES) ** 1.5 for i in range(_PLACES + 1)]
    return [(epsilon, guarantee.delta(epsilon).upper) for epsilon in places]


def _least_missed(points: Sequence[tuple[float, float]], alarms: float) -> float:
    """The chance of a miss that these (epsilon, delta) impose at a chance of false alarm, to be drawn.

    Source: Wasserman and Zhou, arXiv:0811.2501v1, Theorem 2.4; Kairouz, Oh and Viswanath,
    arXiv:1311.0776v4, Theorem 2.1.
    """
    first = (1 - delta - math.exp(min(epsilon, 700.0)) * alarms for epsilon, delta in points)
    second = (math.exp(-epsilon) * (1 - delta - alarms) for epsilon, delta in points)
    return max(0.0, *first, *second)


def _rendered(figure: Figure, suffix: str, title: str) -> bytes:
    """The figure as the bytes of a file of that kind, the same for the same curves."""
    stream = io.BytesIO()
    if suffix == ".png":
        figure.savefig(stream, format="png", metadata={"Software": None}, dpi=150)
        return stream.getvalue()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    if suffix == ".svg":
        return stream.getvalue()
    drawing, name = stream.getvalue().decode("utf-8"), html.escape(title)
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title>'
    return f"{head}<h1>{name}</h1>{drawing[drawing.index('<svg') :]}</html>\n".encode()


def _draw(curves: Sequence[Curve], x: str, y: str, scales: tuple[str, str]) -> str:
    """One set of axes as SVG text, the same bytes for the same curves; hovered points say their values."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    tips: list[str] = []
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(6.4, 3.8), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        for label, colour, places, values in curves:
            if not all(math.isnan(value) for value in values):
                axes.plot(places, values, label=label, color=colour, linewidth=1.8)
                for place, value in _thinned(places, values):
                    (point,) = axes.plot(place, value, marker="o", markersize=4, color=colour)
                    point.set_gid(f"{_TIP}{len(tips)}")
                    tips.append(f"{label}: {x} {place:.6g}, {y} {value:.6g}")
        axes.set(xlabel=x, ylabel=y, xscale=scales[0], yscale=scales[1])
        axes.legend(frameon=False)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    drawing = stream.getvalue()[stream.getvalue().index("<svg") :]
    return _with_tips(drawing, tips, f"{y} against {x}: {', '.join(label for label, *_ in curves)}")


_TIP = "tip-"
_TIPS = 16


def _thinned(places: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    """Some points of a curve, evenly spread, those that can be drawn."""
    points = [(x, y) for x, y in zip(places, values, strict=True) if math.isfinite(y)]
    return points[:: max(1, len(points) // _TIPS)]


def _with_tips(drawing: str, tips: Sequence[str], name: str) -> str:
    """The drawing with a name for those who do not see it, and a title for each point."""
    titled = drawing.replace("<svg ", f'<svg role="img" aria-label="{html.escape(name)}" ', 1)
    for number, tip in enumerate(tips):
        opened = f'<g id="{_TIP}{number}">'
        titled = titled.replace(opened, f'<g class="tip"><title>{html.escape(tip)}</title>', 1)
    return titled
