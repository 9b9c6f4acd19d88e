"""The first lines of an experiment's page: disagreements with the paper, and what the numbers cannot show.

Each experiment computes these sentences from its tables, so they are always present if the numbers contradict
the paper. They come first, for those who read nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dpproof.accountant.claims.result import IN_REAL_ARITHMETIC

Row = Mapping[str, Any]
ENOUGH: Final = 100
"""A mean over fewer runs than this number is shown with a remark."""
SIMULATED: Final = (
    "Every run on this page is a simulation from a seed, and a simulation has no guarantee. "
    f"Each epsilon is that of the algorithm {IN_REAL_ARITHMETIC}."
)
"""The last of the first lines, which is the same on every page."""
_HEADING: Final = "**Read this first.** These lines are computed from the tables below."


def written(sentences: Sequence[str]) -> list[str]:
    """Return the first sentences of a page as Markdown lines, which stand directly below the title."""
    return [_HEADING, "", *(f"- {sentence}" for sentence in (*sentences, SIMULATED)), ""]


def read(page: str) -> tuple[str, ...]:
    r"""Return the first sentences of a page, which `written` put below its title.

    >>> read("\n".join(["# Title", "", *written(["One.", "Two."]), "Generated."]))
    ('One.', 'Two.', ...)
    """
    _, found, rest = page.partition(f"{_HEADING}\n\n")
    block = rest.partition("\n\n")[0].splitlines() if found else []
    return tuple(line.removeprefix("- ") for line in block)


def few_runs(runs: int) -> list[str]:
    """Return a list with the remark that the runs are few. It is empty if there are at least `ENOUGH` runs."""
    if runs >= ENOUGH:
        return []
    return [f"Each figure is the result of {runs} runs only. Other seeds can change an order that is close."]


def equal_rows(rows: Sequence[Row], values: Sequence[str]) -> list[list[Row]]:
    """Return groups of two or more rows that have exactly equal numbers in the columns ``values``.

    >>> rows = [{"epsilon": e, "regret": r} for e, r in ((1, 5.0), (2, 5.0), (3, 4.0))]
    >>> [[row["epsilon"] for row in group] for group in equal_rows(rows, ["regret"])]
    [[1, 2]]
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in values), []).append(row)
    return [group for group in groups.values() if len(group) > 1]


def listed(words: Sequence[object]) -> str:
    """Return the words as a list for a sentence, with "and" before the last word.

    >>> listed([1, 2, 3]), listed(["one"])
    ('1, 2 and 3', 'one')
    """
    *most, last = map(str, words)
    return f"{', '.join(most)} and {last}" if most else last
