"""Conversion of one ``[[claim]]`` entry of a claim file to a claim, and back."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import ARITHMETIC, Claim
from dpproof.accountant.claims.parameters import (
    Choice,
    Flag,
    Integers,
    Ranges,
    Reals,
    Settings,
    Values,
    Words,
)
from dpproof.accountant.claims.spelling import one_of
from dpproof.accountant.claims.trust import TrustModel
from dpproof.audits.engine.scores.names import SCORE_NAMES
from dpproof.audits.targets.named import FORM

NAMED = ("mechanism", "command", "event", "training")
"""Keys that say what a claim is about. A claim has exactly one of these keys."""
TARGETS = ("neighbours", "data")
TEXT = ("name", "mechanism", "event", "training", "adjacency", *TARGETS, "source", "trust", "arithmetic")
PROMISE = ("epsilon", "delta", "rho", "mu")
REQUIRED = ("name", "adjacency")
KEYS = (*TEXT, "command", "parameters", "audit", *PROMISE)
AUDIT: Mapping[str, Values] = {
    "budget": Integers(1),
    "seeded": Flag(),
    "failures": Choice("error", "token"),
    "nan": Choice("error", "token"),
    "timeout": Reals(0, lower_open=True),
    "scores": Words(*SCORE_NAMES),
    "bounds": Ranges(),
    "timing": Flag(),
    "vary": Settings(),
}
"""Options that a claim may set for its audit.

``budget`` is the largest number of samples, and every audit has it. Audits of callables and commands also have
``scores`` (functions of the outputs), ``bounds`` (of the numbers in the data), ``seeded`` (all randomness comes from
the given seed), ``failures`` and ``nan`` (whether a failure, or NaN, is an error or an output), and ``timing`` (the
running time is a part of the output). Audits of callables also have ``vary``, lists of values of the callable's
parameters. Audits of commands also have ``timeout``, the seconds that one request may take.
"""


def entry_of(claim: Claim) -> dict[str, Any]:
    """Return the data of an entry in a claim file that describes the claim. ``claim_from`` is the inverse."""
    entry: dict[str, Any] = {
        "name": claim.name,
        **_names(claim),
        "parameters": dict(claim.parameters),
        "adjacency": claim.adjacency.value,
        "trust": claim.trust.value,
        **claim.promise,
    }
    if claim.arithmetic != ARITHMETIC[0]:
        entry["arithmetic"] = claim.arithmetic
    named = {"neighbours": claim.neighbours, "data": claim.data}
    optional = {**named, "source": claim.source, "audit": dict(claim.audit) or None}
    return entry | {key: value for key, value in optional.items() if value is not None}


def _names(claim: Claim) -> dict[str, Any]:
    """Return the key, with its value, that names the subject of the claim."""
    if claim.command is not None:
        return {"command": list(claim.command)}
    kind, _, target = claim.mechanism.partition(":")
    return {kind: target} if kind in NAMED and ":" in target else {"mechanism": claim.mechanism}


def claim_from(entry: object) -> Claim:
    """Return the claim that is described by one entry of a claim file.

    Raises:
        ValueError: the entry is invalid; the message names the value and the rule.
    """
    if not isinstance(entry, Mapping):
        raise ValueError(f"The claim ({entry!r:.60}) must be a table of keys and values.")
    for key in entry:
        if key not in KEYS:
            raise ValueError(f"key ({key!r}) {one_of(key, KEYS)}")
    for key in REQUIRED:
        if key not in entry:
            choices = f" Choose one of: {_relations()}" if key == "adjacency" else ""
            raise ValueError(f"{key} is missing and has no default.{choices}")
    for key in TEXT:
        _check_text(key, entry.get(key, ""))
    mechanism, command = _named(entry)
    for key in TARGETS:
        if key in entry:
            _check_target(key, entry[key])
    parameters = _table("parameters", entry.get("parameters", {}))
    return Claim(
        entry["name"],
        mechanism,
        dict(parameters),
        Adjacency.of(entry["adjacency"]),
        {key: entry[key] for key in PROMISE if key in entry},
        entry.get("neighbours"),
        entry.get("source"),
        TrustModel.of(entry.get("trust", "central")),
        command,
        checked_table("audit", entry.get("audit", {}), AUDIT),
        entry.get("arithmetic", ARITHMETIC[0]),
        entry.get("data"),
    )


def _relations() -> str:
    return ", ".join(relation.value for relation in Adjacency)


def _check_text(label: str, value: object) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{label} ({value!r}) must be text in quotes")
    if not value.isprintable():
        raise ValueError(f"{label} ({value!r}) must be one line of printable text")


def _check_target(label: str, value: str) -> None:
    module, _, name = value.partition(":")
    if not module or not name or ":" in name:
        raise ValueError(f"{label} ({value!r}) {FORM}")


def _named(entry: Mapping[str, Any]) -> tuple[str, tuple[str, ...] | None]:
    """Return the subject of the claim by name, and for a command also its words."""
    given = [key for key in NAMED if key in entry]
    if not given:
        raise ValueError(f"mechanism is missing. A claim must have one of: {', '.join(NAMED)}")
    if len(given) > 1:
        listed = ", ".join(NAMED)
        raise ValueError(f"{given[1]} and {given[0]} exclude each other. A claim has only one of: {listed}")
    (kind,) = given
    if kind == "mechanism":
        if ":" in entry[kind]:  # event:package.module:name would be taken for an event below
            _check_target(kind, entry[kind])
        return entry[kind], None
    if kind != "command":
        _check_target(kind, entry[kind])
        return f"{kind}:{entry[kind]}", None
    command = entry["command"]
    if not isinstance(command, list) or not command or command[0] == "":
        raise ValueError(f"command ({command!r}) must be a list of texts. The first text names a program.")
    for word in command:
        _check_text("command", word)
    return f"command:{shlex.join(command)}", tuple(command)


def _table(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} ({value!r}) must be a table")
    return value


def checked_table(name: str, table: object, fields: Mapping[str, Values]) -> dict[str, Any]:
    """Return a table of a claim file after checking that each key is known and each value is in its domain.

    Raises:
        ValueError: the table is invalid; the message names the table, the value and the rule.
    """
    table = _table(name, table)
    for key, value in table.items():
        if key not in fields:
            raise ValueError(f"{name}: key ({key!r}) {one_of(key, fields)}")
        if not fields[key].admits(value):
            raise ValueError(f"{name}: {key} ({value!r}) must be {fields[key]}")
    return dict(table)
