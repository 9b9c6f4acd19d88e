"""A summary of published guarantees beside certified ones in Markdown, for the page of a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from dpproof.deployments.comparing import Comparison, fairness
from dpproof.formats.markdown import cells, escaped


def markdown_of_deployments(lines: Sequence[str], found: Sequence[Comparison]) -> str:
    """Return the comparison of published guarantees as Markdown: lines in words, a table, a paragraph on each row."""
    rows = ["| deployment | published | certified | verdict |", "|---|---|---|---|"]
    rows += [cells(one.row.name, one.published, one.certified, one.verdict) for one in found]
    told = [f"**{escaped(one.row.name)}.** {escaped(fairness(one))}" for one in found]
    parts = [*map(escaped, lines), "\n".join(rows) if found else "", *told]
    return "\n\n".join(part for part in parts if part) + "\n"
