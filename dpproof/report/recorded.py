"""The recorded verdicts: ``dpproof verify papers`` must bring them out again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["RECORD", "departures", "recorded", "write"]

RECORD = Path(__file__).with_name("recorded_verdicts.json")


def recorded() -> dict[str, str]:
    """Statement id -> verdict, as last recorded."""
    found: dict[str, str] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def departures(found: Iterable[Mapping[str, Any]]) -> list[str]:
    """One line for each statement whose verdict is not the recorded one."""
    known = recorded()
    return [
        f"{entry['id']}: recorded {known.get(entry['id'], 'nothing')}, found {entry['verdict']}"
        for entry in found
        if known.get(entry["id"]) != entry["verdict"]
    ]


def write() -> None:
    """Record today's verdicts."""
    from proofs_check.registry import verify

    verdicts = {result.id: result.verdict.value for result in verify()}
    RECORD.write_text(json.dumps(verdicts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
