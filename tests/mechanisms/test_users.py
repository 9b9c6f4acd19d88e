"""Users are checked on arrival, and neighbours are what the paper's relation says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproof.mechanisms.rl.rlsvi.users import Users, differ_only_in_rewards_of_one_user


def _users(K=3, start=0, moved=()):
    next_states = np.zeros((K, 2, 2, 1), int)
    for place in moved:
        next_states[place] = 1
    return Users(next_states, np.full((K, 2, 2, 1), 0.5), start)


@given(
    K=st.integers(1, 6),
    user=st.integers(0, 5),
    reward=st.floats(0, 1).filter(lambda reward: reward != 0.5),
)
def test_replacing_one_user_s_rewards_makes_a_neighbour(K, user, reward):
    users = _users(K)
    if user >= K:
        with pytest.raises(ValueError, match="user"):
            users.with_rewards(user, reward)
        return
    other = users.with_rewards(user, reward)
    assert differ_only_in_rewards_of_one_user(users, other) == user
    assert differ_only_in_rewards_of_one_user(other, users) == user
    assert (users.rewards == 0.5).all()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (_users(), "are equal"),
        (_users(4), r"the shapes \(3, 2, 2, 1\) and \(4, 2, 2, 1\) must be equal"),
        (_users(start=1), "the starts 0 and 1 must be equal"),
        (
            _users(moved=[(1, 0, 1, 0)]),
            r"next_states at .* \(1, 0, 1, 0\) must be the same in both inputs, not 0 and 1",
        ),
        (_users().with_rewards(0, 0.0).with_rewards(2, 1.0), r"may differ, not those of users \[0, 2\]"),
    ],
)
def test_more_or_less_than_one_user_s_rewards_is_no_neighbour(other, message):
    with pytest.raises(ValueError, match=message):
        differ_only_in_rewards_of_one_user(_users(), other)


@pytest.mark.parametrize(
    ("next_states", "rewards", "start", "message"),
    [
        ([[[[0]]]], [[[[1.1]]]], 0, r"rewards at \(0, 0, 0, 0\) \(1.1\) must be in \[0, 1\]"),
        ([[[[0]]]], [[[[-0.1]]]], 0, r"\(-0.1\) must be in \[0, 1\]"),
        ([[[[0]]]], [[[[np.nan]]]], 0, r"\(nan\) must be in \[0, 1\]"),
        ([[[[1]]]], [[[[0.0]]]], 0, r"next_states at \(0, 0, 0, 0\) \(1\) must be one of 0, ..., 0"),
        ([[[[-1]]]], [[[[0.0]]]], 0, r"\(-1\) must be one of"),
        ([[[[0.0]]]], [[[[0.0]]]], 0, "the dtype of next_states"),
        ([[[[0]]]], [[[[0.0]]]], 1, r"start \(1\) must be one of 0, ..., 0"),
        ([[[[0, 0]]]], [[[[0.0]]]], 0, "the shape of next_states"),
        ([[[0]]], [[[0.0]]], 0, "the shape of rewards"),
        (np.zeros((0, 1, 1, 1), int), np.zeros((0, 1, 1, 1)), 0, "each at least 1"),
    ],
)
def test_malformed_users_are_refused(next_states, rewards, start, message):
    with pytest.raises(ValueError, match=message):
        Users(next_states, rewards, start)


def test_arrays_are_copied():
    rewards = np.zeros((1, 1, 1, 1))
    users = Users(np.zeros((1, 1, 1, 1), int), rewards)
    rewards[:] = 1
    assert users.rewards.sum() == 0
    assert not users.rewards.flags.writeable
