"""The manifest: a record of the contents of each statement when people last agreed to it.

A statement consists of obligations, which are claims that the kernel checks. The kernel cannot notice that an
obligation was deleted. The manifest shows this: a statement that differs from its record in the manifest is OPEN.
``python -m dpproof.proofs_check.manifest`` lists the differences. With ``--update`` the command records the present
statements, and people review the change.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpproof.proofs_check.kernel import goal_hash
from dpproof.proofs_check.laws import LAWS
from dpproof.proofs_check.statement import Statement

RECORD = Path(__file__).with_name("papers") / "manifest.json"
DIGITS = 16


def contents(entry: Statement) -> dict[str, Any]:
    """Return everything on which the verdict on a statement depends, with hashes in place of texts.

    The hash of an obligation (a claim that the kernel checks) covers the claim and the note that explains its
    variables.
    """
    found = {
        "says": _hash(entry.kind, entry.title, str(entry.source), entry.says, entry.latex),
        "obligations": {x.name: _hash(goal_hash(x.goal), x.note) for x in entry.obligations},
        "goals": list(entry.goals),
        "rests_on": list(entry.rests_on),
        "parts": list(entry.parts),
        "readings": [_hash(text) for text in entry.reading],
        "rules": [_hash(text) for text in entry.rules],
        "laws": {name: _hash(LAWS[name]) for name in entry.laws},
        "conditions": _hash(entry.domain, entry.reason, entry.not_covered, entry.corrected_by),
        "severity": _hash(judged.severity.value, judged.why) if (judged := entry.judgement) else None,
    }
    return {key: value for key, value in found.items() if value}


def _hash(*texts: str | None) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:DIGITS]


@lru_cache(maxsize=1)
def recorded() -> Mapping[str, Mapping[str, Any]]:
    """Return the record of the manifest: a dictionary from the ids of statements to their contents."""
    found: Mapping[str, Mapping[str, Any]] = {}
    if RECORD.exists():
        found = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def differences(entry: Statement) -> tuple[str, ...]:
    """Return one line for each difference between a statement and its recorded contents."""
    known = recorded().get(entry.id)
    if known is None:
        return ("the statement is not in the manifest",)
    today = contents(entry)
    return tuple(
        line for key in {**known, **today} for line in _compared(key, known.get(key), today.get(key))
    )


def _compared(key: str, old: Any, new: Any) -> Iterable[str]:
    """Return what is missing, new or changed under one key. A missing key counts as an empty list."""
    if old == new:
        return ()
    if type(old or new) is str:
        return (f"{key}: changed",)
    old, new = old or (), new or ()
    both = [x for x in new if x in old] if type(old) is type(new) is dict else []
    told = (
        ("missing", [x for x in old if x not in new]),
        ("new", [x for x in new if x not in old]),
        ("changed", [x for x in both if new[x] != old[x]]),
    )
    lines = [f"{key}: {', '.join(names)} {word}" for word, names in told if names]
    return lines or [f"{key}: the order or the number changed"]


def write(statements: Iterable[Statement]) -> None:
    """Write a new manifest, the record of what people agreed to, with the present contents of the statements."""
    rows = {x.id: contents(x) for x in statements}
    RECORD.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    recorded.cache_clear()


def main(arguments: Sequence[str] = ()) -> int:
    """Print how the statements differ from the manifest (their record), and return the exit code.

    The exit code is 1 if they differ, 2 for an unknown option, and otherwise 0. ``--update`` also records the present
    statements; the exit code is then 0.
    """
    from dpproof.proofs_check.registry import statements

    if unknown := [given for given in arguments if given != "--update"]:
        print(f"option ({unknown[0]!r}) must be --update or left out", file=sys.stderr)
        return 2
    lines = [f"{x.id}: {line}" for x in statements() for line in differences(x)]
    gone = recorded().keys() - {x.id for x in statements()}
    lines += [f"{name}: the statement is missing" for name in sorted(gone)]
    print("\n".join(lines) or "Every statement is as the manifest records it.")
    if not lines or "--update" not in arguments:
        return int(bool(lines))
    write(statements())
    print("The manifest records the statements as they are now. Read the change of the file in review.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
