"""``dpproof reproduce``: a small run has every arm, and its page says only what its tables say."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpproof.cli import app
from dpproof.reproduction.experiments import experiments
from dpproof.reproduction.private_ucb import study as ucb
from dpproof.reproduction.rlsvi import study as rlsvi
from dpproof.reproduction.sdp_pe import arms as sdp_arms
from dpproof.reproduction.sdp_pe.arms import Kind
from dpproof.reproduction.sdp_pe.study import STUDY as SDP
from dpproof.reproduction.suite import benchmark
from dpproof.reproduction.suite.arms import ARMS
from dpproof.reproduction.suite.benchmark import recorded
from dpproof.reproduction.suite.problems import PROBLEMS
from dpproof.reproduction.suite.runs import Cell
from dpproof.reproduction.suite.study import Size

STUDIES = [ucb, rlsvi]
ONE = Size((1.0, 10.0), 1, ("bandit",))


@pytest.mark.slow
@pytest.mark.parametrize("module", STUDIES)
def test_an_experiment_shows_the_runs_of_the_benchmark_and_makes_none_twice(module, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(benchmark, "SCORES", tmp_path / "none.csv")  # its page shows these runs only
    study, shown = module.STUDY, {arm.name for arm in module.SHOWN}
    answer = study.run(tmp_path, True, 0, ONE, workers=1)
    names = {arm.name for arm in module.SHOWN if arm.fits(PROBLEMS["bandit"])}
    assert {row["arm"] for row in answer["rows"]} == names >= {"UCB-VI"}
    folder = tmp_path / study.paper.replace("-", "_")
    page = folder.with_suffix(".md").read_text(encoding="utf-8")
    for one in recorded(tmp_path).of(problem="bandit", runs=1):
        if one.arm in shown:
            assert f"| bandit | {one.arm} |" in page
            assert f"| {one.mean:.3f}" in page
    assert "inf" not in page.partition("## Regret against")[2].partition("## Plot")[0]
    assert all((folder / f"{name}.svg").stat().st_size > 1000 for name in experiments()[study.paper].figures)
    assert not list(folder.glob("*.csv"))
    monkeypatch.setattr(Cell, "run", None)
    again = study.run(tmp_path, True, 0, ONE, workers=1)
    assert {**again, "seconds": 0} == {**answer, "seconds": 0}


@pytest.mark.parametrize("module", STUDIES)
def test_an_experiment_of_the_benchmark_takes_no_seed(module, tmp_path):
    with pytest.raises(ValueError, match=rf"seed \(3\) must be 0 for {module.STUDY.paper}"):
        module.STUDY.run(tmp_path, True, 3)
    assert not list(tmp_path.rglob("*.parquet"))


def test_printed_noise_is_certified_at_more_than_it_promises_and_least_noise_at_no_more():
    for name in (name for name in ARMS if name.startswith("PRIVATE-UCB") and "no noise" not in name):
        certified = ARMS[name].make(PROBLEMS["river-swim"], 1.0).certified
        least = "printed" not in name and "code" not in name
        assert (0.99 <= certified <= 1) if least else certified > 1.5, name


def test_an_unknown_paper_is_refused():
    done = CliRunner().invoke(app, ["reproduce", "nothing"])
    assert isinstance(done.exception, ValueError)
    assert "paper ('nothing') must be one of: rlsvi, private-ucb" in str(done.exception)
    assert {"private-ucb", "policy-evaluation"} <= experiments().keys()


SHORT = sdp_arms.Size(episodes=20, seeds=2, epsilons=(1.0,))


def test_all_arms_have_an_algorithm_and_a_name_of_their_own():
    chosen = list(sdp_arms.arms(SDP.full))
    assert len({arm.name for arm in chosen}) == len(chosen)
    assert {arm.kind for arm in chosen} == set(Kind) == set(sdp_arms.ARMS)
    quick = {arm.kind for arm in sdp_arms.arms(SDP.quick)}
    assert quick == set(Kind)
    assert experiments()["sdp-pe"].study() is SDP


@pytest.mark.slow
def test_a_small_run_writes_tables_plots_and_page_and_repeats_itself(tmp_path):
    answers = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        answers.append(SDP.run(folder, True, 3, SHORT, workers=1))
    one, two = tmp_path / "one", tmp_path / "two"
    with (one / "sdp_pe" / "regret.csv").open(encoding="utf-8") as stream:
        table = list(csv.DictReader(stream))
    assert [float(row["regret"]) for row in table] == [row["regret"] for row in answers[0]["rows"]]
    names = {arm.kind.value for arm in sdp_arms.arms(SHORT)}
    page = (one / "sdp_pe.md").read_text(encoding="utf-8")
    assert all(name in page for name in names)
    assert all(f"{row['regret']:.0f}" in page for row in answers[0]["rows"])
    files = sorted(file.relative_to(one) for file in one.rglob("*") if file.is_file())
    assert {Path("sdp_pe/epsilon.svg"), Path("sdp_pe/bandit.svg"), Path("sdp_pe/switches.svg")} <= set(files)
    assert all((one / file).read_bytes() == (two / file).read_bytes() for file in files)
    json.dumps(answers[0])
    certified = {row["algorithm"]: row["certified_epsilon"] for row in answers[0]["rows"] if row["noise"]}
    assert certified[Kind.CALIBRATED.value] == 1.0
    assert certified[Kind.PRINTED.value] < 0.2
