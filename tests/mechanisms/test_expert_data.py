"""Experts and what they log: policies by frequency and by the plain network, files, refusals."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.rl.expert.release import ExpertReleaseParameters
from dpproof.mechanisms.environments.batched import Steps, roll_out
from dpproof.mechanisms.rl.expert.data import ExpertData, demonstrations
from dpproof.mechanisms.rl.expert.population import Bases, Population, population
from dpproof.mechanisms.rl.expert.problems import PMIN, PROBLEMS, problem_for
from dpproof.mechanisms.rl.expert.release import DataRelease

ALPHA = 1e-6
"""False alarms of each statistical test here; seeds are fixed."""


def _small(problem="cartpole", count=30, seed=0, **changes):
    return population(problem_for(problem), count, np.random.default_rng(seed), **changes)


def _plain(experts, which, observations):
    """The action values of one expert, layer by layer."""
    values = experts.problem.scaled(observations).astype(np.float64)
    flat, at = experts.bases.theta[experts.base[which]], 0
    sizes = experts.bases.sizes
    for inputs, outputs in pairwise(sizes[:-1]):
        weights = flat[at : at + inputs * outputs].reshape(outputs, inputs)
        at += inputs * outputs
        values = np.maximum(values @ weights.T + flat[at : at + outputs], 0)
        at += outputs
    return values @ experts.last[which][:-1] + experts.last[which][-1]


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_way_to_ask_an_expert_gives_its_networks_answer(name):
    experts, rng = _small(name, disturbance=0.3), np.random.default_rng(1)
    spread = np.array(experts.problem.spread, np.float32)
    seen = (rng.normal(size=(40, len(spread))) * spread + experts.problem.centre).astype(np.float32)
    likes = experts.likes(seen)
    for which in range(experts.count):
        values = _plain(experts, which, seen)
        clear = np.diff(np.sort(values, axis=1)[:, -2:], axis=1)[:, 0] > 1e-4
        np.testing.assert_array_equal(likes[which][clear], values.argmax(axis=1)[clear])
        np.testing.assert_array_equal(experts.greedy(seen, np.full(40, which))[clear], likes[which][clear])
    chances = experts.probabilities(seen)
    np.testing.assert_array_equal(chances.argmax(axis=2), likes)
    np.testing.assert_allclose(chances.sum(axis=2), 1, atol=1e-12)
    assert chances.min() == PMIN
    assert len(np.unique(likes, axis=0)) > 5


def test_experts_play_as_often_as_their_policies_say():
    experts, rng = _small("hiv", 1), np.random.default_rng(2)
    seen = np.tile(np.array(experts.problem.centre, np.float32), (20_000, 1))
    played = np.bincount(experts.play(seen, np.zeros(20_000, np.int64), rng), minlength=4)
    chances = experts.probabilities(seen[:1])[0, 0]
    assert stats.chisquare(played, 20_000 * chances).pvalue > ALPHA
    assert stats.chisquare(played, 20_000 * np.full(4, 0.25)).pvalue < ALPHA


def test_a_common_share_comes_from_the_first_network():
    base = _small(count=3000, common=0.6).base
    assert stats.binomtest(int((base == 0).sum()), 3000, 0.6 + 0.4 / 12).pvalue > ALPHA
    assert len(np.unique(base)) == 12


def test_networks_keep_their_answers_in_a_file(tmp_path):
    bases = Bases.of(problem_for("cartpole"))
    bases.save(tmp_path / "one.npz")
    again = Bases.load(tmp_path / "one.npz")
    assert again.sizes == bases.sizes
    np.testing.assert_array_equal(again.theta, bases.theta)


def test_the_shipped_cart_pole_and_hiv_experts_are_good():
    for name, least in (("cartpole", 150.0), ("hiv", 3e8), ("acrobot", -150.0)):
        experts = _small(name, 24, disturbance=0.0)
        returns = demonstrations(experts, 2, np.random.default_rng(0)).returns()
        assert returns.mean() > least


@pytest.fixture(scope="module")
def logged():
    return demonstrations(_small(), 3, np.random.default_rng(5), 20)


def test_logged_steps_follow_each_other(logged):
    assert logged.experts == 30
    assert logged.episodes.count == 90
    np.testing.assert_array_equal(logged.episodes.user, np.repeat(np.arange(30), 3))
    assert logged.episodes.lengths.max() <= 20
    np.testing.assert_allclose(logged.returns(), logged.episodes.lengths, rtol=1e-12)
    pytest.importorskip("torch", reason="torch, of the extra `torch`, is not installed")
    problem = problem_for("cartpole")
    data = logged.transitions(problem)
    starts = logged.starts()
    inside = np.setdiff1d(np.arange(len(logged.observations)), starts + logged.episodes.lengths - 1)
    order = np.argsort(np.repeat(logged.episodes.user, logged.episodes.lengths), kind="stable")
    assert (order == np.arange(len(order))).all()
    np.testing.assert_array_equal(data.following.numpy()[inside], data.observations.numpy()[inside + 1])
    over = data.terminal.numpy()
    assert over.sum() == logged.over.sum()
    np.testing.assert_allclose(data.rewards.numpy(), problem.reward_scale, rtol=1e-6)
    some = np.zeros(len(logged.observations), bool)
    some[:7] = True
    assert len(logged.transitions(problem, some)) == 7


def test_what_is_released_does_not_say_whose_it_is(logged):
    pytest.importorskip("torch", reason="torch, of the extra `torch`, is not installed")
    problem = problem_for("cartpole")
    ends = logged.starts()
    steps = np.array([ends[3], ends[3] + 1, ends[1], ends[3], ends[0]])
    found, whole = logged.released(problem, steps), logged.transitions(problem)
    assert (found.experts, found.expert.tolist()) == (1, [0] * 4)
    rows = [ends[3], ends[3] + 1, ends[1], ends[0]]  # experts stand in order here
    for name in ("observations", "following", "actions", "rewards", "terminal"):
        assert np.array_equal(getattr(found, name).numpy(), getattr(whole, name).numpy()[rows])


def test_a_file_gives_back_what_was_logged(logged, tmp_path):
    logged.save(tmp_path / "data.npz")
    again = ExpertData.load(tmp_path / "data.npz")
    for name in ("observations", "last", "over", "rewards"):
        np.testing.assert_array_equal(getattr(again, name), getattr(logged, name))
    np.testing.assert_array_equal(again.episodes.user, logged.episodes.user)
    np.testing.assert_array_equal(again.episodes.rewards, logged.episodes.rewards)
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"bad.npz: the file is not an NPZ archive"):
        ExpertData.load(tmp_path / "bad.npz")
    np.savez(tmp_path / "other.npz", format=2)
    with pytest.raises(ValueError, match=r"other.npz: the file must hold expert data of format 2"):
        ExpertData.load(tmp_path / "other.npz")


def test_rewards_are_kept_as_they_were_paid():
    data = demonstrations(_small("hiv", 4), 2, np.random.default_rng(0), 5)
    actions, times = data.episodes.actions.reshape(8, 5), iter(range(5))

    def again(seen, rows):
        return actions[rows, next(times)]

    steps = roll_out(problem_for("hiv").make(), again, 8, np.random.default_rng(0), 5)
    np.testing.assert_array_equal(data.rewards, steps.rewards)
    assert (data.episodes.rewards.min(), data.episodes.rewards.max()) == (0, 1)


@pytest.mark.parametrize("paid", [-1e6, -1e20, 1e20])
def test_one_experts_rewards_are_not_seen_in_anothers(paid):
    """Clipping bounds what one expert moves only if the others' transitions stay as they are."""
    pytest.importorskip("torch", reason="torch, of the extra `torch`, is not installed")
    rewards = np.random.default_rng(0).normal(0, 0.01, 20)
    alone = _logged(rewards, [10, 10])
    beside = _logged(np.append(rewards, paid), [10, 10, 1])
    problem, rows = problem_for("cartpole"), np.arange(20)
    seen = [data.released(problem, rows).rewards for data in (alone, beside)]
    assert _equal(*seen)
    mask = np.arange(21) < 20
    assert _equal(alone.transitions(problem).rewards, beside.transitions(problem, mask).rewards)


def _equal(one, other):
    return np.array_equal(one.numpy(), other.numpy())


def _logged(rewards, lengths):
    """So many steps without anything but rewards, one episode an expert."""
    seen = np.zeros((len(rewards), 4), np.float32)
    none = np.zeros(len(rewards), np.int64)
    steps = Steps(seen, seen, none, rewards, none.astype(bool), np.array(lengths))
    return ExpertData.of(steps, np.arange(len(lengths)), len(lengths))


def test_the_release_reads_them(logged):
    parameters = ExpertReleaseParameters(5, 200, PMIN, 29, 3, 2, scale=0.05, draws="fresh")
    found = DataRelease(parameters).release(
        logged.episodes, _small(), np.random.default_rng(0), logged.observations
    )
    assert found.mask(len(logged.observations)).sum() == found.lengths.sum()


def test_what_has_no_meaning_is_refused(logged):
    with pytest.raises(ValueError, match=r"problem \('chess'\) must be one of: cartpole"):
        problem_for("chess")
    with pytest.raises(ValueError, match=r"pmin \(0.5\) must be in \(0, 1/2\)"):
        _small(pmin=0.5)
    with pytest.raises(ValueError, match=r"disturbance \(-1\) must be"):
        _small(disturbance=-1)
    with pytest.raises(ValueError, match=r"common \(2\) must be in \[0, 1\]"):
        _small(common=2)
    with pytest.raises(ValueError, match=r"expert \(30\) must have at least one trajectory"):
        ExpertData(logged.episodes, logged.observations, logged.last, logged.over, logged.rewards, 31)
    with pytest.raises(ValueError, match="must be a matrix with"):
        ExpertData(logged.episodes, logged.observations[1:], logged.last, logged.over, logged.rewards, 30)
    with pytest.raises(ValueError, match=r"rewards \(shape \(1,\)\) must be \d+ finite numbers"):
        ExpertData(logged.episodes, logged.observations, logged.last, logged.over, logged.rewards[:1], 30)


def test_learning_from_nothing_is_the_same_every_time():
    torch = pytest.importorskip("torch", reason="torch, of the extra `torch`, is not installed")
    from dpproof.mechanisms.rl.expert.training import Learning, learn

    problem, how = problem_for("cartpole"), Learning(rounds=180, copies=8, kept=(0.5, 1.0))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    first, second = (learn(problem, how, np.random.default_rng(3)) for _ in range(2))
    torch.set_num_threads(threads)
    assert len(first) == 2
    assert all((one == other).all() for one, other in zip(first, second, strict=True))
    assert (first[0] != first[1]).any()
    bases = Bases(how.layers(problem).sizes, np.array(first))
    lasts = np.array([bases.last(0), bases.last(1)])
    assert Population(problem, bases, np.arange(2), lasts).likes(np.zeros((3, 4), np.float32)).shape == (2, 3)
