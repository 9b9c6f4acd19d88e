"""UCB-VI and OPPO without privacy do what slow versions, written from the algorithms' formulas, do."""

import math

import numpy as np
import pytest

from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.rl.private_ucb.baselines import UCBVI, Bonus, oppo, ucb_vi
from dpproof.mechanisms.rl.private_ucb.privatizers import ExactCounts
from tests.rows import rows


def random_mdp(seed, S, A, H):
    rng = np.random.default_rng(seed)
    return TabularMDP(rng.dirichlet(np.full(S, 0.6), (S, A)), rng.random((S, A)), H)


def bonus_1(S, A, H, K, delta, n):
    return 7 * H * math.log(5 * S * A * K * H / delta) / math.sqrt(n)


def bonus_2(S, A, H, K, delta, n, P, V, after):
    """Algorithm 4 with every term written out; `after` (S,) counts the visits of states at the next step."""
    L = math.log(5 * S * A * K * H / delta)
    mean = sum(P[y] * V[y] for y in range(S))
    variance = sum(P[y] * (V[y] - mean) ** 2 for y in range(S))
    rare = 0.0
    for y in range(S):
        rare += P[y] * (H**2 if after[y] == 0 else min(100**2 * H**3 * S**2 * A * L**2 / after[y], H**2))
    return math.sqrt(8 * L * variance / n) + 14 * H * L / (3 * n) + math.sqrt(8 * rare / n)


def replay_ucb_vi(environment, run, delta, bonus, scale):
    """Algorithms 1 and 2 on the trajectories of a run; returns each episode's policy (H, S)."""
    S, A, H, K = environment.states, environment.actions, environment.horizon, len(run.regrets)
    N, after, policies = np.zeros((S, A, S)), np.zeros((H + 1, S)), []
    Q = np.full((H, S, A), float(H))
    for k in range(K):
        previous, V = Q, np.zeros((H + 1, S))
        Q = np.full((H, S, A), float(H))
        for h in reversed(range(H)):
            for x, a in np.ndindex(S, A):
                n = N[x, a].sum()
                if n > (0 if scale == 1 else 1):
                    P = N[x, a] / n
                    args = (S, A, H, K, delta, n)
                    b = bonus_1(*args) if bonus == "hoeffding" else bonus_2(*args, P, V[h + 1], after[h + 1])
                    value = environment.rewards[x, a] + sum(P * V[h + 1]) + scale * b
                    Q[h, x, a] = min(previous[h, x, a], H, value)
            V[h] = Q[h].max(axis=1)
        policies.append(Q.argmax(axis=2))
        for h in range(H):
            N[run.states[k, h], run.actions[k, h], run.states[k, h + 1]] += 1
        for h in range(H + 1):
            after[h, run.states[k, h]] += 1
    return np.array(policies)


CASES = [
    ("bernstein", 1.0, (2, 2, 2), 1500),
    ("hoeffding", 0.05, (2, 2, 2), 600),
    ("bernstein", 0.05, (3, 2, 3), 400),
    ("hoeffding", 0.01, (3, 2, 3), 400),
    ("bernstein", 0.0, (3, 2, 3), 100),
]


@rows("bonus, scale, sizes, K", CASES)
def test_ucb_vi_plays_the_policies_of_its_algorithms(bonus, scale, sizes, K):
    """Seeds 5 and 6. Every case has more than one policy, so that a wrong bonus would show."""
    environment = random_mdp(5, *sizes)
    run = ucb_vi(*sizes, K, bonus=bonus, delta=0.1, scale=scale).run(environment, 6, keep=True)
    policies = replay_ucb_vi(environment, run, 0.1, bonus, scale)
    assert len({policy.tobytes() for policy in policies}) > 2
    H = environment.horizon
    played = policies[np.arange(K)[:, None], np.arange(H), run.states[:, :-1]]
    assert (run.actions == played).all()
    best = environment.optimal_values()[0, environment.start]
    distinct = {policy.tobytes(): policy for policy in policies}
    values = {
        key: environment.policy_values(np.eye(environment.actions)[policy])[0, environment.start]
        for key, policy in distinct.items()
    }
    expected = [best - values[policy.tobytes()] for policy in policies]
    np.testing.assert_allclose(run.regrets, expected, rtol=0, atol=1e-12)


def test_the_replay_of_ucb_vi_rejects_another_bonus():
    """The same run with 1.5 times the bonus: some actions differ."""
    environment, sizes, K = random_mdp(5, 3, 2, 3), (3, 2, 3), 400
    run = ucb_vi(*sizes, K, delta=0.1, scale=0.075).run(environment, 6, keep=True)
    policies = replay_ucb_vi(environment, run, 0.1, "bernstein", 0.05)
    assert (run.actions != policies[np.arange(K)[:, None], np.arange(3), run.states[:, :-1]]).any()


def replay_oppo(environment, run, delta, scale, speed):
    """Optimistic policy optimisation with costs, limited at 0 only; returns each episode's expected reward."""
    S, A, H, K = environment.states, environment.actions, environment.horizon, len(run.regrets)
    T = K * H
    cost_log, transition_log = math.log(4 * S * A * T / delta), math.log(6 * S * A * T / delta)
    eta = speed * math.sqrt(2 * math.log(A) / (H**2 * K))
    N, C, pi, values = np.zeros((H, S, A, S)), np.zeros((H, S, A)), np.full((H, S, A), 1 / A), []
    for k in range(K):
        values.append(environment.policy_values(pi)[0, environment.start])
        Q, V = np.zeros((H, S, A)), np.zeros((H + 1, S))
        for h in reversed(range(H)):
            for s, a in np.ndindex(S, A):
                n = max(1, N[h, s, a].sum())
                b = math.sqrt(2 * cost_log / n) + H * math.sqrt(4 * S * transition_log / n)
                Q[h, s, a] = max(0, (C[h, s, a] + N[h, s, a] @ V[h + 1]) / n - scale * b)
            V[h] = (Q[h] * pi[h]).sum(axis=1)
        pi = pi * np.exp(-eta * Q)
        pi = pi / pi.sum(axis=2, keepdims=True)
        for h in range(H):
            s, a = run.states[k, h], run.actions[k, h]
            N[h, s, a, run.states[k, h + 1]] += 1
            C[h, s, a] += 1 - environment.rewards[s, a]
    return np.array(values)


@rows("scale, speed, sizes", [(0.02, 30.0, (3, 2, 3)), (0.0, 1.0, (3, 2, 3)), (1.0, 1.0, (2, 2, 1))])
def test_oppo_plays_the_policies_of_its_algorithm(scale, speed, sizes):
    """Seeds 7 and 8; 300 episodes."""
    environment, K = random_mdp(7, *sizes), 300
    run = oppo(*sizes, K, delta=0.1, scale=scale, learning_rate=speed).run(environment, 8, keep=True)
    best = environment.optimal_values()[0, environment.start]
    expected = best - replay_oppo(environment, run, 0.1, scale, speed)
    assert np.ptp(expected) > 0 or scale == 1
    np.testing.assert_allclose(run.regrets, expected, rtol=0, atol=1e-12)


def test_with_printed_constants_neither_baseline_learns_river_swim_in_300_episodes():
    """Seed 4. The bonuses are far above the values: the regret is that of hardly learning."""
    environment = river_swim()
    most = 300 * environment.optimal_values()[0, 0]
    learners = [ucb_vi(6, 2, 20, 300), ucb_vi(6, 2, 20, 300, bonus="hoeffding"), oppo(6, 2, 20, 300)]
    assert all(learner.run(environment, 4).total_regret > 0.9 * most for learner in learners)


def test_baselines_refuse_what_their_papers_do_not_cover():
    with pytest.raises(ValueError, match="pooled counts"):
        UCBVI(ExactCounts(2, 2, 2, 5))
    with pytest.raises(ValueError, match=r"delta \(2\)"):
        ucb_vi(2, 2, 2, 5, delta=2)
    with pytest.raises(ValueError, match=r"scale \(nan\)"):
        ucb_vi(2, 2, 2, 5, scale=math.nan)
    with pytest.raises(ValueError, match="'freedman' is not a valid Bonus"):
        ucb_vi(2, 2, 2, 5, bonus="freedman")
    with pytest.raises(ValueError, match=r"episodes \(1000000000\) must be at most 100\^2 H S\^2 A L\^2"):
        ucb_vi(1, 1, 1, 10**9)
    assert ucb_vi(1, 1, 1, 10**9, bonus="hoeffding").bonus is Bonus.HOEFFDING
