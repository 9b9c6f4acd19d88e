"""Figures that pages and docstrings state of learners are measured again, or read from recorded tables."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters
from dpproof.accountant.rl.expert.selective_dpsgd import account as training_guarantee
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.accountant.rl.rlsvi.rlsvi import account as rlsvi_guarantee
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.rl.policy_evaluation.estimator import DPLSW
from dpproof.mechanisms.rl.private_ucb import dp_ucbvi
from dpproof.mechanisms.rl.private_ucb.agents import PrivateUCBPO, PrivateUCBVI
from dpproof.mechanisms.rl.private_ucb.constants import THEORY
from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI
from dpproof.mechanisms.rl.sdp_pe import agent as policy_elimination
from dpproof.reproduction.tables import read_rows

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SMALL = read_rows(ROOT / "docs" / "experiments" / "policy_evaluation" / "small.csv")


def said(pattern: str, text: str = README) -> list[float]:
    found = re.search(pattern, " ".join(text.split()))
    assert found is not None, pattern
    return [float(number) for number in found.groups()]


def regrets(episodes: int, runs: int) -> np.ndarray:
    learner, swim = RLSVI(RLSVIParameters(6, 2, 20, episodes)), river_swim(6, 20)
    children = np.random.SeedSequence(5).spawn(runs)
    return np.array([learner.run(swim, np.random.default_rng(x)).regrets.sum() for x in children])


@pytest.mark.slow
def test_the_readme_says_that_rlsvi_hardly_learns():
    regret, never = said(r"it collects (\d+) less reward .* An agent that never learns loses (\d+)\.")
    swim = river_swim(6, 20)
    assert never == round(float(swim.optimal_values()[0, swim.start]) * 1000)
    measured = regrets(1000, 20)
    assert measured.mean() == pytest.approx(regret, abs=4 * measured.std() / np.sqrt(20))
    assert regret > 0.9 * never


@pytest.mark.slow
def test_the_readme_says_so_of_more_episodes_and_their_epsilon():
    epsilon, regret, never = said(
        r"with epsilon ([\d.]+\d), the regret of RLSVI is (\d+)\. An agent that never learns has a regret of (\d+)\."
    )
    found = rlsvi_guarantee(RLSVIParameters(6, 2, 20, 20_000), Adjacency.REWARDS_ONLY).guarantee
    assert epsilon == pytest.approx(found.epsilon("1e-6").upper, abs=1e-4)
    swim = river_swim(6, 20)
    assert never == round(float(swim.optimal_values()[0, swim.start]) * 20_000)
    assert regrets(20_000, 4).mean() == pytest.approx(regret, abs=150)


@pytest.mark.parametrize(("learner", "regret"), [(PrivateUCBVI, 66184), (PrivateUCBPO, 67069)])
def test_with_the_printed_constants_nothing_is_learned_without_privacy(learner, regret):
    counts = ExactCounts(6, 2, 20, 20_000)
    found = learner(counts, THEORY).run(river_swim(6, 20), np.random.default_rng(0)).regrets.sum()
    assert found == pytest.approx(regret, abs=1)


def error(method: str, trajectories: int, bound: float) -> float:
    wanted = (method, trajectories, bound)
    return next(r["rmse"] for r in SMALL if (r["method"], r["trajectories"], r["bound"]) == wanted)


def test_the_how_to_has_the_recorded_errors_on_small_data():
    page = (ROOT / "docs" / "how-to" / "policy-evaluation.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    assert len(rows) == 4
    for count, *shown in rows:
        cells = (("DP-LSW", 100), ("DP-LSW", 1), ("Gaussian counts and sums", 1))
        assert shown == [f"{error(method, int(count), bound):.3g}" for method, bound in cells]


def test_dp_lsw_says_what_it_is_worth_on_small_data():
    text = inspect.getdoc(DPLSW)
    loose, tight = said(
        r"root mean squared error before clipping is (\d+)\. With `return_bound=1` the error is ([\d.]+\d)",
        text,
    )
    assert loose == float(f"{error('DP-LSW', 5000, 100):.3g}")
    assert tight == float(f"{error('DP-LSW', 5000, 1):.3g}")
    assert said(r"the error of the estimate 0 is only ([.\d]+\d)\.", text) == [
        round(error("values of 0", 5000, 1), 3)
    ]
    assert text.splitlines()[2].startswith("It is useless on small data")


def test_like_stands_beside_like_for_the_visible_coin():
    """Loss distributions beside loss distributions; the Renyi pair is checked in test_selective_dpsgd."""
    text = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    theirs, ours = said(r"([\d.]+) against ([\d.]+) by loss distributions", text)
    found = training_guarantee(SelectiveDPSGDParameters(0.0853333, 0.5, 10.0, 100_000), Adjacency.EXPERT)
    assert theirs == pytest.approx(found.published.exact.epsilon("3.3333e-5").upper, abs=1e-3)
    assert ours == pytest.approx(found.guarantee.epsilon("3.3333e-5").upper, abs=1e-3)
    assert said(r"([\d.]+) against ([\d.]+) by Renyi accounting", text) == [6.34, 9.64]


def test_what_is_not_checked_and_what_is_taken_as_known_is_said_first():
    assert "reconstructed and not checked against the paper" in dp_ucbvi.__doc__.split("\n\n")[1].replace(
        "\n", " "
    )
    assert "not checked" in inspect.getdoc(dp_ucbvi.DPUCBVI).splitlines()[0]
    assert "knows which next states each action may lead to" in policy_elimination.__doc__.split("\n\n")[1]
    assert "knows which transitions are possible" in inspect.getdoc(policy_elimination.SDPPE).splitlines()[0]


def test_the_benchmarks_say_when_they_were_measured():
    head, *sections = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8").split("\n## ")
    when = r"Measured on \d{4}-\d\d-\d\d with dpproof [\d.]+, commit [0-9a-f]{7}"
    assert re.search(when, head)
    for section in sections:
        assert "Measured" not in section or re.search(
            f"{when}|Measured in a second run on the same day", section
        )


def test_a_new_run_of_the_benchmarks_says_when():
    from benchmarks.timing import measured

    assert re.search(r"Measured on \d{4}-\d\d-\d\d with dpproof \d", measured())
