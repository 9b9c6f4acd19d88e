"""Claim files: ``dpproof.toml`` in, claims out. Unknown keys and wrong types are refused by name.

Nothing in a claim file is evaluated; callables are named as ``package.module:callable``.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from accountant.adjacency import Adjacency
from accountant.claims import Claim
from accountant.parameters import Choice, Flag, Integers, Reals, Values
from accountant.trust import TrustModel

__all__ = ["claim_from", "entry_of", "read_claims"]

_TEXT = ("name", "mechanism", "adjacency", "neighbours", "source", "trust")
_PROMISE = ("epsilon", "delta", "rho", "mu")
_REQUIRED = ("name", "adjacency")
_KEYS = (*_TEXT, "command", "parameters", "audit", *_PROMISE)
_AUDIT: Mapping[str, Values] = {
    "budget": Integers(1),
    "seeded": Flag(),
    "failures": Choice("error", "token"),
    "nan": Choice("error", "token"),
    "timeout": Reals(0, lower_open=True),
}
"""What a claim may say of its audit: the most samples; of a callable or a command, whether all its
randomness comes from the seed it is given, whether a failure or NaN is an error or an output; of a command,
the seconds that one request may take."""


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
    runs = {"mechanism": claim.mechanism} if claim.command is None else {"command": list(claim.command)}
    entry: dict[str, Any] = {
        "name": claim.name,
        **runs,
        "parameters": dict(claim.parameters),
        "adjacency": claim.adjacency.value,
        "trust": claim.trust.value,
        **claim.promise,
    }
    optional = {"neighbours": claim.neighbours, "source": claim.source, "audit": dict(claim.audit) or None}
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
        _check_text(f"{where}: {key}", entry.get(key, ""))
    command = _command(entry, where)
    parameters = entry.get("parameters", {})
    if not isinstance(parameters, Mapping):
        raise ValueError(f"{where}: parameters ({parameters!r}) must be a table")
    try:
        return Claim(
            entry["name"],
            entry["mechanism"] if command is None else f"command:{shlex.join(command)}",
            dict(parameters),
            Adjacency.of(entry["adjacency"]),
            {key: entry[key] for key in _PROMISE if key in entry},
            entry.get("neighbours"),
            entry.get("source"),
            TrustModel.of(entry.get("trust", "central")),
            command,
            _audit(entry.get("audit", {})),
        )
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _check_text(label: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{label} ({value!r}) must be text")
    if not value.isprintable():
        raise ValueError(f"{label} ({value!r}) must be one line of printable text")


def _command(entry: Mapping[str, Any], where: str) -> tuple[str, ...] | None:
    """The command of an entry, which then names no mechanism; None where it names one."""
    given = [key for key in ("mechanism", "command") if key in entry]
    if not given:
        raise ValueError(f"{where}: mechanism is missing; there is no default")
    if len(given) > 1:
        raise ValueError(f"{where}: command must be left out beside a mechanism")
    if given == ["mechanism"]:
        return None
    command = entry["command"]
    if not isinstance(command, list) or not command or command[0] == "":
        raise ValueError(f"{where}: command ({command!r}) must be a list of texts that begins with a program")
    for word in command:
        _check_text(f"{where}: command", word)
    return tuple(command)


def _audit(table: Any) -> dict[str, Any]:
    """How the claim is to be audited, each value in its domain."""
    if not isinstance(table, Mapping):
        raise ValueError(f"audit ({table!r}) must be a table")
    for key, value in table.items():
        if key not in _AUDIT:
            raise ValueError(f"audit: key ({key!r}) must be one of: {', '.join(_AUDIT)}")
        if not _AUDIT[key].admits(value):
            raise ValueError(f"audit: {key} ({value!r}) must be {_AUDIT[key]}")
    return dict(table)
