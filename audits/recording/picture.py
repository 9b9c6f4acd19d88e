"""Draw a violation: one histogram for each input, of a number that distinguishes the inputs."""

from __future__ import annotations

from dpproof.accountant.drawing import Picture
from dpproof.audits.recording.words import Shown

COLOURS = ("#6b6b6b", "#b3261e")
SIZE = (6.0, 3.2)
"""The width and the height of the figure in inches."""


def picture(shown: Shown, title: str) -> Picture:
    """Return a matplotlib figure with one histogram for each input, and with the event marked.

    Raises:
        ValueError: there are no histograms.
    """
    if not shown.edges:
        raise ValueError("plot: The outputs contain no number, so there are no histograms to draw.")
    figure = Picture(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    for counts, colour, label in zip(shown.counts, COLOURS, ("first input", "second input"), strict=True):
        axes.stairs(counts, shown.edges, color=colour, fill=True, alpha=0.35)
        axes.stairs(counts, shown.edges, color=colour, label=label)
    if shown.at is not None:
        axes.axvline(shown.at, color="black", linestyle="--", linewidth=1, label=shown.event)
    axes.set(xlabel=shown.what, ylabel="fresh outputs", title=title)
    figure.legend(fontsize="small", frameon=False, loc="outside upper left")
    return figure
