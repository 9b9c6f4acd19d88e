"""``dpproof audit --replay``: the file is checked, the audit run again, and what has changed is said."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from dpproof import answers, auditing
from dpproof.cli import show

if TYPE_CHECKING:
    from dpproof.replays import Replayed

__all__ = ["replay"]


def replay(path: Path, witnesses: Path | None, json: bool) -> None:
    """Run a finding again and end with what is found now: 1 for a violation, 0 if there is none (any more).

    Raises:
        ValueError: the file is no witness, or a broken one.
    """
    found = _replayed(path)
    evidence, news = found.evidence, found.news
    violated = evidence.fails
    if violated and witnesses is not None:
        auditing.write_witness(evidence, witnesses)

    def render(answer: Mapping[str, Any], console: Console) -> None:
        show.audits(answer, console)
        if news is not None:
            console.print(f"{path}: {news}", markup=False, soft_wrap=True)

    show.either(answers.envelope({"audits": [found.as_json()]}), json, render)
    raise typer.Exit(1 if violated else 0)


def _replayed(path: Path) -> Replayed:
    from dpproof.replays import replayed

    try:
        witness = json_module.loads(path.read_text(encoding="utf-8"))
        return replayed(_checked(witness))
    except (ValueError, KeyError) as error:
        raise ValueError(f"{path}: not a witness that replays: {error}") from error


_WITNESS = {"seed": int, "alpha": float, "delta": float, "replay": dict}
_REPLAY = {
    "rlsvi": {"parameters": dict, "noise_rule": str, "budget": int, "sharpen": bool},
    "policy-evaluation": {"parameters": dict, "adjacency": str, "budget": int, "sharpen": bool},
    "expert-release": {"parameters": dict, "budget": int, "sharpen": bool},
    "selective-dpsgd": {"parameters": dict, "budget": int, "sharpen": bool},
    "expert training": {"settings": dict, "view": str, "budget": int, "sharpen": bool},
    "expert canaries": {"settings": dict, "runs": int},
    "dp-sgd": {"settings": dict, "view": str, "steps": int, "budget": int, "sharpen": bool},
    "opacus": {"settings": dict, "budget": int, "sharpen": bool},
    "claim": {"claim": dict, "budget": int, "sharpen": bool},
    "corpus": {"case": str, "budget": int},
    "named": {"promise": dict, "adjacency": str, "neighbours": str, "options": dict, "budget": int},
    "primitive": {"name": str, "parameters": dict, "adjacency": str, "budget": int, "sharpen": bool},
}
"""What is audited -> the fields its replay reads, each with its type."""


def _checked(witness: Any) -> Mapping[str, Any]:
    """A witness with the fields that a replay reads, each of its type."""
    if not isinstance(witness, dict):
        raise ValueError("it must be a table")
    _check_types(witness, _WITNESS)
    kind = witness["replay"].get("audit")
    if not isinstance(kind, str) or kind not in _REPLAY:
        raise ValueError(f"audit ({kind!r}) must be one of: {', '.join(_REPLAY)}")
    _check_types(witness["replay"], _REPLAY[kind])
    return witness


def _check_types(table: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    for name, kind in kinds.items():
        if type(table.get(name)) is not kind:
            raise ValueError(f"{name} ({table.get(name)!r}) must be of type {kind.__name__}")
