"""The JSON Schema of claim files, for editors: completion, and errors where they are made.

Generated from the parameters of every mechanism and from what `claim_file.entry` reads.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from accountant.accounted import CATALOGUE, accountant_for
from accountant.adjacency import Adjacency
from accountant.trust import TrustModel
from dpproof.claim_file.entry import AUDIT, NAMED, PROMISE
from dpproof.claim_file.reading import BUDGET

__all__ = ["SCHEMA_NAME", "schema", "schema_text"]

SCHEMA_NAME = "dpproof.schema.json"
Schema = dict[str, Any]


def schema() -> Schema:
    """The schema of a whole file.

    >>> sorted(schema()["properties"])
    ['budget', 'claim']
    """
    tables = {"budget": _table(BUDGET), "claim": {"type": "array", "minItems": 1, "items": _claim()}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "dpproof claim file",
        "type": "object",
        "required": ["claim"],
        "additionalProperties": False,
        "properties": tables,
    }


def schema_text() -> str:
    """The schema as a file holds it."""
    return json.dumps(schema(), indent=2) + "\n"


def _table(fields: Any) -> Schema:
    properties = {name: values.schema() for name, values in fields.items()}
    return {"type": "object", "additionalProperties": False, "properties": properties}


TEXT: Schema = {"type": "string", "minLength": 1}
TARGET: Schema = {"type": "string", "pattern": "^[^:]+:[^:]+$", "description": "package.module:name"}
DESCRIPTIONS = {
    "name": "free text, unique in the file",
    "mechanism": "a mechanism of this project, or package.module:callable",
    "adjacency": "the neighbouring relation that the promise speaks of; there is no default",
    "neighbours": "package.module:callable that gives two neighbouring inputs, or pairs of them",
    "command": "a program and its arguments, run on neighbouring inputs",
    "event": "package.module:name of a DpEvent of dp-accounting, or of a callable that gives one",
    "training": "package.module:name of an Opacus engine or accountant, or of its history",
    "trust": "whose view the promise speaks of",
    "source": "where the promise is written down",
}


def _claim() -> Schema:
    """One claim: the keys, what must be there, and for each mechanism its parameters."""
    properties: dict[str, Schema] = {
        "name": TEXT,
        "mechanism": {"anyOf": [{"enum": list(CATALOGUE)}, TARGET]},
        "command": {"type": "array", "minItems": 1, "items": {"type": "string"}},
        "event": TARGET,
        "training": TARGET,
        "parameters": {"type": "object"},
        "adjacency": {"enum": [adjacency.value for adjacency in Adjacency]},
        "trust": {"enum": [trust.value for trust in TrustModel]},
        "neighbours": TARGET,
        "source": {"type": "string"},
        "audit": _table(AUDIT),
        **{name: {"type": "number", "minimum": 0} for name in PROMISE},
    }
    for name, text in DESCRIPTIONS.items():
        properties[name] = {**properties[name], "description": text}
    return {
        "type": "object",
        "required": ["name", "adjacency"],
        "additionalProperties": False,
        "properties": properties,
        "allOf": [_one_of(NAMED), _one_of(("epsilon", "rho", "mu")), *map(_parameters, CATALOGUE)],
    }


def _one_of(names: tuple[str, ...]) -> Schema:
    return {"oneOf": [{"required": [name]} for name in names]}


def _parameters(name: str) -> Schema:
    """If the mechanism is this one, its parameters are these."""
    fields = accountant_for(name).parameters.fields()
    properties = {
        field.name: {**field.metadata["domain"].schema(), "description": field.metadata["help"]}
        for field in fields
    }
    required = [field.name for field in fields if field.default is dataclasses.MISSING]
    table = {"additionalProperties": False, "properties": properties, "required": required}
    then = {"properties": {"parameters": table}, "required": ["parameters"] if required else []}
    return {"if": {"properties": {"mechanism": {"const": name}}, "required": ["mechanism"]}, "then": then}
