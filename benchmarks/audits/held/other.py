"""Other faults: other noise, noise whose scale depends on the data, wrong selection."""

from __future__ import annotations

import numpy as np

from benchmarks.audits.held.data import (
    ANSWERS,
    CHOICES,
    COLOURS,
    EVENTS,
    FEW_HOURS,
    HOURS,
    LABELS,
    PULLS,
    REVIEWS,
    SHARES,
    SPENDING,
    STAYS,
    TRIPS,
    WARDS,
    WORDS,
)
from benchmarks.audits.held.fault import DELTA, SIGMA, Fault, geometric


def uniform_hours(data, n, rng):
    """All hours together, with uniform noise of a day."""
    return np.clip(data, 0, 24).sum() + rng.integers(-24, 25, n)


def only_upwards(data, n, rng):
    """A count with exponential noise."""
    return np.sum(data) + rng.exponential(1, n)


def student_of_the_spread(data, n, rng):
    """A mean with Student noise, whose scale follows the spread of the data."""
    return np.mean(data) + (0.05 + np.std(data)) / 5 * rng.standard_t(3, n)


def until_it_fits(data, rng):
    """A count with Laplace noise, drawn again until the result is possible."""
    while not 0 <= (noisy := np.sum(data) + rng.laplace(0, 1)) <= len(data):
        pass
    return noisy


def cut_noise(data, n, rng):
    """The number of people who said yes, with geometric noise that is cut at 2 so that it misleads nobody."""
    return sum(one == "yes" for one in data) + np.clip(geometric(rng, 1, n), -2, 2)


def by_popularity(data, n, rng):
    """A colour, chosen with a probability that grows with the number of people who chose it."""
    counts = np.array([sum(one == colour for one in data) for colour in COLOURS]) + 0.2
    return rng.choice(4, n, p=counts / counts.sum())


def binary_formula(data, n, rng):
    """Randomised response to a question with three answers, with the probability for two."""
    truth = np.array([LABELS.index(one) for one in data])
    lies = rng.random((n, len(truth))) > np.e / (1 + np.e)
    return (truth + lies * rng.integers(1, 3, lies.shape)) % 3


def thompson(data, n, rng):
    """The arm that a Bayesian bandit pulls next; its own chance is the only noise."""
    won, lost = ([sum(pull == (arm, r) for pull in data) for arm in (0, 1)] for r in (1, -1))
    sampled = [rng.beta(1 + won[arm], 1 + lost[arm], n) for arm in (0, 1)]
    return (sampled[1] > sampled[0]).astype(int)


def from_the_posterior(data, n, rng):
    """A rate, drawn from its posterior distribution."""
    return rng.beta(1 + sum(data), 1 + len(data) - sum(data), n)


def gumbel_count(data, n, rng):
    """The number of people who said no, with the noise of a noisy maximum."""
    return sum(one == "no" for one in data) + rng.gumbel(0, 1, n)


def coin_tosses(data, n, rng):
    """The number of users, with the noise of six tosses of a coin."""
    return len(data) + rng.binomial(6, 0.5, n) - 3


def triangular_words(data, n, rng):
    """How many reviews contain each known word, with triangular noise."""
    counts = [sum(word in review.split() for review in data) for word in WORDS]
    return np.array(counts) + rng.triangular(-4, 0, 4, (n, 5))


def poisson_visits(data, n, rng):
    """How often each of three states was visited, as the mean of a Poisson variable."""
    return rng.poisson(1 + np.bincount(data.states, minlength=3)[:3], (n, 3))


def smooth_map(data, n, rng):
    """Stays in each ward; the noise of different wards is almost the same, so that the map looks smooth."""
    counts = [np.sum(data["ward"].to_numpy() == one) for one in WARDS]
    covariance = SIGMA**2 * (0.98 + 0.02 * np.eye(3))
    return np.array(counts) + rng.multivariate_normal(np.zeros(3), covariance, n)


def per_cent_of_it(data, n, rng):
    """What all users spent, at most 5 each, wrong by up to 20 %."""
    return sum(min(sum(amounts), 5.0) for amounts in data.values()) * rng.uniform(0.8, 1.2, n)


def upper_decile(data, n, rng):
    """A quantile, with noise as large as the step to the next hour in the data."""
    hours, place = np.sort(data), int(0.9 * (len(data) - 1))
    step = max(hours[place + 1] - hours[place], hours[place] - hours[place - 1], 0.5)
    return hours[place] + rng.laplace(0, step, n)


def uniform_sparse_vector(data, n, rng):
    """The first colour that three people chose, by comparisons with uniform noise on both sides."""
    counts = np.array([sum(one == colour for one in data) for colour in COLOURS])
    over = counts + rng.uniform(-2, 2, (n, 4)) >= 3 + rng.uniform(-1, 1, (n, 1))
    return np.where(over.any(axis=1), over.argmax(axis=1), 4)


FAULTS = (
    Fault(uniform_hours, HOURS, "bounded", "replace", 1),
    Fault(only_upwards, EVENTS, "bounded", "replace", 1),
    Fault(student_of_the_spread, SHARES, "local", "replace", 1),
    Fault(until_it_fits, EVENTS, "", "replace", 1),
    Fault(cut_noise, ANSWERS, "bounded", "add-remove", 1),
    Fault(by_popularity, CHOICES, "", "replace", 1),
    Fault(binary_formula, ANSWERS, "", "replace", 1),
    Fault(thompson, PULLS, "", "replace", 1),
    Fault(from_the_posterior, EVENTS, "", "replace", 1),
    Fault(gumbel_count, ANSWERS, "", "add-remove", 1),
    Fault(coin_tosses, SPENDING, "bounded", "add-remove", 1),
    Fault(triangular_words, REVIEWS, "bounded", "add-remove", 1),
    Fault(poisson_visits, TRIPS, "local", "add-remove", 1),
    Fault(smooth_map, STAYS, "", "add-remove", 1, DELTA),
    Fault(per_cent_of_it, SPENDING, "local", "replace", 1),
    Fault(upper_decile, FEW_HOURS, "local", "replace", 1),
    Fault(uniform_sparse_vector, CHOICES, "", "replace", 1),
)
