"""``dpproof reproduce``: a small run has every arm, and its page says only what its tables say."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpproof.cli import app
from dpproof.reproduction.experiments import experiments
from dpproof.reproduction.private_ucb.arms import Group, Size, arms
from dpproof.reproduction.private_ucb.study import STUDY, paying
from dpproof.reproduction.rlsvi import study as rlsvi
from dpproof.reproduction.sdp_pe import arms as sdp_arms
from dpproof.reproduction.sdp_pe.arms import ARMS, Kind
from dpproof.reproduction.sdp_pe.study import STUDY as SDP
from dpproof.reproduction.suite.runs import Cell

TINY = Size(episodes=400, seeds=2, epsilons=(1.0, 1e6))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure")
    return folder, STUDY.run(folder, True, 3, TINY)


@pytest.mark.slow
def test_all_arms_are_run_and_written(found):
    folder, answer = found
    chosen = list(arms(TINY))
    assert len({arm.name for arm in chosen}) == len(chosen) == len(answer["rows"])
    with (folder / "private_ucb" / "regret.csv").open(encoding="utf-8") as stream:
        table = list(csv.DictReader(stream))
    assert [float(row["regret"]) for row in table] == [row["regret"] for row in answer["rows"]]
    page = (folder / "private_ucb.md").read_text(encoding="utf-8")
    for group in Group:
        assert f"## {group.value[0].upper()}{group.value[1:]}" in page
    for svg in ("code", "printed", "honest", "pooled", "best"):
        assert (folder / "private_ucb" / f"{svg}.svg").stat().st_size > 1000
        assert f"private_ucb/{svg}.svg" in page


@pytest.mark.slow
def test_honest_arms_are_certified_and_printed_ones_are_not(found):
    _, answer = found
    for row in answer["rows"]:
        if row["epsilon"] is None:
            assert row["certified_epsilon"] is None
        elif row["group"] in (Group.THEORY.value, Group.PRINTED.value, Group.CODE.value):
            assert row["certified_epsilon"] > 1.5 * row["epsilon"]
        else:
            assert 0.99 * row["epsilon"] <= row["certified_epsilon"] <= row["epsilon"]


@pytest.mark.slow
def test_little_noise_is_nearly_none_and_much_noise_hinders(found):
    _, answer = found
    regret = {(r["algorithm"], r["counts"], r["group"], r["epsilon"]): r["regret"] for r in answer["rows"]}
    for algorithm in ("VI", "PO"):
        exact = regret[algorithm, "pooled", Group.EXACT.value, None]
        little = regret[algorithm, "joint", Group.POOLED.value, 1e6]
        much = regret[algorithm, "joint", Group.POOLED.value, 1.0]
        assert little < 2 * exact + 0.05 * answer["never_learning"]
        assert much > 0.8 * answer["never_learning"]


@pytest.mark.slow
def test_it_pays_from_the_least_epsilon_below_the_share(found):
    _, answer = found
    row = {"algorithm": "VI", "counts": "joint", "group": Group.POOLED.value}
    table = [row | {"epsilon": e, "regret": r} for e, r in ((1.0, 90.0), (10.0, 40.0), (100.0, 5.0))]
    assert paying(table, 100.0) == [row | {"epsilon": 10.0}]
    assert paying(table[:1], 100.0) == [row | {"epsilon": None}]
    assert len(answer["pays"]) == 2 * 2 * 2 + 2 * 2 + 1


@pytest.mark.slow
def test_equal_seeds_give_equal_files(found, tmp_path):
    folder, _ = found
    STUDY.run(tmp_path, True, 3, TINY)
    for name in (
        "private_ucb.md",
        "private_ucb/curves.csv",
        "private_ucb/regret.csv",
        "private_ucb/best.svg",
    ):
        assert (folder / name).read_bytes() == (tmp_path / name).read_bytes()


@pytest.mark.slow
def test_the_command_prints_the_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(STUDY, "quick", TINY)
    done = CliRunner().invoke(
        app, ["reproduce", "private-ucb", "--quick", "--out", str(tmp_path / "new"), "--json"]
    )
    assert done.exit_code == 0, done.output
    answer = json.loads(done.output)
    assert answer["schema"] == 1
    assert answer["seeds"] == TINY.seeds
    assert (tmp_path / "new" / "private_ucb.md").is_file()


ONE = rlsvi.Size((1.0, 10.0), 1, ("bandit",))


@pytest.mark.slow
def test_the_experiment_of_rlsvi_shows_the_runs_of_the_benchmark_and_makes_none_twice(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    answer = rlsvi.STUDY.run(tmp_path, True, 0, ONE, workers=1)
    names = {arm.name for arm in rlsvi.SHOWN}
    assert (
        {row["arm"] for row in answer["rows"]} == names >= {"RLSVI", "RLSVI, printed", "Thompson", "UCB-VI"}
    )
    page = (tmp_path / "rlsvi.md").read_text(encoding="utf-8")
    for one in rlsvi.benchmark.recorded(tmp_path).of(problem="bandit"):
        if one.arm not in names:
            continue
        assert f"| bandit | {one.arm} |" in page
        assert f"{one.mean:.3f} ± " in page
    assert (tmp_path / "rlsvi" / "regret.svg").stat().st_size > 1000
    assert not list((tmp_path / "rlsvi").glob("*.csv"))
    monkeypatch.setattr(Cell, "run", None)
    again = rlsvi.STUDY.run(tmp_path, True, 0, ONE, workers=1)
    assert {**again, "seconds": 0} == {**answer, "seconds": 0}


def test_the_experiment_of_rlsvi_takes_no_seed(tmp_path):
    with pytest.raises(ValueError, match=r"seed \(3\) must be 0 for rlsvi"):
        rlsvi.STUDY.run(tmp_path, True, 3)
    assert not list(tmp_path.rglob("*.parquet"))


def test_an_unknown_paper_is_refused():
    done = CliRunner().invoke(app, ["reproduce", "nothing"])
    assert isinstance(done.exception, ValueError)
    assert "paper ('nothing') must be one of: rlsvi, private-ucb" in str(done.exception)
    assert {"private-ucb", "policy-evaluation"} <= experiments().keys()


SHORT = sdp_arms.Size(episodes=60, seeds=2, epsilons=(1.0,))


def test_all_arms_have_an_algorithm_and_a_name_of_their_own():
    chosen = list(sdp_arms.arms(SDP.full))
    assert len({arm.name for arm in chosen}) == len(chosen)
    assert {arm.kind for arm in chosen} == set(Kind) == set(ARMS)
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
