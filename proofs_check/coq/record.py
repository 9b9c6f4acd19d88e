"""The record of claims that Coq has accepted, and the test whether Coq has checked a whole statement.

The record is the file ``checked.json``, so the answers are the same on every machine. ``make coq`` writes this file
only after Coq has compiled all its lemmas together. Each later ``make coq`` compiles the lemmas again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpproof.proofs_check.certificates import stored
from dpproof.proofs_check.kernel import goal_hash
from dpproof.proofs_check.statement import DEFINITION, Statement

RECORD = Path(__file__).with_name("checked.json")
CHECKED, NOT_CHECKED = "cross-checked by Coq", "not cross-checked"

Lookup = Callable[[str], Statement]
"""A function that returns the statement with an id."""


@lru_cache(maxsize=1)
def recorded() -> Mapping[str, str]:
    """Return the names of the lemmas that Coq accepted, by the hashes of their claims."""
    lemmas: Mapping[str, str] = _data().get("lemmas", {})
    return lemmas


def extra() -> frozenset[str]:
    """Return the hashes of the accepted claims whose proofs use the tactics of ``extra.v``."""
    return frozenset(_data().get("extra", []))


def _data() -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    return data


def write(version: str, lemmas: Mapping[str, str], extra: Iterable[str]) -> None:
    """Record the version of Coq, a dictionary from hashes of accepted claims to names of lemmas, and ``extra``."""
    data = {"coq": version, "extra": sorted({*extra} & lemmas.keys()), "lemmas": dict(lemmas)}
    text = json.dumps(data, indent=1, sort_keys=True)
    RECORD.write_text(text + "\n", encoding="utf-8")
    recorded.cache_clear()


def claims_checked(entry: Statement) -> bool:
    """Return whether Coq accepted all claims of a statement itself. A statement without claims has none accepted."""
    known = recorded()
    return bool(entry.obligations) and all(goal_hash(x.goal) in known for x in entry.obligations)


def status(entry: Statement, lookup: Lookup) -> str:
    """Return `CHECKED` if `accepted` is true for the statement, and otherwise `NOT_CHECKED`."""
    return CHECKED if accepted(entry, lookup) else NOT_CHECKED


def accepted(entry: Statement, lookup: Lookup) -> bool:
    """Return whether Coq accepted all claims of a statement, of its parts, and of the statements it rests on.

    A statement with goals is their conjunction: Coq must have accepted the goals, and the claims that their proofs
    use, directly or not. A definition asserts nothing, so it needs no claim. Any other statement without a claim, such
    as a quoted theorem, was not checked, so the answer is False. The answer is also False if one of these statements
    uses a fact in ``rules``, which no machine checks, or if there is no claim at all.
    """
    closure = _closure(entry, lookup)
    known = recorded()
    hashes = {key for below in closure.values() for key in _needed(below)}
    taken = any(_taken(x) for x in closure.values())
    return not taken and bool(hashes) and all(x in known for x in hashes)


def labelled(entries: Iterable[Statement], lookup: Lookup) -> frozenset[str]:
    """Return the hashes of the claims on which the labels of these statements rest, those that are `CHECKED`."""
    closures = (_closure(entry, lookup).values() for entry in entries if accepted(entry, lookup))
    return frozenset(key for closure in closures for below in closure for key in _needed(below))


def _needed(entry: Statement) -> set[str]:
    """Return the hashes of the claims of a statement; of one with goals those that its goals need."""
    wanted = [x for x in entry.obligations if not entry.goals or x.name in entry.goals]
    found = {goal_hash(x.goal) for x in wanted}
    waiting = [f"{entry.id}.{x.name}" for x in wanted] if entry.goals else []
    while waiting:
        for name, key in _uses(waiting.pop()).items():
            if key not in found:
                found.add(key)
                waiting.append(name)
    return found


def _uses(identity: str) -> Mapping[str, str]:
    """Return the hashes of the claims that a stored proof uses, by their ids. A missing proof uses none."""
    try:
        used: Mapping[str, str] = json.loads(stored(identity).text).get("uses", {})
    except LookupError:
        return {}
    return used


def _taken(entry: Statement) -> bool:
    """Return whether a statement assumes something that no claim states."""
    if entry.goals and entry.reason:
        return True
    bare = not entry.obligations and not entry.parts and entry.reason != DEFINITION
    return bare or bool(entry.rules)


def _closure(entry: Statement, lookup: Lookup) -> dict[str, Statement]:
    """Return a statement, its parts and all it rests on, directly or not, but nothing below goals."""
    found, waiting = {entry.id: entry}, [entry]
    while waiting:
        below = waiting.pop()
        for name in (*below.parts, *below.rests_on):
            if name not in found and not below.goals:
                found[name] = lookup(name)
                waiting.append(found[name])
    return found
