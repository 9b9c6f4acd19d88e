"""The recorded verdicts on all statements, which ``dpproof verify papers`` must reproduce."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from dpproof.accountant.numbers.written import write_whole
from dpproof.proofs_check.registry import verify
from dpproof.proofs_check.verdict import Result

RECORD = Path(__file__).with_name("recorded_verdicts.json")


Kept = Mapping[str, object]
"""What is recorded for one statement: its verdict, severity, domain and assumptions."""


def recorded() -> dict[str, Kept]:
    """Return the recorded verdict, severity, domain and assumptions for each statement id."""
    found: dict[str, Kept] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def departures(found: Iterable[Result], *prefixes: str) -> list[str]:
    """Return one line for each statement that is missing or differs from its record.

    Args:
        found: the verdicts on statements.
        prefixes: recorded statements whose ids begin with one of these must be in ``found``; ``""`` for all.
    """
    known = {name: answer for name, answer in recorded().items() if name.startswith(prefixes)}
    answers = {result.id: kept(result) for result in found if result.id.startswith(prefixes)}
    return [
        f"{name}: recorded {_shown(known.get(name), at)}, found {_shown(answers.get(name), at)}"
        for name in dict.fromkeys([*answers, *known])
        if (at := _difference(known.get(name), answers.get(name)))
    ]


def kept(result: Result) -> Kept:
    """Return what is recorded for a statement: its verdict, severity, domain and assumptions."""
    return {
        "verdict": result.verdict.value,
        "severity": result.severity.value if result.severity else None,
        "domain": result.domain,
        "assumptions": list(result.assumptions),
    }


def _difference(known: Kept | None, found: Kept | None) -> str | None:
    """Return the first key in which they differ."""
    if known is None or found is None:
        return None if known is found else "verdict"
    return next((key for key in known if known[key] != found[key]), None)


def _shown(answer: Kept | None, key: str) -> str:
    return "nothing" if answer is None else f"{answer[key]}" if key == "verdict" else f"{key} {answer[key]!r}"


def write() -> None:
    """Check all statements and write their verdicts as the new record."""
    answers = {result.id: kept(result) for result in verify()}
    write_whole(RECORD, json.dumps(answers, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write()
