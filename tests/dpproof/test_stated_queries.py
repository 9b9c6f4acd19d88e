"""A stated query on the command line, in claim files, in audits and in calibration."""

import tomllib

import pytest

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.answers import audit as auditing
from dpproof.answers import calibration as what_if
from dpproof.answers.claims import check_claim
from dpproof.claim_file import read_claims
from tests.rows import tiered

CLAIM = """
[[claim]]
name = "cells"
mechanism = "laplace"
parameters = {{ scale = 2.0{extra} }}
adjacency = "{relation}"
epsilon = {epsilon}
delta = 0.0
"""


def test_account_shows_the_sensitivity_and_its_rule(run):
    flags = ("account", "gaussian", "--sigma", 5, "--adjacency", "replace", "--query", "histogram")
    shown = run(*flags, "--delta", "1e-6", "--json").json
    assert shown["parameters"]["query"] == "histogram"
    assert shown["sensitivity"]["exact"] == "sqrt(2)"
    assert shown["sensitivity"]["norm"] == "L2"
    assert "2 coordinates move by at most 1" in shown["sensitivity"]["rule"]
    assert "L2 sensitivity sqrt(2)" in " ".join(run(*flags, "--delta", "1e-6").out.split())
    explicit = run("account", "gaussian", "--sigma", 5, "--compositions", 2, "--delta", "1e-6", "--json").json
    assert shown["epsilon"]["upper"] == explicit["epsilon"]["upper"]
    assert explicit["sensitivity"]["value"] == explicit["parameters"]["sensitivity"] == 1.0


@pytest.mark.parametrize("verb", [("account",), ("calibrate", "--target-epsilon", "1")])
def test_a_relation_without_a_sensitivity_is_refused_and_told_what_to_do(refused, verb):
    verb, *goal = verb
    line = refused(verb, "laplace", "--scale", "5", "--adjacency", "replace", "--delta", "0", *goal)
    assert "sensitivity is missing. Under replace neighbours" in line
    assert "Give sensitivity (sensitivity of each answer, a number), or query (count, histogram" in line


def test_calibration_keeps_the_query(run):
    shown = run(
        "calibrate", "laplace", "--adjacency", "replace", "--query", "sum in [0, 10]", "--target-epsilon", 1,
        "--delta", 0, "--what-if", "--json",
    ).json  # fmt: skip
    assert shown["noise"]["value"] == pytest.approx(10, rel=1e-8)
    assert shown["parameters"]["query"] == "sum in [0, 10]"
    assert shown["sensitivity"]["exact"] == "10"
    (entry,) = tomllib.loads(shown["code"]["claim"])["claim"]
    assert entry["parameters"]["query"] == "sum in [0, 10]"
    halved = next(row for row in shown["what_if"] if row["change"] == "epsilon" and row["to"] == 0.5)
    assert halved["noise"] == pytest.approx(20, rel=1e-8)
    namespace = {}
    exec(shown["code"]["python"], namespace)
    assert namespace["result"].epsilon(0).upper <= 1


@pytest.mark.slow
def test_what_if_changes_no_sensitivity():
    accountant = accountant_for("geometric")
    chosen = accountant.parameters(20.0, query="histogram")
    rows = what_if.noise_for_other_targets(accountant, chosen, Adjacency.REPLACE, "1", "1e-6")
    assert not {"sensitivity", "query"} & {row.change for row in rows}


@pytest.mark.parametrize(
    ("relation", "extra", "epsilon", "verdict"),
    [
        ("replace", ', query = "histogram"', 1.0, "kept"),
        ("replace", ', query = "histogram"', 0.75, "broken"),
        ("add-remove", ', query = "histogram"', 0.5, "kept"),
        ("replace", ", sensitivity = 2.0", 1.0, "kept"),
        ("by-sensitivity", "", 0.5, "kept"),
    ],
)
def test_a_claim_states_its_query(tmp_path, relation, extra, epsilon, verdict):
    path = tmp_path / "dpproof.toml"
    path.write_text(CLAIM.format(relation=relation, extra=extra, epsilon=epsilon))
    (claim,) = read_claims(path, auditing.check_ready)
    found = check_claim(claim, audited=False)
    assert found.verdict.value == verdict
    assert found.account.result.sensitivity.rule


@pytest.mark.parametrize("relation", ["replace", "add-remove", "rewards-only"])
def test_a_claim_without_a_sensitivity_is_refused_where_it_stands(tmp_path, relation):
    path = tmp_path / "dpproof.toml"
    path.write_text(CLAIM.format(relation=relation, extra="", epsilon=1.0))
    with pytest.raises(
        ValueError, match=rf"dpproof.toml:2: claim 1: sensitivity is missing. Under {relation}"
    ):
        read_claims(path, auditing.check_ready)


@pytest.mark.parametrize(
    "name", tiered(["gaussian", "laplace", "geometric", "discrete-gaussian", "binomial"], fast=1)
)
def test_an_audit_runs_the_cells_that_move(name):
    accountant = accountant_for(name)
    noise = {"trials": 200} if name == "binomial" else {accountant.noise: 2.0}
    chosen = accountant.parameters(**noise, query="histogram")
    from dpproof.audits.target import Subject, leaf_target, mechanism_target
    from dpproof.audits.targets.call import audit

    def audit_primitive(parameters, curve=None, **asked):
        return audit(mechanism_target(Subject(name, parameters, Adjacency.REPLACE, curve)), **asked)

    pair = leaf_target(name).pair(chosen, Adjacency.REPLACE)
    assert len(pair.first) == len(pair.second) == 2
    honest = audit_primitive(chosen, seed=0, delta=1e-3, budget=4000)
    assert honest.verdict.value != "violation"
    curve = accountant.account(accountant.parameters(**noise), Adjacency.BY_SENSITIVITY).guarantee
    half = audit_primitive(chosen, seed=0, delta=1e-3, budget=400_000, curve=curve)
    assert half.verdict.value == "violation"
    with pytest.raises(ValueError, match="sensitivity is missing"):
        audit_primitive(accountant.parameters(**noise), seed=0)
