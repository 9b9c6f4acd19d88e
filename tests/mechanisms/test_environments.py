"""The environments have the law and the values they are known by."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.mechanisms.environments.chain import chain, chain_values
from dpproof.mechanisms.environments.river_swim import LEFT, RIGHT, river_swim
from dpproof.mechanisms.environments.tabular import TabularMDP


def _always(mdp, action):
    return mdp.policy_values(np.full((mdp.horizon, mdp.states), action))[0, 0]


def _uniform(mdp):
    return mdp.policy_values(np.full((mdp.horizon, mdp.states, mdp.actions), 1 / mdp.actions))[0, 0]


@pytest.mark.parametrize(
    ("states", "horizon", "best", "right", "left", "uniform", "gap"),
    [
        (6, 20, 3.397263959, 3.396636976, 0.1, 0.043789023, 0.379970711),
        (4, 6, 0.475791, 0.47242125, 0.03, 0.031596301, 0.2305885),
    ],
)
def test_river_swim_has_its_known_values(states, horizon, best, right, left, uniform, gap):
    mdp = river_swim(states, horizon)
    first = mdp.optimal_action_values()[0, 0]
    close = {"abs": 6e-10}
    assert mdp.optimal_values()[0, 0] == pytest.approx(best, **close)
    assert _always(mdp, RIGHT) == pytest.approx(right, **close)
    assert _always(mdp, LEFT) == pytest.approx(left, **close)
    assert _uniform(mdp) == pytest.approx(uniform, **close)
    assert first[RIGHT] - first[LEFT] == pytest.approx(gap, **close)


def test_river_swim_never_leaves_the_river_and_drifts_for_certain():
    transitions = river_swim().transitions
    assert np.allclose(transitions.sum(axis=2), 1, rtol=0, atol=1e-15)
    assert np.array_equal(transitions[:, LEFT].argmax(axis=1), [0, 0, 1, 2, 3, 4])
    assert set(transitions[:, LEFT].ravel()) == {0.0, 1.0}
    np.testing.assert_array_equal(transitions[3, RIGHT], [0, 0, 0.05, 0.6, 0.35, 0])


@pytest.mark.parametrize("states", [2, 5, 40])
def test_chain_values_solve_the_chain(states):
    solved = chain(states).discounted_values(np.ones((states, 1)), 0.99)
    np.testing.assert_allclose(chain_values(states), solved, rtol=1e-12, atol=1e-15)


def test_chain_has_its_known_values():
    values = chain_values()
    assert values[-2] == pytest.approx(0.990099, abs=5e-7)
    assert values[0] == pytest.approx(0.463024, abs=5e-7)
    assert values[-1] == 0


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), S=st.integers(1, 5), A=st.integers(1, 3), H=st.integers(1, 5))
def test_no_policy_beats_the_optimum_and_the_greedy_one_attains_it(plain, seed, S, A, H):
    mdp = plain.environment(seed, S=S, A=A, H=H)
    best = mdp.optimal_values()
    other = np.random.default_rng(seed).integers(A, size=(H, S))
    assert (mdp.policy_values(other) <= best + 1e-12).all()
    greedy = mdp.optimal_action_values().argmax(axis=2)
    np.testing.assert_allclose(mdp.policy_values(greedy), best, rtol=1e-12)
    assert (best[:-1] <= H).all()
    assert (best >= 0).all()


def test_arrays_are_copied_and_read_only():
    given_rewards = np.array([[0.5]])
    mdp = TabularMDP(np.ones((1, 1, 1)), given_rewards, 1)
    given_rewards[:] = 7
    assert mdp.rewards == 0.5
    with pytest.raises(ValueError, match="read-only"):
        mdp.rewards[0, 0] = 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"transitions": [[[np.nan]]]}, r"transitions at \(0, 0, 0\) \(nan\) must be in \[0, 1\]"),
        ({"transitions": [[[0.9]]]}, r"the sum of transitions at \(0, 0\) \(0.9\) must be 1"),
        ({"transitions": [[[0.5, 0.5]]]}, r"the shape of transitions \(1, 1, 2\) must be \(1, 1, 1\)"),
        ({"rewards": [[1.5]]}, r"rewards at \(0, 0\) \(1.5\) must be in \[0, 1\]"),
        ({"rewards": [[np.nan]]}, r"rewards at \(0, 0\) \(nan\) must be in \[0, 1\]"),
        ({"rewards": [["much"]]}, "rewards .* must hold real numbers"),
        ({"rewards": [0.5]}, r"the shape of rewards \(1,\) must be \(states, actions\)"),
        ({"horizon": 0}, r"horizon \(0\) must be an integer at least 1"),
        ({"horizon": 1.5}, r"horizon \(1.5\) must be an integer"),
        ({"start": 1}, r"start \(1\) must be one of 0, ..., 0"),
        ({"start": -1}, r"start \(-1\) must be an integer at least 0"),
    ],
)
def test_a_malformed_process_is_refused(change, message):
    sound = {"transitions": [[[1.0]]], "rewards": [[0.5]], "horizon": 1, "start": 0}
    with pytest.raises(ValueError, match=message):
        TabularMDP(**(sound | change))


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([[2, 0, 0]], r"policy at \(0, 0\) \(2\) must be one of 0, ..., 1"),
        ([[0.5, 0.0, 0.0]], "the dtype of policy"),
        ([[0, 0]], r"the shape of policy \(1, 2\) must be \(1, 3\)"),
        (np.full((1, 3, 2), 0.4), "the sum of policy"),
    ],
)
def test_a_malformed_policy_is_refused(policy, message):
    with pytest.raises(ValueError, match=message):
        river_swim(3, 1).policy_values(policy)


def test_constructors_refuse_what_has_no_meaning():
    with pytest.raises(ValueError, match=r"states \(2\) must be an integer at least 3"):
        river_swim(2)
    with pytest.raises(ValueError, match=r"states \(1\) must be an integer at least 2"):
        chain(1)
    with pytest.raises(ValueError, match=r"discount \(1.0\) must be in \[0, 1\)"):
        chain_values(discount=1.0)
    with pytest.raises(ValueError, match="the shape of chances"):
        chain(3).discounted_values(np.ones((2, 1)), 0.5)
