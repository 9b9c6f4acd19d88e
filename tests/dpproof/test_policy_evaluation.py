"""Policy evaluation on the command line: printed beside exact noise, and a small figure of every kind."""

import csv
import json

import pytest
from typer.testing import CliRunner

from dpproof.cli import app
from dpproof.reproduction.policy_evaluation import figure
from dpproof.reproduction.policy_evaluation.kinds import FEATURES, KINDS, Size

TINY = Size((100, 400), (100, 400), 2)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure")
    return folder, figure.run(folder, True, 3, TINY)


def test_every_kind_is_run_and_written(found):
    folder, answer = found
    assert len(answer["rows"]) == len(FEATURES) * 2 * len(KINDS) * len(TINY.batches)
    with (folder / "policy_evaluation" / "batches.csv").open(encoding="utf-8") as stream:
        assert [float(row["rmse"]) for row in csv.DictReader(stream)] == [r["rmse"] for r in answer["rows"]]
    page = (folder / "policy_evaluation.md").read_text(encoding="utf-8")
    for name in ("non_private", "ridge", "aggregated", "tabular", "risk", "small_delta", "public_bound"):
        assert (folder / "policy_evaluation" / f"{name}.svg").stat().st_size > 1000
        assert f"policy_evaluation/{name}.svg" in page


def test_exact_noise_is_less_and_none_is_best(found):
    _, answer = found
    noise = {
        (r["features"], r["algorithm"], r["trajectories"], r["kind"]): r["noise"] for r in answer["rows"]
    }
    for (features, algorithm, batch, kind), value in noise.items():
        if kind.startswith(("room", "planned")):
            theirs = "printed, " + kind.split(", ", 1)[1]
            assert value < noise[features, algorithm, batch, theirs] / 5
    assert all((value == 0) == (key[3] == "no privacy") for key, value in noise.items())
    for row in answer["needed"]:
        assert 100 < row["trajectories"] < 10**8


def test_equal_seeds_give_equal_files(found, tmp_path):
    folder, _ = found
    figure.run(tmp_path, True, 3, TINY)
    for name in ("policy_evaluation.md", "policy_evaluation/batches.csv", "policy_evaluation/risk.svg"):
        assert (folder / name).read_bytes() == (tmp_path / name).read_bytes()


def test_calibration_shows_the_printed_noise(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("visits\n" + "2000\n" * 40)
    asked = ["calibrate", "policy-evaluation", "--visits", str(path), "--dimension", "40"]
    asked += ["--target-epsilon", "0.1", "--delta", "0.1", "--adjacency", "replace"]
    done = CliRunner().invoke(app, [*asked, "--json"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.output)
    assert answer["epsilon"]["upper"] <= 0.1 < answer["minimal"]["epsilon_lower"]
    assert answer["printed"]["noise"]["ratio"] > 40
    assert answer["printed"]["deviation"]["ratio"] > 1000
    assert "printed" in CliRunner().invoke(app, asked).output
