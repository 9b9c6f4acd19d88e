"""Agents: sessions, refusals, resuming and passports. Learning is tested on a bandit that noise cannot hide."""

from __future__ import annotations

import copy
import json
import pickle
import signal
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest

from dpproof import (
    Adjacency,
    BudgetSpentError,
    PassportError,
    SimulationError,
    UserSeenError,
    agent,
    load_agent,
)
from dpproof.mechanisms.agents import plans
from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.journal import JournalError
from dpproof.mechanisms.agents.making import SwampedWarning

pytestmark = pytest.mark.filterwarnings("ignore::dpproof.mechanisms.agents.making.SwampedWarning")
COUNTED = ("private-ucb-vi", "private-ucb-po", "dp-ucbvi")


def small(algorithm: str = "private-ucb-vi", **more: Any) -> Agent:
    """Return an agent for two observations, two actions and two steps."""
    given: dict[str, Any] = {
        "observations": 2, "actions": 2, "episodes": 400, "horizon": 2, "epsilon": 20, "delta": "1e-5",
        "adjacency": "replace", "reward_range": (0, 1), "support": lambda s, a: [0, 1, "end"],
    }  # fmt: skip
    return agent(algorithm, **{**given, **more})


def serve(one: Agent, users: int, reward: Any = lambda action: float(action == 1)) -> None:
    """Let users play: action 1 pays, and the observation alternates."""
    for _ in range(users):
        with one.user() as user:
            seen = 0
            while not user.done:
                action = user.act(seen)
                seen = 1 - seen
                user.observe(reward(action), seen)


@pytest.mark.parametrize("algorithm", COUNTED)
@pytest.mark.parametrize(
    "relation", ["replace", pytest.param("add-remove", marks=pytest.mark.slow), "rewards-only"]
)
def test_an_agent_learns_and_reaches_the_epsilon_that_was_asked_for(algorithm: str, relation: str) -> None:
    one = small(algorithm, adjacency=relation, seed=1, episodes=2000)
    serve(one, 2000)
    learned = one.policy.weights[0, 0]
    assert learned[1] > 0.9
    real = small(algorithm, adjacency=relation)
    assert real.result.epsilon("1e-5").upper <= 20
    assert real.result.adjacency is Adjacency.of(relation)
    assert real.result.covers_released_bits


@pytest.mark.parametrize("privatizer", ["tree", "square-root", "local"])
def test_every_privatizer_meets_the_guarantee(privatizer: str) -> None:
    one = small(privatizer=privatizer)
    serve(one, 60)
    assert one.result.epsilon("1e-5").upper <= 20


def test_delta_0_uses_laplace_noise() -> None:
    one = small(delta=0)
    serve(one, 50)
    assert one.result.epsilon(0).upper <= 20
    assert one.promise.releases[0].as_json()["noise"] == "laplace"


def test_a_simulation_has_no_guarantee() -> None:
    with pytest.raises(SimulationError):
        _ = small(seed=3).result


def test_equal_seeds_give_equal_policies_and_entropy_does_not() -> None:
    found = []
    for seed in (7, 7, None):
        one = small(seed=seed, epsilon=0.5, privatizer="square-root")
        rng = np.random.default_rng(0)
        serve(one, 100, lambda action, rng=rng: float(rng.random() < 0.5 + 0 * action))
        found.append(one._learner._counters._gains.running.tolist())
    assert found[0] == found[1] != found[2]


def test_an_aborted_session_uses_its_place_and_counts_nothing() -> None:
    one = small()
    before = one._learner._counters._gains._leaf.copy()
    with pytest.raises(RuntimeError, match="gone"), one.user("Ann") as user:  # noqa: PT012 (an episode)
        user.act(0)
        user.observe(1.0, 1)
        raise RuntimeError("gone")
    assert one.users == 1
    assert (one._learner._counters._gains._leaf == before).all()
    with pytest.raises(UserSeenError, match=r"person \('Ann'\) has already taken part"):
        one.user("Ann")


def test_a_person_who_is_taking_part_cannot_take_part_twice() -> None:
    one = small()
    one.user("Ann")
    with pytest.raises(UserSeenError):
        one.user("Ann")


def test_the_budget_ends_with_the_last_user_and_acting_goes_on() -> None:
    one = small(episodes=3)
    serve(one, 3)
    with pytest.raises(BudgetSpentError, match=r"episodes \(3\) are over"):
        one.user()
    assert one.act(0, 1) in (0, 1)


def test_sessions_that_overlap_cannot_exceed_the_budget() -> None:
    one = small(episodes=2)
    sessions = [one.user() for _ in range(2)]
    with pytest.raises(BudgetSpentError):
        one.user()
    for user in sessions:
        user.act(0)
        user.observe(1.0, 1, terminated=True)
        user.finish()


def test_sdp_pe_takes_one_user_at_a_time() -> None:
    one = small("sdp-pe", episodes=30, epsilon=5, starts=[0])
    user = one.user()
    with pytest.raises(ValueError, match="sdp-pe takes one user at a time"):
        one.user()
    user.abort()
    one.user().abort()


@pytest.mark.parametrize(
    ("reward", "after", "message"),
    [
        (1.5, 1, r"reward \(1.5\) must be in the declared range"),
        (float("nan"), 1, r"reward \(nan\) must be in the declared range"),
        (1.0, 7, r"observation \(7\) must be one of the 2 declared observations"),
    ],
)
def test_what_was_not_declared_is_rejected_and_nothing_is_noted(
    reward: float, after: int, message: str
) -> None:
    user = small().user()
    user.act(0)
    with pytest.raises(ValueError, match=message):
        user.observe(reward, after)
    assert user.step == 0
    user.observe(1.0, 1)
    assert user.step == 1


def test_a_transition_outside_the_support_is_rejected_before_anything_is_counted() -> None:
    one = small(support=lambda s, a: [s])
    with pytest.raises(ValueError, match="must be in the declared support"), one.user("Ann") as user:  # noqa: PT012
        user.act(0)
        user.observe(1.0, 1)
    assert one._learner._counters._gains._leaf.sum() == 0
    assert one.users == 1, (
        "the place is used up, so that the places of later users do not depend on this user's data"
    )
    with pytest.raises(UserSeenError):
        one.user("Ann")


def test_steps_beyond_the_horizon_name_the_remedy() -> None:
    user = small().user()
    for _ in range(2):
        user.act(0)
        user.observe(0.0, 0)
    with pytest.raises(ValueError, match=r"horizon \(2\) must be at least .*TimeLimit"):
        user.act(0)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"epsilon": 0}, r"epsilon \(0\) must be above 0"),
        ({"delta": 1}, r"delta \(1\) must be in \[0, 1\)"),
        ({"reward_range": (1, 0)}, r"reward_range .* must be two finite numbers"),
        ({"algorithm": "ucb"}, r"algorithm \('ucb'\)"),
        ({"privatizer": "magic"}, r"privatizer \('magic'\)"),
        ({"privatizer": "square-root", "delta": 0}, r"needs a delta above 0"),
        ({"episodes": 1}, r"episodes \(1\) must be at least 2"),
        ({"horizon": 0}, r"horizon \(0\) must be an integer at least 1"),
        ({"observations": None}, r"observations \(None\) must be given"),
        ({"most_reward": 1, "reward_range": (-1, 1)}, r"must begin at 0"),
        ({"adjacency": "expert"}, r"adjacency \('expert'\)"),
    ],
)
def test_bad_arguments_are_rejected_before_anything_is_drawn(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**more)


def test_noise_that_hides_everything_is_announced_before_training() -> None:
    with pytest.warns(SwampedWarning, match=r"Learning needs about [\d,]+ episodes"):
        small(epsilon=0.01)


def test_a_run_goes_on_from_its_journal_with_the_same_noise(tmp_path: FilePath) -> None:
    file = tmp_path / "run.sqlite"
    one = small(journal=file, epsilon=5)
    with one.user("Ann") as user:
        user.act(0)
        user.observe(1.0, 1)
    serve(one, 150)
    one.close()
    again = small(journal=file, epsilon=5)
    assert again.users == 151
    assert (again.policy.weights == one.policy.weights).all()
    assert (again._learner._counters._gains.running == one._learner._counters._gains.running).all()
    with pytest.raises(UserSeenError):
        again.user("Ann")
    serve(again, 10)
    again.close()
    with pytest.raises(JournalError, match="belongs to another agent"):
        small(journal=file, epsilon=6)


@pytest.mark.parametrize("algorithm", ["private-ucb-vi", "rlsvi", "thompson"])
def test_overlapping_sessions_are_replayed_in_the_order_in_which_they_ended(
    tmp_path: FilePath, algorithm: str
) -> None:
    bandit = {"observations": 1, "horizon": 1, "support": None} if algorithm == "thompson" else {}
    relation = "replace" if algorithm == "private-ucb-vi" else "rewards-only"
    given = {"journal": tmp_path / "run.sqlite", "adjacency": relation, "episodes": 60, **bandit}
    one, rng = small(algorithm, **given), np.random.default_rng(0)
    sessions = [one.user(f"user {number}") for number in range(40)]
    for user in rng.permutation(np.array(sessions, object)):
        user.act(0)
        user.observe(float(rng.random() < 0.5), 0, terminated=True)
        user.abort() if rng.random() < 0.2 else user.finish()
    shown = one.policy.weights
    one.close()
    again = small(algorithm, **given)
    assert again.users == 40
    assert (again.policy.weights == shown).all()
    assert again._randomness.generator.words.left == 0
    again.close()


def test_who_was_under_way_at_a_crash_keeps_the_place(tmp_path: FilePath) -> None:
    given = {"journal": tmp_path / "run.sqlite", "episodes": 3}
    one = small(**given)
    for person in ("Ann", "Bob", "Cem"):
        one.user(person)
    one.close()
    for _ in range(2):
        one = small(**given)
        assert one.users == 3
        with pytest.raises(BudgetSpentError):
            one.user("Dan")
        one.user("Ann")
        with pytest.raises(UserSeenError):
            one.user("Ann")
        one.close()
    one = small(**given)
    user = one.user("Ann")
    user.act(0)
    user.observe(1.0, 1)
    user.finish()
    one.close()
    one = small(**given)
    with pytest.raises(UserSeenError):
        one.user("Ann")
    one.user("Bob").abort()
    assert one.users == 3
    one.close()


def test_who_was_under_way_at_a_crash_is_absent_if_users_come_one_at_a_time(tmp_path: FilePath) -> None:
    given = {"journal": tmp_path / "run.sqlite", "episodes": 60}
    one = small("sdp-pe", **given)
    serve(one, 2)
    one.user("Ann")
    one.close()
    for _ in range(2):
        again = small("sdp-pe", **given)
        assert again.users == again._learner._stream.seen == 3
        with pytest.raises(UserSeenError):
            again.user("Ann")
        again.close()


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_session_is_not_copied(make: Any) -> None:
    """A copy would count its user twice, which no noise covers."""
    with pytest.raises(TypeError, match="A session must not be copied"):
        make(small().user())


def test_threads_that_end_one_session_count_one_user() -> None:
    one = small()
    user = one.user()
    user.act(0)
    user.observe(1.0, 1)
    threads = [threading.Thread(target=end) for end in 4 * [user.finish, user.abort]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.users == 1


def test_threads_with_a_journal_lose_nobody(tmp_path: FilePath) -> None:
    one = small(journal=tmp_path / "run.sqlite")
    threads = [threading.Thread(target=serve, args=(one, 20)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one.close()
    again = small(journal=tmp_path / "run.sqlite")
    assert again.users == one.users == 80
    assert (again._learner._counters._gains.running == one._learner._counters._gains.running).all()
    again.close()


def test_a_journal_has_one_owner(tmp_path: FilePath) -> None:
    one = small(journal=tmp_path / "run.sqlite")
    with pytest.raises(JournalError, match="is in use"):
        small(journal=tmp_path / "run.sqlite")
    assert (tmp_path / "run.sqlite").stat().st_mode & 0o077 == 0
    one.close()
    small(journal=tmp_path / "run.sqlite").close()


def test_a_file_that_is_no_journal_is_refused(tmp_path: FilePath) -> None:
    (tmp_path / "run.sqlite").write_text("not a database " * 100, encoding="utf-8")
    with pytest.raises(JournalError, match="must be a journal of an agent"):
        small(journal=tmp_path / "run.sqlite")


@pytest.mark.parametrize(
    "more", [{"most_reward": 1}, {"episodes": 401}, {"privatizer": "tree"}, {"delta": "1e-6"}]
)
def test_a_journal_fits_only_the_arguments_that_it_began_with(
    tmp_path: FilePath, more: dict[str, Any]
) -> None:
    """With other arguments the same noise would be added to other numbers, and the difference has no noise."""
    small(journal=tmp_path / "run.sqlite").close()
    with pytest.raises(JournalError, match="belongs to another agent"):
        small(journal=tmp_path / "run.sqlite", **more)


def test_a_restart_needs_no_search_for_counters(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> None:
    one = small(journal=tmp_path / "run.sqlite")
    one.close()
    monkeypatch.setattr(plans, "chosen_counts", None)
    again = small(journal=tmp_path / "run.sqlite")
    assert again.promise == one.promise
    again.close()


def test_users_who_are_missing_from_a_journal_are_noticed(tmp_path: FilePath) -> None:
    """The noise of a batch must not be used again with fewer or other users."""
    one = small(journal=tmp_path / "run.sqlite")
    every = one._learner._counters.counting.every
    serve(one, 3 * every)
    one.close()
    with closing(sqlite3.connect(tmp_path / "run.sqlite")) as base, base:
        base.execute("delete from events where number > ?", (2 * 2 * every,))
    with pytest.raises(JournalError, match="users are missing from it"):
        small(journal=tmp_path / "run.sqlite")


@pytest.mark.parametrize("algorithm", ["private-ucb-vi", "rlsvi"])
def test_a_draw_that_fails_is_undone_and_stops_the_agent(
    tmp_path: FilePath, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the journal would hold words of the failed draw, and a replay would release other noise."""
    relation = "replace" if algorithm == "private-ucb-vi" else "rewards-only"
    given = {"journal": tmp_path / "run.sqlite", "adjacency": relation, "episodes": 60, "privatizer": "auto"}
    one = small(algorithm, **given)
    every = one._learner._counters.counting.every if algorithm == "private-ucb-vi" else 1
    serve(one, every - 1)
    noted, note = [], one._journal.words

    def words(found: Any) -> None:
        note(found)
        noted.append(found)
        if len(noted) == 2:
            raise OSError("the disk is full")

    monkeypatch.setattr(one._randomness.generator.words, "_note", words)
    with pytest.raises(JournalError, match="stopped after an error"):
        serve(one, 2)
    with pytest.raises(JournalError, match="stopped after an error"):
        _ = one.policy
    one.close()
    again = small(algorithm, **given)
    assert again.users == every
    assert again._randomness.generator.words.left == 0
    serve(again, 5)
    again.close()
    small(algorithm, **given).close()


def test_a_forked_process_cannot_use_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    one = small()
    user = one.user()
    user.act(0)
    user.observe(1.0, 1)
    monkeypatch.setattr("os.getpid", lambda: -1)
    for use in (one.user, user.finish, lambda: one.policy):
        with pytest.raises(JournalError, match="must be used in the process"):
            use()


def test_ctrl_c_waits_for_the_user_who_is_being_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    one = small()
    see = one._learner.see

    def interrupted(record: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        see(record)

    monkeypatch.setattr(one._learner, "see", interrupted)
    with pytest.raises(KeyboardInterrupt):
        serve(one, 1)
    monkeypatch.undo()
    assert one.users == 1
    serve(one, 1)


def test_given_counters_must_fit_the_task() -> None:
    """Counters for shorter episodes have too little noise for longer ones."""
    given = small().promise.releases[0]
    with pytest.raises(ValueError, match=r"privatizer \(horizon=2\) must have horizon=3"):
        small(horizon=3, privatizer=given)
    with pytest.raises(ValueError, match=r"privatizer \(most_payoff=1.0\) must have most_payoff=None"):
        small(privatizer=replace(given, most_payoff=1.0))


def test_an_observation_that_cannot_be_compared_is_not_declared() -> None:
    with pytest.raises(ValueError, match="must be one of the 2 declared observations"):
        small().user().act([{}])


@pytest.mark.parametrize("privatizer", ["auto", "local"])
def test_noise_after_a_restart_is_new(tmp_path: FilePath, privatizer: str) -> None:
    """Two runs that go on from the same journal must not add the same noise to different users."""
    file, copy = tmp_path / "run.sqlite", tmp_path / "copy.sqlite"
    one = small(journal=file, privatizer=privatizer, epsilon=1, episodes=40)
    serve(one, 10)
    one.close()
    copy.write_bytes(file.read_bytes())
    sums = []
    for path in (file, copy):
        again = small(journal=path, privatizer=privatizer, epsilon=1, episodes=40)
        serve(again, 30, lambda action: 0.0 * action)
        sums.append(again._learner._counters._gains.running.tolist())
        again.close()
    assert sums[0] != sums[1]


def test_a_local_agent_never_notes_a_path(tmp_path: FilePath) -> None:
    one = small(privatizer="local", journal=tmp_path / "run.sqlite")
    serve(one, 3)
    records = [event.record for event in one._journal.events() if event.ended]
    assert all(record is not None and set(record) == {"gains", "transitions"} for record in records)
    one.close()


def test_an_agent_cannot_be_copied() -> None:
    import copy

    with pytest.raises(TypeError, match="must not be copied"):
        copy.deepcopy(small())


def test_rlsvi_and_thompson_keep_their_guarantees() -> None:
    rlsvi = small("rlsvi", adjacency="rewards-only", episodes=20)
    serve(rlsvi, 5)
    assert rlsvi.result.epsilon("1e-5").upper <= 20
    bandit = small(
        "thompson", adjacency="rewards-only", observations=1, horizon=1, support=None, episodes=300
    )
    for _ in range(300):
        with bandit.user() as user:
            action = user.act(0)
            user.observe(float(action == 1), 0, terminated=True)
    assert bandit.result.epsilon("1e-5").upper <= 20
    assert bandit._learner._counts[1] > 150
    with pytest.raises(ValueError, match=r"horizon \(2\) .* must be 1 for thompson"):
        small("thompson", adjacency="rewards-only")


@pytest.mark.slow
def test_sdp_pe_learns_with_users_in_the_shuffle_model(tmp_path: FilePath) -> None:
    one = small("sdp-pe", episodes=100, epsilon=5, starts=[0], journal=tmp_path / "run.sqlite")
    serve(one, 80)
    assert one.result.trust.value == "shuffle"
    assert one.result.epsilon("1e-5").upper <= 5
    one.save(tmp_path / "agent.npz")
    assert load_agent(tmp_path / "agent.npz").result is not None
    one.close()
    again = small("sdp-pe", episodes=100, epsilon=5, starts=[0], journal=tmp_path / "run.sqlite")
    assert [batch.integers for batch in again._learner._stream.releases] == [
        batch.integers for batch in one._learner._stream.releases
    ]
    again.close()


@pytest.mark.slow
@pytest.mark.parametrize("starts", [None, [0]])
def test_a_passport_of_sdp_pe_names_every_kind_of_batch(tmp_path: FilePath, starts: Any) -> None:
    """Without its smallest batch the guarantee would be better than it is."""
    one = small("sdp-pe", episodes=30, epsilon=5, starts=starts)
    one.save(tmp_path / "agent.npz")
    assert load_agent(tmp_path / "agent.npz").result is not None

    def shorter(told: dict[str, Any], weights: Any) -> Any:
        told["releases"] = told["releases"][1:]
        return weights

    with pytest.raises(PassportError, match="releases"):
        load_agent(forged(tmp_path / "agent.npz", shorter))


def test_tables_that_sdp_pe_cannot_keep_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"sdp-pe would keep \d+ numbers"):
        small("sdp-pe", observations=500, horizon=200, support=lambda s, a: [s])


@pytest.mark.parametrize("epsilon", [1e-5, 1e-3])
def test_large_noise_gets_a_coarser_grid(epsilon: float) -> None:
    one = small(epsilon=epsilon, delta="1e-30", privatizer="square-root")
    serve(one, 60)
    assert one.result.epsilon("1e-30").upper <= epsilon


def saved(tmp_path: FilePath, **more: Any) -> FilePath:
    one = small(**more)
    serve(one, 50)
    one.save(tmp_path / "agent.npz")
    return tmp_path / "agent.npz"


def test_a_passport_says_the_same_policy_and_number(tmp_path: FilePath) -> None:
    found = load_agent(saved(tmp_path))
    assert found.result is not None
    assert found.result.epsilon("1e-5").upper <= 20
    assert found.act(0, 1) in (0, 1)
    assert "seed" not in json.dumps(found.told)


def test_a_passport_of_a_simulation_has_no_guarantee(tmp_path: FilePath) -> None:
    assert load_agent(saved(tmp_path, seed=1)).result is None


def forged(path: FilePath, change: Any) -> FilePath:
    with np.load(path) as held:
        weights, told = held["policy"], json.loads(str(held["passport"]))
    weights = change(told, weights)
    np.savez(path, policy=weights, passport=np.array(json.dumps(told)))
    return path


def _epsilon(told: dict[str, Any], weights: Any) -> Any:
    told["epsilon"]["1e-5"] = 1.0
    return weights


def _sigma(told: dict[str, Any], weights: Any) -> Any:
    told["releases"][0]["sigma"] *= 2
    return weights


def _smaller(told: dict[str, Any], weights: Any) -> Any:
    told["releases"][0]["horizon"] = 1
    return weights


def _relation(told: dict[str, Any], weights: Any) -> Any:
    told["adjacency"] = "add-remove"
    return weights


def _policy(told: dict[str, Any], weights: Any) -> Any:
    return weights[:, :, ::-1]


def _asked(told: dict[str, Any], weights: Any) -> Any:
    told["asked"]["epsilon"] = "1"
    return weights


def _trust(told: dict[str, Any], weights: Any) -> Any:
    told["trust"] = "local"
    return weights


def _users(told: dict[str, Any], weights: Any) -> Any:
    told["users"] = "many"
    return weights


@pytest.mark.parametrize(
    "change",
    [_epsilon, _sigma, _smaller, _relation, _policy, _asked, _trust, _users],
    ids=lambda f: f.__name__,
)
def test_a_forged_passport_is_refused(tmp_path: FilePath, change: Any) -> None:
    with pytest.raises(PassportError):
        load_agent(forged(saved(tmp_path), change))


def test_a_file_that_is_no_passport_is_refused(tmp_path: FilePath) -> None:
    (tmp_path / "a.npz").write_text("nothing", encoding="utf-8")
    with pytest.raises(PassportError, match="is no passport"):
        load_agent(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"must end in \.npz"):
        small().save(tmp_path / "a.txt")
