"""Plots of the report, as SVG text inside a page, and plots of one answer, as a file."""

from __future__ import annotations

import html
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.drawing import STYLE, TIGHT, above_floor, figure_of, least_missed, profile_points
from dpproof.accountant.numbers.written import rounded
from dpproof.audits.recording.picture import picture
from dpproof.audits.recording.words import Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curve = tuple[str, str, Sequence[float], Sequence[float]]
"""One curve of a plot: its label, its colour, its x values and its y values."""

PRINTED, CONVERTED, CERTIFIED, REACHED = (
    "published",
    "published noise, our accounting",
    "certified",
    "reached by a pair",
)
_COLOURS = {PRINTED: "#b3261e", CONVERTED: "#d98c00", CERTIFIED: TIGHT, REACHED: "#2e7d32"}
_SAME = 1e-3
"""Relative difference below which two curves are drawn as one."""


def growth(name: str, parameters: Mapping[str, object], adjacency: Adjacency, delta: str, along: str) -> str:
    """Return a plot of epsilon at ``delta`` against the parameter ``along``, as SVG text.

    The curves show the published epsilon, the epsilon that this project computes for the published noise, and the
    certified epsilon. Another curve shows the lower bound on epsilon that a known pair of neighbours proves.
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
    return _draw(curves, f"{along}, logarithmic scale", f"epsilon at delta = {delta}", ("log", "log"))


def profile(name: str, parameters: Mapping[str, object], adjacency: Adjacency, delta: str) -> tuple[str, str]:
    """Return a plot of the privacy profile (delta against epsilon) as SVG text, and its caption.

    The curves show the certified guarantee and the guarantee that follows exactly from the paper's privacy losses.
    Another curve shows the lower bound that a known pair of neighbours proves. Marks show the certified and the
    published epsilon at ``delta``.
    """
    curves = [
        (label, _COLOURS[label], [x for x, _ in points], [above_floor(y) for _, y in points])
        for label, points in _profiles(name, parameters, adjacency).items()
    ]
    accountant = accountant_for(name)
    answer = accountant.account(accountant.parameters.read(parameters), adjacency)
    found = [(label, _epsilon(answer, label, delta)) for label in (PRINTED, CERTIFIED)]
    marks = [Marked(label, epsilon, float(delta)) for label, epsilon in found if math.isfinite(epsilon)]
    drawn = _draw(curves, "epsilon", "delta, logarithmic scale", ("linear", "log"), marks)
    return drawn, " ".join(["The privacy profile: delta against epsilon.", *_at_zero(marks)])


@dataclass(frozen=True)
class Marked:
    """One point of the plane of epsilon and delta that a plot marks."""

    label: str
    epsilon: float
    delta: float

    @property
    def words(self) -> str:
        """Text for the legend."""
        return f"{self.label}: epsilon {rounded(self.epsilon, up=True, digits=4)} at delta {self.delta:g}"


def _at_zero(marks: Sequence[Marked]) -> list[str]:
    """Return the sentences on delta 0, which a logarithmic axis cannot show."""
    if not marks or marks[0].delta:
        return []
    return [
        "A logarithmic axis cannot show delta 0: the dashed lines mark the epsilons there.",
        "A curve may end far to the left of its line, because a tiny delta can lower epsilon much.",
    ]


def trade_off(name: str, parameters: Mapping[str, object], adjacency: Adjacency) -> str:
    """Return a plot of bounds on the trade-off function, as SVG text.

    The bounds follow from the privacy profiles. The axes are the rate of false alarms and the rate of misses.
    """
    places = [i / 100 for i in range(101)]
    curves = [
        (label, _COLOURS[label], places, [least_missed(points, x) for x in places])
        for label, points in _profiles(name, parameters, adjacency).items()
        if label != REACHED  # its profile is a lower end, which bounds no misses from below
    ]
    return _draw(curves, "false alarms", "misses, at least", ("linear", "linear"))


def _profiles(
    name: str, parameters: Mapping[str, object], adjacency: Adjacency
) -> dict[str, list[tuple[float, float]]]:
    """Return points of the privacy profile of every known guarantee."""
    accountant = accountant_for(name)
    found = accountant.account(accountant.parameters.read(parameters), adjacency)
    notions = {CERTIFIED: found.guarantee}
    if found.published is not None:
        notions[CONVERTED] = found.published.exact
    if found.attained is not None:
        notions[REACHED] = found.attained.guarantee
    return {label: profile_points(notion) for label, notion in notions.items()}


def _epsilon(answer: PrivacyResult, label: str, delta: str) -> float:
    published, attained = answer.published, answer.attained
    if label == CERTIFIED:
        return answer.guarantee.epsilon(delta).upper
    if label == REACHED:
        return math.nan if attained is None else attained.guarantee.epsilon(delta).lower
    if published is None:
        return math.nan
    return (published.epsilon(delta) if label == PRINTED else published.exact.epsilon(delta)).upper


def write_plot(file: Path, found: PrivacyResult, title: str) -> None:
    """Write a plot of the guarantee ``found`` to an SVG, PNG or HTML file.

    The plot shows the privacy profile (certified upper bounds on delta) and the trade-off function. The trade-off
    function follows from the profile, and bounds the false negative rate of every test from below.
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
    """Return histograms of outputs on two neighbours as SVG text. They mark the event that shows a violation."""
    with mpl.rc_context(STYLE):
        drawn = picture(shown, "")
        stream = io.StringIO()
        drawn.savefig(stream, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    drawing = stream.getvalue()
    return _with_tips(drawing[drawing.index("<svg") :], (), f"histograms of {shown.what} on either input")


def _merged(curves: Sequence[Curve]) -> list[Curve]:
    """Return the curves that have points. Curves that lie on each other become one with both labels."""
    held: list[Curve] = []
    for label, colour, places, values in curves:
        if all(math.isnan(value) for value in values):
            continue
        for place, (other, own, at, known) in enumerate(held):
            if list(at) == list(places) and np.allclose(known, values, rtol=_SAME, atol=0, equal_nan=True):
                held[place] = (f"{other}; {label}: the same", own, at, known)
                break
        else:
            held.append((label, colour, places, values))
    return held


def _draw(
    curves: Sequence[Curve], x: str, y: str, scales: tuple[str, str], marks: Sequence[Marked] = ()
) -> str:
    """Return one plot as SVG text. Equal curves give equal bytes. Points show their values when hovered."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    tips: list[str] = []
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.8), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        for label, colour, places, values in _merged(curves):
            line = "--" if label == REACHED else "-"  # where it covers another curve both are seen
            axes.plot(places, values, line, label=label, color=colour, linewidth=1.8)
            for place, value in _thinned(places, values):
                (point,) = axes.plot(place, value, marker="o", markersize=4, color=colour)
                point.set_gid(f"{_TIP}{len(tips)}")
                tips.append(f"{label}: {_quantity(x)} {place:.6g}, {_quantity(y)} {value:.6g}")
        axes.set(xlabel=x, ylabel=y, xscale=scales[0], yscale=scales[1])
        for mark in marks:
            if mark.delta:
                axes.plot(mark.epsilon, mark.delta, "D", color=_COLOURS[mark.label], label=mark.words)
            else:
                axes.axvline(mark.epsilon, linestyle="--", color=_COLOURS[mark.label], label=mark.words)
        figure.legend(frameon=False, fontsize="small", loc="outside upper left")
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    drawing = stream.getvalue()[stream.getvalue().index("<svg") :]
    return _with_tips(drawing, tips, f"{y} against {x}: {', '.join(label for label, *_ in curves)}")


def _quantity(axis: str) -> str:
    """Return the quantity of an axis, without its scale."""
    return axis.partition(",")[0]


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
