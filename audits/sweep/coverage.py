"""The answer of a sweep in words: which neighbouring relation, if any, covers the whole package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dpproof.audits.recording.evidence import Finding
from dpproof.audits.sweep.record import Record
from dpproof.audits.sweep.table import DATA

FALSE = Finding.VIOLATION.value
BITS = Finding.FLOATING_POINT.value


def answer_on(record: Record) -> list[str]:
    """Return the answer of a sweep in sentences, the most important first."""
    about, rows = record.about, list(record.rows.values())
    counts = Counter(row["verdict"] for row in rows)
    listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    whole = "" if len(rows) == about["claims"] else f" The table has {about['claims']} claims."
    return [
        _covering(record),
        f"{len(rows)} claims of {about['package']} {about['version']} were audited: {listed}.{whole}",
        f"The probability that any of the violations is false is at most {about['alpha']:g}. "
        f"The sweep splits it equally among {about['claims']} claims.",
        "An answer other than a violation never means that a mechanism is private.",
    ]


def _covering(record: Record) -> str:
    """Return the sentence on the relations: which of them the violations leave open for all mechanisms on data sets."""
    broken = {one.value: _refuted(record, one.value) for one in DATA}
    name = record.about["package"]
    audited = [one.value for one in DATA if any(relation == one.value for _, relation in record.rows)]
    if not audited:
        return f"{name} was audited as noise primitives only, so the question which relation covers it does not arise."
    kept = [relation for relation in audited if not broken[relation]]
    if kept:
        verdicts = [row["verdict"] for (_, relation), row in record.rows.items() if relation in kept]
        firm = verdicts.count(Finding.CONSISTENT.value)
        weak = f" This says little, because {firm} of these {len(verdicts)} audits were consistent."
        found = f"No violation in real arithmetic was found under: {' and '.join(kept)}."
        return found + weak * (firm < len(verdicts))
    told = "; ".join(f"under {relation}: {_few(broken[relation])}" for relation in audited)
    return f"No single neighbouring relation covers {name}. Violations {told}."


def _refuted(record: Record, relation: str) -> list[str]:
    return [
        name for (name, under), row in record.rows.items() if under == relation and row["verdict"] == FALSE
    ]


def _few(names: Sequence[str], most: int = 4) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
