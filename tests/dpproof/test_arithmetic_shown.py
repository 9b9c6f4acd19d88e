"""Where an answer says what it takes on trust of the machine's arithmetic."""

import json
from pathlib import Path

import pytest

from dpproof.reproduction.engine import ARITHMETIC
from dpproof.reproduction.experiments import experiments

ROOT = Path(__file__).resolve().parents[2]


def test_the_command_line_shows_them(run):
    flags = ("account", "laplace", "--scale", 5, "--compositions", 3, "--delta", "1e-3")
    shown = " ".join(run(*flags).out.split())
    assert "arithmetic, assumed and not proved: scipy's fft of length 2^k errs" in shown
    assert "docs/explanation/trust.md#arithmetic" in shown
    assert (
        run("account", "gaussian", "--sigma", 5, "--delta", ".1", "--json").json["arithmetic_assumptions"]
        == []
    )
    assert (
        "nothing is assumed of the functions" in run("account", "gaussian", "--sigma", 5, "--delta", ".1").out
    )
    assert "## Arithmetic" in (ROOT / "docs/explanation/trust.md").read_text()
    assert "[certified](docs/explanation/trust.md#arithmetic)" in (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_a_claim_file_and_its_report_show_them(run, tmp_path):
    (tmp_path / "dpproof.toml").write_text(
        '[[claim]]\nname = "a"\nmechanism = "laplace"\nparameters = { scale = 5.0, compositions = 3 }\n'
        'adjacency = "by-sensitivity"\nepsilon = 0.59\ndelta = 1e-3\naudit = { budget = 10 }\n'
    )
    ran = run(
        "check", tmp_path / "dpproof.toml", "--no-audits", "--html", tmp_path / "made", "--markdown",
        tmp_path / "found.md", "--json",
    )  # fmt: skip
    (claim,) = json.loads(ran.out)["claims"]
    assert {entry["id"] for entry in claim["account"]["arithmetic_assumptions"]} == {
        "fft-error", "elementary-4ulp",
    }  # fmt: skip
    text = "assumed and not proved"
    assert text in (tmp_path / "made" / "index.html").read_text()
    assert text in (tmp_path / "found.md").read_text()
    rests = f"PROVED GIVEN; assumptions: 1, readings: {claim['account']['readings_all']}"
    assert rests in (tmp_path / "found.md").read_text()
    assert f"PROVED GIVEN ({claim['account']['readings_all']} readings)" in " ".join(
        (tmp_path / "made" / "index.html").read_text().split()
    )


@pytest.mark.slow
def test_audits_by_name_show_what_the_claimed_epsilon_rests_on(run):
    """DP-SGD's loss is composed on a grid; the Gaussian's is a closed form in ball arithmetic."""
    flags = ("--sampling-rate", 0.1, "--noise-multiplier", 1, "--steps", 3, "--adjacency", "add-remove")
    ran = run("audit", "dp-sgd", *flags, "--budget", 2000, "--json")
    ids = [entry["id"] for entry in ran.json["arithmetic_assumptions"]]
    assert ids == ["fft-error", "elementary-4ulp"]
    shown = run("audit", "dp-sgd", *flags, "--budget", 2000).out
    assert "claimed epsilon: arithmetic, assumed and not proved: scipy's fft" in shown
    ran = run("audit", "gaussian", "--sigma", 5, "--budget", 2000, "--json")
    assert ran.json["arithmetic_assumptions"] == []


@pytest.mark.slow
def test_captions_of_curves_name_what_they_assume():
    from dpproof.accountant.claims.adjacency import Adjacency
    from dpproof.report.html import _drawn

    for name, given, assumed in (
        ("laplace", (("scale", 5.0), ("compositions", 3)), True),
        ("gaussian", (("sigma", 5.0),), False),
    ):
        for _, caption in _drawn(name, given, Adjacency.BY_SENSITIVITY):
            assert ("Arithmetic, assumed and not proved: scipy's fft" in caption) == assumed
            assert ("Arithmetic: ball arithmetic; nothing is assumed" in caption) != assumed


def test_pages_of_experiments_say_what_their_figures_rest_on(tmp_path, monkeypatch):
    study = experiments()["private-ucb"].study()
    recorded = study.recorded(ROOT / "docs" / "experiments")
    monkeypatch.setattr(study, "measure", lambda *_: recorded)
    answer = study.run(tmp_path, quick=True, seed=0)
    assert [entry["id"] for entry in answer["arithmetic_assumptions"]] == ["fft-error", "elementary-4ulp"]
    assert (tmp_path / "private_ucb.md").read_text().endswith(f"\n\n{ARITHMETIC}\n")
    for name in ("expert", "policy_evaluation", "private_ucb", "sdp_pe"):
        assert ARITHMETIC in (ROOT / "docs" / "experiments" / f"{name}.md").read_text()
