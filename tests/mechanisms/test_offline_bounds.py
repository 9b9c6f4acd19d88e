"""Lower bounds from noisy counts: against exact sums, set by set in other arithmetic, and in simulations."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpproof.mechanisms.environments.tabular import TabularMDP
from dpproof.mechanisms.rl.offline.bounds import Confidence, NoisyCounts, action_values, backward, lower_share

SEED = 2206


def counts_from(rng, H=3, S=3, A=2, visits=40, sigma=0.0):
    """Counts of random transitions, with noise of the given deviation."""
    exact = rng.multinomial(visits, np.ones(S + 1) / (S + 1), size=(H, S, A)).astype(float)
    exact[-1, ..., :S], exact[-1, ..., S] = 0.0, visits
    counted = np.ones(exact.shape, bool)
    counted[-1, ..., :S] = False
    rewards = visits * (rng.random((H, S, A)) - 0.5)
    noisy = exact + sigma * rng.normal(size=exact.shape) * counted
    return NoisyCounts(noisy, counted, rewards, -2.0, 3.0, sigma, 2 * sigma)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.2, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("visits", [1, 5, 40])
def test_the_level_of_a_share_fails_at_most_as_often_as_stated(share, visits):
    """The exact binomial chance that n KL exceeds ln(1/eta) + ln(n + 1), for eta = 0.3 and 0.01."""
    k = np.arange(visits + 1)
    chances = stats.binom.pmf(k, visits, share)
    for eta in (0.3, 0.01):
        level = math.log(1 / eta) + math.log(visits + 1)
        found = lower_share(k.astype(float), (visits - k).astype(float), np.full(k.shape, level))
        assert chances[found > share + 1e-12].sum() <= eta


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_the_beta_function_is_at_least_what_the_proof_says(a, b):
    n = a + b
    entropy = sum(x * mpmath.log(mpmath.mpf(x) / n) for x in (a, b) if x)
    assert mpmath.log(mpmath.beta(a + 1, b + 1)) >= entropy - mpmath.log(n + 1) - mpmath.mpf("1e-9")


@settings(deadline=None)
@given(st.floats(0, 1e5), st.floats(0, 1e5), st.floats(0.01, 100), st.floats(0, 50))
def test_a_share_is_a_root_is_monotone_and_beats_hoeffding(a, b, level, more):
    def share(x, y, aware=True):
        return float(lower_share(np.array([x]), np.array([y]), np.array([level]), aware)[0])

    found = share(a, b)
    assert share(a + more, b) >= found - 1e-9
    assert share(a, b + more) <= found + 1e-9
    assert share(a, b, aware=False) <= found + 1e-9
    if a > 1e-3 and found > 1e-9:
        n, p = mpmath.mpf(a) + b, mpmath.mpf(found)
        apart = a * mpmath.log(a / (n * p)) + (b * mpmath.log(b / (n * (1 - p))) if b else 0)
        assert apart == pytest.approx(level, rel=1e-4, abs=1e-6)


def reference(counts, h, following, failure):
    """Lower bounds on action values, set by set in mpmath: no sorting of arrays, no cumulative sums."""
    H, S, A = counts.transitions.shape[:3]
    eta = mpmath.mpf(failure) / (4 * H * S * A)
    values = [*map(mpmath.mpf, following), mpmath.mpf(0)]

    def tail(chance):  # the standard normal quantile of the upper tail
        return mpmath.mpf(-stats.norm.ppf(float(chance)))

    def least(a, b, level):
        a, b = max(a, mpmath.mpf(0)), max(b, mpmath.mpf(0))
        if a == 0:
            return mpmath.mpf(0)
        low, high = mpmath.mpf(0), a / (a + b)
        for _ in range(80):
            p = (low + high) / 2
            gap = a * mpmath.log(a / ((a + b) * p)) + (b * mpmath.log(b / ((a + b) * (1 - p))) if b else 0)
            low, high = (p, high) if gap > level else (low, p)
        return low

    found = np.zeros((S, A))
    for s, a in itertools.product(range(S), range(A)):
        able = [t for t in range(S + 1) if counts.counted[h, s, a, t]]
        K, row = len(able), [mpmath.mpf(x) for x in counts.transitions[h, s, a]]

        def noise(size, K=K):
            chance = eta / (2 * K * math.comb(K, size)) if size else 1
            return counts.sigma * mpmath.sqrt(size) * tail(chance) if size else mpmath.mpf(0)

        n, most = sum(row), max(sum(row) + noise(K), mpmath.mpf(0))
        ranked = sorted(able, key=lambda t: -values[t])
        total, best = values[ranked[-1]], mpmath.mpf(0)
        for j in range(1, K):
            inside = sum(row[t] for t in ranked[:j])
            sets = (K - 1) * math.comb(K, j)
            level = mpmath.log(sets / eta) + mpmath.log(most + 1)
            best = max(best, least(inside - noise(j), n - inside + noise(K - j), level))
            total += (values[ranked[j - 1]] - values[ranked[j]]) * best
        fewest, width = max(n - noise(K), mpmath.mpf(0)), counts.reward_sigma * tail(eta / 2)
        y, level = mpmath.mpf(counts.rewards[h, s, a]), mpmath.log(1 / eta) + mpmath.log(most + 1)
        share = least(fewest / 2 + y - width, most / 2 - y + width, level)
        found[s, a] = counts.low + (counts.high - counts.low) * max(share - mpmath.mpf(2) ** -30, 0) + total
    return found


@pytest.mark.parametrize("sigma", [0.0, 3.0])
def test_the_bounds_are_those_of_the_note_set_by_set(sigma):
    rng = np.random.default_rng(SEED)
    counts, following = counts_from(rng, visits=400, sigma=sigma), np.array([-1.0, 4.0, 2.5])
    counts.counted[0, 0, 0, 1], counts.transitions[0, 0, 0, 1] = False, 0.0
    for h in (0, 2):
        found = action_values(counts, h, following, Confidence(0.05))
        assert found == pytest.approx(reference(counts, h, following, 0.05), rel=1e-6, abs=1e-6)


def test_without_noise_and_pessimism_planning_is_exact_dynamic_programming():
    """In rationals: the optimal values of the empirical problem, whose end pays 0."""
    counts = counts_from(np.random.default_rng([SEED, 1]))
    H, S, A = counts.transitions.shape[:3]
    policy, values = backward(counts, Confidence(scale=0.0))
    following = [Fraction(0)] * (S + 1)
    for h in reversed(range(H)):
        table = [[Fraction(0)] * A for _ in range(S)]
        for s, a in itertools.product(range(S), range(A)):
            row = [Fraction(x) for x in counts.transitions[h, s, a]]
            mean = sum(x * v for x, v in zip(row, following, strict=True)) / sum(row)
            paid = Fraction(1, 2) + Fraction(counts.rewards[h, s, a]) / sum(row)
            table[s][a] = -2 + 5 * paid + mean
        assert [row[policy[h, s]] for s, row in enumerate(table)] == [max(row) for row in table]
        following = [max(row) for row in table] + [Fraction(0)]
        assert values[h] == pytest.approx([float(x) for x in following[:-1]], abs=1e-6)


@given(st.integers(0, 1000), st.sampled_from([0.0, 2.0]))
@settings(deadline=None, max_examples=25)
def test_more_pessimism_and_hoeffding_give_smaller_bounds(seed, sigma):
    counts = counts_from(np.random.default_rng(seed), sigma=sigma)
    following = np.array([0.0, 1.0, 5.0])
    tables = [action_values(counts, 0, following, Confidence(0.05, scale)) for scale in (0.1, 0.5, 1.0)]
    assert (tables[0] >= tables[1] - 1e-9).all()
    assert (tables[1] >= tables[2] - 1e-9).all()
    hoeffding = action_values(counts, 0, following, Confidence(0.05, variance_aware=False))
    assert (hoeffding <= tables[2] + 1e-9).all()
    assert (tables[2] >= counts.low + following.min() - 1e-9).all()


def tables_of(mdp, rng, visits, sigma, width=1.0, low=0.0):
    """Noisy tables of a log in which every cell was visited equally often."""
    H, S, A = mdp.horizon, mdp.states, mdp.actions
    law = np.concatenate([mdp.transitions, np.zeros((S, A, 1))], axis=2)
    exact = np.stack([rng.multinomial(visits, law) for _ in range(H)]).astype(float)
    exact[-1, ..., :S], exact[-1, ..., S] = 0.0, visits
    counted = np.ones(exact.shape, bool)
    counted[-1, ..., :S] = False
    paid = rng.binomial(visits, mdp.rewards, size=(H, S, A)) - visits / 2
    noise = sigma * rng.normal(size=exact.shape) * counted
    rewards = paid + 2 * sigma * rng.normal(size=paid.shape)
    return NoisyCounts(exact + noise, counted, rewards, low, low + width, sigma, 2 * sigma)


@pytest.mark.parametrize("sigma", [0.0, 5.0])
@pytest.mark.parametrize("low", [0.0, -2.0])
def test_lower_bounds_hold_and_would_not_without_pessimism(sigma, low):
    """100 logs at failure 0.05; not one of 100 fails, and with a tenth of the widths most do."""
    rng = np.random.default_rng([SEED, 3])
    law, rewards = rng.dirichlet(np.ones(3), size=(3, 2)), rng.random((3, 2))
    mdp = TabularMDP(law, rewards, horizon=4)
    failures = {1.0: 0, 0.1: 0}
    remaining = np.arange(4, -1, -1)[:, None]
    for _ in range(100):
        counts = tables_of(mdp, rng, 200, sigma, 2.0, low)
        for scale in failures:
            policy, values = backward(counts, Confidence(0.05, scale))
            truth = 2.0 * mdp.policy_values(policy) + low * remaining
            failures[scale] += bool((values > truth + 1e-9).any())
    assert failures[1.0] == 0
    assert failures[0.1] > 50
