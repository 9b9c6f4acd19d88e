"""``dpproof audit --replay``: the file is checked, the audit run again, and what has changed is said."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from dpproof.accountant.numbers.arithmetic import listed, recorded
from dpproof.answers import as_json
from dpproof.answers import audit as auditing
from dpproof.answers.replay import Replayed, replayed
from dpproof.audits.target import target
from dpproof.cli import show


def replay(path: Path, witnesses: Path | None, json: bool) -> None:
    """Run a finding again and end with what is found now: 1 for a violation, 0 if there is none (any more).

    Raises:
        ValueError: the file is no witness, or a broken one.
    """
    with recorded() as used:
        found = _replayed(path)
    evidence, news = found.evidence, found.news
    violated = evidence.fails
    if violated and witnesses is not None:
        auditing.write_witness(evidence, witnesses)

    def render(console: Console) -> None:
        show.audits([evidence], used, console)
        if news is not None:
            console.print(f"{path}: {news}", markup=False, soft_wrap=True)

    body = {"audits": [found.as_json()], "arithmetic_assumptions": listed(used)}
    show.answer(as_json.envelope(body), json, render)
    raise typer.Exit(1 if violated else 0)


def _replayed(path: Path) -> Replayed:
    try:
        witness = json_module.loads(path.read_text(encoding="utf-8"))
        return replayed(_checked(witness))
    except (ValueError, KeyError) as error:
        raise ValueError(f"{path}: not a witness that replays: {error}") from error


_WITNESS = {"seed": int, "alpha": float, "delta": float, "replay": dict}
_CLAIM = {"claim": dict, "budget": int, "sharpen": bool}
"""What the witness of a claim in a claim file holds."""


def _checked(witness: Any) -> Mapping[str, Any]:
    """A witness with the fields that a replay reads, each of its type."""
    if not isinstance(witness, dict):
        raise ValueError("it must be a table")
    _check_types(witness, _WITNESS)
    kind = witness["replay"].get("audit")
    _check_types(witness["replay"], _CLAIM if kind == "claim" else target(kind).fields)
    return witness


def _check_types(table: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    for name, kind in kinds.items():
        if type(table.get(name)) is not kind:
            raise ValueError(f"{name} ({table.get(name)!r}) must be of type {kind.__name__}")
