"""Batches step as Gymnasium's environments do; the HIV equations agree with scipy's LSODA at 1e-11."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dpproof.mechanisms.environments import hiv
from dpproof.mechanisms.environments.batched import roll_out
from dpproof.mechanisms.environments.classic_control import Acrobot, CartPole
from dpproof.mechanisms.environments.hiv import rates
from dpproof.mechanisms.environments.lunar_lander import LunarLander, has_box2d

STEPS = 300


def _peer(name, **changes):
    gymnasium = pytest.importorskip("gymnasium", reason="the extra `rl` is not installed")
    env = gymnasium.make(name).unwrapped
    for key, value in changes.items():
        setattr(env, key, value)
    return env


def _agree(env, ours, actions, tolerance):
    """From each of its states in turn, one step of ours and one of the peer's."""
    rng = np.random.default_rng(4)
    seen, _ = env.reset(seed=3)
    ended = 0
    for action in actions:
        state = np.array([env.state], np.float64)
        np.testing.assert_array_equal(ours.observe(state)[0], seen)
        after, reward, over = ours.move(state, np.array([action]), rng)
        seen, expected, terminated, _, _ = env.step(int(action))
        np.testing.assert_allclose(after[0], env.state, rtol=0, atol=tolerance)
        assert (reward[0], over[0]) == (expected, terminated)
        if terminated:
            ended += 1
            seen, _ = env.reset()
    return ended


@pytest.mark.parametrize("changes", [{}, {"gravity": 10.5, "force": 9.5, "cart_mass": 1.2}])
def test_cart_pole_steps_as_gymnasiums(changes):
    names = {"gravity": "gravity", "force": "force_mag", "cart_mass": "masscart"}
    env = _peer("CartPole-v1", **{names[key]: value for key, value in changes.items()})
    env.total_mass = env.masspole + env.masscart
    actions = np.random.default_rng(0).integers(2, size=STEPS)
    assert _agree(env, CartPole(**changes), actions, 1e-12) > 5


@pytest.mark.parametrize("changes", [{}, {"length": 0.8, "first_mass": 1.1, "second_mass": 0.9}])
def test_acrobot_steps_as_gymnasiums(changes):
    names = {"length": "LINK_LENGTH_1", "first_mass": "LINK_MASS_1", "second_mass": "LINK_MASS_2"}
    env = _peer("Acrobot-v1", **{names[key]: value for key, value in changes.items()})
    actions = np.repeat(np.random.default_rng(0).choice([0, 2], size=STEPS), 3)
    assert _agree(env, Acrobot(**changes), actions, 1e-12) >= 0


def test_acrobot_ends_where_gymnasiums_does():
    env = _peer("Acrobot-v1")
    env.reset(seed=0)
    for start in ([3.0, 0.2, 4.0, 0.0], [2.0, 0.1, 5.0, 1.0], [np.pi, 0.0, 0.0, 0.0]):
        env.state = np.array(start)
        after, reward, over = Acrobot().move(np.array([start]), np.array([2]), np.random.default_rng(0))
        _, expected, terminated, _, _ = env.step(2)
        np.testing.assert_allclose(after[0], env.state, atol=1e-12)
        assert (reward[0], over[0]) == (expected, terminated)


def test_lunar_lander_is_gymnasiums():
    if not has_box2d():
        pytest.skip("Box2D, of the extra `rl`, is not installed")
    batch = LunarLander().begin(2, np.random.default_rng(7))
    seeds = np.random.default_rng(7).integers(2**31, size=2)
    from gymnasium.envs.box2d.lunar_lander import LunarLander as Simulation

    peers = [Simulation() for _ in seeds]
    seen = [peer.reset(seed=int(seed))[0] for peer, seed in zip(peers, seeds, strict=True)]
    np.testing.assert_array_equal(batch.observations(), seen)
    for action in (0, 2, 1, 2, 3, 2, 0, 0):
        found = batch.step(np.array([action, action]))
        expected = [peer.step(action) for peer in peers]
        np.testing.assert_array_equal(found[0], [x[0] for x in expected])
        np.testing.assert_array_equal(found[1], [x[1] for x in expected])
    batch.keep(np.array([False, True]))
    np.testing.assert_array_equal(batch.observations(), [expected[1][0]])


def _exact(state, action, days):
    def derivative(_, y):
        out = np.empty(6)
        rates(y, *hiv._DRUGS[action], out)
        return out

    return solve_ivp(derivative, (0, days), state, method="LSODA", rtol=1e-11, atol=1e-9).y[:, -1]


def test_the_printed_fixed_points_are_fixed_points():
    out = np.empty(6)
    for name, point in hiv.FIXED_POINTS.items():
        rates(np.array(point), 0.0, 0.0, out)
        still = _exact(point, 0, 2000.0) if name != "uninfected" else np.array(point)
        assert np.abs(still - point).max() <= 1e-2 * max(point), name
        np.testing.assert_allclose(still, point, rtol=0.02, atol=0.7)
    rates(np.array(hiv.FIXED_POINTS["uninfected"]), 0.0, 0.0, out)
    np.testing.assert_allclose(out, 0, atol=1e-9)
    rates(1.05 * np.array(hiv.FIXED_POINTS["unhealthy"]), 0.0, 0.0, out)
    assert np.abs(out / np.array(hiv.FIXED_POINTS["unhealthy"])).max() > 0.01


@pytest.mark.slow
def test_treatment_steps_agree_with_scipys_solver():
    env, rng = hiv.EXPERTS, np.random.default_rng(0)
    state, exact = env.start(1, rng), np.array(env.begins)
    for action in rng.integers(4, size=20):
        state, reward, _ = env.move(state, np.array([action]), rng)
        exact = _exact(exact, action, env.days)
        np.testing.assert_allclose(state[0], exact, rtol=3e-6)
        first, second = hiv._DRUGS[action]
        assert reward[0] == pytest.approx(
            1e3 * state[0, 5] - 0.1 * state[0, 4] - 2e4 * first**2 - 2e3 * second**2
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "total", "discounted"), [(0, 857_947, 545_628), (3, 1.75717e6, 1.18953e6)]
)
def test_constant_treatments_have_their_known_returns(action, total, discounted):
    steps = roll_out(hiv.EXPERTS, lambda seen, rows: np.full(len(rows), action), 1, np.random.default_rng(0))
    assert steps.returns()[0] == pytest.approx(total, rel=1e-5)
    assert (steps.rewards * 0.98 ** np.arange(50)).sum() == pytest.approx(discounted, rel=1e-5)


@pytest.mark.slow
def test_the_published_settings_differ_as_said():
    assert (hiv.ERNST_2006.days, hiv.ERNST_2006.horizon) == (5, 200)
    assert hiv.ADAMS_2004.begins[:2] == hiv.FIXED_POINTS["uninfected"][:2]
    noisy = hiv.HIVTreatment(efficacy_noise=0.01)
    state = noisy.start(2, np.random.default_rng(0))
    after, _, _ = noisy.move(state, np.array([3, 3]), np.random.default_rng(0))
    assert (after[0] != after[1]).any()
    after, _, _ = noisy.move(state, np.array([0, 0]), np.random.default_rng(0))
    np.testing.assert_array_equal(after[0], after[1])


def test_steps_stand_by_episode_and_in_their_order():
    lengths = np.array([3, 1, 2])

    class Count:
        actions, observation_size, horizon = 1, 2, 10

        def begin(self, count, rng):
            return self

        def __init__(self):
            self.rows, self.time = np.arange(3), 0

        def observations(self):
            return np.column_stack([self.rows, np.full(len(self.rows), self.time)]).astype(np.float32)

        def step(self, actions):
            self.time += 1
            return self.observations(), np.ones(len(self.rows)), self.time >= lengths[self.rows]

        def keep(self, rows):
            self.rows = self.rows[rows]

    steps = roll_out(Count(), lambda seen, rows: np.zeros(len(rows), np.int64), 3, np.random.default_rng(0))
    np.testing.assert_array_equal(steps.lengths, lengths)
    np.testing.assert_array_equal(steps.observations, [[0, 0], [0, 1], [0, 2], [1, 0], [2, 0], [2, 1]])
    np.testing.assert_array_equal(steps.terminal, [False, False, True, True, False, True])
    np.testing.assert_array_equal(steps.returns(), lengths)


def test_one_patient_under_gymnasiums_interface_is_a_batch_of_one():
    gymnasium = pytest.importorskip("gymnasium", reason="the extra `environments` is not installed")
    registered = pytest.importorskip("dpproof.mechanisms.environments.gym")
    env = gymnasium.make("dpproof/HIVTreatment-v0").unwrapped
    actions = np.random.default_rng(1).integers(4, size=50)
    times = iter(actions)
    steps = roll_out(hiv.EXPERTS, lambda seen, rows: np.full(1, next(times)), 1, np.random.default_rng(0))
    seen, _ = env.reset(seed=0)
    for t, action in enumerate(actions):
        np.testing.assert_array_equal(seen, steps.observations[t])
        seen, reward, over, cut, _ = env.step(int(action))
        assert (reward, over, cut) == (steps.rewards[t], False, t == 49)
    with pytest.raises(RuntimeError, match="Call reset before step"):
        env.step(0)
    with pytest.raises(ValueError, match=r"action \(4\) must be one of"):
        env.step(4)
    assert gymnasium.make("dpproof/HIVTreatment-v0", setting="ernst-2006").unwrapped.treatment.days == 5
    with pytest.raises(ValueError, match=r"setting \('none'\) must be one of: experts"):
        registered.make_hiv_treatment("none")
