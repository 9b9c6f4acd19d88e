"""The published schema of claim files says no to nothing that is read, and no to every plain slip."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.answers.audit import check_ready
from dpproof.claim_file import claim_from
from dpproof.claim_file.schema import schema
from dpproof.cli.explain import STARTER
from tests.rows import rows

ROOT = Path(__file__).resolve().parents[2]
VALIDATOR = jsonschema.Draft202012Validator(schema())
WARD = {
    "name": "ward",
    "mechanism": "rlsvi",
    "parameters": {"states": 2, "actions": 2, "horizon": 2, "episodes": 4},
    "adjacency": "rewards-only",
    "epsilon": 5.0,
}
NOISE = {
    "name": "noise",
    "mechanism": "gaussian",
    "parameters": {"sigma": 2.0, "compositions": 1},
    "adjacency": "by-sensitivity",
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


@rows("name", CATALOGUE)
def test_some_value_of_every_parameter_passes(name):
    fields = accountant_for(name).parameters.fields()
    some = {field.name: field.metadata["domain"].some() for field in fields}
    query = some.pop("query", None)  # instead of a sensitivity
    assert admitted({"claim": [{**WARD, "mechanism": name, "parameters": some}]})
    if query is not None:
        both = {**WARD, "mechanism": name, "adjacency": "replace", "parameters": {**some, "query": query}}
        assert not admitted({"claim": [both]})
        some.pop("sensitivity")
        assert admitted({"claim": [{**both, "parameters": {**some, "query": query}}]})
        assert not admitted({"claim": [{**both, "parameters": some}]})
        assert not admitted({"claim": [{**both, "adjacency": "rewards-only"}]})


TOGETHER = [
    {"delta": 1},
    {"delta": 1.5},
    {"epsilon": 10**400},
    {"epsilon": float("inf")},
    {"epsilon": None, "rho": 1.0, "delta": 0.1},
    {"name": " "},
    {"name": "a\tb"},
    {"name": "a\n"},
    {"name": "a\u202eb"},
    {"source": "a\u200bb"},
    {"audit": {"timeout": 1}},
    {"audit": {"seeded": True}},
    {"audit": {"nan": "token"}},
    {"neighbours": "math:sin"},
    {"parameters": None, "mechanism": "math:sin"},
    {"mechanism": "math:sin", "neighbours": "math:sin"},
    {"parameters": None, "mechanism": "math:sin", "neighbours": "math:sin", "audit": {"timeout": 1}},
    {"parameters": None, "mechanism": None, "command": ["sh"]},
    {"mechanism": None, "command": ["sh"], "neighbours": "math:sin"},
    {"parameters": None, "mechanism": None, "command": [""], "neighbours": "math:sin"},
    {"parameters": None, "mechanism": None, "command": ["sh", "\t"], "neighbours": "math:sin"},
    {"parameters": None, "mechanism": "event:dp_accounting.dp_event:NoOpDpEvent"},
    {"parameters": None, "mechanism": None, "event": "dp_accounting"},
    {"parameters": None, "mechanism": None, "event": "dp_accounting.dp_event:NoOpDpEvent", "neighbours": ""},
]


def changed(changes):
    return {key: value for key, value in {**NOISE, **changes}.items() if value is not None}


def read(entry):
    """Whether the reader takes an entry."""
    try:
        check_ready(claim_from(entry))
    except ValueError:
        return False
    return True


@rows("changes", TOGETHER, ids=lambda changes: repr(changes)[:60])
def test_what_the_schema_can_say_it_says_as_the_reader_does(changes):
    assert admitted({"claim": [NOISE]})
    assert read(NOISE)
    assert not read(changed(changes))
    assert not admitted({"claim": [changed(changes)]})


UNSAID = [
    {"parameters": {"sigma": 2.0, "compositions": 2.0}},
    {"audit": {"budget": 1.0}},
    {"epsilon": float("nan")},
    {"parameters": None, "mechanism": "math:no_such_name", "neighbours": "math:sin"},
    {"name": "a\U000e0001b"},
]
"""One of each difference that the schema's comment lists."""


@pytest.mark.parametrize("changes", UNSAID, ids=lambda changes: repr(changes)[:60])
def test_what_it_cannot_say_is_listed(changes):
    assert admitted({"claim": [changed(changes)]})
    assert not read(changed(changes))


NUMBERS = st.sampled_from([0, 0.0, 1, 0.5, 1e-9, 1.5, -1, -1e-9, 1e308, 10**400, True, "1", "", [], {}])
TEXTS = st.sampled_from(
    ["a", "a b", " a ", "", " ", "\t", "a\nb", "a\n", "\u202e", "\u00e9", "\u00a0", 3, True, []]
)
TARGETS = st.sampled_from(
    ["math:sin", ":", "math:", ":sin", "math:sin:cos", "math", "", "math:sin\n", 3, ["math:sin"]]
)
EVENT = "dp_accounting.dp_event:NonPrivateDpEvent"
VALUES = {
    "name": TEXTS,
    "source": TEXTS,
    "mechanism": TARGETS | st.sampled_from(["gaussian", "laplace", "nosuch", "Gaussian", f"event:{EVENT}"]),
    "command": st.sampled_from([["sh"], ["sh", ""], ["sh", "a b"], [], [""], [3], ["sh", "\n"], "sh", 3]),
    "event": TARGETS.filter(lambda target: target != "math:sin") | st.just(EVENT),
    "training": TARGETS.filter(lambda target: target != "math:sin"),
    "parameters": st.sampled_from([{}, 3, [], {"frobs": 1}])
    | st.fixed_dictionaries(
        {},
        optional={
            "sigma": NUMBERS,
            "scale": NUMBERS,
            "compositions": st.sampled_from([0, 1, 2, -1, "1", True]),
        },
    ),
    "adjacency": st.sampled_from(["by-sensitivity", "add-remove", "replace", "users", "", 3]),
    "trust": st.sampled_from(["central", "joint", "local", "shuffle", "nobody", "", 3]),
    "neighbours": TARGETS,
    "audit": st.sampled_from([3, [], {"frobs": 1}])
    | st.fixed_dictionaries(
        {},
        optional={
            "budget": st.sampled_from([0, 1, 100, "1", True]),
            "seeded": st.sampled_from([True, False, 0]),
            "failures": st.sampled_from(["error", "token", "x"]),
            "nan": st.sampled_from(["error", "token", "x", 1]),
            "timeout": NUMBERS,
            "timing": st.sampled_from([True, 1]),
            "vary": st.sampled_from([{"a": [1, "x"]}, {"a": []}, {"a b": [1]}, {}, [1]]),
        },
    ),
    **dict.fromkeys(("epsilon", "delta", "rho", "mu"), NUMBERS),
    "frobs": st.just(1),
}
"""Values whose meaning is no matter: what can be loaded is there, and proved under any relation."""
BASES = [
    {"name": "a", "mechanism": "gaussian", "parameters": {"sigma": 2.0, "compositions": 1}},
    {"name": "a", "mechanism": "laplace", "parameters": {"scale": 2.0, "query": "histogram"}},
    {"name": "a", "mechanism": "laplace", "parameters": {"scale": 2.0, "sensitivity": 2.0}},
    {"name": "a", "mechanism": "math:sin", "neighbours": "math:sin"},
    {"name": "a", "command": ["sh"], "neighbours": "math:sin"},
    {"name": "a", "event": EVENT},
]
CHANGES = st.lists(st.sampled_from(list(VALUES)), max_size=4, unique=True).flatmap(
    lambda keys: st.fixed_dictionaries({key: st.none() | VALUES[key] for key in keys})
)


@pytest.mark.slow
@settings(max_examples=1500, deadline=None)
@given(st.sampled_from(BASES), CHANGES)
def test_schema_and_reader_agree_on_any_entry(base, changes):
    entry = {**base, "adjacency": "by-sensitivity", "epsilon": 1.0, **changes}
    entry = {key: value for key, value in entry.items() if value is not None}
    assert admitted({"claim": [entry]}) == read(entry)
