"""What Coq has accepted, by the hash of the claim, and the status of a statement that follows.

``checked.json`` is written by ``make coq`` only after one compilation of everything in it, and compiled
again by every later ``make coq``.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from proofs_check.kernel import claim_hash
from proofs_check.statement import Statement

__all__ = ["CHECKED", "NOT_CHECKED", "RECORD", "accepted", "recorded", "status", "write"]

RECORD = Path(__file__).with_name("checked.json")
CHECKED, NOT_CHECKED = "cross-checked by Coq", "not cross-checked"


@lru_cache(maxsize=1)
def recorded() -> Mapping[str, Any]:
    """The record: the version of Coq, and the lemma of each claim that it accepted."""
    if not RECORD.exists():
        return {"coq": None, "lemmas": {}}
    data: Mapping[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return data


def write(version: str, lemmas: Mapping[str, str]) -> None:
    """Write the record anew."""
    text = json.dumps({"coq": version, "lemmas": dict(lemmas)}, indent=1, sort_keys=True)
    RECORD.write_text(text + "\n", encoding="utf-8")
    recorded.cache_clear()


@lru_cache(maxsize=1)
def _installed() -> bool:
    return shutil.which("coqc") is not None


def status(entry: Statement, table: Mapping[str, Statement]) -> str:
    """Tell whether Coq accepted every claim of a statement and of its parts.

    Without coqc on this machine nothing counts as cross-checked, for nobody could have checked it here.
    """
    return CHECKED if _installed() and accepted(entry, table) else NOT_CHECKED


def accepted(entry: Statement, table: Mapping[str, Statement]) -> bool:
    """Tell whether the record, on whatever machine it was made, has all claims of a statement."""
    claims = _claims(entry, table)
    known = recorded()["lemmas"]
    return bool(claims) and all(x in known for x in claims)


def _claims(entry: Statement, table: Mapping[str, Statement]) -> list[str]:
    own = [claim_hash(x.claim) for x in entry.obligations]
    return own + [x for part in entry.parts for x in _claims(table[part], table)]
