"""Empirical claims of papers, and what the recorded experiments say of each.

The claims of a paper are in ``printed/<paper>.toml``. A claim is out of reach there, with the reason, or a function of
the paper's package judges it from recorded results.
"""

from __future__ import annotations

import enum
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final

from dpproof.reproduction.first_lines import listed
from dpproof.reproduction.suite.summary import Table as Suite
from dpproof.reproduction.tables import Table


class Outcome(enum.Enum):
    """What the recorded experiments say of a claim."""

    CONFIRMED = "confirmed"
    """The runs show what the sentence says, at every stated setting at which something learns."""
    REFUTED = "refuted"
    """The runs show the opposite at a setting that the sentence covers."""
    UNDECIDED = "undecided"
    """The runs bear on the sentence, but they are missing, too close, or not what a sentence about bounds says."""
    OUT_OF_REACH = "out of reach"
    """No experiment here can speak to the sentence."""


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper that an experiment could confirm or contradict.

    Attributes:
        id: its name, unique in the paper.
        where: its place in the paper.
        sentence: the quoted sentence.
        means: which measurable ordering or quantity it asserts.
        decides: which measurement decides it; empty if none can.
        out_of_reach: why no measurement here can decide it; empty if one can.
    """

    id: str
    where: str
    sentence: str
    means: str
    decides: str = ""
    out_of_reach: str = ""


@dataclass(frozen=True)
class Judgement:
    """What the recorded experiments say of a claim, and the figures that say so."""

    outcome: Outcome
    figures: str


@dataclass(frozen=True)
class Evidence:
    """Recorded results, from which claims are judged.

    Attributes:
        suite: the scores of the benchmark.
        own: the tables of the paper's own experiment, by name.
        more: its settings and its other recorded data.
    """

    suite: Suite
    own: Mapping[str, Table]
    more: Mapping[str, Any] = field(default_factory=dict)


Judge = Callable[[Evidence], Judgement]


def claims_of(paper: str) -> tuple[Claim, ...]:
    """Return the claims of a paper, in the order of its file.

    >>> claims_of("rlsvi")[0].where
    'Abstract; the same in section 1'
    """
    text = (files("dpproof.reproduction") / "printed" / f"{paper.replace('-', '_')}.toml").read_text(
        encoding="utf-8"
    )
    return tuple(Claim(**one) for one in tomllib.loads(text)["claim"])


def judged(paper: str, judges: Mapping[str, Judge], evidence: Evidence) -> list[tuple[Claim, Judgement]]:
    """Return each claim of a paper with its judgement."""
    return [
        (claim, judges[claim.id](evidence) if not claim.out_of_reach else _beyond(claim))
        for claim in claims_of(paper)
    ]


def _beyond(claim: Claim) -> Judgement:
    return Judgement(Outcome.OUT_OF_REACH, claim.out_of_reach)


def summary(found: Sequence[tuple[Claim, Judgement]]) -> Iterator[str]:
    """Yield sentences for the top of a page: how many claims have each outcome, and which are refuted."""
    if not found:
        return
    counts = [
        f"{n} {'is' if n == 1 else 'are'} {one.value}"
        for one in Outcome
        if (n := sum(j.outcome is one for _, j in found))
    ]
    yield f"Of {len(found)} claims of the paper that an experiment could speak to, {listed(counts)}."
    waiting = sum(j.outcome is Outcome.UNDECIDED and _NOT_RUN in j.figures for _, j in found)
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        yield f"Of the undecided ones, {waiting} {verb} for runs that are not recorded yet."
    for claim, judgement in found:
        if judgement.outcome is Outcome.REFUTED:
            told = _opposite(judgement.figures)
            yield f'Refuted: "{claim.sentence}" ({claim.where}). We read it as: {claim.means} {told}'


_NOT_RUN: Final = "Not run yet"
"""Begins the figures of the settings without runs."""


def _opposite(figures: str) -> str:
    """Return the sentences of a judgement's figures that show the opposite of the claim."""
    return " ".join(part for part in re.split(r"(?<=\.) (?=[A-Z])", figures) if "opposite" in part.lower())


def section(found: Sequence[tuple[Claim, Judgement]]) -> str:
    """Return a section of a page, as Markdown: a table of the claims and their judgements; nothing without claims."""
    if not found:
        return ""
    lines = [
        "## The paper's claims",
        "",
        "A sentence is *confirmed* if these runs show what it says at every setting below at which something learns, "
        "*refuted* if they show the opposite at a setting that it covers, and *undecided* if runs are missing, nothing "
        "learns, differences are within their errors, or the opposite of a sentence about bounds is shown. These words "
        "are about these runs, with this project's implementations and constants. Where a sentence "
        'has no number ("close", "comparable"), the threshold is ours. It stands under *how it is decided*. Two means '
        "differ if they are three standard errors of their difference apart, and more if there are few runs. A "
        "sentence that covers many settings needs more of them, so that a difference by chance in any of its settings "
        "is not more likely than in one. "
        "Verdicts on the paper's theorems are in the ledger.",
        "",
        "| where | sentence | what it says | how it is decided | outcome | measured |",
        "|---|---|---|---|---|---|",
    ]
    for claim, judgement in found:
        told = (claim.where, f'"{claim.sentence}"', claim.means, claim.decides or "-")
        cells = (*told, judgement.outcome.value, judgement.figures)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)
