"""Private offline learning: what is released, for whom, how far two neighbours are apart, and what is refused."""

from __future__ import annotations

import itertools
import json
import re
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.offline_tables import behaviour, log, possible
from dpproof import read_episodes
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.episodes import Episodes
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.randomness import SimulationError
from dpproof.mechanisms.rl.offline import counts as counting
from dpproof.mechanisms.rl.offline.counts import LogParameters, ReleasedCounts, SimulatedCounts, counts_of
from dpproof.mechanisms.rl.offline.tables import learn
from tests.rows import rows

SEED = 810
SIZES = {"states": 2, "actions": 2, "horizon": 3}
TARGET = {"epsilon": 1.0, "delta": 1e-6, "adjacency": "replace"}


def small(**changed):
    """Three episodes of unequal lengths."""
    fields = {
        "states": np.array([0, 1, 0, 1, 1, 0]),
        "actions": np.array([1, 0, 1, 1, 0, 0]),
        "rewards": np.array([0.0, 1.0, 0.5, 1.0, 0.25, 0.0]),
        "lengths": np.array([3, 1, 2]),
        "user": np.array([4, 5, 6]),
    }
    return Episodes(**fields | changed)


def test_episodes_that_may_have_been_cut_off_do_not_raise_the_bound():
    """A step costs 1, and every episode was cut off after one of ten steps. The truth is -10."""
    count = 20_000
    log = {name: np.zeros(count, int) for name in ("state", "action")}
    log |= {name: np.arange(count) for name in ("episode", "user")} | {"reward": -np.ones(count)}
    given = {"states": 1, "actions": 1, "horizon": 10, "epsilon": 1.0, "delta": 1e-6, "adjacency": "replace"}
    own = read_episodes(log, reward_range=(-1, 0))
    assert learn(own, **given, seed=0).lower_bound(0) <= -10
    assert -2 < learn(own, **given, complete=True, seed=0).lower_bound(0) <= -1


def test_the_tables_of_a_log_are_counted_by_hand():
    found = counts_of(small(), LogParameters(**SIZES, sigma=1.0))
    expected = np.zeros((3, 2, 2, 3), int)
    for h, s, a, t in ((0, 0, 1, 1), (1, 1, 0, 0), (2, 0, 1, 2), (0, 1, 1, 2), (0, 1, 0, 0), (1, 0, 0, 2)):
        expected[h, s, a, t] += 1
    assert (found.transitions == expected).all()
    rewards = np.zeros((3, 2, 2))
    rewards[0, 0, 1], rewards[1, 1, 0], rewards[0, 1, 1] = -0.5, 0.5, 0.5
    rewards[0, 1, 0], rewards[1, 0, 0] = -0.25, -0.5
    assert (found.rewards == rewards * 2**30).all()


def episodes_up_to(horizon):
    """All episodes of two states and one action with rewards 0 and 1, up to a length."""
    for length in range(1, horizon + 1):
        for states in itertools.product(range(2), repeat=length):
            for paid in itertools.product((0.0, 1.0), repeat=length):
                yield Episodes.rectangular([states], np.zeros((1, length), int), [paid])


def vector(episode, parameters):
    """What the episode adds to the release: exact numbers, sums of rewards over their noise."""
    found = counts_of(episode, parameters)
    rewards = [Fraction(x, 2**30) / Fraction(parameters.reward_noise) for x in found.rewards.ravel().tolist()]
    return [*map(Fraction, found.transitions.ravel().tolist()), *rewards]


@pytest.mark.parametrize("horizon", [1, 2, 3])
@pytest.mark.parametrize("reward_noise", [0.25, 0.5, 2.0])
def test_the_sensitivity_is_the_largest_distance_of_two_episodes(horizon, reward_noise):
    """Every pair of episodes, in rationals; equality where two states suffice for the worst pair."""
    p = LogParameters(2, 1, horizon, sigma=1.0, reward_noise=reward_noise)
    vectors = [vector(episode, p) for episode in episodes_up_to(horizon)]
    apart = max(
        sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for a, b in itertools.product(vectors, repeat=2)
    )
    alone = max(sum(x**2 for x in a) for a in vectors)
    assert alone == p.squared_sensitivity(Adjacency.ADD_REMOVE)
    assert apart <= p.squared_sensitivity(Adjacency.REPLACE)
    if reward_noise >= 0.5:
        assert apart == p.squared_sensitivity(Adjacency.REPLACE)


@pytest.mark.parametrize("horizon", [1, 3])
def test_rewards_only_is_the_largest_distance_of_rewards(horizon):
    p = LogParameters(2, 1, horizon, sigma=1.0)
    found = {}
    for episode in episodes_up_to(horizon):
        found.setdefault(tuple(episode.states), []).append(vector(episode, p))
    apart = max(
        sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
        for same in found.values()
        for a, b in itertools.product(same, repeat=2)
    )
    assert apart == p.squared_sensitivity(Adjacency.REWARDS_ONLY)


def test_several_episodes_of_a_user_multiply_the_sensitivity():
    one, three = (LogParameters(**SIZES, sigma=1.0, per_user=m) for m in (1, 3))
    for relation in (Adjacency.REPLACE, Adjacency.ADD_REMOVE, Adjacency.REWARDS_ONLY):
        assert three.squared_sensitivity(relation) == 9 * one.squared_sensitivity(relation)


@rows("adjacency", ["replace", "add-remove", "rewards-only"])
def test_a_release_meets_its_target_and_a_simulation_has_no_guarantee(adjacency):
    target = TARGET | {"adjacency": adjacency}
    released = learn(small(), **SIZES, **target)
    assert isinstance(released.released, ReleasedCounts)
    account = released.account(adjacency)
    assert 0.999 < account.epsilon("1e-6").upper <= 1
    assert account.covers_released_bits
    assert account.neighbours == f"{adjacency}, of one user"
    simulated = learn(small(), **SIZES, **target, seed=1)
    assert isinstance(simulated.released, SimulatedCounts)
    with pytest.raises(SimulationError):
        simulated.account(adjacency)
    assert "simulation" in repr(simulated)


def test_a_release_depends_on_its_seed_alone_and_writes_no_seed():
    one, two = (learn(small(), **SIZES, **TARGET, seed=12345) for _ in range(2))
    assert one.as_json() == two.as_json()
    assert "12345" not in json.dumps(one.as_json())
    assert json.loads(json.dumps(one.as_json()))["policy"] == one.policy.tolist()


def test_public_counts_are_exact_and_prove_nothing_of_replacement():
    found = learn(small(), **SIZES, **TARGET | {"adjacency": "rewards-only"}, seed=0)
    exact = counts_of(small(), found.released.parameters)
    assert (found.released.transitions == exact.transitions).all()
    assert (found.released.rewards != exact.rewards / 2**30).all()
    with pytest.raises(UnprovedAdjacencyError, match="Use one of: rewards-only"):
        found.released.parameters.account("replace")


def test_impossible_transitions_are_not_drawn_and_known_rewards_are_not_released():
    able = np.ones((2, 2, 3), bool)
    able[0, 0, 1] = False
    found = learn(small(), **SIZES, **TARGET, possible=able, rewards=np.zeros((2, 2)), seed=0)
    assert (found.released.transitions[:, 0, 0, 1] == 0).all()
    assert (found.released.transitions[-1, ..., :2] == 0).all()
    assert found.released.integers[1] == ()
    assert found.released.parameters.squared_sensitivity(Adjacency.REPLACE) == 2 * SIZES["horizon"]
    assert (found.values == 0).all()


def test_the_range_of_own_data_is_the_range_of_the_values():
    columns = {"episode": [0, 0, 1], "state": [0, 1, 0], "action": [0, 1, 0], "reward": [-4.0, 0.0, -2.0]}
    own = read_episodes(columns, reward_range=(-4, 0), unit="episode")
    found = learn(own, **SIZES, **TARGET, seed=0)
    assert (found.values[0] >= -12).all()
    assert (found.values <= 0).all()
    with pytest.raises(ValueError, match=r"reward_range \(\(0, 1\)\) must be \(-4\.0, 0\.0\)"):
        learn(own, **SIZES, **TARGET, reward_range=(0, 1), seed=0)


BAD = {
    "lengths (3) must be at most horizon (2)": {"horizon": 2},
    "must be one of 0, ..., 0": {"states": 1},
    "actions at (0,) (1) must be one of 0": {"actions": 1},
    "epsilon (0) must be a finite number above 0": {"epsilon": 0},
    "delta": {"delta": 2},
    "failure (0) must be in (0, 1)": {"failure": 0},
    "pessimism (-1) must be a finite number at least 0": {"pessimism": -1},
    "reward_noise (0) must be a finite number above 0": {"reward_noise": 0},
    "per_user (0) must be an integer at least 1": {"episodes_per_user": 0},
    "exponent (1) must be at most 0": {"exponent": 1},
    "exponent (-999) must be an integer": {"exponent": -999},
    "the shape of rewards (3,) must be (2, 2) or (3, 2, 2)": {"rewards": [0, 0, 0]},
    "rewards must be finite numbers": {"rewards": [[0, np.nan], [0, 0]]},
    "possible (shape (2, 2), dtype bool) must be a bool array of shape (2, 2, 3)": {"possible": [[True] * 2] * 2},
    "possible must allow a next state": {"possible": np.zeros((2, 2, 3), bool)},
    "no step in state 0 with action 1 leads to state 1": {"possible": [[[True, True, True], [True, False, True]]] * 2},
    "must be two finite numbers with low below high": {"reward_range": (1, 0)},
    "adjacency": {"adjacency": "neighbours"},
    "seed (-1) must be": {"seed": -1},
}  # fmt: skip


@rows("rule", BAD)
def test_bad_input_is_refused_before_any_noise_is_drawn(rule, monkeypatch):
    def drawn(*_, **__):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(counting, "rounded_gaussian", drawn)
    with pytest.raises(ValueError, match=re.escape(rule)):
        learn(**{"episodes": small(), **SIZES, **TARGET, **BAD[rule]})


def test_a_user_with_two_episodes_is_refused_or_paid_for():
    twice = small(user=np.array([4, 4, 6]))
    with pytest.raises(ValueError, match=r"user \(4\) has 2 episodes.*episodes_per_user=2"):
        learn(twice, **SIZES, **TARGET)
    once = learn(small(), **SIZES, **TARGET, seed=0).released.parameters.sigma
    found = learn(twice, **SIZES, **TARGET, episodes_per_user=2, seed=0).released.parameters
    assert found.sigma == pytest.approx(2 * once, rel=1e-9)
    with pytest.raises(ValueError, match="of type list"):
        learn([], **SIZES, **TARGET)


def test_the_policy_answers_and_refuses():
    found = learn(small(), **SIZES, **TARGET, seed=0)
    assert found.act(1, 2) == found.policy[2, 1]
    assert found.lower_bound([0.25, 0.75]) == pytest.approx(found.values[0] @ [0.25, 0.75])
    for wrong in (lambda: found.act(2, 0), lambda: found.act(0, 3), lambda: found.lower_bound([1, 1])):
        with pytest.raises(ValueError, match="must be"):
            wrong()
    with pytest.raises(ValueError, match="shape of start"):
        found.lower_bound([1.0])


def test_all_episodes_of_one_step():
    batch = Episodes.rectangular(np.zeros((4000, 1), int), [[0], [1]] * 2000, [[0.0], [1.0]] * 2000)
    found = learn(batch, states=1, actions=2, horizon=1, **TARGET, seed=0)
    assert found.act(0, 0) == 1
    assert 0.9 < found.lower_bound(0) < 1


def ending(rng, count, horizon=4):
    """Episodes of two states that end with probability 0.2 at each step; rewards -2 or 0, moved to [0, 1]."""
    states, actions, rewards, lengths = [], [], [], []
    for _ in range(count):
        s, length = 0, 0
        while True:
            a = int(rng.integers(2))
            states.append(s), actions.append(a), rewards.append(float(rng.random() < 0.3 + 0.4 * (s == a)))
            length += 1
            if length == horizon or rng.random() < 0.2:
                break
            s = int(rng.random() < 0.3 + 0.4 * a)
        lengths.append(length)
    arrays = (np.array(each) for each in (states, actions, rewards, lengths))
    return Episodes(*arrays, np.arange(count))


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_bounds_hold_for_episodes_that_end_and_negative_rewards(epsilon):
    """Through the sampler of releases, against exact values: rewards -2 + 2 (0.3 or 0.7), chance 0.8 to go on."""
    for run in range(5):
        episodes = ending(np.random.default_rng([SEED, run]), 3000)
        found = learn(
            episodes, states=2, actions=2, horizon=4, epsilon=epsilon, delta=1e-6, adjacency="replace",
            reward_range=(-2, 0), seed=[SEED, run],
        )  # fmt: skip
        after = np.zeros(2)
        for h in reversed(range(4)):
            here = found.policy[h]
            up = 0.3 + 0.4 * here
            after = (
                -2 + 2 * (0.3 + 0.4 * (here == np.arange(2))) + 0.8 * ((1 - up) * after[0] + up * after[1])
            )
            assert (found.values[h] <= after).all()
        assert found.values[0, 0] > (-8 if epsilon < 10 else -6.5)


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True])
def test_a_private_policy_is_better_than_the_logged_one(known):
    """20 logs of 20,000 episodes of RiverSwim at epsilon 10: the worst beats the logs, no lower bound fails."""
    mdp = river_swim()
    chances = behaviour(mdp)
    for run in range(20):
        episodes = log(mdp, chances, 20_000, np.random.default_rng([SEED, run]))
        found = learn(
            episodes, states=6, actions=2, horizon=20, **TARGET | {"epsilon": 10.0}, seed=[SEED, run],
            possible=possible(mdp) if known else None,
        )  # fmt: skip
        truth = mdp.policy_values(found.policy)
        assert truth[0, 0] > 1.5 * mdp.policy_values(chances)[0, 0]
        assert (found.values <= truth + 1e-9).all()
