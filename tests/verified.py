"""The verdicts of all statements, derived once in a process: many tests read them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from dpproof.proofs_check.registry import as_json, lookup, verify
from dpproof.proofs_check.verdict import Result


@cache
def results() -> dict[str, Result]:
    """Statement id -> what the kernel finds today."""
    return {found.id: found for found in verify()}


@cache
def answers() -> dict[str, dict[str, Any]]:
    """Statement id -> the same as ``dpproof verify --json`` prints it."""
    return {name: as_json(found) for name, found in results().items()}


def verified(ids: Iterable[str]) -> list[Result]:
    """What ``verify(ids)`` returns, from the same derivation."""
    return [results()[lookup(name).id] for name in ids]
