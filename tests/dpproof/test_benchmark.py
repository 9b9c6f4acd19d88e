"""The benchmark of private learners: its problems, its arms, recorded runs, and learners of other people."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from dpproof.cli import app
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.reproduction.suite import benchmark, frontier, outside, runs
from dpproof.reproduction.suite.arms import ARMS, EPSILONS, Promise, arm_of
from dpproof.reproduction.suite.problems import PROBLEMS, Facts, Problem
from dpproof.reproduction.suite.runs import Cell, Record, cells, make_missing, repeated, seed_of
from dpproof.reproduction.suite.summary import Score, Table, score
from tests.rows import rows

TINY = Problem("tiny", "a bandit", lambda: TabularMDP(np.ones((1, 3, 1)), [[0.1, 0.5, 0.9]], 1), 120, runs=3)
ONE = "UCB-VI"


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(PROBLEMS, "tiny", TINY)
    runs._ready.cache_clear()
    return TINY


@pytest.mark.slow
@rows("name", list(PROBLEMS))
def test_learning_pays_on_every_problem_and_its_facts_are_its_own(name):
    pytest.importorskip("gymnasium")
    problem = PROBLEMS[name]
    assert problem.facts == Facts.of(problem.mdp)
    assert problem.never > 0.03 * problem.episodes * problem.mdp.optimal_values()[0, problem.mdp.start]


@pytest.mark.slow
@rows(
    "name, horizon, low, high",
    [("FrozenLake-v1", 9, 0, 1), ("CliffWalking-v1", 14, -100, 0), ("Taxi-v4", 16, -10, 20)],
)
def test_a_toy_text_environment_has_the_values_of_its_own_model(name, horizon, low, high):
    """The reference is value iteration on the dictionary of Gymnasium, with episodes that end where it says."""
    gymnasium = pytest.importorskip("gymnasium")
    from dpproof.mechanisms.environments.toy_text import toy_text

    env = gymnasium.make(name)
    model, values = env.unwrapped.P, [0.0] * len(env.unwrapped.P)
    for _ in range(horizon):
        values = [
            max(
                sum(p * (r + (0.0 if ends else values[t])) for p, t, r, ends in model[s][a]) for a in model[s]
            )
            for s in model
        ]
    starts = env.unwrapped.initial_state_distrib
    mdp = toy_text(env, horizon, (low, high))
    paid = mdp.optimal_values()[0, mdp.start] * (high - low) + low * mdp.horizon
    assert paid == pytest.approx(float(np.dot(starts, values)), abs=1e-9)


def test_a_reward_outside_the_range_is_refused():
    gymnasium = pytest.importorskip("gymnasium")
    from dpproof.mechanisms.environments.toy_text import toy_text

    with pytest.raises(ValueError, match=r"reward_range \(0, 0.5\) must contain the reward 1.0"):
        toy_text(gymnasium.make("FrozenLake-v1"), 3, (0, 0.5))


@pytest.mark.slow
@rows("name", list(ARMS))
def test_every_arm_runs_and_certifies_what_it_promises(name, tiny):
    arm = ARMS[name]
    for epsilon in arm.epsilons((0.5, 20.0)):
        ready = arm.make(tiny, epsilon)
        found = ready.play(seed_of("tiny", 0))
        assert found.shape == (tiny.episodes,)
        assert (found >= -1e-12).all()
        assert (found <= 0.8 + 1e-12).all()
        keeps = not any(word in name for word in ("printed", "published code"))
        if arm.promise is not Promise.NONE and not arm.fixed and keeps:
            assert ready.certified is not None
            assert 0.9 * epsilon < ready.certified <= epsilon * (1 + 1e-9)


def test_arms_are_compared_on_the_same_users(tiny):
    assert seed_of("tiny", 1).entropy == seed_of("tiny", 1).entropy
    assert seed_of("tiny", 1).spawn_key != seed_of("tiny", 2).spawn_key
    wanted = list(cells([tiny], [ARMS[ONE], ARMS["Thompson"]], EPSILONS))
    assert wanted == [Cell("tiny", ONE, math.inf), *(Cell("tiny", "Thompson", e) for e in EPSILONS)]


def test_recorded_runs_are_not_made_again_and_agree_to_the_last_bit(tiny, tmp_path):
    pytest.importorskip("pyarrow")
    wanted = [Cell("tiny", ONE, math.inf)]
    assert list(make_missing(Record(tmp_path), wanted, 2, None)) == [2]
    again = Record(tmp_path)
    assert again.missing(wanted[0], 3) == [2]
    assert list(make_missing(again, wanted, None, None)) == [1]
    assert [same for *_, same in repeated(Record(tmp_path), ["tiny"], 1.0, 0)] == [True] * 3
    assert Record(tmp_path).regrets(wanted[0]).shape == (3, runs.POINTS)


def test_a_run_with_other_bits_is_found(tiny, tmp_path):
    pytest.importorskip("pyarrow")
    record, cell = Record(tmp_path), Cell("tiny", ONE, math.inf)
    list(make_missing(record, [cell], 2, None))
    wrong = record.regrets(cell)[1]
    wrong[-1] = np.nextafter(np.float32(wrong[-1]), np.float32(np.inf))
    record.add(cell, 1, wrong, (None, None))
    record.write("tiny")
    assert [same for *_, same in repeated(Record(tmp_path), ["tiny"], 1.0, 0)] == [True, False]


def test_what_was_finished_is_kept_when_a_run_fails(tiny, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    good, bad = Cell("tiny", ONE, math.inf), Cell("tiny", "OPPO", math.inf)
    whole = runs._run_block
    monkeypatch.setattr(runs, "_run_block", lambda task: whole(task) if task[0] == good else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        list(make_missing(Record(tmp_path), [good, bad], 2, None))
    assert (Record(tmp_path).missing(good, 2), Record(tmp_path).missing(bad, 2)) == ([], [0, 1])


def test_a_score_is_what_the_runs_say(tiny, tmp_path):
    pytest.importorskip("pyarrow")
    record, cell = Record(tmp_path), Cell("tiny", ONE, math.inf)
    for number, share in enumerate((0.1, 0.2, 0.6)):
        record.add(cell, number, np.linspace(0, 1, runs.POINTS) * share * tiny.never, (None, None))
    found = score(record, cell)
    assert found is not None
    assert (found.runs, found.mean, found.median, found.worst) == (
        3, pytest.approx(0.3), pytest.approx(0.2), pytest.approx(0.6),
    )  # fmt: skip
    assert found.failed == pytest.approx(1 / 3)
    assert found.error == pytest.approx(np.std([0.1, 0.2, 0.6], ddof=1) / math.sqrt(3))


def scored(arm: str, mean: float, *, certified: float | None = 1.0, error: float = 0.01) -> Score:
    return Score(
        "chain",
        arm,
        1.0,
        certified,
        1e-6,
        100,
        mean,
        error,
        mean,
        mean,
        mean,
        mean,
        0.0,
        (mean,) * runs.POINTS,
    )


def test_who_promises_more_than_it_keeps_does_not_lead():
    table = Table((
        scored("agent dp-ucbvi", 0.5),
        scored("PRIVATE-UCB-VI, joint, printed", 0.1, certified=2.9),
        scored("PRIVATE-UCB-VI, joint", 0.6, error=0.2),
    ))  # fmt: skip
    assert [one.arm for one in table.leaders("chain", Promise.REPLACE, 1.0)] == [
        "agent dp-ucbvi", "PRIVATE-UCB-VI, joint",
    ]  # fmt: skip
    (lead,) = frontier.leads(table)
    assert (lead.first.arm, lead.state) == ("agent dp-ucbvi", "undecided")


def test_a_smaller_certified_epsilon_keeps_a_promise_too_and_twins_are_not_second():
    strict = scored("agent first-visit-vi", 0.2)
    loose = replace(scored("agent dp-ucbvi", 0.5, certified=10.0), epsilon=10.0)
    twin = replace(strict, arm="agent dp-ucbvi, tree")
    first, second = frontier.leads(Table((strict, twin, loose)))
    assert (first.epsilon, first.first.arm, first.second, first.state) == (1.0, strict.arm, None, "alone")
    assert (second.epsilon, second.first.arm, second.second, second.state) == (
        10.0,
        strict.arm,
        loose,
        "decided",
    )


OWN = '''
import numpy as np
import dpproof

class Uniform:
    """Plays at random, so it is private."""

    def __init__(self, sizes, epsilon, rng):
        self.chances = np.full((sizes.horizon, sizes.states, sizes.actions), 1 / sizes.actions)

    def policy(self):
        return self.chances

    def see(self, states, actions, rewards):
        assert len(states) == len(actions) + 1 == len(rewards) + 1

class Certified(Uniform):
    @staticmethod
    def account(sizes, epsilon):
        return dpproof.account("gaussian", sigma=1e6, sensitivity=1, adjacency="replace")

class Wrong(Uniform):
    def policy(self):
        return np.full((1, 1), 7)

class Silent:
    pass
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_learner.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield "own_learner"
    sys.modules.pop("own_learner", None)


def test_a_uniform_learner_has_the_regret_of_never_learning(own, tiny):
    found = arm_of(f"{own}:Uniform").make(tiny, 1.0).play(seed_of("tiny", 0))
    assert found.sum() == pytest.approx(tiny.never)


def test_only_an_account_certifies_the_epsilon_of_a_stranger(own, tiny):
    assert arm_of(f"{own}:Uniform").make(tiny, 1.0).certified is None
    certified = arm_of(f"{own}:Certified").make(tiny, 1.0).certified
    assert certified is not None
    assert certified < 1e-3


@rows(
    "name, says",
    [
        ("nowhere:X", "must be module:class of a learner that can be imported"),
        ("own_learner:Absent", "must be module:class of a learner that can be imported"),
        ("own_learner:Silent", "must be a class with the methods policy and see"),
        ("PRIVATE-UCB-VI, join", "did you mean 'PRIVATE-UCB-VI, joint'"),
    ],
)
def test_a_name_without_a_learner_is_refused(name, says, own):
    with pytest.raises(ValueError, match=says):
        benchmark.chosen((), (name,), benchmark.QUICK)


def test_a_policy_that_is_none_is_refused(own, tiny):
    with pytest.raises(ValueError, match="must hold actions 0 to 2 on tiny"):
        outside.ready(f"{own}:Wrong", tiny, 1.0).play(seed_of("tiny", 0))


@pytest.mark.slow
def test_the_command_places_a_stranger(own, tmp_path):
    pytest.importorskip("pyarrow")
    arguments = ["benchmark", f"{own}:Uniform", "--quick", "--problem", "bandit", "--workers", "1"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "nothing" in done.output
    told = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out"), "--json"])
    mine = [row for row in json.loads(told.output)["rows"] if row["arm"] == f"{own}:Uniform"]
    assert {row["certified_epsilon"] for row in mine} == {None}
    assert all(row["regret"] == pytest.approx(1.0, abs=1e-6) for row in mine)
    repeat = CliRunner().invoke(app, ["benchmark", "--out", str(tmp_path / "out"), "--repeat", "1"])
    assert (repeat.exit_code, "8 of 8 runs gave the same bits again." in repeat.output) == (0, True)


def test_a_folder_without_runs_is_refused(tmp_path):
    done = CliRunner().invoke(app, ["benchmark", "--out", str(tmp_path), "--repeat", "1"])
    assert done.exit_code != 0
    assert "has no recorded runs" in str(done.exception)
