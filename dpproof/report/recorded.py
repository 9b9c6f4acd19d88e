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


def departures(found: Iterable[Mapping[str, Any]], *prefixes: str) -> list[str]:
    """One line for each statement whose verdict is not the recorded one, or that is missing.

    Args:
        found: the statements verified, as ``dpproof verify --json`` lists them.
        prefixes: of the recorded ids that must be among them; ``""`` for all.
    """
    known = {name: verdict for name, verdict in recorded().items() if name.startswith(prefixes)}
    verdicts = {entry["id"]: entry["verdict"] for entry in found}
    return [
        f"{name}: recorded {known.get(name, 'nothing')}, found {verdicts.get(name, 'nothing')}"
        for name in dict.fromkeys([*verdicts, *known])
        if known.get(name) != verdicts.get(name)
    ]


def write() -> None:
    """Record today's verdicts."""
    from proofs_check.registry import verify

    verdicts = {result.id: result.verdict.value for result in verify()}
    RECORD.write_text(json.dumps(verdicts, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
