"""Laplace, geometric or Gaussian noise whose only fault is that it is too small, by a known factor."""

from __future__ import annotations

import numpy as np

from benchmarks.audits.held.data import (
    ANSWERS,
    BASKETS,
    EVENTS,
    HOURS,
    ITEMS,
    LABELS,
    PATIENTS,
    PULLS,
    RATINGS,
    REVIEWS,
    ROWS,
    SHARES,
    SHORT,
    TRIPS,
    WORDS,
)
from benchmarks.audits.held.fault import DELTA, LOOSE_DELTA, LOOSE_SIGMA, SIGMA, Fault, geometric, unit_rows


def one_bin_changes(data, n, rng):
    """How often each answer was given; a changed answer was thought to change one count."""
    counts = [sum(one == label for one in data) for label in LABELS]
    return np.array(counts) + geometric(rng, 1, (n, 3))


def mean_rating(data, n, rng):
    """The mean of ratings from -2 to 2; the largest absolute value was taken for the width."""
    return np.clip(data, -2, 2).mean() + rng.laplace(0, 2 / len(data), n)


def epsilon_twice(data, n, rng):
    """A sum and a count. Each of them spends all of epsilon."""
    exact = np.array([np.clip(data, 0, 1).sum(), len(data)])
    return exact + rng.laplace(0, 1, (n, 2))


def three_thresholds(data, n, rng):
    """How many people worked 8, 12, 16 hours or more. Each count spends all of epsilon."""
    counts = [sum(hours >= least for hours in data) for least in (8, 12, 16)]
    return np.array(counts) + geometric(rng, 1, (n, 3))


def running_counts(data, n, rng):
    """The count after each of five moments, with noise for one."""
    return np.cumsum(data) + rng.laplace(0, 1, (n, len(data)))


def one_item_each(data, n, rng):
    """How many users have each item; three items of a user are counted."""
    counts = [sum(list(items)[:3].count(item) for items in data.values()) for item in ITEMS]
    return np.array(counts) + geometric(rng, 1, (n, 5))


def root_of_sigma(data, n, rng):
    """A count; the standard deviation was taken for the variance."""
    return sum(one == "yes" for one in data) + rng.normal(0, np.sqrt(SIGMA), n)


def removal_not_replacement(data, n, rng):
    """The sum of clipped rows, with noise for a removed one."""
    return unit_rows(data).sum(axis=0) + rng.normal(0, SIGMA, (n, data.shape[1]))


def times_epsilon(data, n, rng):
    """A count for epsilon 1/2; the sensitivity is multiplied by epsilon."""
    return np.sum(data) + rng.laplace(0, 1 * 0.5, n)


def sixteen_hours(data, n, rng):
    """All hours together, clipped at 24, with noise for a day of 16."""
    return int(np.clip(data, 0, 24).sum()) + geometric(rng, 16, n)


def deviation_for_scale(data, n, rng):
    """The mean of numbers in [0, 1]; its standard deviation is what the scale should be."""
    return np.clip(data, 0, 1).mean() + rng.laplace(0, 1 / len(data) / np.sqrt(2), n)


def half_a_trip(data, n, rng):
    """How often each of three states was visited; a trajectory has four steps, two were assumed."""
    return np.bincount(data.states, minlength=3)[:3] + geometric(rng, 2, (n, 3))


def one_word_each(data, n, rng):
    """How many reviews contain each known word; a review has two words."""
    counts = [sum(word in review.split() for review in data) for word in WORDS]
    return np.array(counts) + rng.laplace(0, 1, (n, 5))


def arms(data, n, rng):
    """The pulls and the rewards of two arms; a changed pull was thought to change one arm."""
    pulls = [sum(arm == one for arm, _ in data) for one in (0, 1)]
    rewards = [sum(r for arm, r in data if arm == one) for one in (0, 1)]
    return np.array(pulls + rewards) + geometric(rng, 2, (n, 4))


def all_items(data, n, rng):
    """The number of items of all users, at most 3 each, with rounded noise for one item."""
    total = sum(min(len(items), 3) for items in data.values())
    return total + np.rint(rng.normal(0, LOOSE_SIGMA, n)).astype(int)


def two_means(data, n, rng):
    """The means of two columns in known ranges, each with the whole epsilon."""
    age, nights = data["age"].clip(20, 80).mean(), data["nights"].clip(0, 8).mean()
    scales = np.array([60, 8]) / len(data)
    return np.array([age, nights]) + scales * rng.laplace(0, 1, (n, 2))


def five_crossings(data, n, rng):
    """Whether half of the people worked at least 4, 8, ... hours; every noisy comparison costs half of epsilon."""
    counts = np.array([sum(hours >= least for hours in data) for least in (4, 8, 12, 16, 20)])
    return (counts + rng.laplace(0, 2, (n, 5)) >= 15).astype(int)


FAULTS = (
    Fault(one_bin_changes, ANSWERS, "scale", "replace", 1, factor=2),
    Fault(mean_rating, RATINGS, "scale", "replace", 1, factor=2),
    Fault(epsilon_twice, SHARES, "scale", "add-remove", 1, factor=2),
    Fault(three_thresholds, HOURS, "scale", "replace", 1, factor=3),
    Fault(running_counts, SHORT, "scale", "replace", 1, factor=5),
    Fault(one_item_each, BASKETS, "scale", "add-remove", 1, factor=3),
    Fault(root_of_sigma, ANSWERS, "scale", "add-remove", 1, DELTA, SIGMA**0.5),
    Fault(removal_not_replacement, ROWS, "scale", "replace", 1, DELTA, 2),
    Fault(times_epsilon, EVENTS, "scale", "replace", 0.5, factor=4),
    Fault(sixteen_hours, HOURS, "scale", "replace", 1, factor=1.5),
    Fault(deviation_for_scale, SHARES, "scale", "replace", 1, factor=2**0.5),
    Fault(half_a_trip, TRIPS, "scale", "add-remove", 1, factor=2),
    Fault(one_word_each, REVIEWS, "scale", "add-remove", 1, factor=2),
    Fault(arms, PULLS, "scale", "replace", 1, factor=2),
    Fault(all_items, BASKETS, "scale", "add-remove", 1, LOOSE_DELTA, 3),
    Fault(two_means, PATIENTS, "scale", "replace", 1, factor=2),
    Fault(five_crossings, HOURS, "scale", "replace", 1, factor=2.5),
)
