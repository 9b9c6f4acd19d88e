"""A figure of a guarantee: its privacy profile and its trade-off function, drawn with matplotlib."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from os import PathLike

import matplotlib as mpl
from matplotlib.figure import Figure

from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import assume, listed, recorded

STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dpproof",
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
}
TIGHT = "#1a6fb0"
"""The colour in which certified curves are drawn."""
SHORT = {True: "covers every released bit", False: "in real arithmetic"}
"""The caption that says whether the guarantee covers every released bit."""
_FLOOR = "1e-12"
_PLACES = 40


class Picture(Figure):
    """A matplotlib figure that a notebook shows without further settings."""

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=100)
        return stream.getvalue()

    def kept(self, path: str | PathLike[str] | None) -> Picture:
        """Return the figure. If a path is given, save it there. The file ending, such as .png, sets the format."""
        if path is not None:
            self.savefig(path)
        return self


def figure_of(found: PrivacyResult, title: str = "") -> Picture:
    """Return a figure with the privacy profile and the trade-off function of a result, side by side.

    The first curve is an upper bound on delta. The second curve is the lower bound on the false negative rate
    that follows from the first curve. The mechanism is certified to satisfy both bounds.

    >>> from dpproof import account
    >>> len(figure_of(account("gaussian", sigma=2)).axes)
    2
    """
    with recorded() as used:
        assume(*found.assumptions)
        points = profile_points(found.guarantee)
    with mpl.rc_context(STYLE):
        figure = Picture(figsize=(9.6, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        shown = [(epsilon, above_floor(delta)) for epsilon, delta in points]
        left.plot(*zip(*shown, strict=True), color=TIGHT)
        left.set(xlabel="epsilon", ylabel="delta, at most", yscale="log", title="privacy profile")
        places = [i / 400 for i in range(401)]
        right.plot(places, [least_missed(points, x) for x in places], color=TIGHT)
        right.plot([0, 1], [1, 0], color="#777777", linewidth=0.8, linestyle="--")
        right.set(xlabel="false alarms", ylabel="misses, at least", title="trade-off function")
        named = ", ".join(entry["id"] for entry in listed(used))
        told = f"{SHORT[found.covers_released_bits]}; arithmetic assumed: {named or 'nothing'}"
        figure.suptitle(f"{title or found.asked_for}\n{told}", fontsize=9, wrap=True)
    return figure


def profile_points(guarantee: Profile) -> list[tuple[float, float]]:
    """Return pairs (epsilon, upper bound on delta) for a figure. The pairs are denser near epsilon 0."""
    reach = min(guarantee.epsilon(_FLOOR).upper, guarantee.epsilon(0).upper)
    reach = reach if 0 < reach < math.inf else 1.0
    places = [reach * (i / _PLACES) ** 1.5 for i in range(_PLACES + 1)]
    return [(epsilon, guarantee.delta(epsilon).upper) for epsilon in places]


def above_floor(value: float) -> float:
    """Return ``value``, or NaN if it is too small to draw."""
    return value if value >= float(_FLOOR) else math.nan


def least_missed(points: Sequence[tuple[float, float]], alarms: float) -> float:
    """Return the least false negative rate at the false positive rate ``alarms``, for drawing.

    ``points`` are pairs (epsilon, delta) that the mechanism satisfies.

    Source: Wasserman and Zhou, arXiv:0811.2501v1, Theorem 2.4; Kairouz, Oh and Viswanath,
    arXiv:1311.0776v4, Theorem 2.1.
    """
    first = (1 - delta - math.exp(min(epsilon, 700.0)) * alarms for epsilon, delta in points)
    second = (math.exp(-epsilon) * (1 - delta - alarms) for epsilon, delta in points)
    return max(0.0, *first, *second)
