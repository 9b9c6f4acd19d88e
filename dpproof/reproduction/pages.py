"""Pages and plots of experiments: templates, the style of plots, and the last line of pages with certified numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jinja2
import matplotlib as mpl
from matplotlib.figure import Figure

from dpproof.reproduction.first_lines import written
from dpproof.reproduction.tables import different, where

Plots = Mapping[str, Callable[[Figure], object]]
"""Functions that draw plots. The keys are the names of the files."""
ARITHMETIC: Final = (
    "Certified figures of this page were computed in several processes, or read from a journal. We take them "
    "to rest on all assumptions on the machine's arithmetic that dpproof made when they were computed "
    "([explained](../explanation/trust.md#arithmetic))."
)
"""The last line of a page with certified numbers. The computations are not recorded."""
STYLE: Final = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dpproof",
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
}
"""Settings of matplotlib: text stays text, and equal numbers give equal bytes."""


def _to(value: float | None, form: str, none: str = "-") -> str:
    """Return a number in a format such as ".3g"."""
    return none if value is None else format(value, form)


def rendered(template: Path, first: Sequence[str], **shown: Any) -> str:
    """Return the text of a page: a template with its first sentences and the values that it shows."""
    page = markdown(template, first_lines="\n".join(written(first)), **shown)
    return flowed(f"{page}\n\n{ARITHMETIC}")


def markdown(template: Path, **shown: Any) -> str:
    """Return the text of a template with the values that it shows. It may be a part of a page."""
    return _TEMPLATES.from_string(template.read_text(encoding="utf-8")).render(**shown)


_TEMPLATES: Final = jinja2.Environment(
    autoescape=False, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
"""Environment of the templates. Pages are Markdown, which is escaped when it is shown."""
_OWN_LINE: Final = re.compile(r"\n(?!\||- |!\[|#)\s*")


def flowed(text: str) -> str:
    r"""Return Markdown text in which each paragraph, list item and table row is on one line.

    >>> flowed("# A\n\n\nOne\ntwo.\n\n- three\n  four\n- five\n")
    '# A\n\nOne two.\n\n- three four\n- five\n'
    """
    blocks = (_OWN_LINE.sub(" ", block.strip()) for block in re.split(r"\n\s*\n", text.strip()))
    return "{}\n".format("\n\n".join(blocks))


_TEMPLATES.filters["to"] = _to
_TEMPLATES.globals.update(where=where, different=different)


def write_plots(folder: Path, plots: Plots, size: tuple[float, float]) -> list[str]:
    """Draw each plot into a figure of this size, and write it as an SVG file without a date. Return the file names."""
    with mpl.rc_context(STYLE):
        for name, draw in plots.items():
            figure = Figure(figsize=size, layout="constrained")
            draw(figure)
            metadata = {"Date": None, "Creator": None}
            figure.savefig(folder / f"{name}.svg", format="svg", metadata=metadata)
    return [f"{name}.svg" for name in plots]


def panels(figure: Figure, names: Sequence[Any], **options: Any) -> Iterator[tuple[Any, Any]]:
    """Return a pair (name, panel) for each name. The new panels are side by side in the figure."""
    return zip(names, figure.subplots(1, len(names), squeeze=False, **options)[0], strict=True)
