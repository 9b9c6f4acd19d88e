"""``dpproof reproduce sdp-pe``: a small run has every arm, and its page says what its tables say."""

import csv
import json
from pathlib import Path

import pytest

from dpproof.reproduction.experiments import experiments
from dpproof.reproduction.sdp_pe.arms import ARMS, Kind, Size, arms
from dpproof.reproduction.sdp_pe.study import STUDY

TINY = Size(episodes=60, seeds=2, epsilons=(1.0,))


def test_all_arms_have_an_algorithm_and_a_name_of_their_own():
    chosen = list(arms(STUDY.full))
    assert len({arm.name for arm in chosen}) == len(chosen)
    assert {arm.kind for arm in chosen} == set(Kind) == set(ARMS)
    quick = {arm.kind for arm in arms(STUDY.quick)}
    assert quick == set(Kind)
    assert experiments()["sdp-pe"].study() is STUDY


@pytest.mark.slow
def test_a_small_run_writes_tables_plots_and_page_and_repeats_itself(tmp_path):
    answers = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        answers.append(STUDY.run(folder, True, 3, TINY, workers=1))
    one, two = tmp_path / "one", tmp_path / "two"
    with (one / "sdp_pe" / "regret.csv").open(encoding="utf-8") as stream:
        table = list(csv.DictReader(stream))
    assert [float(row["regret"]) for row in table] == [row["regret"] for row in answers[0]["rows"]]
    names = {arm.kind.value for arm in arms(TINY)}
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
