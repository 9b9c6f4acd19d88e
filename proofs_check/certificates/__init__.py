"""Stored certificates: one file for each paper, one certificate on each line, sorted by id.

Certificates are untrusted. Whoever takes one from here lets the kernel check it against its goal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

__all__ = ["Stored", "keep", "stored"]

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Stored:
    """The text of a certificate, and its place: file and line."""

    place: str
    text: str


def stored(identity: str) -> Stored:
    """The certificate with this id.

    >>> stored("rlsvi.eq2.down").place.rpartition(":")[0]
    'proofs_check/certificates/rlsvi.jsonl'

    Raises:
        LookupError: no file has a certificate of that id.
    """
    return _all(FOLDER)[identity]


def keep(paper: str, texts: Mapping[str, str]) -> None:
    """Write certificates (id -> one line of JSON) into the file of a paper; those of other ids stay."""
    path = FOLDER / f"{paper}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = {**{_id(line): line for line in lines}, **texts}
    path.write_text("".join(f"{rows[name]}\n" for name in sorted(rows)), encoding="utf-8")
    _all.cache_clear()


@lru_cache(maxsize=2)
def _all(folder: Path) -> Mapping[str, Stored]:
    return {name: found for path in sorted(folder.glob("*.jsonl")) for name, found in _of(path)}


def _of(path: Path) -> Iterable[tuple[str, Stored]]:
    """The certificates of a file by the ids they carry."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:  # nobody can read it, so that its statements have no certificates
        return
    for number, line in enumerate(lines, 1):
        yield _id(line), Stored(f"proofs_check/certificates/{path.name}:{number}", line)


def _id(line: str) -> str:
    """The id that a line carries; empty if it cannot be read."""
    try:
        return str(json.loads(line)["id"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
