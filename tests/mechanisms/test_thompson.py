"""Gaussian Thompson sampling: its law, its likelihood ratio, its learning, its guarantee, its audit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.rl.thompson.thompson import ThompsonParameters, account, mu_of_run
from dpproof.answers import as_json
from dpproof.answers.calibration import Asked, calibrate
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.target import Subject, mechanism_target
from dpproof.audits.targets.call import audit
from dpproof.audits.targets.rl.thompson.thompson import first_user
from dpproof.mechanisms.rl.thompson.thompson import Thompson, log_likelihood_ratio, sample

SMALL = ThompsonParameters(arms=2, rounds=6, pulls=1, variance=0.5)
SIZES = st.builds(
    ThompsonParameters, st.integers(1, 3), st.integers(1, 6), st.integers(0, 3), st.floats(0.01, 10.0)
)


def replayed(parameters, rewards, draws):
    """Counts and sums before every round, one run at a time, from the definition."""
    users = parameters.arms * parameters.pulls
    pulls = [(user, user % parameters.arms) for user in range(users)]
    before = []
    for t, row in enumerate(draws):
        counts = np.array([sum(arm == i for _, arm in pulls) for i in range(parameters.arms)])
        sums = np.array([sum(rewards[u, a] for u, a in pulls if a == i) for i in range(parameters.arms)])
        before.append((counts, sums))
        pulls.append((users + t, int(row.argmax())))
    return before


@settings(max_examples=30, deadline=None)
@given(SIZES, st.integers(0, 2**32 - 1))
def test_the_ratio_is_that_of_the_densities(parameters, seed):
    rng = np.random.default_rng(seed)
    shape = (Thompson(parameters).users, parameters.arms)
    first = rng.random(shape)
    second = first.copy()
    second[0] = rng.random(parameters.arms)
    draws = sample(parameters, first, 2, rng)
    found = log_likelihood_ratio(draws, parameters, first, second)
    for run, ratio in zip(draws, found, strict=True):
        expected = 0.0
        for sign, rewards in ((-1, first), (1, second)):
            for row, (counts, sums) in zip(run, replayed(parameters, rewards, run), strict=True):
                scale = np.sqrt(parameters.variance / (counts + 1))
                expected += sign * stats.norm.logpdf(row, sums / (counts + 1), scale).sum()
        assert ratio == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_draws_of_the_first_round_have_their_law():
    # 20 000 runs, a Kolmogorov-Smirnov test of each of two arms at level 0.001; a wrong variance is refused.
    rewards = np.full((8, 2), 0.75)
    draws = sample(SMALL, rewards, 20_000, np.random.default_rng(1))[:, 0]
    for arm in range(2):
        assert stats.kstest(draws[:, arm], stats.norm(0.375, 0.5).cdf).pvalue > 0.001
    assert stats.kstest(draws[:, 0], stats.norm(0.375, 0.6).cdf).pvalue < 1e-6


@settings(max_examples=50, deadline=None)
@given(SIZES)
def test_no_path_costs_more_than_the_guarantee(parameters):
    """Every later round of every path, exactly: mu^2 is the sum of 1/(c (n + 1)) of the changed arm."""
    learner, rng = Thompson(parameters), np.random.default_rng(0)
    rewards = rng.random((learner.users, parameters.arms))
    before = learner.users - parameters.rounds
    for run in sample(parameters, rewards, 3, rng):
        counts = [c for c, _ in replayed(parameters, rewards, run)]
        pulled = [user % parameters.arms for user in range(before)] + [int(row.argmax()) for row in run]
        for user, arm in enumerate(pulled):
            later = counts[max(0, user + 1 - before) :]
            cost = sum(Fraction(1) / (Fraction(parameters.variance) * int(c[arm] + 1)) for c in later)
            assert cost <= parameters.square


def test_the_guarantee_is_the_closed_form():
    assert mu_of_run(ThompsonParameters(5, 1000, 99, 10.0)).upper == 1.0
    assert ThompsonParameters(2, 101, 0, 0.5).square == 100
    found = account(ThompsonParameters(2, 1), Adjacency.REWARDS_ONLY).guarantee
    assert isinstance(found, GaussianDP)
    assert found.epsilon(0).upper == 0
    with pytest.raises(UnprovedAdjacencyError, match="rewards-only"):
        account(SMALL, Adjacency.REPLACE)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1", "1e-6"), ("2", "1e-6"), ("0.01", "0.1"), ("8", "1e-12")]
)
def test_calibrated_noise_meets_its_target_and_less_does_not(epsilon, delta):
    thompson = accountant_for("thompson")
    sizes = ThompsonParameters(arms=5, rounds=1000, pulls=20)
    meets, misses = thompson.least_noise(sizes, Adjacency.REWARDS_ONLY, epsilon, delta)
    answer = as_json.calibration(
        calibrate(thompson, sizes, Adjacency.REWARDS_ONLY, Asked.epsilon(epsilon, delta))
    )
    assert answer["noise"]["value"] == meets.variance
    assert answer["minimal"]["epsilon_lower"] > float(epsilon) >= answer["epsilon"]["upper"]
    assert misses.variance < meets.variance < misses.variance * (1 + 1e-9)
    assert account(meets, Adjacency.REWARDS_ONLY).guarantee.delta(epsilon).upper <= Fraction(delta)
    assert account(misses, Adjacency.REWARDS_ONLY).guarantee.delta(epsilon).lower > Fraction(delta)


def test_it_learns_and_pulls_before_cost_what_they_cost():
    # 200 runs of 300 rounds; the better arm is pulled in at least 90% of the last hundred rounds.
    run = Thompson(ThompsonParameters(arms=3, rounds=300)).learn(
        [0.1, 0.5, 0.9], 200, np.random.default_rng(0)
    )
    assert (run.arms[:, -100:] == 2).mean() > 0.9
    noisy = ThompsonParameters(arms=3, rounds=300, variance=1000.0)
    blind = Thompson(noisy).learn([0.1, 0.5, 0.9], 200, np.random.default_rng(0))
    assert (blind.arms[:, -100:] == 2).mean() < 0.5


def test_equal_seeds_give_equal_draws():
    rewards = np.ones((8, 2))
    one, two = (sample(SMALL, rewards, 5, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("rewards", "says"),
    [
        (np.ones((7, 2)), "must be (8, 2), for users and arms"),
        (np.full((8, 2), 1.5), "must be in [0, 1]"),
        (np.full((8, 2), np.nan), "must be in [0, 1]"),
    ],
)
def test_bad_users_are_refused(rewards, says):
    with pytest.raises(ValueError, match="rewards") as caught:
        sample(SMALL, rewards, 1, np.random.default_rng(0))
    assert says in str(caught.value)


def test_the_audit_keeps_quiet_on_the_guarantee_and_sees_half_the_noise():
    # alpha 0.01, at most 20 000 samples each.
    sound = ThompsonParameters(arms=2, rounds=4, pulls=1, variance=2.0)
    audited = mechanism_target(Subject("thompson", sound, Adjacency.REWARDS_ONLY))
    found = audit(audited, seed=0, budget=20_000)
    assert found.verdict.value != "violation"
    claim = account(sound, Adjacency.REWARDS_ONLY).guarantee
    faulty = ThompsonParameters(arms=2, rounds=4, pulls=1, variance=0.5)
    audited = mechanism_target(Subject("thompson", faulty, Adjacency.REWARDS_ONLY, claim))
    caught = audit(audited, seed=0, budget=20_000, claim="half the noise")
    assert caught.verdict.value == "violation"


def test_nothing_to_see_is_said():
    with pytest.raises(NoAuditError, match=r"rounds .1. must be at least 2"):
        first_user(ThompsonParameters(2, 1), Adjacency.REWARDS_ONLY)
