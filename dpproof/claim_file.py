"""Claim files: ``dpproof.toml`` in, claims out. Unknown keys and wrong types are refused by name.

Nothing in a claim file is evaluated; callables are named as ``package.module:callable``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from accountant.adjacency import Adjacency
from accountant.claims import Claim
from accountant.trust import TrustModel

__all__ = ["claim_from", "entry_of", "read_claims"]

_TEXT = ("name", "mechanism", "adjacency", "neighbours", "source", "trust")
_PROMISE = ("epsilon", "delta", "rho", "mu")
_REQUIRED = ("name", "mechanism", "adjacency")
_KEYS = (*_TEXT, "parameters", *_PROMISE)


def _nothing_more(_claim: Claim) -> None:
    """The check of a claim that asks for nothing beyond its types."""


def read_claims(path: Path, ready: Callable[[Claim], None] = _nothing_more) -> tuple[Claim, ...]:
    """All claims of a file, each checked before any work starts; ``ready`` may refuse one, too.

    Raises:
        ValueError: naming the file, the claim, the value and the rule.
        FileNotFoundError: if there is no such file.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a TOML file: {error}") from error
    unknown = set(document) - {"claim"}
    if unknown:
        raise ValueError(f"{path}: key ({min(unknown)!r}) must be 'claim'")
    entries = document.get("claim", [])
    if not isinstance(entries, list) or not entries:
        raise ValueError(f"{path}: there must be at least one [[claim]]")
    claims = tuple(claim_from(entry, f"{path}, claim {place}") for place, entry in enumerate(entries, 1))
    names = [claim.name for claim in claims]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{path}: name ({name!r}) must be unique")
    for place, claim in enumerate(claims, 1):
        try:
            ready(claim)
        except ValueError as error:
            raise ValueError(f"{path}, claim {place}: {error}") from error
    return claims


def entry_of(claim: Claim) -> dict[str, Any]:
    """The claim as an entry of a claim file; ``claim_from`` reads it back."""
    entry: dict[str, Any] = {
        "name": claim.name,
        "mechanism": claim.mechanism,
        "parameters": dict(claim.parameters),
        "adjacency": claim.adjacency.value,
        "trust": claim.trust.value,
        **claim.promise,
    }
    optional = {"neighbours": claim.neighbours, "source": claim.source}
    return entry | {key: value for key, value in optional.items() if value is not None}


def claim_from(entry: Any, where: str) -> Claim:
    """The claim that one entry of a claim file makes.

    Raises:
        ValueError: beginning with ``where``, and naming the value and the rule.
    """
    if not isinstance(entry, Mapping):
        raise ValueError(f"{where}: must be a table")
    for key in entry:
        if key not in _KEYS:
            raise ValueError(f"{where}: key ({key!r}) must be one of: {', '.join(_KEYS)}")
    for key in _REQUIRED:
        if key not in entry:
            raise ValueError(f"{where}: {key} is missing; there is no default")
    for key in _TEXT:
        if key in entry and not isinstance(entry[key], str):
            raise ValueError(f"{where}: {key} ({entry[key]!r}) must be text")
        if not entry.get(key, "").isprintable():
            raise ValueError(f"{where}: {key} ({entry[key]!r}) must be one line of printable text")
    parameters = entry.get("parameters", {})
    if not isinstance(parameters, Mapping):
        raise ValueError(f"{where}: parameters ({parameters!r}) must be a table")
    try:
        return Claim(
            entry["name"],
            entry["mechanism"],
            dict(parameters),
            Adjacency.of(entry["adjacency"]),
            {key: entry[key] for key in _PROMISE if key in entry},
            entry.get("neighbours"),
            entry.get("source"),
            TrustModel.of(entry.get("trust", "central")),
        )
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
