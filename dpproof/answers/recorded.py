"""The recorded verdicts: ``dpproof verify papers`` must bring them out again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["RECORD", "departures", "kept", "recorded", "write"]

RECORD = Path(__file__).with_name("recorded_verdicts.json")


Answer = Mapping[str, Any]


def recorded() -> dict[str, Answer]:
    """Statement id -> verdict, severity, domain and assumptions, as last recorded."""
    found: dict[str, Answer] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def departures(found: Iterable[Answer], *prefixes: str) -> list[str]:
    """One line for each statement that did not come out as recorded, or that is missing.

    Args:
        found: the statements verified, as ``dpproof verify --json`` lists them.
        prefixes: of the recorded ids that must be among them; ``""`` for all.
    """
    known = {name: answer for name, answer in recorded().items() if name.startswith(prefixes)}
    answers = {entry["id"]: kept(entry) for entry in found if entry["id"].startswith(prefixes)}
    return [
        f"{name}: recorded {_shown(known.get(name), at)}, found {_shown(answers.get(name), at)}"
        for name in dict.fromkeys([*answers, *known])
        if (at := _difference(known.get(name), answers.get(name)))
    ]


def kept(entry: Answer) -> Answer:
    """What is recorded of a statement: a proof must neither lose domain nor gain assumptions unnoticed."""
    return {key: entry[key] for key in ("verdict", "severity", "domain", "assumptions")}


def _difference(known: Answer | None, found: Answer | None) -> str | None:
    """The first key in which they differ."""
    if known is None or found is None:
        return None if known is found else "verdict"
    return next((key for key in known if known[key] != found[key]), None)


def _shown(answer: Answer | None, key: str) -> str:
    return "nothing" if answer is None else f"{answer[key]}" if key == "verdict" else f"{key} {answer[key]!r}"


def write() -> None:
    """Record today's verdicts."""
    from dpproof.proofs_check.registry import as_json, verify

    answers = {result.id: kept(as_json(result)) for result in verify()}
    RECORD.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
