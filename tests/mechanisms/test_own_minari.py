"""Episodes as Minari's iterate_episodes gives them, and what becomes of them. Minari itself is not needed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpproof import read_episodes, read_expert_data
from dpproof.mechanisms.own_data.experts import Scaling
from dpproof.mechanisms.own_data.minari import minari_columns
from tests.rows import rows

ONE = {
    "id": 7,
    "observations": np.array([[0.0, 1.0], [0.5, 1.0], [2.0, 1.0]]),
    "actions": np.array([1, 0]),
    "rewards": np.array([-2.0, 5.0]),
    "terminations": np.array([False, False]),
    "truncations": np.array([False, True]),
    "infos": {},
}
TWO = {
    "id": 9,
    "observations": np.array([[9.0, 9.0], [8.0, 8.0]]),
    "actions": np.array([1]),
    "rewards": np.array([1.0]),
    "terminations": np.array([True]),
    "truncations": np.array([False]),
}


def dataset(*episodes):
    """A stand-in for a dataset; iterate_episodes yields each episode anew."""
    made = [SimpleNamespace(**fields) for fields in episodes]
    return SimpleNamespace(iterate_episodes=lambda: iter(made))


def test_a_cut_episode_keeps_the_observation_after_its_last_action():
    found = read_expert_data(minari_columns(dataset(ONE, TWO), user=["a", "b"]))
    assert found.users == ("a", "b")
    assert found.last.tolist() == [[2.0, 1.0], [8.0, 8.0]]
    assert found.over.tolist() == [False, True]
    assert found.observations.tolist() == [[0.0, 1.0], [0.5, 1.0], [9.0, 9.0]]
    assert found.rewards.tolist() == [-2.0, 5.0, 1.0]


def test_users_by_function_and_none():
    by = minari_columns(dataset(ONE, TWO), user=lambda episode: f"user {episode.id}")
    assert read_expert_data(by).users == ("user 7", "user 9")
    columns = minari_columns([SimpleNamespace(**ONE)])
    with pytest.raises(ValueError, match="unit='episode'"):
        read_expert_data(columns)
    assert read_expert_data(columns, unit="episode").unit == "episode"


def test_whole_numbers_as_observations_are_states():
    states = ONE | {"observations": np.array([3, 4, 5])}
    found = read_episodes(minari_columns(dataset(states)), reward_range=(-5, 5), unit="episode")
    assert found.states.tolist() == [3, 4]
    assert found.rewards.tolist() == pytest.approx([0.3, 1.0])


BAD = {
    "at least one episode": [],
    "lacks rewards": [{name: x for name, x in ONE.items() if name != "rewards"}],
    "observations (a dict) must be an array": [ONE | {"observations": {"x": [1]}}],
    "observations (2) must be one more than rewards (2)": [ONE | {"observations": ONE["observations"][1:]}],
    "actions (1) must have 2 entries": [ONE | {"actions": [1]}],
    "must be one more than rewards (0), at least one": [ONE | {"rewards": [], "observations": [[0.0]]}],
}


@rows("rule", BAD)
def test_bad_episodes_are_refused(rule):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the message is checked below)
        minari_columns(dataset(*BAD[rule]))
    assert rule in str(refused.value)


def test_other_objects_and_too_few_users_are_refused():
    with pytest.raises(ValueError, match="iterate_episodes"):
        minari_columns("D4RL/door")
    with pytest.raises(ValueError, match=r"user \(1 ids\) must have 2"):
        minari_columns(dataset(ONE, TWO), user=["a"])


@pytest.mark.slow
def test_own_data_becomes_transitions_in_public_units():
    pytest.importorskip("torch")
    data = read_expert_data(minari_columns(dataset(ONE, TWO), user=["a", "b"]))
    found = data.transitions(Scaling((1.0, 1.0), (2.0, 4.0), reward_scale=0.5))
    assert found.observations.tolist() == [[-0.5, 0.0], [-0.25, 0.0], [4.0, 2.0]]
    assert found.following.tolist() == [[-0.25, 0.0], [0.5, 0.0], [3.5, 1.75]]
    assert found.rewards.tolist() == [-1.0, 2.5, 0.5]
    assert found.terminal.tolist() == [False, False, True]
    assert found.expert.tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="must have 1 numbers"):
        data.transitions(Scaling((0.0,), (1.0,)))


@rows("wrong", [((0.0,), (1.0, 1.0), 1.0), ((0.0,), (0.0,), 1.0), ((0.0,), (1.0,), np.inf)])
def test_bad_scales_are_refused(wrong):
    with pytest.raises(ValueError, match="spread"):
        Scaling(*wrong)
