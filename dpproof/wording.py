"""Texts for users: rounded numbers, verdicts with remarks, and what an audit could have detected."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dpproof.accountant.numbers.enclosures import Written
from dpproof.accountant.numbers.written import rounded
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.proofs_check.statement import Severity
from dpproof.proofs_check.verdict import Result, Verdict


def figure(value: float | None) -> str:
    """Return a number as text: as the user typed it, or with at most seven digits. None becomes a dash."""
    if isinstance(value, Written):
        return value.text
    return "-" if value is None else f"{value:.7g}"


def at_least(value: float | None) -> str:
    """Return a lower bound as text. It is rounded down to the digits that are shown."""
    return "-" if value is None else rounded(value, up=False)


def at_most(value: float | None) -> str:
    """Return an upper bound as text. It is rounded up to the digits that are shown.

    >>> at_most(1.63380955), at_least(1.63380955)
    ('1.633810', '1.633809')
    """
    return "-" if value is None else rounded(value, up=True)


def verdict_words(
    verdict: Verdict, readings: int = 0, assumptions: int = 0, severity: Severity | None = None
) -> str:
    """Return a verdict as text, with its severity and the numbers of assumptions and readings.

    A reading is a step of an argument that people check and no machine does.

    >>> verdict_words(Verdict.SUBDOMAIN, readings=3, assumptions=1)
    'PROVED ON A SUBDOMAIN (given 1 assumption; 3 readings)'
    """
    words = "; ".join(beside(verdict, readings, assumptions, severity))
    return f"{verdict.value}{f' ({words})' if words else ''}"


def beside(
    verdict: Verdict, readings: int = 0, assumptions: int = 0, severity: Severity | None = None
) -> list[str]:
    """Return the remarks on a verdict as texts: its severity, its assumptions, and its readings.

    Assumptions are left out if the verdict itself says that there are some. A reading is a step of an argument that
    people check and no machine does.

    >>> beside(Verdict.REFUTED, readings=1, severity=Severity.SLIP)
    ['slip', '1 reading']
    """
    hidden = assumptions and verdict not in (Verdict.GIVEN, Verdict.ASSUMED)
    given = f"given {many(assumptions, 'assumption')}" if hidden else ""
    read = many(readings, "reading") if readings else ""
    return [text for text in (severity.value if severity else "", given, read) if text]


def result_words(result: Result) -> str:
    """Return the verdict on a statement as text, with its severity and the numbers of assumptions and readings."""
    return verdict_words(result.verdict, len(result.readings), len(result.assumptions), result.severity)


def many(number: int, noun: str) -> str:
    """Return a number with its noun, in the singular or the plural.

    >>> many(1, "law"), many(2, "law")
    ('1 law', '2 laws')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def remarks(result: Result) -> Sequence[str]:
    """Return the remarks on a verdict as texts: those of `own_remarks`, and each assumption."""
    return [*own_remarks(result), *(f"given: {text}" for text in result.assumptions)]


def own_remarks(result: Result) -> Sequence[str]:
    """Return the remarks on a verdict as texts, without assumptions.

    The remarks state the counterexample, the severity, the verdicts on parts of the statement, the correction, and
    the domain on which the statement is proved.
    """
    lines = [f"not as agreed: {text}" for text in result.changed]
    if result.point:
        lines.append("fails at " + ", ".join(f"{name} = {value}" for name, value in result.point.items()))
    if result.judgement:
        lines.append(f"{result.judgement.severity.value}: {result.judgement.why}")
    for part in result.conjuncts:
        words = verdict_words(part.verdict, assumptions=len(part.assumptions), severity=part.severity)
        lines.append(f"{part.id} is {words}: {part.title}")
    if result.corrected_by:
        lines.append(f"corrected by {result.corrected_by}")
    if result.domain:
        lines.append(f"on {result.domain}")
    return lines


def worth(audit: Evidence) -> str:
    """Return a sentence on what an audit found on its neighbours, and what it could have detected.

    The text is empty if the audit did not measure what it could have detected, as after a violation.
    """
    if not audit.power and not audit.weakness:
        return ""
    pair = f"On the pair that was run ({audit.pair})"
    if audit.unconfirmed:
        return f"{pair} {audit.weakness}."
    opening = f"{pair} {_found(audit.verdict)}"
    if audit.weakness:
        return f"{opening}, and {audit.weakness}."
    return (
        f"{opening}. On this pair only, violations of twice the claim are seen with power 90 % in these"
        f" classes of events: {_classes(audit)}. Not covered: {'; '.join(audit.not_covered)}."
    )


def would_see(seen: float | None) -> str:
    """Return ``seen`` as text. It is the epsilon that an audit would have detected with probability 90 %.

    >>> would_see(2.0), would_see(math.inf), would_see(None)
    ('2', 'not known', '-')
    """
    if seen is None:
        return "-"
    return "not known" if seen == math.inf else f"{seen:.7g}"


def noticed(seen: float | None) -> str:
    """Return a sentence on ``seen``, the epsilon that an audit would have detected with probability 90 %.

    >>> noticed(2.0), noticed(math.inf), noticed(None)
    ('It would have noticed an epsilon of 2 or more (power 90 %).', 'Its power is not known.', '')
    """
    if seen is None:
        return ""
    if seen == math.inf:
        return "Its power is not known."
    return f"It would have noticed an epsilon of {rounded(seen, up=True, digits=4)} or more (power 90 %)."


def plain_words(result: Result) -> str:
    """Return a text: the id of a statement, and in plain words what is known of the statement."""
    given = f"under {many(len(result.assumptions), 'assumption')}" if result.assumptions else ""
    read = f"people check {many(len(result.readings), 'reading')}" if result.readings else ""
    known = {
        Verdict.PROVED: "is proved",
        Verdict.STEPS: "is proved step by step",
        Verdict.GIVEN: "is proved",
        Verdict.SUBDOMAIN: "is proved for some parameters",
        Verdict.REFUTED: "is refuted",
        Verdict.ASSUMED: "is assumed",
        Verdict.OPEN: "is neither proved nor refuted",
    }[result.verdict]
    return f"{result.id}, which {known}{given and ' '}{given}{read and '; '}{read}"


def _found(verdict: Finding) -> str:
    if verdict is Finding.FLOATING_POINT:
        return "the low bits of floating-point numbers refute the claim, and nothing was found without them"
    return "nothing was found"


def _classes(audit: Evidence) -> str:
    return ", ".join(f"{name} ({_count(found)})" for name, found in audit.power.items())


def _count(found: Mapping[str, object]) -> str:
    if found["seen"] is None:
        return "simulated"
    return f"{found['seen']} of {found['runs']} planted, of mass {found['mass_floor']:g} or more"
