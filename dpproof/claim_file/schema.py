"""The JSON Schema of claim files, which editors use to complete keys and to show errors.

It is generated from the parameters of every mechanism and from the keys that `claim_file.entry` reads.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping
from typing import Any

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.accountant.claims.accountant import RUNS
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import ARITHMETIC
from dpproof.accountant.claims.parameters import Values
from dpproof.accountant.claims.trust import TrustModel
from dpproof.claim_file.entry import AUDIT, NAMED, PROMISE
from dpproof.claim_file.reading import BUDGET

SCHEMA_NAME = "dpproof.schema.json"
Schema = dict[str, Any]


def schema() -> Schema:
    """Return the JSON Schema of a whole claim file.

    >>> sorted(schema()["properties"])
    ['budget', 'claim']
    """
    tables = {"budget": _table(BUDGET), "claim": {"type": "array", "minItems": 1, "items": _claim()}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "dpproof claim file",
        "$comment": COMMENT,
        "type": "object",
        "required": ["claim"],
        "additionalProperties": False,
        "properties": tables,
    }


def schema_text() -> str:
    """Return the JSON Schema of a whole claim file as text."""
    return json.dumps(schema(), indent=2) + "\n"


LARGEST = sys.float_info.max


def _finite(values: Schema) -> Schema:
    """Return the schema of a number without values that are infinite in double precision."""
    if values.get("type") != "number":
        return values
    above = {} if "exclusiveMaximum" in values else {"maximum": LARGEST}
    below = {} if "exclusiveMinimum" in values else {"minimum": -LARGEST}
    return {**below, **above, **values}


def _table(fields: Mapping[str, Values]) -> Schema:
    properties = {name: _finite(values.schema()) for name, values in fields.items()}
    return {"type": "object", "additionalProperties": False, "properties": properties}


UNPRINTABLE = (
    r"\u0000-\u001f\u007f-\u00a0\u00ad\u061c\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ue000-\uf8ff\ufeff"
    r"\ufff9-\ufffb"
)
"""Control characters, spaces other than a blank, and characters that change the text direction."""
END = r"(?![\s\S])"
"""Pattern for the end of a text. In some programs the pattern ``$`` would also match before a last line break."""
TEXT: Schema = {"type": "string", "pattern": f"^[^{UNPRINTABLE}]*{END}"}
NAME: Schema = {"type": "string", "pattern": f"^ *[^ {UNPRINTABLE}][^{UNPRINTABLE}]*{END}"}
TARGET: Schema = {
    "type": "string",
    "pattern": f"^[^:{UNPRINTABLE}]+:[^:{UNPRINTABLE}]+{END}",
    "description": "package.module:name",
}
COMMENT = (
    "The reader refuses more than a schema can say: an integer written as a float (2.0), and nan; a name that"
    " stands twice; what cannot be loaded, started or read, or lies outside the project; a relation that"
    " nothing is proved under, and rules between the parameters of a mechanism; bounds whose low is not below"
    " high, or beside neighbours; further signs that Unicode lists as not printable."
)
DESCRIPTIONS = {
    "name": "free text, unique in the file",
    "mechanism": "a mechanism of this project, or package.module:callable",
    "adjacency": "the neighbouring relation that the promise speaks of; there is no default",
    "neighbours": "package.module:callable that gives two neighbouring inputs, or pairs of them",
    "data": "package.module:name of data, or of a callable that gives them; neighbours are made of them",
    "command": "a program and its arguments, run on neighbouring inputs",
    "event": "package.module:name of a DpEvent of dp-accounting, or of a callable that gives one",
    "training": "package.module:name of an Opacus engine or accountant, or of its history",
    "trust": "whose view the promise speaks of",
    "arithmetic": "real: the promise is about real numbers; what only floating-point bits refute passes",
    "source": "where the promise is written down",
}


def _claim() -> Schema:
    """Return the schema of one claim: its keys, the required ones, and the parameters of each mechanism."""
    properties: dict[str, Schema] = {
        "name": NAME,
        "mechanism": {"anyOf": [{"enum": list(CATALOGUE)}, TARGET]},
        "command": {"type": "array", "minItems": 1, "prefixItems": [{**TEXT, "minLength": 1}], "items": TEXT},
        "event": TARGET,
        "training": TARGET,
        "parameters": {"type": "object"},
        "adjacency": {"enum": [adjacency.value for adjacency in Adjacency]},
        "trust": {"enum": [trust.value for trust in TrustModel]},
        "arithmetic": {"enum": list(ARITHMETIC)},
        "neighbours": TARGET,
        "data": TARGET,
        "source": TEXT,
        "audit": _table(AUDIT),
        **{name: _finite({"type": "number", "minimum": 0}) for name in PROMISE},
        "delta": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    }
    for name, text in DESCRIPTIONS.items():
        properties[name] = {**properties[name], "description": text}
    return {
        "type": "object",
        "required": ["name", "adjacency"],
        "additionalProperties": False,
        "properties": properties,
        "dependentRequired": {"delta": ["epsilon"]},
        "allOf": [
            _one_of(NAMED),
            _one_of(("epsilon", "rho", "mu")),
            *_kinds(),
            *map(_parameters, CATALOGUE),
            *_sensitivities(),
        ],
    }


NOTHING: Schema = {"maxProperties": 0}
INPUTS = ("neighbours", "data")
"""Keys that give the inputs of a callable or a command. A claim about one has exactly one of these keys."""
NO_INPUTS: Schema = dict.fromkeys(INPUTS, False)


def _kinds() -> list[Schema]:
    """Return which keys each kind of claim may have, by the rules of `auditing.check_ready`."""
    in_process, outside = (
        {"propertyNames": {"enum": [name for name in AUDIT if name != other]}}
        for other in ("timeout", "vary")
    )
    return [
        _if(
            {"properties": {"mechanism": {"enum": list(CATALOGUE)}}, "required": ["mechanism"]},
            {**NO_INPUTS, "audit": {"propertyNames": {"enum": ["budget"]}}},
        ),
        _with_inputs(
            _if(
                {"properties": {"mechanism": {"pattern": ":"}}, "required": ["mechanism"]},
                {"parameters": NOTHING, "audit": in_process},
            )
        ),
        _with_inputs(_if({"required": ["command"]}, {"parameters": NOTHING, "audit": outside})),
        *(
            _if({"required": [kind]}, {"parameters": NOTHING, "audit": NOTHING, **NO_INPUTS})
            for kind in ("event", "training")
        ),
    ]


def _if(condition: Schema, properties: Schema, required: list[str] | None = None) -> Schema:
    return {"if": condition, "then": {"properties": properties, "required": required or []}}


def _with_inputs(rule: Schema) -> Schema:
    return {**rule, "then": {**rule["then"], **_one_of(INPUTS)}}


def _one_of(names: tuple[str, ...]) -> Schema:
    return {"oneOf": [{"required": [name]} for name in names]}


def _parameters(name: str) -> Schema:
    """Return the rule for the parameters of a claim about this mechanism."""
    fields = accountant_for(name).parameters.fields()
    properties = {
        field.name: {
            **_finite(field.metadata["domain"].schema()),
            **({"exclusiveMinimum": 0} if field.name in RUNS else {}),
            "description": field.metadata["help"],
        }
        for field in fields
    }
    required = [field.name for field in fields if field.default is dataclasses.MISSING]
    table = {"additionalProperties": False, "properties": properties, "required": required}
    condition = {"properties": {"mechanism": {"const": name}}, "required": ["mechanism"]}
    return _if(condition, {"parameters": table}, ["parameters"] if required else [])


def _sensitivities() -> list[Schema]:
    """Return the rules for claims with users: give a sensitivity or a query that implies it, never both."""
    fields = {name: {f.name for f in accountant_for(name).parameters.fields()} for name in CATALOGUE}
    measured = [name for name in CATALOGUE if "sensitivity" in fields[name]]
    users = [relation.value for relation in Adjacency if relation is not Adjacency.BY_SENSITIVITY]
    unasked = [word for word in users if word not in ("add-remove", "replace")] + ["by-sensitivity"]
    given: Schema = {"anyOf": [{"required": ["sensitivity"]}, {"required": ["query"]}]}
    return [
        _of(measured, users, {"parameters": given}, ["parameters"]),
        _of(measured, unasked, {"parameters": {"properties": {"query": False}}}),
        _if(
            {"properties": {"mechanism": {"enum": measured}}, "required": ["mechanism"]},
            {"parameters": {"not": {"required": ["sensitivity", "query"]}}},
        ),
    ]


def _of(
    names: list[str], relations: list[str], properties: Schema, required: list[str] | None = None
) -> Schema:
    """Return a rule for these mechanisms under these relations."""
    where = {"mechanism": {"enum": names}, "adjacency": {"enum": relations}}
    return _if({"properties": where, "required": ["mechanism", "adjacency"]}, properties, required)
