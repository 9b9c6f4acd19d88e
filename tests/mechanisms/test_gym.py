"""The environments keep Gymnasium's contract, and their steps follow the law of the process."""

import importlib.metadata
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.environments.tabular import TabularMDP

gymnasium = pytest.importorskip("gymnasium")
checker = pytest.importorskip("gymnasium.utils.env_checker")
gym = pytest.importorskip("dpproof.mechanisms.environments.gym")

ALPHA = 1e-9
"""False alarms of each statistical test here, per run."""
STEPS = 20_000


@pytest.mark.parametrize("name", ["dpproof/RiverSwim-v0", "dpproof/Chain-v0", "dpproof/HIVTreatment-v0"])
def test_the_checker_finds_nothing(name):
    checker.check_env(gymnasium.make(name).unwrapped, skip_render_check=True)


def test_gymnasium_finds_an_environment_by_its_module_in_a_fresh_interpreter():
    code = "import gymnasium; print(gymnasium.make('dpproof.mechanisms.environments.gym:dpproof/Chain-v0').spec.id)"
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "dpproof/Chain-v0"


def test_the_entry_point_registers_and_may_be_called_twice():
    points = importlib.metadata.entry_points(group="gymnasium.envs")
    assert [point.load() for point in points if point.name == "dpproof"] == [gym.register]
    before = dict(gymnasium.registry)
    gym.register()
    assert gymnasium.registry == before


def test_sizes_pass_through_make():
    env = gymnasium.make("dpproof/RiverSwim-v0", states=4, horizon=6).unwrapped
    assert (env.observation_space.n, env.action_space.n, env.mdp.horizon) == (4, 2, 6)


def test_an_episode_is_truncated_at_the_horizon_and_must_be_reset():
    env = gym.make_river_swim(horizon=3)
    env.reset(seed=1)
    assert [env.step(1)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]
    with pytest.raises(RuntimeError, match="Call reset before step"):
        env.step(1)


def test_the_chain_terminates_at_its_end():
    env = gym.make_chain(states=2, horizon=1000)
    env.reset(seed=1)
    steps = [env.step(0)]
    while not steps[-1][2]:
        steps.append(env.step(0))
    assert steps[-1][0] == 1
    assert not any(step[3] for step in steps)


def test_equal_seeds_give_equal_episodes():
    env = gym.make_river_swim()

    def episode(seed):
        env.reset(seed=seed)
        return [env.step(1)[0] for _ in range(20)]

    assert episode(5) == episode(5)
    assert len({tuple(episode(seed)) for seed in range(5)}) > 1


def test_a_foreign_action_is_refused():
    env = gym.make_river_swim()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"action \(2\) must be one of 0, ..., 1"):
        env.step(2)


def _p_value(claimed: TabularMDP, env, s: int, a: int) -> float:
    rng_seeded = env.reset(seed=3)
    assert rng_seeded[0] == s
    counts = np.zeros(claimed.states)
    for _ in range(STEPS):
        env.reset()
        counts[env.step(a)[0]] += 1
    chances = claimed.transitions[s, a]
    assert counts[chances == 0].sum() == 0
    return stats.chisquare(counts[chances > 0], STEPS * chances[chances > 0]).pvalue


def test_steps_follow_the_law_and_not_one_close_by():
    middle = TabularMDP(river_swim().transitions, river_swim().rewards, 1, start=3)
    shifted = middle.transitions.copy()
    shifted[3, 1, 2:5] = 0.06, 0.62, 0.32
    wrong = TabularMDP(shifted, middle.rewards, 1, start=3)
    assert _p_value(middle, gym.TabularEnv(middle), 3, 1) > ALPHA
    assert _p_value(wrong, gym.TabularEnv(middle), 3, 1) < ALPHA
