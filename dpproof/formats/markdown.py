"""A summary of results in Markdown, for the page of a continuous-integration run or a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpproof.formats.findings import Reported
from dpproof.outcome import Level

SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&@$^])")
LINKED = re.compile(r"(?i)(:(?=//)|www(?=\.)|\\[@#]|\bgh(?=-\d))")
"""Text that web pages turn into a link even if it is escaped. A comment inside the text prevents this."""


def markdown(findings: Sequence[Reported]) -> str:
    """Return the results as a table in Markdown, with the failed ones first. Text from users is escaped."""
    failed = [finding for finding in findings if finding.rule.level in (Level.FAILURE, Level.ERROR)]
    open_ = [finding for finding in findings if finding.rule.level is Level.NOTHING]
    bits = [finding for finding in findings if finding.rule.level is Level.TOLERATED]
    passed = [finding for finding in findings if finding.rule.level is Level.PASS]
    known = [finding for finding in findings if finding.rule.level is Level.RECORDED]
    nothing = f"; of {len(open_)} an audit found nothing, which is no proof" if open_ else ""
    if bits:
        nothing += f"; of {len(bits)} about real arithmetic only floating-point bits refute the claim"
    papers = f"; {len(known)} as recorded, refuted statements included" if known else ""
    head = f"**dpproof**: {len(passed)} of {len(findings)} kept{nothing}{papers}"
    rows = ["| | claim | result | what was found |", "|---|---|---|---|"]
    return "\n".join([head, "", *rows, *map(_row, [*failed, *bits, *open_, *known, *passed]), ""])


def _row(finding: Reported) -> str:
    return cells(finding.rule.level.mark, finding.name, finding.rule.value, finding.message)


def escaped(text: str) -> str:
    """Return a text from users so that Markdown shows it as it is."""
    lines = (SPECIAL.sub(r"\\\1", line) for line in text.splitlines())
    return "<br>".join(LINKED.sub(r"\1<!-- -->", line) for line in lines)


def cells(*texts: str) -> str:
    """Return one row of a table. Text from users is escaped."""
    return f"| {' | '.join(map(escaped, texts))} |"
