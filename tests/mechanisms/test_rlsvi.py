"""Compiled RLSVI is Algorithm 1, seeded and counted as it says."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.rl.rlsvi import rlsvi as accounting
from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.audits.corpus.rlsvi import FirstVisitUnprotected
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.primitives import HasGuarantee, Samples
from dpproof.mechanisms.rl.rlsvi.rlsvi import RLSVI
from dpproof.mechanisms.rl.rlsvi.users import Users

INSTANCES = [
    {},
    {"S": 1, "A": 1, "H": 1, "K": 2},
    {"S": 5, "A": 3, "H": 2, "K": 12},
    {"S": 2, "A": 2, "H": 4, "K": 15, "beta_scale": 1e-6},
    {"S": 3, "A": 2, "H": 3, "K": 10, "beta_scale": 1e-4, "clip": 2.0},
]


@pytest.mark.parametrize("sizes", INSTANCES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_release_is_algorithm_1_fed_with_the_same_normals(plain, sizes, seed):
    rlsvi, users = plain.instance(seed, **sizes)
    tables = rlsvi.release(users, np.random.default_rng(seed))[0]
    slow = plain.release(rlsvi.parameters, users, np.random.default_rng(seed))
    np.testing.assert_allclose(tables, slow, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sizes", INSTANCES)
def test_a_run_is_algorithm_1_fed_with_the_same_draws(plain, sizes):
    rlsvi, _ = plain.instance(7, **sizes)
    p = rlsvi.parameters
    environment = plain.environment(7, S=p.states, A=p.actions, H=p.horizon)
    run = rlsvi.run(environment, np.random.default_rng(1), keep=True)
    policies, episodes = plain.run(p, environment, np.random.default_rng(1))
    best = environment.optimal_values()[0, environment.start]
    for k, episode in enumerate(episodes):
        value = environment.policy_values(policies[k])[0, environment.start]
        assert run.regrets[k] == pytest.approx(best - value, rel=0, abs=1e-12)
        states, actions, rewards, after = zip(*episode, strict=True)
        assert run.states[k].tolist() == [states[0], *after]
        assert run.actions[k].tolist() == list(actions)
        assert run.rewards[k].tolist() == list(rewards)


def test_of_equal_actions_the_first_is_taken():
    rlsvi = FirstVisitUnprotected(RLSVIParameters(1, 2, 1, 5, beta_scale=1e-300))
    still = TabularMDP(np.ones((1, 2, 1)), np.zeros((1, 2)), 1)
    assert (rlsvi.run(still, np.random.default_rng(0), keep=True).actions[0] == 0).all()


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    S=st.integers(1, 4),
    A=st.integers(1, 3),
    H=st.integers(1, 4),
    K=st.integers(1, 8),
)
def test_counts_grow_by_one_trajectory_per_episode(plain, seed, S, A, H, K):
    rlsvi, users = plain.instance(seed, S=S, A=A, H=H, K=K)
    tables, counts = rlsvi.release_with_counts(users, np.random.default_rng(seed), runs=2)
    assert (counts.sum(axis=(3, 4)) == np.arange(K)[:, None]).all()
    assert (np.diff(counts, axis=1) >= 0).all()
    assert tables.tobytes() == rlsvi.release(users, np.random.default_rng(seed), runs=2).tobytes()


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), H=st.integers(1, 5), beta_scale=st.sampled_from([1e-9, 1e-3, 1.0]))
def test_regret_lies_between_nothing_and_everything(plain, seed, H, beta_scale):
    rlsvi = RLSVI(RLSVIParameters(3, 2, H, 20, beta_scale))
    regrets = rlsvi.run(plain.environment(seed, H=H), np.random.default_rng(seed)).regrets
    assert (regrets >= -1e-12).all()
    assert (regrets <= H).all()


def test_with_little_noise_it_learns_and_with_the_paper_s_it_explores():
    swim, rng = river_swim(4, 6), np.random.default_rng(0)
    calm = RLSVI(RLSVIParameters(4, 2, 6, 20_000, beta_scale=1e-4)).run(swim, rng).regrets
    wild = RLSVI(RLSVIParameters(4, 2, 6, 20_000)).run(swim, rng).regrets
    assert calm[-2000:].mean() < 0.2 * calm[:200].mean()
    assert wild[-2000:].mean() > 2 * calm[-2000:].mean()


@pytest.mark.slow
def test_equal_seeds_give_equal_bytes_whatever_the_number_of_workers():
    rlsvi, swim = RLSVI(RLSVIParameters(6, 2, 20, 200)), river_swim()
    alone = rlsvi.run_many(swim, 11, 5, keep=True)
    pools = [ThreadPoolExecutor(workers) for workers in (1, 2, 4)]
    pools.append(ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")))
    for pool in pools:
        with pool:
            together = rlsvi.run_many(swim, 11, 5, pool, keep=True)
        for one, other in zip(alone, together, strict=True):
            for name in ("regrets", "states", "actions", "rewards"):
                assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    assert len({run.states.tobytes() for run in alone}) == 5
    assert rlsvi.run_many(swim, 12, 1, keep=True)[0].states.tobytes() != alone[0].states.tobytes()


def test_trajectories_do_not_change_what_happens():
    rlsvi, swim = RLSVI(RLSVIParameters(6, 2, 20, 50)), river_swim()
    bare, kept = (rlsvi.run(swim, np.random.default_rng(3), keep=keep) for keep in (False, True))
    assert bare.regrets.tobytes() == kept.regrets.tobytes()
    assert (bare.states, bare.actions, bare.rewards) == (None, None, None)
    assert kept.total_regret == kept.regrets.sum()


def test_it_samples_and_has_a_guarantee(plain):
    rlsvi, users = plain.instance(0)
    assert isinstance(rlsvi, HasGuarantee)
    assert isinstance(rlsvi, Samples)
    drawn = rlsvi.sample(users, 4, np.random.default_rng(0))
    assert drawn.tobytes() == rlsvi.release(users, np.random.default_rng(0), 4).tobytes()


def test_the_guarantee_is_the_accountant_s(plain, monkeypatch):
    rlsvi, _ = plain.instance(0)
    monkeypatch.setattr(accounting, "account", lambda *asked: asked)
    assert rlsvi.account(Adjacency.REWARDS_ONLY) == (rlsvi.parameters, Adjacency.REWARDS_ONLY)


def test_an_adjacency_without_a_proof_is_refused(plain):
    with pytest.raises(UnprovedAdjacencyError, match="expert"):
        plain.instance(0)[0].account(Adjacency.EXPERT)


@pytest.mark.parametrize("name", ["states", "actions", "horizon", "episodes"])
@pytest.mark.parametrize("value", [0, -1, 1.5, float("nan")])
def test_sizes_without_meaning_are_refused(name, value):
    sizes = {"states": 2, "actions": 2, "horizon": 2, "episodes": 2}
    with pytest.raises(ValueError, match=name):
        RLSVI(RLSVIParameters(**(sizes | {name: value})))


def test_data_of_another_size_are_refused(plain):
    rlsvi, users = plain.instance(0)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"states \(6\) must be 3, as in the parameters"):
        rlsvi.run(river_swim(), rng)
    with pytest.raises(ValueError, match=r"horizon \(2\) must be 3, as in the parameters"):
        rlsvi.release(plain.instance(0, H=2)[1], rng)
    with pytest.raises(ValueError, match=r"users \(5\) must be 6, the number of episodes"):
        rlsvi.release(plain.instance(0, K=5)[1], rng)
    with pytest.raises(ValueError, match=r"runs \(0\) must be an integer at least 1"):
        rlsvi.release(users, rng, 0)
    with pytest.raises(ValueError, match=r"runs \(0\) must be an integer at least 1"):
        rlsvi.run_many(plain.environment(0), 1, 0)
    with pytest.raises(ValueError, match=r"seed \(-1\) must be an integer at least 0"):
        rlsvi.run_many(plain.environment(0), -1, 1)


def test_users_of_an_environment_answer_by_its_law():
    users = Users.draw(river_swim(), 4000, np.random.default_rng(0))
    after = users.next_states[:, :, 3, 1]
    assert np.bincount(after.ravel(), minlength=6) / after.size == pytest.approx(
        river_swim().transitions[3, 1], abs=0.01
    )
    assert (users.rewards[0, 0] == river_swim().rewards).all()
