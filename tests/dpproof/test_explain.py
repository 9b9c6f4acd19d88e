"""``dpproof explain`` and ``dpproof init``."""

from __future__ import annotations

import ast
import importlib
from dataclasses import MISSING
from pathlib import Path

import pytest

from dpproof.accountant.catalogue import CATALOGUE, accountant_for
from dpproof.answers.audit import check_auditable
from dpproof.claim_file import read_claims
from dpproof.cli.explain import ERRORS
from dpproof.outcome import Outcome
from dpproof.proofs_check.registry import lookup, papers, statement_ids
from tests.rows import rows


def explained(run, identity):
    ran = run("explain", identity)
    assert (ran.code, ran.err) == (0, "")
    said = " ".join(ran.out.split())
    assert said.startswith(f"{identity}:")
    assert "verdict: " in said
    assert "not covered: " in said
    assert " ".join(lookup(identity).says.split()) in said


def test_a_statement_of_each_verdict_and_paper_can_be_explained(run):
    first_of_verdict = {lookup(name).expected: name for name in reversed(statement_ids())}
    first_of_paper = {statement_ids(f"{paper.prefix}.")[0] for paper in papers().values()}
    for identity in sorted({*first_of_verdict.values(), *first_of_paper}):
        explained(run, identity)


@pytest.mark.slow
@rows("identity", statement_ids())
def test_every_statement_can_be_explained(run, identity):
    explained(run, identity)


@rows("name", CATALOGUE)
def test_every_mechanism_can_be_explained(run, name):
    ran = run("explain", name)
    assert (ran.code, ran.err) == (0, "")
    said = " ".join(ran.out.split())
    assert said.startswith(f"{name}: {accountant_for(name).title}")
    assert f"calibrate searches: {accountant_for(name).noise}" in said


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pure-dp", "delta 0"),
        ("approximate-dp", "(epsilon, delta)"),
        ("gaussian-dp", "mu-Gaussian"),
        ("renyi-dp", "curve"),
        ("zcdp", "concentrated"),
        ("privacy-loss", "dominating"),
    ],
)
def test_every_notion_can_be_explained(run, name, says):
    ran = run("explain", name)
    assert (ran.code, ran.err) == (0, "")
    assert says in ran.out


@pytest.mark.parametrize("identity", ["nosuch", "rlsvi.", "", "[/]"])
def test_an_unknown_id_is_refused(refused, identity):
    assert f"id ({identity!r}) is unknown" in refused("explain", identity)


def test_the_starter_is_a_claim_file_that_can_be_audited(run, tmp_path):
    path = tmp_path / "dpproof.toml"
    assert run("init", path).code == 0
    (claim,) = read_claims(path, check_auditable)
    assert (claim.mechanism, claim.adjacency.value) == ("geometric", "add-remove")
    ran = run("check", path)  # the first run is quick
    assert (ran.code, "consistent" in ran.out) == (0, True)


def test_an_existing_file_is_left_alone(refused, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("mine", encoding="utf-8")
    assert "already exists" in refused("init", path)
    assert path.read_text(encoding="utf-8") == "mine"
    (tmp_path / "dpproof.schema.json").write_text("mine", encoding="utf-8")
    assert "dpproof.schema.json) already exists" in refused("init", tmp_path / "other.toml")


def test_a_missing_folder_is_refused(refused, tmp_path):
    assert "must be a file in an existing folder that can be written to" in refused(
        "init", tmp_path / "nowhere" / "dpproof.toml"
    )


@rows("name", CATALOGUE)
def test_the_audit_of_a_mechanism_is_named_and_its_flags_are_real(run, name):
    shown = run("explain", name).out.splitlines()
    (line,) = (line for line in shown if line.startswith("audit: "))
    assert line.startswith(f"audit: dpproof audit {name}")
    flags = [word for word in line.split() if word.startswith("--") and word != "--adjacency"]
    fields = accountant_for(name).parameters.fields()
    assert flags == [f"--{field.name.replace('_', '-')}" for field in fields if field.default is MISSING]


def test_an_audit_that_needs_a_relation_says_which(run):
    assert "--adjacency rewards-only" in run("explain", "rlsvi").out
    assert "--adjacency" not in run("explain", "laplace").out.partition("audit: ")[2]


def _errors():
    """The exception classes of the four libraries, by name."""
    root = Path(__file__).resolve().parents[2]
    for package in ("accountant", "mechanisms", "proofs_check", "audits"):
        for path in (root / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                named = isinstance(node, ast.ClassDef) and node.name.endswith("Error")
                if named and any("E" in ast.unparse(base) for base in node.bases):  # no data on errors
                    yield node.name


@rows("name", sorted({*ERRORS, *(outcome.value for outcome in Outcome)}))
def test_every_error_and_every_verdict_of_check_can_be_explained(run, name):
    ran = run("explain", name)
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.split()) > 3


@pytest.mark.slow
def test_the_errors_that_are_explained_are_there():
    assert set(ERRORS) == set(_errors())
    for name, place in ERRORS.items():
        module, _, found = place.partition(":")
        assert issubclass(getattr(importlib.import_module(module), found), BaseException)
        assert found == name
