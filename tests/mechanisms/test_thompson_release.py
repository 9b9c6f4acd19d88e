"""Thompson's draws as they are released. References: the definition in rationals; the simulation's bits."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.thompson.thompson import ThompsonParameters, account
from dpproof.mechanisms.randomness import SimulationError
from dpproof.mechanisms.rl.thompson import thompson as thompson_module
from dpproof.mechanisms.rl.thompson.thompson import Thompson, log_likelihood_ratio

PARAMETERS = ThompsonParameters(arms=2, rounds=4, pulls=1, variance=0.3)
REWARDS = [[0.1, 0.2], [0.3, 0.7], [1 / 3, 0.9], [0.6, 1e-9], [0.4, 0.8], [1.0, 0.0]]
ALPHA = 1e-6


def test_every_law_that_is_drawn_from_is_the_definition_s_in_rationals(monkeypatch):
    laws, script = [], [[3, -1], [2, 5], [7, 7], [0, 1]]

    def scripted(means, variances, exponent, *, source):
        laws.append(list(zip(means, variances, strict=True)))
        return script[len(laws) - 1]

    monkeypatch.setattr(thompson_module, "rounded_gaussian", scripted)
    found = Thompson(PARAMETERS).publish(REWARDS)
    assert found.arms == [0, 1, 0, 1]
    pulls = [(0, 0), (1, 1), (2, 0), (3, 1), (4, 0)]
    for t, row in enumerate(laws):
        for arm, (mean, variance) in enumerate(row):
            paid = [
                Fraction(round(Fraction(REWARDS[u][a]) * 2**30), 2**30) for u, a in pulls[: t + 2] if a == arm
            ]
            assert mean == sum(paid, Fraction(0)) / (len(paid) + 1)
            assert variance == Fraction(0.3) / (len(paid) + 1)


def test_what_is_released_has_the_law_of_the_simulation():
    """The exact log likelihood ratios by Kolmogorov-Smirnov; a quarter of the variance is seen."""
    other = [[1.0, 1.0], *REWARDS[1:]]
    less = ThompsonParameters(arms=2, rounds=4, pulls=1, variance=0.075)
    exactly = np.array([Thompson(PARAMETERS).publish(REWARDS).draws for _ in range(2000)])
    rng = np.random.default_rng(1)
    scores = [
        log_likelihood_ratio(draws, PARAMETERS, REWARDS, other)
        for draws in (exactly, *(Thompson(p).sample(REWARDS, 2000, rng) for p in (PARAMETERS, less)))
    ]
    assert stats.ks_2samp(scores[0], scores[1]).pvalue > ALPHA
    assert stats.ks_2samp(scores[0], scores[2]).pvalue < ALPHA


def test_low_bits_tell_in_the_simulation_and_not_in_the_release():
    one = ThompsonParameters(arms=1, rounds=2, variance=1.0)
    rng, pair = np.random.default_rng(3), ([[0.0], [0.0]], [[1.0], [0.0]])
    shares = []
    for rewards in pair:
        scaled = np.ldexp(Thompson(one).sample(rewards, 20_000, rng)[:, 1], 54)
        shares.append((scaled != np.rint(scaled)).mean())
        released = np.array([Thompson(one).publish(rewards).draws for _ in range(300)])
        assert np.array_equal(np.ldexp(released, 20), np.rint(np.ldexp(released, 20)))
    bound = account(one, Adjacency.REWARDS_ONLY).guarantee.delta(3.0).upper
    assert shares[0] - np.exp(3.0) * shares[1] > bound + 0.01


def test_the_guarantee_covers_the_bits_of_a_release_and_nothing_of_a_simulation():
    found = Thompson(PARAMETERS).publish(REWARDS)
    assert found.account(Adjacency.REWARDS_ONLY).covers_released_bits
    assert "every released bit covered" in repr(found)
    simulated = Thompson(PARAMETERS).publish(REWARDS, 7)
    assert simulated.integers == Thompson(PARAMETERS).publish(REWARDS, 7).integers
    assert "no guarantee holds" in repr(simulated)
    assert not simulated.as_json()["covers_released_bits"]
    with pytest.raises(SimulationError, match="no guarantee"):
        simulated.account(Adjacency.REWARDS_ONLY)
    with pytest.raises(ValueError, match=r"exponent .* must be an integer"):
        Thompson(PARAMETERS).publish(REWARDS, exponent=2000)
