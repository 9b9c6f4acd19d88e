"""How the experiments' figures look: text as text, the same bytes from the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure
from typing import Final

STYLE: Final = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dpproof",
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
}
"""Settings of matplotlib, for ``matplotlib.rc_context``."""


def save(figure: Figure, file: Path) -> Path:
    """Write a figure as SVG, without a date, and return its path."""
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file
