"""Policy evaluation on the command line: printed beside exact noise, and a small figure of every kind."""

import csv
import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from dpproof.cli import app
from dpproof.report.pages import DOCS
from dpproof.reproduction.policy_evaluation.kinds import FEATURES, KINDS, Size, planned, squares
from dpproof.reproduction.policy_evaluation.runs import rounded_up, sweep
from dpproof.reproduction.policy_evaluation.study import STUDY

RECORDED = STUDY.recorded(DOCS / "experiments")
TINY = Size((100, 400), (100, 400), 2, (100, 400), 2)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure")
    return folder, STUDY.run(folder, True, 3, TINY)


@pytest.mark.slow
def test_every_kind_is_run_and_written(found):
    folder, answer = found
    assert len(answer["rows"]) == len(FEATURES) * 2 * len(KINDS) * len(TINY.batches)
    with (folder / "policy_evaluation" / "batches.csv").open(encoding="utf-8") as stream:
        written = [row["rmse"] for row in csv.DictReader(stream)]
    assert written == [f"{row['rmse']:.9g}" for row in answer["rows"]]
    page = (folder / "policy_evaluation.md").read_text(encoding="utf-8")
    for name in ("non_private", "ridge", "aggregated", "tabular", "risk", "small_delta", "public_bound"):
        assert (folder / "policy_evaluation" / f"{name}.svg").stat().st_size > 1000
        assert f"policy_evaluation/{name}.svg" in page


@pytest.mark.slow
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
        count = row["trajectories"]
        assert count is None or 100 < count <= 10**15
        assert row["algorithm"] == "LSL" or count < 10**8


@pytest.mark.slow
def test_equal_seeds_give_equal_files(found, tmp_path):
    folder, _ = found
    STUDY.run(tmp_path, True, 3, TINY)
    for name in ("policy_evaluation.md", "policy_evaluation/batches.csv", "policy_evaluation/risk.svg"):
        assert (folder / name).read_bytes() == (tmp_path / name).read_bytes()


@pytest.mark.slow
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


def asked(verb, *more, dimension=40, target="0.1"):
    given = [
        verb,
        "policy-evaluation",
        "--dimension",
        str(dimension),
        "--adjacency",
        "replace",
        "--delta",
        "0.1",
    ]
    goal = ["--target-epsilon", target] if verb == "calibrate" else []
    return CliRunner().invoke(app, [*given, *goal, *map(str, more)])


@pytest.fixture
def visits(tmp_path):
    def made(counts):
        path = tmp_path / "visits.csv"
        path.write_text("visits\n" + "".join(f"{count}\n" for count in counts))
        return path

    return made


@pytest.mark.slow
def test_a_state_that_nobody_visits_is_infinite_in_json(visits):
    done = asked("calibrate", "--visits", visits([*[3000] * 39, 0]), "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)["printed"]
    assert found["data_needed"] == {"printed": "inf", "exact": 1.0, "ratio": "inf"}


@pytest.mark.slow
def test_calibration_shows_other_noise_and_notes(visits):
    file = visits([3000] * 40)
    found = json.loads(asked("calibrate", "--visits", file, "--json").output)
    kinds = {one["noise"].split(",")[0]: one["deviation"] for one in found["printed"]["alternatives"]}
    assert kinds.keys() == {"Gaussian", "Student's t", "Laplace-log-normal"}
    assert found["printed"]["deviation"]["exact"] <= kinds["Laplace-log-normal"] < kinds["Student's t"]
    shown = asked("calibrate", "--visits", file).output
    assert "Student's t" in shown
    assert shown.count("note: ") == len(found["notes"]) == 4


@pytest.mark.slow
def test_account_reads_the_visits(visits, tmp_path):
    file = visits([3000] * 40)
    theirs = ("--visits", file, "--printed-epsilon", "0.1", "--printed-delta", "0.1")
    pair = json.loads(asked("account", *theirs, "--json").output)["printed"]["deviation"]
    assert pair["printed"] > 1000 * pair["exact"] > 0
    assert "deviation" in asked("account", *theirs).output
    given = json.loads(asked("account", "--visits", file, "--noise", 3, "--beta", 0.01, "--json").output)
    assert given["printed"]["noise"]["exact"] == 3
    assert given["printed"]["deviation"]["ratio"] > 1
    missing = asked("account", "--visits", tmp_path / "nope.csv")
    assert isinstance(missing.exception, FileNotFoundError)
    assert "nope.csv" in str(missing.exception)
    assert "printed" not in json.loads(asked("account", "--json").output)


@pytest.mark.slow
def test_printed_noise_is_called_proved_only_where_a_statement_proves_it():
    assert "not proved here" in " ".join(asked("calibrate", target="51").output.split())
    assert "not proved here" not in " ".join(asked("calibrate", target="50").output.split())
    lsl = ("--algorithm", "lsl")
    for more, dimension, target, statement in (
        ((), 1, "50", "eval.theorem6.to_50"),
        ((), 1, "51", "eval.theorem6"),
        (lsl, 1, "15", "eval.theorem10.small_beta"),
        (lsl, 1, "40", "eval.theorem10"),  # the printed beta is 2.5
        (lsl, 40, "40", "eval.theorem10.small_beta"),
        (lsl, 40, "51", "eval.theorem10"),
    ):
        done = asked("calibrate", "--json", *more, dimension=dimension, target=target)
        found = json.loads(done.output)["printed"]
        assert found["statement"] == statement
        assert ("remark" in found) == (statement in ("eval.theorem6", "eval.theorem10"))


def test_what_does_not_fit_together_is_refused(visits):
    file = visits([3000] * 40)
    for more, dimension, rule in (
        (
            ("--visits", file),
            41,
            "dimension (41) must be at most 40, the number of states with a weight above 0",
        ),
        (("--visits", file, "--trajectories", 100), 40, "visits (3000) must be at most trajectories (100)"),
        (("--noise", 3), 40, "beta is missing. Give beta together with noise (3.0)."),
    ):
        done = asked("calibrate", *more, dimension=dimension)
        assert rule in str(done.exception)
    assert asked("calibrate", "--noise", 3, "--beta", 0.01).exit_code == 0


def row(kind, trajectories, rmse, error=0.01, **more):
    return {"kind": kind, "trajectories": trajectories, "rmse": rmse, "rmse_error": error, **more}


def test_the_numbers_behind_the_papers_sentences_are_counted():
    """Two readings of each sentence, from tables made for the sentence and against it."""
    name = KINDS[1].name

    def page(at_root, small, large):
        swept = [
            row(name, 100, value, ridge=2.0 * 100**p) for p, value in ((0, 9.0), (0.5, at_root), (1, 5.0))
        ]
        table = [
            row(kind, m, value, features="tabular", algorithm=algorithm)
            for kind, ridge, weighted in (("no privacy", (1, 1), (1, 1)), (name, small, large))
            for algorithm, values in (("LSL", ridge), ("LSW", weighted))
            for m, value in zip((100, 200), values, strict=True)
        ]
        found = replace(RECORDED, tables={**RECORDED.tables, "batches": table, "ridge": swept})
        return STUDY.written(found, [])

    kept = page(1.0, (2, 2), (3, 1))
    assert "three standard errors, in 0 of 1 rows" in kept
    assert "1 of 1 rows have this order" in kept
    assert "DP-LSW in 1 of 1, DP-LSL in 0 of 1" in kept
    broken = page(8.0, (3, 1), (2, 2))
    assert "three standard errors, in 1 of 1 rows" in broken
    assert "0 of 1 rows have this order" in broken
    assert "DP-LSW in 0 of 1, DP-LSL in 1 of 1" in broken


@pytest.mark.slow
def test_dp_lsl_needs_far_more_and_numbers_are_rounded_up(found):
    count = {(r["algorithm"], r["features"], r["kind"]): r["trajectories"] for r in found[1]["needed"]}
    room, theirs = (count["LSL", "tabular", f"{kind}, delta 0.1, Fmax 1"] for kind in ("room", "printed"))
    assert 2.6e7 < room < 5.3e7
    assert 5e13 < theirs < 1.2e14
    assert count["LSL", "tabular", "printed, delta 0.1, Fmax 100"] is None
    assert all(value is None or value == rounded_up(value) for value in count.values())
    chosen = squares("LSL", "tabular", room)
    assert KINDS[5].name == "room, delta 0.1, Fmax 1"
    assert KINDS[5].deviation(chosen, planned(room)) <= 0.1
    less = int(room / 1.014)
    assert KINDS[5].deviation(squares("LSL", "tabular", less), planned(less)) > 0.1


def test_the_sweep_goes_past_the_batch_size():
    assert max(sweep(10_000)) > 1000 * 10_000
    assert any(value == pytest.approx(200) for value in sweep(10_000))
