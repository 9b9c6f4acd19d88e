"""Stored certificates (proofs as JSON data): one file for each paper, one certificate on each line, sorted by id.

Certificates are untrusted. Code that uses a certificate must let the kernel check it against the claim.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Stored", "keep", "keep_assumed", "stored"]

FOLDER = Path(__file__).parent
ID = re.compile(r'"id": "([^"]*)"')


@dataclass(frozen=True)
class Stored:
    """A stored certificate (a proof that the kernel can check): its text, and the file and line where it is stored."""

    place: str
    text: str


def stored(identity: str) -> Stored:
    """Return the stored proof (certificate) with this id.

    >>> stored("rlsvi.eq2.goal").place.rpartition(":")[0]
    'proofs_check/certificates/rlsvi.jsonl'

    Raises:
        LookupError: no file has a certificate with this id.
    """
    for path in sorted(FOLDER.glob("*.jsonl")):
        if found := _all(path).get(identity):
            return found
    raise LookupError(identity)


def keep(paper: str, texts: Mapping[str, str]) -> None:
    """Write certificates into the file of a paper; ``texts`` maps ids to JSON lines. Other ids stay in the file."""
    path = FOLDER / f"{paper}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = {**{_id(line): line for line in lines}, **texts}
    path.write_text("".join(f"{rows[name]}\n" for name in sorted(rows)), encoding="utf-8")
    _text.cache_clear()
    _all.cache_clear()


def keep_assumed(claims: Mapping[str, Any]) -> None:
    """Write claims that are assumed, by id, for those who run the kernel alone. Other ids stay in the file."""
    path = FOLDER / "assumed.json"
    rows = {**json.loads(path.read_text(encoding="utf-8")), **claims}
    path.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")


@cache
def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:  # nobody can read it, so that its statements have no certificates
        return ""


@cache
def _all(path: Path) -> Mapping[str, Stored]:
    """Return the certificates of a file by their ids."""
    rows = enumerate(_text(path).splitlines(), 1)
    return {
        _id(line): Stored(f"proofs_check/certificates/{path.name}:{number}", line) for number, line in rows
    }


def _id(line: str) -> str:
    """Return the id in a line, or an empty text if it has none. The keys are sorted, so that it stands near the end."""
    found = ID.search(line, max(line.rfind('"id": "'), 0))
    return found[1] if found else ""
