"""What an answer says of the released bits and of the arithmetic it takes on trust, wherever epsilon stands."""

from __future__ import annotations

import json
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import IN_REAL_ARITHMETIC
from dpproof.accountant.numbers.arithmetic import Assumption, assume
from dpproof.accountant.privacy_loss import by_grid
from dpproof.accountant.privacy_loss.loss_sums import sum_of_losses
from dpproof.mechanisms.randomness import Entropy
from dpproof.reproduction.experiments import experiments
from dpproof.reproduction.pages import ARITHMETIC
from tests.rows import tiered

ROOT = Path(__file__).resolve().parents[2]
DPSGD = ("--sampling-rate", ".1", "--steps", 10, "--adjacency", "add-remove")
SIZES = ("--states", 2, "--actions", 2, "--horizon", 2, "--episodes", 4)
COUNTS = (*SIZES, "--scale", 30, "--adjacency", "replace")
WHOLE = (*COUNTS, "--noise", "discrete-laplace", "--grains", 4)
EVALUATION = ("--dimension", 2, "--adjacency", "replace")
BANDIT = ("--arms", 2, "--rounds", 9, "--adjacency", "rewards-only")
INTEGERS = {
    "geometric": ({"scale": 5.0}, [3]),
    "discrete-gaussian": ({"sigma": 5.0}, [3]),
    "randomised-response": ({"randomness": 0.5}, [1]),
}


@pytest.mark.parametrize(
    ("name", "flags", "covered"),
    tiered([
        ("gaussian", ("--sigma", 5), None),
        ("laplace", ("--scale", 5), None),
        ("binomial", ("--trials", 1000), None),
        ("geometric", ("--scale", 5), "dpproof.mechanisms.noise.geometric.sample"),
        ("dp-sgd", (*DPSGD, "--noise-multiplier", 1), None),
        ("rlsvi", (*SIZES, "--adjacency", "rewards-only"), "dpproof.RLSVI.publish"),
        ("thompson", BANDIT, "dpproof.Thompson.publish"),
        ("policy-evaluation", EVALUATION, "dpproof.DPLSW"),
        ("policy-evaluation", (*EVALUATION, "--algorithm", "lsl"), "dpproof.DPLSL"),
        ("central-counts", COUNTS, None),
        ("central-counts", WHOLE, "dpproof.PrivateCounts"),
        ("local-counts", WHOLE, "dpproof.local_report"),
    ], fast=3),
)  # fmt: skip
def test_account_says_whether_the_released_bits_are_covered(run, name, flags, covered):
    asked = ("account", name, *flags, "--delta", "1e-5")
    answer = run(*asked, "--json").json
    assert answer["covers_released_bits"] is (covered is not None)
    if covered is None:
        assert answer["released_bits"] == IN_REAL_ARITHMETIC
        assert "the released doubles are not covered" in " ".join(run(*asked).out.split())
    else:
        assert covered in answer["released_bits"]
        assert f"covers every released bit, where {covered}" in " ".join(run(*asked).out.split())


@pytest.mark.parametrize(
    ("name", "flags", "covered"),
    [
        ("gaussian", (), False),
        ("geometric", (), True),
        pytest.param("dp-sgd", DPSGD, False, marks=pytest.mark.slow),
    ],
)
def test_calibrate_says_so_too(run, name, flags, covered):
    asked = ("calibrate", name, *flags, "--target-epsilon", 1, "--delta", "1e-5")
    assert run(*asked, "--json").json["covers_released_bits"] is covered
    said = "covers every released bit" if covered else "the released doubles are not covered"
    assert said in " ".join(run(*asked).out.split())


FILE = """
[[claim]]
name = "noise of others"
mechanism = "gaussian"
parameters = { sigma = 30.0, sensitivity = 1.0 }
epsilon = 1.0
delta = 1e-5
adjacency = "replace"

[[claim]]
name = "whole noise"
mechanism = "geometric"
parameters = { scale = 3.0, sensitivity = 1 }
epsilon = 1.0
adjacency = "replace"
"""


def test_check_says_so_of_every_claim_in_text_json_and_pages(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claims.toml").write_text(FILE)
    asked = ("check", "claims.toml", "--no-audits")
    claims = run(*asked, "--json").json["claims"]
    assert [one["account"]["covers_released_bits"] for one in claims] == [False, True]
    text = " ".join(run(*asked, "--html", "report").out.split())
    assert f"noise of others: released bits: {IN_REAL_ARITHMETIC}" in text
    assert "whole noise: released bits: covers every released bit" in text
    page = (tmp_path / "report" / "index.html").read_text()
    assert page.count("the released doubles are not covered") >= 1
    assert page.count("covers every released bit") >= 1


def test_every_sampler_that_is_named_exists():
    """Reads the names in the accountants' files; each belongs to a package that users import."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "accountant").rglob("*.py"))]
    named = {name for text in texts for name in re.findall(r'"(dpproof\.(?!accountant)\w+(?:\.\w+)*)"', text)}
    assert {"dpproof.RLSVI.publish", "dpproof.mechanisms.noise.geometric.sample"} <= named
    for name in named:
        assert callable(pkgutil.resolve_name(name))


class IntegersOnly(Entropy):
    """Entropy whose every draw but that of integers raises."""

    def __getattribute__(self, name):
        if name in dir(np.random.Generator) and name != "integers" and not name.startswith("_"):
            raise AssertionError(f"drew {name}")
        return super().__getattribute__(name)


@pytest.mark.parametrize("name", [*INTEGERS, "gaussian", "laplace", "binomial"])
def test_a_primitive_is_covered_only_if_its_sampler_draws_integers_alone(name):
    from dpproof.mechanisms.primitives import sampler_for

    if name in INTEGERS:
        given, answers = INTEGERS[name]
        parameters = accountant_for(name).parameters.read(given)
        assert sampler_for(name)(parameters, answers, 5, IntegersOnly()).dtype == np.int64
        assert accountant_for(name).account(parameters, Adjacency.BY_SENSITIVITY).covers_released_bits
    else:
        given = {"gaussian": {"sigma": 5.0}, "laplace": {"scale": 5.0}, "binomial": {"trials": 100}}[name]
        parameters = accountant_for(name).parameters.read(given)
        with pytest.raises(AssertionError, match="drew"):
            sampler_for(name)(parameters, [3], 5, IntegersOnly())
        assert not accountant_for(name).account(parameters, Adjacency.BY_SENSITIVITY).covers_released_bits


def test_the_account_of_a_training_of_others_is_one_in_real_arithmetic(run, tmp_path, monkeypatch):
    pytest.importorskip("dp_accounting")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("steps = [(1.0, 0.01, 100)]\n")
    claim = {
        "name": "theirs", "mechanism": "training:mine:steps", "epsilon": 9.0, "delta": 1e-5,
        "adjacency": "add-remove",
    }  # fmt: skip
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in claim.items() if key != "mechanism")
    (tmp_path / "claims.toml").write_text(f'[[claim]]\ntraining = "mine:steps"\n{lines}\n')
    found = run("check", "claims.toml", "--no-audits", "--json").json["claims"][0]["account"]
    assert found["released_bits"] == IN_REAL_ARITHMETIC
    shown = run(
        "check", "claims.toml", "--no-audits", "--verbose", "--markdown", "found.md", "--html", "made"
    ).out
    pages = (tmp_path / "found.md").read_text(), (tmp_path / "made" / "index.html").read_text()
    for text in (shown, *(page.replace("\\", "") for page in pages)):
        assert "classic.dominating_composition, which is quoted, not proved" in " ".join(text.split())


def test_every_page_of_experiments_says_that_its_runs_are_simulations():
    from dpproof.answers.papers import FOLDER
    from dpproof.reproduction.first_lines import SIMULATED, read

    assert IN_REAL_ARITHMETIC in SIMULATED
    pages = sorted(FOLDER.glob("*.md"))
    assert len(pages) >= 4
    assert all(SIMULATED in read(page.read_text(encoding="utf-8")) for page in pages)


@pytest.mark.parametrize(
    ("name", "given", "relation"),
    [
        ("thompson", {"arms": 2, "rounds": 9}, Adjacency.REWARDS_ONLY),
        ("central-counts", {"states": 2, "actions": 2, "horizon": 2, "episodes": 4, "scale": 30.0,
                            "noise": "discrete-laplace", "grains": 4}, Adjacency.REPLACE),
    ],
)  # fmt: skip
def test_a_primitive_that_samples_in_doubles_is_not_covered_though_an_exact_sampler_exists(
    name, given, relation
):
    from dpproof.mechanisms.primitives import Primitive

    parameters = accountant_for(name).parameters.read(given)
    assert accountant_for(name).account(parameters, relation).covers_released_bits
    found = Primitive(name, parameters).account(relation)
    assert not found.covers_released_bits
    assert found.released_bits == IN_REAL_ARITHMETIC


@pytest.mark.parametrize("name", INTEGERS)
def test_a_primitive_whose_own_sampler_is_exact_is_covered(name):
    from dpproof.mechanisms.primitives import Primitive

    parameters = accountant_for(name).parameters.read(INTEGERS[name][0])
    assert Primitive(name, parameters).account(Adjacency.BY_SENSITIVITY).covers_released_bits


@pytest.fixture
def assuming(monkeypatch):
    """The composition of losses on a grid makes an assumption on the machine's arithmetic, as none does today."""

    def assumed(*given, **options):
        assume(Assumption.ELEMENTARY)
        return sum_of_losses(*given, **options)

    monkeypatch.setattr(by_grid, "sum_of_losses", assumed)


@pytest.mark.usefixtures("assuming")
def test_the_command_line_shows_them(run):
    flags = ("account", "laplace", "--scale", 525, "--compositions", 300, "--delta", "1e-3", "--verbose")
    assert "about the machine's arithmetic: elementary-4ulp" in run(*flags[:-1]).out
    shown = " ".join(run(*flags).out.split())
    assert "arithmetic, assumed and not proved: elementary functions of numpy" in shown
    assert "docs/explanation/trust.md#arithmetic" in shown
    assert (
        run("account", "gaussian", "--sigma", 5, "--delta", ".1", "--json").json["arithmetic_assumptions"]
        == []
    )
    gaussian = ("account", "gaussian", "--sigma", 5, "--delta", ".1", "--verbose")
    assert "nothing is assumed of the machine's functions" in run(*gaussian).out
    assert "## Arithmetic" in (ROOT / "docs/explanation/trust.md").read_text()
    assert "[Certified](docs/explanation/trust.md#arithmetic)" in (ROOT / "README.md").read_text()


def test_answers_of_today_assume_nothing(run):
    flags = ("account", "laplace", "--scale", 575, "--compositions", 300, "--delta", "1e-3")
    assert run(*flags, "--json").json["arithmetic_assumptions"] == []
    assert "about the machine's arithmetic" not in run(*flags).out


@pytest.mark.slow
@pytest.mark.usefixtures("assuming")
def test_a_claim_file_and_its_report_show_them(run, tmp_path):
    (tmp_path / "dpproof.toml").write_text(
        '[[claim]]\nname = "a"\nmechanism = "discrete-gaussian"\nparameters = { sigma = 40, compositions = 3 }\n'
        'adjacency = "by-sensitivity"\nepsilon = 0.08\ndelta = 1e-3\naudit = { budget = 10 }\n'
    )
    ran = run(
        "check", tmp_path / "dpproof.toml", "--no-audits", "--html", tmp_path / "made", "--markdown",
        tmp_path / "found.md", "--json",
    )  # fmt: skip
    (claim,) = json.loads(ran.out)["claims"]
    assert {entry["id"] for entry in claim["account"]["arithmetic_assumptions"]} == {"elementary-4ulp"}
    text = "assumed and not proved"
    assert text in (tmp_path / "made" / "index.html").read_text()
    assert text in (tmp_path / "found.md").read_text()
    rests = f"PROVED GIVEN; assumptions: 3, readings: {claim['account']['readings_all']}"
    assert rests in (tmp_path / "found.md").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("assuming")
def test_audits_by_name_show_what_the_claimed_epsilon_rests_on(run):
    """Many Laplace losses are composed on a grid; the Gaussian's is a closed form in ball arithmetic."""
    flags = ("--scale", 525, "--compositions", 300, "--delta", "1e-3")
    ran = run("audit", "laplace", *flags, "--budget", 2000, "--json")
    ids = [entry["id"] for entry in ran.json["arithmetic_assumptions"]]
    assert ids == ["elementary-4ulp"]
    shown = run("audit", "laplace", *flags, "--budget", 2000).out
    assert "claimed epsilon: arithmetic, assumed and not proved: elementary functions" in shown
    ran = run("audit", "gaussian", "--sigma", 5, "--budget", 2000, "--json")
    assert ran.json["arithmetic_assumptions"] == []


@pytest.mark.slow
@pytest.mark.usefixtures("assuming")
def test_captions_of_curves_name_what_they_assume():
    from dpproof.accountant.claims.adjacency import Adjacency
    from dpproof.report.html import _drawn

    for name, given, assumed in (
        ("discrete-gaussian", (("sigma", 40.0), ("compositions", 3)), True),
        ("gaussian", (("sigma", 5.0),), False),
    ):
        for _, caption in _drawn(name, given, Adjacency.BY_SENSITIVITY):
            assert ("Arithmetic, assumed and not proved: elementary functions" in caption) == assumed
            assert ("Arithmetic: balls and doubles; nothing is assumed" in caption) != assumed


@pytest.mark.slow
def test_pages_of_experiments_say_what_their_figures_rest_on(tmp_path, monkeypatch):
    study = experiments()["private-ucb"].study()
    recorded = study.recorded(ROOT / "docs" / "experiments")
    monkeypatch.setattr(study, "measure", lambda *_: recorded)
    answer = study.run(tmp_path, quick=True, seed=0)
    assert [entry["id"] for entry in answer["arithmetic_assumptions"]] == ["elementary-4ulp"]
    assert (tmp_path / "private_ucb.md").read_text().endswith(f"\n\n{ARITHMETIC}\n")
    for name in ("expert", "policy_evaluation", "private_ucb", "sdp_pe"):
        assert ARITHMETIC in (ROOT / "docs" / "experiments" / f"{name}.md").read_text()
