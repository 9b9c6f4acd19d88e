"""Tables without cut words. If a table is too wide, its rows are stacked.

rich shortens a cell that does not fit, and it narrows the widest column first, which often contains an
identifier. Here no word is cut or broken, because users copy ids and numbers from the screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

FRAME = 3
"""Width of a column besides its text: a vertical line, and a blank on both sides."""


def table(*columns: str, title: str | None = None) -> Table:
    """Return an empty table with these headings. `print_table` prints it."""
    made = Table(title=title, title_justify="left", header_style="bold", show_lines=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def print_table(rows: Table, console: Console) -> None:
    """Print a table within the console's width without cutting a word."""
    needed = [_measured(column.cells, column.header, console) for column in rows.columns]
    widths = fitted(
        [need.minimum for need in needed],
        [need.maximum for need in needed],
        console.width - FRAME * len(needed) - 1,
    )
    if widths is None:
        console.print(_stacked(rows), soft_wrap=True)
        return
    for column, width in zip(rows.columns, widths, strict=True):
        column.width = width
    console.print(rows)


def _measured(cells: Iterable[RenderableType], header: RenderableType, console: Console) -> Measurement:
    """Return the width of a column's longest word, and of its longest line."""
    each = [Measurement.get(console, console.options.update(width=10_000), cell) for cell in (header, *cells)]
    return Measurement(max(one.minimum for one in each), max(one.maximum for one in each))


def fitted(least: Sequence[int], most: Sequence[int], room: int) -> list[int] | None:
    """Return a width for each column, or None if the sum of the least widths exceeds ``room``.

    The width of a column is between its entries in ``least`` and in ``most``. The sum of all widths is at most
    ``room``. The columns that need the least additional width for ``most`` get it first.

    >>> fitted([3, 4], [5, 20], 16), fitted([3, 4], [5, 20], 40), fitted([3, 4], [5, 20], 6)
    ([5, 11], [5, 20], None)
    """
    spare = room - sum(least)
    if spare < 0:
        return None
    widths = list(least)
    for place in sorted(range(len(widths)), key=lambda column: most[column] - least[column]):
        given = min(most[place] - least[place], spare)
        widths[place] += given
        spare -= given
    return widths


def _stacked(rows: Table) -> Group:
    """Return one line for each cell, ``heading: cell``, with space between rows."""
    headings = [str(column.header) for column in rows.columns]
    lines: list[RenderableType] = [] if rows.title is None else [Text(str(rows.title), style="italic")]
    for cells in zip(*(column.cells for column in rows.columns), strict=True):
        shown = [f"[bold]{head}[/]: {cell}" for head, cell in zip(headings, cells, strict=True) if cell]
        lines.append("\n".join(shown) + "\n")
    return Group(*lines)
