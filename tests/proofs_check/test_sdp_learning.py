"""The learning half of SDP-PE by brute force: tiny problems and exact chances beside the certificates."""

import itertools
import math

import numpy as np
import pytest

from dpproof.proofs_check.registry import lookup, statement_ids
from tests.rows import rows
from tests.verified import verified

ITEMS = {
    "sdp.theorem6.regret": "REFUTED",
    "sdp.theorem6.regret.repaired": "PROVED",
    "sdp.theorem6.regret.every_constant": "STEPS PROVED",
    "sdp.theorem6.switching": "PROVED",
    "sdp.lemma7": "REFUTED",
    "sdp.lemma8": "PROVED ON A SUBDOMAIN",
    "sdp.lemma7.repaired": "PROVED",
    "sdp.lemma8.stopped": "PROVED",
    "sdp.lemma9": "REFUTED",
    "sdp.lemma9.repaired": "PROVED",
    "sdp.lemma9.single.every_constant": "STEPS PROVED",
    "sdp.lemma16": "PROVED ON A SUBDOMAIN",
    "sdp.lemma17": "REFUTED",
    "sdp.lemma17.mixture": "PROVED",
    "sdp.lemma18": "PROVED",
    "sdp.lemma20": "REFUTED",
    "sdp.lemma20.optimal_value": "PROVED",
    "sdp.lemma21": "REFUTED",
    "sdp.lemma21.survivors": "PROVED",
}


def test_verdicts_of_the_learning_half():
    assert {x.id: x.verdict.value for x in verified(ITEMS)} == ITEMS


def test_nothing_is_assumed():
    mine = [x for x in statement_ids("sdp.") if x.split(".")[1] in {y.split(".")[1] for y in ITEMS}]
    assert not [x.id for x in verified(mine) if x.assumptions]
    assert all(lookup(x).not_covered for x in mine)


def stages(episodes):
    """The least j with 3 (2 + ... + 2^j) >= K, counted."""
    total = j = 0
    while total < episodes:
        j += 1
        total += 3 * 2**j
    return j


def test_stages_and_switches():
    for k in range(1, 20000, 7):
        assert stages(k) <= math.log2(k / 6 + 1) + 1 + 1e-12
        assert 3 * (2 ** math.log2(k / 6 + 1) - 2) < k  # the printed chain
        for h in (1, 2, 6, 20) if k > 1 else ():
            assert (h + 2) * stages(k) - 1 <= 6 * h * math.log2(k)
    assert stages(20000) == 12
    assert (6 + 2) * stages(20000) - 1 == 95  # the experiment counts 88 = 8 * 11


@pytest.mark.parametrize("episodes", [1, 2, 6, 7, 100, 12345, 10**6])
def test_the_sum_over_stages(episodes):
    for root, lower in ((1.0, 0.0), (0.0, 1.0), (3.0, 2.0)):
        total = sum(
            12 * 2**b * (root / math.sqrt(2 ** (b - 1)) + lower / 2 ** (b - 1))
            for b in range(2, stages(episodes) + 1)
        )
        assert total <= 91 * root * math.sqrt(episodes) + 24 * lower * math.log2(episodes / 6 + 1) + 1e-9


class Problem:
    """A small problem with random transitions, and its absorbing version for a random set W."""

    def __init__(self, seed, states=2, actions=2, horizon=3):
        rng = np.random.default_rng(seed)
        self.shape = states, actions, horizon
        self.start = rng.dirichlet(np.ones(states))
        self.law = rng.dirichlet(np.ones(states), (horizon, states, actions))
        self.rare = rng.random(self.law.shape) < 0.3
        self.absorbing = np.where(self.rare, 0, self.law)
        self.rewards = rng.random((horizon, states, actions))
        self.policies = [
            np.array(p).reshape(horizon, states)
            for p in itertools.product(range(actions), repeat=horizon * states)
        ]

    def visits(self, policy, law):
        """The probability of each state at each step; what is missing has left."""
        reach = [self.start]
        for h in range(self.shape[2]):
            chosen = law[h, np.arange(self.shape[0]), policy[h]]
            reach.append(reach[-1] @ chosen)
        return np.array(reach)

    def value(self, policy, law, rewards=None):
        rewards = self.rewards if rewards is None else rewards
        reach = self.visits(policy, law)
        return sum(reach[h] @ rewards[h, np.arange(self.shape[0]), policy[h]] for h in range(self.shape[2]))

    def met(self, policy):
        """The probability of meeting W in the true model, by running it with a flag."""
        clean, total = self.start, 0.0
        for h in range(self.shape[2]):
            step = self.law[h, np.arange(self.shape[0]), policy[h]]
            rare = self.rare[h, np.arange(self.shape[0]), policy[h]]
            total += (clean @ (step * rare)).sum()
            clean = clean @ (step * ~rare)
        return total


@pytest.mark.parametrize("seed", range(8))
def test_the_bias_of_the_absorbing_model(seed):
    problem = Problem(seed)
    horizon = problem.shape[2]
    for policy in problem.policies:
        bias = problem.value(policy, problem.law) - problem.value(policy, problem.absorbing)
        assert -1e-12 <= bias <= horizon * problem.met(policy) + 1e-12
        assert problem.met(policy) == pytest.approx(1 - problem.visits(policy, problem.absorbing)[-1].sum())


@pytest.mark.parametrize("seed", range(8))
def test_simulation_and_total_variance(seed):
    problem, other = Problem(seed), Problem(seed + 100)
    other.start = problem.start
    horizon, states = problem.shape[2], problem.shape[0]
    for policy in problem.policies[::5]:
        f = np.zeros((horizon + 1, states))
        spread = np.zeros((horizon, states))
        gap = np.zeros((horizon, states))
        at = np.arange(states)
        for h in reversed(range(horizon)):
            p, q = problem.absorbing[h, at, policy[h]], other.absorbing[h, at, policy[h]]
            f[h] = problem.rewards[h, at, policy[h]] + p @ f[h + 1]
            spread[h] = p @ f[h + 1] ** 2 - (p @ f[h + 1]) ** 2
            gap[h] = abs((q - p) @ f[h + 1])
        difference = problem.value(policy, problem.absorbing) - problem.value(
            policy, other.absorbing, problem.rewards
        )
        assert abs(difference) <= (other.visits(policy, other.absorbing)[:horizon] * gap).sum() + 1e-12
        assert (problem.visits(policy, problem.absorbing)[:horizon] * spread).sum() <= horizon**2 / 4 + 1e-12


def coverage(members, mean):
    """max over members of the sum of x/y over what is charged; infinite for 1/0."""
    ratios = np.where(members > 0, members / np.where(mean > 0, mean, np.nan), 0)
    return np.max(np.where(np.isnan(ratios), np.inf, ratios).sum(axis=1))


@pytest.mark.parametrize("seed", range(4))
def test_one_policy_does_not_cover_and_a_mixture_does(seed):
    problem = Problem(seed, horizon=2)
    states, actions, horizon = problem.shape
    members = []
    for policy in problem.policies:
        reach = problem.visits(policy, problem.absorbing)[:horizon]
        members.append((reach[:, :, None] * (policy[:, :, None] == np.arange(actions))).ravel())
    members = np.array(members)
    assert all(coverage(members, x) == np.inf for x in members)  # whichever policy eq. (4) picks
    weights = np.full(len(members), 1 / len(members))
    for _ in range(4000):  # the multiplicative rule for the largest sum of logarithms
        mean = weights @ members
        weights *= (members @ np.where(mean > 0, 1 / np.where(mean > 0, mean, 1), 0)) / (mean > 0).sum()
        weights /= weights.sum()
    assert coverage(members, weights @ members) <= states * actions * horizon * 1.01


def test_an_action_unseen_loses_the_best_one_for_ever():
    """One state, two actions: every first fine exploration, with an allowed privatizer."""
    threshold, error, lost = 50.0, 1.0, 0
    eta = error / (1 + (4 + error) / 4 + 2 * threshold)
    for run in itertools.product((0, 1), repeat=4):  # action 0 is good: reward 1; action 1 is bad: reward 0
        visits = np.bincount(run, minlength=2)
        released, sums = visits + eta, np.array([visits[0], 0]) + error
        assert (abs(released - visits) <= error).all()
        assert (released >= visits).all()
        estimate = sums / released
        lost += estimate.max() - estimate[0] >= 2 * threshold
    assert lost / 16 >= 1 / 16 > 9 / 150


def binomial_below(n, p, k):
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(max(math.ceil(k), 0)))


@pytest.mark.parametrize("seed", range(3))
def test_failures_of_all_pairs_stay_below_delta(seed):
    """Lemma 18 with the printed iota, which does not count the states: exact chances for many pairs."""
    rng = np.random.default_rng(seed)
    episodes, horizon, actions, delta = 96, 1, 1, 0.3
    iota = math.log(2 * horizon * actions * episodes / delta)
    for size in (1, 3, 50):
        law = rng.dirichlet(np.ones(size) * 0.3)
        assert sum(binomial_below(episodes, v, episodes * v / 2 - iota) for v in law) <= delta


@pytest.mark.parametrize("visits", [1, 2, 3, 4, 5, 10, 100, 1001])
def test_fair_coins_spread(visits):
    """The chance that a sum of fair signs is at least half of its deviation, and its moments, exactly."""
    law = [(2 * k - visits, math.comb(visits, k) / 2**visits) for k in range(visits + 1)]
    assert sum(p for s, p in law if s * s >= visits / 4) >= 3 / 16
    assert sum(p * s**2 for s, p in law) == pytest.approx(visits)
    assert sum(p * s**4 for s, p in law) <= 3 * visits**2 + 1e-6


def test_contexts_that_one_policy_leaves_unseen():
    """sdp.lemma9.single simulated: the error beats what is claimed, and grows against the printed bound."""
    rng, ratios = np.random.default_rng(0), []
    for n in (100, 1000, 10000):
        length, error = 2000 * n**3, 3.0
        iota = math.log(8 * 12 * length / 0.004)
        estimates = []
        for chance, episodes in ((1 / n, length), (5 / (4 * n * (n + 2)), length)):
            visits = rng.binomial(episodes, chance, size=n)
            hits = rng.binomial(visits, 0.5)
            estimates.append((hits + error / (2 * (n + 2))) / (visits + error / 2))
        off = abs(estimates[1] - estimates[0]).mean() / 2
        assert off >= n / (4000 * math.sqrt(length))
        printed = math.sqrt((n + 2) * 16 * iota / length) + 8 * (n + 2) ** 2 * error * iota / length
        ratios.append(off / printed)
    assert ratios[1] > 2 * ratios[0]
    assert ratios[2] > 2 * ratios[1]


def test_a_second_sample_falls_below_the_threshold():
    for length in (2, 4, 64, 512):
        below = sum(math.comb(length, i) for i in range(length // 2 + 1)) / 2**length
        assert (1 - below) * below >= 1 / 8


def test_constants_of_exploration_on_a_grid():
    """p w <= 768 E X^2 A H^3 iota / L wherever the counts allow it."""
    for x, a, h, e, iota in itertools.product((1, 3), (1, 2), (1, 4), (1, 5), (1, 7)):
        for length, p in itertools.product((10, 10**3, 10**5, 10**7), (0.01, 0.3, 1.0)):
            expected = length * p / (24 * h * x * a)
            visits = expected - iota
            rare = 2 * (6 * e * h**2 * x * iota + x * e + iota)
            w = 1.0 if expected <= 2 * iota else min(1.0, rare / visits)
            assert p * w <= 768 * e * x**2 * a * h**3 * iota / length + 1e-12


NUMBERS = {
    "sdp.theorem6.switching.goal": ["<= 6*H*log(K)/log(2)"],
    "sdp.theorem6.regret.series.goal": ["<= 91*C*s*sqrt(K) + 24*C*D*log(K/6 + 1)/log(2)"],
}
"""By goal: formulas that its text must contain, with the numbers of the statement."""


@rows(("name", "formulas"), NUMBERS.items())
def test_goals_state_the_numbers(name, formulas):
    statement, _, goal = name.rpartition(".")
    text = next(x.text for x in lookup(statement).obligations if x.name == goal)
    text = " ".join(text.replace("\\", " ").split())
    assert [x for x in formulas if x not in text] == []
