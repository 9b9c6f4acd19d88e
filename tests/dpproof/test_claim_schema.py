"""The published schema of claim files says no to nothing that is read, and no to every plain slip."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from accountant.accounted import CATALOGUE, accountant_for
from dpproof.claim_file.schema import schema
from dpproof.cli.explain import STARTER

ROOT = Path(__file__).resolve().parents[2]
VALIDATOR = jsonschema.Draft202012Validator(schema())
WARD = {
    "name": "ward",
    "mechanism": "rlsvi",
    "parameters": {"states": 2, "actions": 2, "horizon": 2, "episodes": 4},
    "adjacency": "rewards-only",
    "epsilon": 5.0,
}


def admitted(document):
    return VALIDATOR.is_valid(document)


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.toml")), ids=lambda path: path.name)
def test_the_examples_pass(path):
    assert list(VALIDATOR.iter_errors(tomllib.loads(path.read_text(encoding="utf-8")))) == []


def test_the_starter_passes_and_names_the_schema():
    assert admitted(tomllib.loads(STARTER))
    assert STARTER.startswith("#:schema dpproof.schema.json\n")


SLIPS = [
    {"epsilon": -1},
    {"epsilon": "2"},
    {"rho": 1.0},
    {"adjacency": "users"},
    {"frobs": 1},
    {"parameters": {"states": 2}},
    {"parameters": {**WARD["parameters"], "frobs": 1}},
    {"parameters": {**WARD["parameters"], "states": 0}},
    {"parameters": {**WARD["parameters"], "states": 2.5}},
    {"mechanism": "nosuch"},
    {"command": ["./run"]},
    {"audit": {"budget": 0}},
    {"name": ""},
]


@pytest.mark.parametrize("slip", SLIPS, ids=json.dumps)
def test_a_slip_is_seen(slip):
    assert admitted({"claim": [WARD]})
    assert not admitted({"claim": [{**WARD, **slip}]})


@pytest.mark.parametrize("missing", ["name", "mechanism", "adjacency", "epsilon", "parameters"])
def test_a_missing_key_is_seen(missing):
    assert not admitted({"claim": [{key: value for key, value in WARD.items() if key != missing}]})


@pytest.mark.parametrize("name", CATALOGUE)
def test_some_value_of_every_parameter_passes(name):
    fields = accountant_for(name).parameters.fields()
    some = {field.name: field.metadata["domain"].some() for field in fields}
    assert admitted({"claim": [{**WARD, "mechanism": name, "parameters": some}]})
