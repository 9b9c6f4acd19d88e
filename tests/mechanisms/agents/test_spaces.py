"""Finite spaces and tasks: numbering, JSON and refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpproof.mechanisms.agents.spaces import FiniteSpace
from dpproof.mechanisms.agents.task import Task, successors_of

gymnasium = pytest.importorskip("gymnasium")


def spaces() -> list[object]:
    from gymnasium import spaces as s

    return [
        s.Discrete(4),
        s.Discrete(3, start=2),
        s.MultiDiscrete([2, 3]),
        s.MultiBinary(3),
        s.Tuple((s.Discrete(2), s.MultiBinary(2))),
    ]


@pytest.mark.parametrize("space", spaces(), ids=str)
def test_every_sample_has_a_number_and_every_number_a_value(space: object) -> None:
    found = FiniteSpace.of("observation", space)
    space.seed(1)
    assert {found.number(space.sample()) for _ in range(400)} == set(range(found.size))
    assert [found.number(found.value(n)) for n in range(found.size)] == list(range(found.size))


@pytest.mark.parametrize("space", [*spaces(), 5, ["a", "b"], [(0, 1), (1, 0)]], ids=str)
def test_a_space_is_the_same_after_json(space: object) -> None:
    found = FiniteSpace.of("action", space)
    assert FiniteSpace.from_json("action", json.loads(json.dumps(found.as_json()))) == found


def test_a_continuous_space_is_rejected_with_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"must be finite.*declare the observations as a list"):
        FiniteSpace.of("observation", gymnasium.spaces.Box(0, 1))


def test_an_unseen_observation_names_the_value_and_the_rule() -> None:
    with pytest.raises(ValueError, match=r"observation \(7\) must be one of the 3 declared observations"):
        FiniteSpace.of("observation", 3).number(7)


def test_values_that_occur_twice_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"each listed once"):
        FiniteSpace.of("action", ["go", "go"])


def task(low: float = -100.0, high: float = 0.0, support: object = None) -> Task:
    two, one = FiniteSpace.of("observation", 2), FiniteSpace.of("action", 1)
    return Task(two, one, 3, 10, low, high, successors_of(two, one, support))


def test_gains_are_between_0_and_1_and_the_end_is_worth_a_reward_of_0() -> None:
    assert (task().gain(-100), task().gain(0), task().gain(-25)) == (0.0, 1.0, 0.75)
    assert task().zero_gain == 1.0
    assert task(-1.0, 3.0).zero_gain == 0.25
    assert task(1.0, 3.0).zero_gain == 0.0


@pytest.mark.parametrize("reward", [-100.1, 0.5, np.nan, np.inf])
def test_a_reward_outside_its_range_is_rejected(reward: float) -> None:
    with pytest.raises(ValueError, match=r"reward \(.*must be in the declared range \[-100.0, 0.0\]"):
        task().gain(reward)


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0)])
def test_an_empty_or_infinite_range_is_rejected(ends: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match=r"reward_range .* must be two finite numbers"):
        task(*ends)


def test_a_support_lists_states_and_the_end() -> None:
    assert task(support={(0, 0): [1, "end"], (1, 0): [1]}).rows().tolist() == [[1, 2], [1, -1]]
    assert task().rows().tolist() == [[0, 1, 2], [0, 1, 2]]


def test_a_support_without_a_pair_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"no entry for observation 1 and action 0"):
        task(support={(0, 0): [1]})


def test_a_dense_table_that_is_too_large_asks_for_the_support() -> None:
    large = Task(FiniteSpace.of("observation", 20_000), FiniteSpace.of("action", 4), 3, 10, 0.0, 1.0)
    with pytest.raises(ValueError, match=r"support \(None\) must be declared"):
        large.rows()
