"""Measured lower bounds beside certified upper ones. Levels are exact: binomial tails bound the numbers of alarms."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.noise.gaussian import GaussianParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.bracket import Event, _Plan, bracket
from dpproof.audits.engine.coin_tests import extreme, least_favourable, weights_between
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.target import Subject
from dpproof.audits.targets.primitive import bracketed
from tests.rows import rows

ANY = Adjacency.BY_SENSITIVITY
PAIR = Neighbours(0.0, 1.0, ANY, "two numbers")


def subject(name, relation=ANY, **given):
    return Subject(name, accountant_for(name).parameters.read(given), relation)


def noisy(sigma):
    return lambda data, n, rng: data + rng.normal(0, sigma, n)


def test_the_probability_of_extreme_counts_is_that_of_all_pairs_of_counts():
    """An independent sum over both binomial laws."""
    n, weights, law = 30, (0.7, 1.9), (0.3, 0.1)
    counts = (12, 2)
    i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    seen = weights[0] * counts[0] - weights[1] * counts[1]
    beyond = weights[0] * i - weights[1] * j >= seen - 1e-9
    true = (stats.binom.pmf(i, n, law[0]) * stats.binom.pmf(j, n, law[1]))[beyond].sum()
    assert extreme(counts, n, weights, law) == pytest.approx(true, abs=3e-9)
    assert extreme(counts, n, weights, law) >= true


def test_least_favourable_probabilities_lie_on_the_line_and_are_nearest():
    p, q, epsilon, delta = 0.03, 0.004, 1.2, 1e-4
    near = least_favourable(p, q, epsilon, delta)
    assert near[0] == pytest.approx(delta + math.exp(epsilon) * near[1])

    def distance(first, second):
        kl = [
            a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b)) for a, b in ((p, first), (q, second))
        ]
        return sum(kl)

    others = [distance(delta + math.exp(epsilon) * x, x) for x in (near[1] * 0.99, near[1] * 1.01)]
    assert distance(*near) <= min(others)


@pytest.mark.slow
@rows(
    ("q", "epsilon", "delta", "more"), [(0.2, 1.0, 0.0, 1.5), (0.004, 2.0, 1e-3, 2.5), (2e-4, 5.0, 1e-5, 20)]
)
def test_a_true_hypothesis_at_its_border_is_rejected_rarely(q, epsilon, delta, more):
    """400 draws at level .05: more than 45 alarms have probability 1e-6. With a larger p the test sees it."""
    n, alpha, rng = 5_000, 0.05, np.random.default_rng(3)
    plan = _Plan([], n, delta, alpha)
    p = delta + math.exp(epsilon) * q
    weights = weights_between((min(1.5 * p, 0.9), q), least_favourable(min(1.5 * p, 0.9), q, epsilon, delta))
    event = Event(0.0, weights)

    def alarms(true):
        return sum(
            plan.rejects(event, (rng.binomial(n, true), rng.binomial(n, q)), epsilon, delta)
            for _ in range(400)
        )

    assert stats.binom.sf(45, 400, alpha) < 1e-6
    assert alarms(p) <= 45
    assert alarms(more * p) > 100


def test_the_bounds_of_gaussian_noise_enclose_its_epsilon_and_are_near_the_limit():
    found = bracket("gaussian", GaussianParameters(2.0), ANY, noisy(2.0), PAIR, lambda x: x / 4 - 1 / 8)
    assert 0.8 * found.limit < found.lower < found.claimed
    assert 0.9 * found.claimed < found.given_family
    assert not found.violated
    assert found.limit < found.claimed


def test_a_quarter_of_the_noise_is_a_violation():
    found = bracket("gaussian", GaussianParameters(2.0), ANY, noisy(0.5), PAIR, lambda x: x / 4 - 1 / 8)
    assert found.violated
    assert "VIOLATION" in str(found)
    assert found.given_family > found.claimed


@pytest.mark.slow
def test_the_direction_is_the_one_in_which_the_mechanism_reveals_more():
    """A record that takes part with a small probability: only outputs with it have large scores."""
    given = {"sampling_rate": 0.1, "noise_multiplier": 1.0, "steps": 4}
    found = bracketed(subject("dp-sgd", Adjacency.ADD_REMOVE, **given), 1e-5)
    assert found.counts[0] > 3 * found.counts[1]
    assert found.lower > 0.7 * found.limit


@pytest.mark.slow
def test_a_mechanism_that_does_not_attain_its_guarantee_gets_a_smaller_bound():
    found = bracketed(subject("exponential", scale=2.0))
    assert 0 < found.lower < found.claimed


@pytest.mark.slow
def test_equal_seeds_give_equal_bounds():
    about = subject("laplace", scale=1.0)
    one, again, other = (bracketed(about, samples=4_000, seed=seed) for seed in (5, 5, 6))
    assert one == again
    assert one != other


@pytest.mark.slow
def test_the_other_direction_is_named():
    """The scores are those of the pair the other way round, so the event is that they are small."""
    given = {"sampling_rate": 0.1, "noise_multiplier": 1.0, "steps": 1}
    claim = accountant_for("dp-sgd").parameters.read(given)

    def steps(data, n, rng):
        return (rng.random(n) < 0.1) * data + rng.normal(0, 1.0, n)

    def ratio(sums):
        return -np.log1p(0.1 * np.expm1(sums - 0.5))

    pair = Neighbours(
        1.0, 0.0, Adjacency.ADD_REMOVE, "with a record and without it", lambda first, second: None
    )
    found = bracket("dp-sgd", claim, Adjacency.ADD_REMOVE, steps, pair, ratio, samples=50_000)
    assert not found.above
    assert found.threshold < 0
    assert found.counts[0] > found.counts[1]


def test_a_ratio_must_return_one_number_for_each_output():
    def two(data, n, rng):
        return data + rng.normal(0, 2.0, (n, 2))

    with pytest.raises(ValueError, match="It must return one number for each"):
        bracket("gaussian", GaussianParameters(2.0), ANY, two, PAIR, lambda x: x / 4 - 1 / 8, samples=4_000)


def test_requests_without_an_answer_are_refused():
    about = subject("gaussian", sigma=2.0)
    with pytest.raises(ValueError, match=r"samples \(10\) must be at least 2000"):
        bracketed(about, 1e-5, samples=10)
    with pytest.raises(ValueError, match=r"alpha \(1\) must be above 0 and below 1"):
        bracketed(about, 1e-5, alpha=1)
    with pytest.raises(ValueError, match="at delta 0 must be above 0 and below 60"):
        bracketed(about, 0.0)
    sparse = replace(about, name="sparse-vector", parameters=accountant_for("sparse-vector").example)
    with pytest.raises(NoAuditError, match="no known likelihood ratio"):
        bracketed(sparse)
