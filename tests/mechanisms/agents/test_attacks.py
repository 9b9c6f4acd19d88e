"""Attacks on agents: crafted rewards and observations, sessions that race, forks, journals and forged passports."""

from __future__ import annotations

import io
import json
import signal
import stat
import threading
import zipfile
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest

from dpproof import PassportError, UserSeenError, agent, load_agent
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.mechanisms.agents.agent import Agent
from dpproof.mechanisms.agents.journal import JournalError
from dpproof.mechanisms.counting.lattice import TreeSums
from dpproof.mechanisms.randomness import Entropy
from dpproof.mechanisms.release.words import seeded_words

pytestmark = pytest.mark.filterwarnings("ignore::dpproof.mechanisms.agents.making.SwampedWarning")


def small(algorithm: str = "private-ucb-vi", **more: Any) -> Agent:
    given: dict[str, Any] = {
        "observations": 2, "actions": 2, "episodes": 40, "horizon": 2, "epsilon": 5, "delta": "1e-5",
        "adjacency": "replace", "reward_range": (0, 1), "support": lambda s, a: [0, 1, "end"],
    }  # fmt: skip
    return agent(algorithm, **{**given, **more})


def play(of: Agent, reward: Any = 1.0, seen: Any = 1, **more: Any) -> None:
    """Let a user with the name Ann make one step."""
    with of.user("Ann") as user:
        user.act(0)
        user.observe(reward, seen, **more)


def leaf(of: Agent) -> Any:
    return of._learner._counters._gains._leaf


STRANGE = [
    "0.5", "nan", b"1", None, 1j, [0.5], np.array([0.1, 0.2]), 10**400, float("inf"), -float("inf"), 1.0 + 1e-9,
    -5e-324, np.float64("nan"), object(), {},
]  # fmt: skip


@pytest.mark.parametrize("reward", STRANGE, ids=lambda value: f"{value!r:.20}")
def test_a_crafted_reward_is_rejected_and_the_user_is_absent(reward: Any) -> None:
    one = small()
    with pytest.raises(ValueError, match="reward"):
        play(one, reward)
    assert one.users == 1
    assert not leaf(one).any()


@pytest.mark.parametrize("reward", [-0.0, True, np.float16(1), np.int8(1), np.bool_(True), np.array(0.5), 1])
def test_a_reward_of_any_numeric_type_stays_within_the_range(reward: Any) -> None:
    one = small()
    play(one, reward)
    assert set(leaf(one)) <= {0.0, 512.0, 1024.0}


@pytest.mark.parametrize("seen", [{}, set(), [1], np.array([]), float("nan"), "1", None, -1, 2**70, object])
def test_a_crafted_observation_is_rejected(seen: Any) -> None:
    one = small()
    with pytest.raises(ValueError, match="must be one of the 2 declared observations"):
        play(one, 1.0, seen)
    assert not leaf(one).any()


def test_a_range_of_rewards_without_a_finite_length_is_rejected() -> None:
    """The gain would be infinity divided by infinity, and its whole number of grains the smallest integer."""
    with pytest.raises(ValueError, match="finite difference"):
        small(reward_range=(-1e308, 1e308))


@pytest.mark.parametrize(
    "wrong",
    [{"states": 1}, {"actions": 1}, {"horizon": 1, "cap": 1}, {"episodes": 30}, {"most_payoff": 0.01}, {"grains": 4},
     {"grains": None, "bits": None}],
    ids=str,
)  # fmt: skip
def test_counters_of_a_smaller_problem_are_rejected(wrong: dict[str, Any]) -> None:
    """Their noise would be calibrated to a smaller sensitivity than that of the agent's counts."""
    sizes: dict[str, Any] = {
        "states": 2, "actions": 2, "horizon": 2, "episodes": 40, "sigma": 1.0, "bits": 8, "grains": 1024
    }  # fmt: skip
    assert small(privatizer=BatchedCountsParameters(**sizes)).result.epsilon("1e-5").upper <= 5
    with pytest.raises(ValueError, match="privatizer"):
        small(privatizer=BatchedCountsParameters(**{**sizes, **wrong}))


def test_threads_that_end_the_same_session_count_its_user_once() -> None:
    one = small()
    for _ in range(20):
        user = one.user()
        user.act(0)
        user.observe(1.0, 1)
        before, gate = one._learner._counters._gains._leaf.sum(), threading.Barrier(8)

        def end(user: Any = user, gate: threading.Barrier = gate) -> None:
            gate.wait()
            user.finish()

        threads = [threading.Thread(target=end) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert one._learner._counters._gains._leaf.sum() in (before + 1024, 1024)


@pytest.mark.parametrize("algorithm", ["private-ucb-vi", "rlsvi"])
def test_an_episode_that_cannot_be_counted_uses_its_place(algorithm: str) -> None:
    """Otherwise the places of all later users would depend on one user's data."""
    one = small(
        algorithm, support=lambda s, a: [s], adjacency="rewards-only" if algorithm == "rlsvi" else "replace"
    )
    with pytest.raises(ValueError, match="must"):
        play(one, truncated=True)
    assert one.users == 1
    with pytest.raises(UserSeenError):
        one.user("Ann")


def test_an_absent_local_user_sends_noise() -> None:
    """Otherwise the server would see who was absent, although add-remove promises that it cannot."""
    one = small(privatizer="local", adjacency="add-remove")
    one.user().abort()
    assert one._learner._counters._gains._leaf.any()


def test_a_session_shows_nothing_of_its_user() -> None:
    user = small().user("Ann")
    user.act(0)
    user.observe(0.25, 1)
    assert repr(user) == "<session of a user, open>"


def test_a_forked_agent_stops() -> None:
    one = small()
    one._process += 1  # what os.getpid() differs from after a fork
    for call in (one.user, lambda: one.policy, lambda: one.act(0)):
        with pytest.raises(JournalError, match="after the fork"):
            call()


def test_an_agent_stops_after_a_user_who_was_counted_half(monkeypatch: pytest.MonkeyPatch) -> None:
    one = small()

    def broken(record: Any) -> None:
        raise RuntimeError("power cut")

    monkeypatch.setattr(one._learner, "see", broken)
    with pytest.raises(JournalError, match="stopped after an error"):
        play(one)
    with pytest.raises(JournalError, match="Make it again"):
        one.user()


def test_an_interrupt_waits_until_a_user_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    one = small()
    see = one._learner.see
    monkeypatch.setattr(one._learner, "see", lambda record: (signal.raise_signal(signal.SIGINT), see(record)))
    with pytest.raises(KeyboardInterrupt):
        play(one)
    assert one.users == 1
    one.user().abort()


@pytest.mark.parametrize("kept", [False, True])
def test_a_user_whose_beginning_is_interrupted_keeps_the_place(
    kept: bool, tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = small(journal=tmp_path / "run.sqlite" if kept else None)
    with monkeypatch.context() as patch:
        patch.setattr(one._learner, "for_user", lambda: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            one.user("Ann")
    play(one)
    assert one.users == 1
    with pytest.raises(UserSeenError):
        one.user("Ann")


@pytest.mark.slow
def test_all_users_who_were_under_way_are_absent_if_users_come_one_at_a_time(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {
        "algorithm": "sdp-pe",
        "episodes": 2000,
        "adjacency": "replace",
        "journal": tmp_path / "run.sqlite",
    }
    one = small(**given)
    with monkeypatch.context() as patch:
        patch.setattr(one._learner, "for_user", lambda: signal.raise_signal(signal.SIGINT))
        for person in ("Ann", None, "Eve"):
            with pytest.raises(KeyboardInterrupt):
                one.user(person)
    one.close()
    again = small(**given)
    assert again._learner._stream.seen == 3
    for person in ("Ann", "Eve"):
        with pytest.raises(UserSeenError):
            again.user(person)
    again.user("Fay").abort()


@pytest.mark.slow
def test_a_journal_is_locked_and_private(tmp_path: FilePath) -> None:
    file = tmp_path / "run.sqlite"
    one = small(journal=file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(JournalError, match="is in use"):
        small(journal=file)
    one.close()
    small(journal=file).close()


def test_a_user_who_comes_again_after_an_abort_is_rejected() -> None:
    one = small()
    one.user("Ann").abort()
    for person in ("Ann", "Ann"):
        with pytest.raises(UserSeenError):
            one.user(person)
    with pytest.raises(ValueError, match="must be a text"):
        one.user(5)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def passport(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, Any]]:
    file = tmp_path_factory.mktemp("passport") / "agent.npz"
    small().save(file)
    with np.load(file) as held:
        return held["policy"], json.loads(str(held["passport"]))


def written(file: FilePath, policy: Any, text: str, **more: Any) -> FilePath:
    np.savez_compressed(file, policy=policy, passport=np.array(text), **more)
    return file


FORGED: dict[str, Any] = {
    "schema": True,
    "dpproof": "1.0\x1b[2J",
    "algorithm": "\x1b[2J",
    "mechanism": "laplace",
    "releases": [],
    "adjacency": "rewards-only",
    "unit": "step",
    "trust": "local",
    "released": "nothing",
    "statement": "classic.gaussian",
    "joint_statement": "none",
    "sampler": None,
    "notes": ["all is well"],
    "asked": {"epsilon": "0.1", "delta": "1e-5"},
    "epsilon": {"1e-5": 0.1},
    "users": 0.5,
    "episodes": 10**30,
    "horizon": 2.0,
    "reward_range": [1, 0],
    "observations": 10**12,
    "actions": ["a", "a"],
    "policy": "0" * 64,
    "hidden": [2],
}


@pytest.mark.parametrize("name", FORGED)
def test_no_field_of_a_passport_can_be_changed(tmp_path: FilePath, passport: Any, name: str) -> None:
    policy, told = passport
    assert told.keys() == FORGED.keys()
    with pytest.raises(PassportError):
        load_agent(written(tmp_path / "a.npz", policy, json.dumps({**told, name: FORGED[name]})))


@pytest.mark.parametrize("change", [{"grains": 1}, {"cap": None}, {"states": 2.0}, {"bits": "16"}], ids=str)
def test_parameters_of_a_passport_have_one_form(tmp_path: FilePath, passport: Any, change: Any) -> None:
    """The same number follows from these, but readers could take them for something else."""
    policy, told = passport
    releases = [{**told["releases"][0], **change}]
    with pytest.raises(PassportError):
        load_agent(written(tmp_path / "a.npz", policy, json.dumps({**told, "releases": releases})))


def test_smaller_numbers_at_other_deltas_are_refused(tmp_path: FilePath, passport: Any) -> None:
    policy, told = passport
    numbers = {**told["epsilon"], "1e-30": 0.001}
    with pytest.raises(PassportError, match="deltas"):
        load_agent(written(tmp_path / "a.npz", policy, json.dumps({**told, "epsilon": numbers})))


def test_a_consistent_passport_of_another_mechanism_is_refused(tmp_path: FilePath, passport: Any) -> None:
    """Everything follows from the fields, but Laplace noise of scale 1000 is not what the algorithm releases by."""
    from dpproof import account
    from dpproof.mechanisms.agents.passport import _epsilons

    policy, told = passport
    found = account("laplace", scale=1000, sensitivity=1, adjacency="replace")
    forged = {
        **told, "mechanism": "laplace", "releases": [{"scale": 1000, "sensitivity": 1}], "trust": found.trust.value,
        "released": found.released, "statement": found.statement, "joint_statement": found.joint_statement,
        "sampler": found.exact_sampler, "notes": list(found.notes), "epsilon": _epsilons(found, "1e-5"),
    }  # fmt: skip
    with pytest.raises(PassportError, match="does not release by"):
        load_agent(written(tmp_path / "a.npz", policy, json.dumps(forged)))


def test_texts_that_readers_understand_differently_are_refused(tmp_path: FilePath, passport: Any) -> None:
    policy, told = passport
    text = json.dumps(told)
    for wrong in (
        text[:-1] + ', "users": 0}',
        text.replace('"users": 0', '"users": NaN'),
        text.replace('"users": 0', '"users": 1' + "0" * 5000),
        "[" * 100_000,
        "",
        "3",
    ):
        with pytest.raises(PassportError):
            load_agent(written(tmp_path / "a.npz", policy, wrong))


def test_files_that_are_no_passports_are_refused_before_they_are_unpacked(
    tmp_path: FilePath, passport: Any
) -> None:
    policy, told = passport
    text, file = json.dumps(told), tmp_path / "a.npz"
    with pytest.raises(PassportError, match="parts"):
        load_agent(written(file, policy, text, more=np.zeros(3)))
    with pytest.raises(PassportError):
        load_agent(written(file, policy.astype(object), text))
    with pytest.raises(PassportError):
        load_agent(written(file, policy.astype(">f4"), text))
    with pytest.raises(PassportError):
        load_agent(written(file, np.float32(1), text))
    held = io.BytesIO()
    np.save(held, policy)
    file.write_bytes(held.getvalue())
    with pytest.raises(PassportError):
        load_agent(file)


def test_a_zip_bomb_is_refused_by_its_size(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpproof.mechanisms.agents import passport as module

    file = tmp_path / "a.npz"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as parts:
        with parts.open("policy.npy", "w") as part:
            for _ in range(64):
                part.write(bytes(1 << 20))
        parts.writestr("passport.npy", b"")
    monkeypatch.setattr(module, "_LARGEST", 1 << 25)
    monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("the file was unpacked"))
    with pytest.raises(PassportError, match="at most"):
        load_agent(file)


def test_a_seed_cannot_pose_as_entropy() -> None:
    with pytest.raises(TypeError, match="must be RecordedWords"):
        Entropy(seeded_words(np.random.default_rng(7)))  # type: ignore[arg-type] # the mistake
    with pytest.raises(AttributeError):
        Entropy().words = seeded_words(np.random.default_rng(7))  # type: ignore[misc] # the mistake


def test_a_limit_on_rewards_that_no_episode_reaches_is_no_limit() -> None:
    one = small(most_reward=1e300)
    play(one)
    assert one.task.most_gain is None


@pytest.mark.slow
def test_ten_million_users_are_possible() -> None:
    one = small(episodes=10**7)
    assert one.result.epsilon("1e-5").upper <= 20


def test_tree_sums_that_doubles_would_round_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"below 2\^53"):
        TreeSums(1, 1, lambda n: np.zeros(n, np.int64), most=1 << 53)


def test_users_of_an_agent_that_is_deployed_share_no_stream_of_random_numbers() -> None:
    one = small()
    with one.user() as first, one.user() as second:
        first.act(0)
        assert len({id(first._rng), id(second._rng), id(one._draws)}) == 3
        assert first._rng.bit_generator.state != second._rng.bit_generator.state
        first.abort()
        second.abort()
