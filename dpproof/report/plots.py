"""Plots of the report, as SVG text inside a page, and plots of one answer, as a file."""

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
from dpproof.accountant.drawing import STYLE, TIGHT, above_floor, figure_of, least_missed, profile_points
from dpproof.audits.recording.picture import picture
from dpproof.audits.recording.words import Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curve = tuple[str, str, Sequence[float], Sequence[float]]
"""One curve of a plot: its label, its colour, its x values and its y values."""

_COLOURS = {
    "published": "#b3261e",
    "published, converted as ours": "#d98c00",
    "tight": TIGHT,
    "attained": "#2e7d32",
}


def growth(name: str, parameters: Mapping[str, object], adjacency: Adjacency, delta: str, along: str) -> str:
    """Return a plot of epsilon at ``delta`` against the parameter ``along``, as SVG text.

    It has curves for the certified and the published epsilon, and for what known neighbours reach.
    """
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
    """Return a plot of the privacy profile (delta against epsilon) as SVG text.

    It has curves for the certified and the published guarantee, and for what known neighbours reach.
    """
    curves = [
        (label, _COLOURS[label], [x for x, _ in points], [above_floor(y) for _, y in points])
        for label, points in _profiles(name, parameters, adjacency).items()
    ]
    return _draw(curves, "epsilon", "delta", ("linear", "log"))


def trade_off(name: str, parameters: Mapping[str, object], adjacency: Adjacency) -> str:
    """Return a plot of bounds on the trade-off function, as SVG text.

    They follow from the privacy profiles. The axes are the rates of misses and of false alarms of the best test.
    """
    places = [i / 100 for i in range(101)]
    curves = [
        (label, _COLOURS[label], places, [least_missed(points, x) for x in places])
        for label, points in _profiles(name, parameters, adjacency).items()
        if label != "attained"  # its profile is a lower end, which bounds no misses from below
    ]
    return _draw(curves, "false alarms", "misses, at least", ("linear", "linear"))


def _profiles(
    name: str, parameters: Mapping[str, object], adjacency: Adjacency
) -> dict[str, list[tuple[float, float]]]:
    """Return points of the privacy profile of every known guarantee."""
    accountant = accountant_for(name)
    found = accountant.account(accountant.parameters.read(parameters), adjacency)
    notions = {"tight": found.guarantee}
    if found.published is not None:
        notions["published, converted as ours"] = found.published.exact
    if found.attained is not None:
        notions["attained"] = found.attained.guarantee
    return {label: profile_points(notion) for label, notion in notions.items()}


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
    """Write a plot of the privacy profile and the trade-off function of an answer to an SVG, PNG or HTML file.

    The plot shows certified upper bounds on delta, and the lower bounds on the false negative rate of a test that
    they imply.
    """
    with mpl.rc_context(STYLE):
        content = _rendered(figure_of(found, title), file.suffix, title)
    file.write_bytes(content)


def _rendered(figure: Figure, suffix: str, title: str) -> bytes:
    """Return the figure as the bytes of a file of that kind. Equal curves give equal bytes."""
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


def event(shown: Shown) -> str:
    """Return histograms of a mechanism's outputs on two neighbours as SVG text, with the violating event marked."""
    with mpl.rc_context(STYLE):
        drawn = picture(shown, "")
        stream = io.StringIO()
        drawn.savefig(stream, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    drawing = stream.getvalue()
    return _with_tips(drawing[drawing.index("<svg") :], (), f"histograms of {shown.what} on either input")


def _draw(curves: Sequence[Curve], x: str, y: str, scales: tuple[str, str]) -> str:
    """Return one plot as SVG text. Equal curves give equal bytes. Points show their values when hovered."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    tips: list[str] = []
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.8), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        for label, colour, places, values in curves:
            if not all(math.isnan(value) for value in values):
                line = "--" if label == "attained" else "-"  # where it covers another curve both are seen
                axes.plot(places, values, line, label=label, color=colour, linewidth=1.8)
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
    """Return some evenly spread points of a curve that can be drawn."""
    points = [(x, y) for x, y in zip(places, values, strict=True) if math.isfinite(y)]
    return points[:: max(1, len(points) // _TIPS)]


def _with_tips(drawing: str, tips: Sequence[str], name: str) -> str:
    """Return the drawing with a name for screen readers, and a title for each point."""
    titled = drawing.replace("<svg ", f'<svg role="img" aria-label="{html.escape(name)}" ', 1)
    for number, tip in enumerate(tips):
        opened = f'<g id="{_TIP}{number}">'
        titled = titled.replace(opened, f'<g class="tip"><title>{html.escape(tip)}</title>', 1)
    return titled
