"""Calibration as a conversation: other goals, other sizes, and what there is to paste."""

from __future__ import annotations

import tomllib

import pytest

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.answers.calibration import noise_for_other_targets
from dpproof.claim_file import read_claims

ASKED = ("calibrate", "gaussian", "--compositions", "4", "--target-epsilon", "1.5", "--delta", "1e-6")


def test_every_row_is_a_calibration_of_its_own(run):
    rows = run(*ASKED, "--what-if", "--json").json["what_if"]
    assert [(row["change"], row["to"]) for row in rows] == [
        ("epsilon", 0.75),
        ("epsilon", 3.0),
        ("delta", 1e-8),
        ("delta", 1e-4),
        ("compositions", 2.0),
        ("compositions", 8.0),
    ]
    again = run(
        "calibrate", "gaussian", "--compositions", "4", "--target-epsilon", "3", "--delta", "1e-6", "--json"
    )
    assert rows[1]["noise"] == again.json["noise"]["value"]
    assert rows[5]["ratio"] == pytest.approx(2**0.5, rel=1e-9)


def test_a_goal_that_cannot_be_met_says_why():
    # Noise enough for epsilon 1e-300 is beyond double precision.
    gaussian = accountant_for("gaussian")
    meets, _ = gaussian.least_noise(
        gaussian.parameters(sigma=1.0), Adjacency.BY_SENSITIVITY, "1e-300", "1e-300"
    )
    rows = noise_for_other_targets(gaussian, meets, Adjacency.BY_SENSITIVITY, "1e-300", "1e-300")
    assert all((row.noise is None) == bool(row.why) for row in rows)


def test_without_being_asked_nothing_more_is_calibrated(run):
    assert "what_if" not in run(*ASKED, "--json").json


def test_what_is_pasted_keeps_the_promise(run, tmp_path):
    pasted = run(*ASKED, "--json").json["code"]
    names = {}
    exec(pasted["python"], names)
    assert names["found"].guarantee.epsilon("1e-6").upper <= 1.5
    path = tmp_path / "claims.toml"
    path.write_text(pasted["claim"], encoding="utf-8")
    (claim,) = read_claims(path)
    assert (claim.mechanism, claim.epsilon, claim.delta) == ("gaussian", 1.5, 1e-6)
    checked = run("check", path, "--json").json["claims"]
    assert [entry["verdict"] for entry in checked] == ["kept"]


@pytest.mark.parametrize(
    "asked",
    [
        "dp-sgd --sampling-rate .01 --steps 50 --target-epsilon 0.7 --delta 3e-7 --adjacency add-remove",
        "local-counts --states 2 --actions 2 --horizon 3 --episodes 10 --target-epsilon 2.3"
        " --delta 1/70000 --adjacency replace",
        "gaussian --compositions 3 --target-epsilon 1/3 --delta 1/70000 --adjacency by-sensitivity",
    ],
)
def test_a_target_between_doubles_is_kept_as_pasted(run, tmp_path, asked):
    path = tmp_path / "claims.toml"
    path.write_text(run("calibrate", *asked.split(), "--json").json["code"]["claim"], encoding="utf-8")
    (entry,) = tomllib.loads(path.read_text(encoding="utf-8"))["claim"]
    assert str(entry["epsilon"]) in ("0.7", "2.3", "0.3333333333333333")
    checked = run("check", path, "--no-audits", "--json").json["claims"]
    assert [entry["verdict"] for entry in checked] == ["kept"]


def test_people_see_the_table_and_the_code(run, tmp_path):
    ran = run(*ASKED, "--what-if", "--plot", tmp_path / "profile.svg")
    assert "compositions 8" in ran.out
    assert "accountant_for" in ran.out
    assert (tmp_path / "profile.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")


def test_what_is_asked_beside_may_rest_on_more(run):
    asked = ("calibrate", "laplace", "--target-epsilon", "1", "--delta", "1e-3", "--json")
    alone, beside = (
        {entry["id"] for entry in run(*asked, *more).json["arithmetic_assumptions"]}
        for more in ((), ("--what-if",))
    )
    assert alone == {"elementary-4ulp"}
    assert beside == {"fft-error", "elementary-4ulp"}  # with two answers instead of one


@pytest.mark.parametrize("word", ["replace", "joint", "MechanismError", "inconclusive", "PROVED GIVEN"])
def test_words_of_every_kind_are_explained(run, word):
    ran = run("explain", word)
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.split()) > 4
