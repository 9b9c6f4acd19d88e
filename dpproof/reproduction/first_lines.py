"""The first lines of an experiment's page: its disagreements with the paper, and its limits.

Each experiment computes these sentences from its tables, so they are always present if the numbers contradict
the paper. They come first, for those who read nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dpproof.accountant.claims.result import IN_REAL_ARITHMETIC

Row = Mapping[str, Any]
ENOUGH: Final = 100
"""Number of runs from which on a mean is shown without a remark."""
SIMULATED: Final = (
    "Every run on this page is a simulation from a seed, and a simulation has no guarantee. "
    f"Each epsilon is that of the algorithm {IN_REAL_ARITHMETIC}."
)
"""The last of the first lines, which is the same on every page."""
_HEADING: Final = "**Read this first.** These lines are computed from the tables below."


def written(sentences: Sequence[str]) -> list[str]:
    """Return the block of Markdown lines directly below the title."""
    return [_HEADING, "", *(f"- {sentence}" for sentence in (*sentences, SIMULATED)), ""]


def read(page: str) -> tuple[str, ...]:
    r"""Return the sentences of a page that begins with `written`.

    >>> read("\n".join(["# Title", "", *written(["One.", "Two."]), "Generated."]))
    ('One.', 'Two.', ...)
    """
    _, found, rest = page.partition(f"{_HEADING}\n\n")
    block = rest.partition("\n\n")[0].splitlines() if found else []
    return tuple(line.removeprefix("- ") for line in block)


def few_runs(runs: int) -> list[str]:
    """Return the sentence for means over fewer than `ENOUGH` runs."""
    if runs >= ENOUGH:
        return []
    return [f"Each figure is the result of {runs} runs only. Other seeds can change an order that is close."]


def equal_rows(rows: Sequence[Row], values: Sequence[str]) -> list[list[Row]]:
    """Return groups of two or more rows whose values are exactly equal.

    >>> rows = [{"epsilon": e, "regret": r} for e, r in ((1, 5.0), (2, 5.0), (3, 4.0))]
    >>> [[row["epsilon"] for row in group] for group in equal_rows(rows, ["regret"])]
    [[1, 2]]
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in values), []).append(row)
    return [group for group in groups.values() if len(group) > 1]


def listed(words: Sequence[object]) -> str:
    """Return the words as a list in a sentence.

    >>> listed([1, 2, 3]), listed(["one"])
    ('1, 2 and 3', 'one')
    """
    *most, last = map(str, words)
    return f"{', '.join(most)} and {last}" if most else last
