"""Where an answer says what it takes on trust of the machine's arithmetic."""

import json
from pathlib import Path

from dpproof.reproduction.experiments import ARITHMETIC, EXPERIMENTS, Experiment

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


def test_pages_of_experiments_say_what_their_figures_rest_on(tmp_path, monkeypatch):
    def run(folder, quick, seed):
        (folder / "private_ucb.md").write_text("# figures\n")
        return {"experiment": "private-ucb", "first_lines": []}

    monkeypatch.setattr("dpproof.reproduction.private_ucb.figure.run", run)
    answer = EXPERIMENTS["private-ucb"].run(tmp_path, quick=True, seed=0)
    assert isinstance(EXPERIMENTS["private-ucb"], Experiment)
    assert [entry["id"] for entry in answer["arithmetic_assumptions"]] == ["fft-error", "elementary-4ulp"]
    assert (tmp_path / "private_ucb.md").read_text() == f"# figures\n\n{ARITHMETIC}\n"
    for name in ("expert", "policy_evaluation", "private_ucb", "sdp_pe"):
        assert ARITHMETIC in (ROOT / "docs" / "experiments" / f"{name}.md").read_text()
