"""``dpproof reproduce expert``: a tiny run has every method, and certifies no more than is proved."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from dpproof.cli import app
from dpproof.reproduction.expert import study
from dpproof.reproduction.expert.settings import ALONE, CHOICES, FULL, METHODS, PAPER, QUICK, Size
from dpproof.reproduction.expert.study import STUDY

needed = pytest.mark.skipif(
    study.missing() != [], reason="the extras `rl` and `torch` are not installed: no experiment"
)
TINY = Size(("cartpole",), 600, 0.9, 5, 5, 1, 60, 64, (10.0,), 2, 1)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    pytest.importorskip("torch", reason="torch, of the extra `torch`, is not installed")
    folder = tmp_path_factory.mktemp("expert")
    return folder, STUDY.run(folder, True, 3, TINY, workers=1)


@pytest.mark.slow
def test_every_method_is_run_and_written(found):
    folder, answer = found
    named = {(row["problem"], row["method"], row["epsilon"]) for row in answer["rows"]}
    assert len(named) == len(answer["rows"]) == 5
    with (folder / "expert" / "returns.csv").open(encoding="utf-8") as stream:
        assert [float(r["return"]) for r in csv.DictReader(stream)] == [r["return"] for r in answer["rows"]]
    page = (folder / "expert.md").read_text(encoding="utf-8")
    for name in ("returns", "released", "experts"):
        assert (folder / "expert" / f"{name}.svg").stat().st_size > 1000
        assert f"expert/{name}.svg" in page
    assert "Scaled down" in page


@needed
@pytest.mark.parametrize(("name", "epsilon"), [("cartpole", 10.0), ("acrobot", 10.0), ("hiv", 2.5)])
def test_what_is_certified_is_what_is_proved(name, epsilon):
    budgets = pytest.importorskip("dpproof.reproduction.expert.plans")
    size = replace(QUICK, epsilons=(epsilon,))
    found = {m: budgets.certified(budgets.plan_for(name, m, epsilon, size)) for m in METHODS}
    p, share = CHOICES[name][epsilon].probability, CHOICES[name][epsilon].share
    assert set(found["no privacy"].values()) == {None}
    assert found["DP-SGD"]["certified_epsilon"] == found["DP-SGD"]["certified_training"] <= epsilon
    assert 0.99 * share * epsilon < found["calibrated"]["certified_epsilon"] <= epsilon
    if p:
        assert found["printed"]["certified_epsilon"] is None
        assert found["printed"]["certified_training"] > (1 - share) * epsilon
    else:
        assert found["printed"]["certified_epsilon"] == found["printed"]["certified_release"]


def test_less_noise_releases_more(found):
    _, answer = found
    assert len(answer["releases"]) == 1
    for row in answer["releases"]:
        assert row["calibrated_cutoff"] < row["printed_cutoff"] / 3
        assert row["calibrated_released"] > row["printed_released"] + 20


@pytest.mark.slow  # test_reproduce.py has the same for another experiment
def test_equal_seeds_give_equal_files(found, tmp_path):
    folder, _ = found
    STUDY.run(tmp_path, True, 3, TINY, workers=1)
    for name in ("expert.md", "expert/returns.csv", "expert/releases.csv", "expert/returns.svg"):
        assert (folder / name).read_bytes() == (tmp_path / name).read_bytes()


def test_a_finished_method_is_not_run_again(monkeypatch, tmp_path):
    runs = pytest.importorskip("dpproof.reproduction.expert.runs", reason="the extra is not installed")
    asked = []

    def results(task):
        asked.append(task.method)
        if task.method == "printed" and asked.count("printed") < 2:
            raise KeyboardInterrupt
        return ([], [], []) if task.method is None else [(3.0, 0), (5.0, 4)]

    monkeypatch.setattr(runs._Task, "results", results)
    with pytest.raises(KeyboardInterrupt):
        runs.run_problems(TINY, 0, None, tmp_path / "parts")
    returns, single, *_ = runs.run_problems(TINY, 0, None, tmp_path / "parts")
    assert asked == [None, "no privacy", "DP-SGD", "printed", "printed", "calibrated", ALONE]
    assert [row["return"] for row in returns] == [4.0] * 5
    assert [row["return"] for row in single] == [3.0, 5.0] * 5
    assert not (tmp_path / "parts").exists()


def test_without_the_extra_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(study, "find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["reproduce", "expert", "--quick", "--out", str(tmp_path)])
    assert isinstance(done.exception, ValueError)
    assert "needs torch and gymnasium: pip install 'dpproof[rl,torch]'" in str(done.exception)


def test_lunar_lander_is_left_out_visibly(found, monkeypatch, tmp_path):
    _, before = found
    parts = before["releases"], before["logged"], before["histogram"]
    monkeypatch.setattr(study, "has_box2d", lambda: False)
    monkeypatch.setattr(
        "dpproof.reproduction.expert.runs._Task.results",
        lambda task: parts if task.method is None else [(1.0, 0), (2.0, 0)],
    )
    size = replace(TINY, problems=("lunarlander", "cartpole"))
    answer = STUDY.run(tmp_path, True, 0, size, workers=1)
    assert answer["skipped"] == ["lunarlander"]
    assert "Skipped because Box2D is not installed: lunarlander" in (tmp_path / "expert.md").read_text(
        "utf-8"
    )
    assert {row["problem"] for row in answer["rows"]} == {"cartpole"}


def test_every_size_has_the_papers_choices():
    for size in (QUICK, FULL, PAPER):
        for name in size.problems:
            assert set(size.epsilons) <= set(CHOICES[name])
    chosen = CHOICES["cartpole"][10.0]
    assert (chosen.rounds, chosen.probability) == (25, 0.9)
    assert np.isclose(chosen.share, 0.75)
