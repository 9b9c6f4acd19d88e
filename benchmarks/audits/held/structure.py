"""A sensitive record decides which parts or words the output has, or whether there is one; the noise suffices."""

from __future__ import annotations

import statistics
from collections import Counter

import numpy as np

from benchmarks.audits.held.data import BASKETS, CARS, FLAGS, HOURS, REVIEWS, STAYS, TRIPS, VISITS
from benchmarks.audits.held.fault import Fault, geometric


def words_of_reviews(data, rng):
    """How many reviews contain each word; a review has two words."""
    counts = Counter(word for review in data for word in review.split())
    return tuple(f"{word} {counts[word] + geometric(rng, 2)}" for word in sorted(counts))


def patients_by_ward(data, n, rng):
    """The number of stays in each ward."""
    counts = data["ward"].value_counts().sort_index().to_numpy()
    return counts + geometric(rng, 1, (n, len(counts)))


def up_to_the_longest(data, n, rng):
    """How many people worked 0, 1, 2, ... hours, up to the longest day."""
    counts = np.bincount(data)
    return counts + geometric(rng, 2, (n, len(counts)))


def items_of_each_user(data, rng):
    """The number of items of each user, at most 3."""
    return [min(len(data[user]), 3) + geometric(rng, 3) for user in sorted(data)]


def mean_of_long_days(data, rng):
    """The mean of the days of 20 to 24 hours, if there are any."""
    long = [min(hours, 24) for hours in data if hours >= 20]
    return sum(long) / len(long) + rng.laplace(0, 4) if long else None


def visited_states(data, rng):
    """How often each visited state was visited; a trajectory has four steps."""
    counts = Counter(data.states.tolist())
    return tuple((state, counts[state] + int(geometric(rng, 4))) for state in sorted(counts))


def columns_in_use(data, n, rng):
    """Sums of those columns that are not zero throughout; a row has three ones at most."""
    sums = data[:, data.any(axis=0)].sum(axis=0).astype(int)
    return sums + geometric(rng, 3, (n, len(sums)))


def seconds_of_help(data, n, rng):
    """The mean of the seconds on a page, at most 60; the library raises an exception for the mean of nothing."""
    mean = statistics.fmean(min(visit["seconds"], 60) for visit in data if visit["page"] == "help")
    return mean + rng.laplace(0, 60, n)


def frequent_colours(data, rng):
    """Noisy counts of the colours that at least three people chose."""
    counts = Counter(data)
    return tuple((c, counts[c] + int(geometric(rng, 2))) for c in sorted(counts) if counts[c] >= 3)


FAULTS = (
    Fault(words_of_reviews, REVIEWS, "structure", "add-remove", 1),
    Fault(patients_by_ward, STAYS, "structure", "add-remove", 1),
    Fault(up_to_the_longest, HOURS, "structure", "replace", 1),
    Fault(items_of_each_user, BASKETS, "structure", "add-remove", 1),
    Fault(mean_of_long_days, HOURS, "structure", "replace", 1),
    Fault(visited_states, TRIPS, "structure", "add-remove", 1),
    Fault(columns_in_use, FLAGS, "structure", "add-remove", 1),
    Fault(seconds_of_help, VISITS, "structure", "add-remove", 1, failures="token"),
    Fault(frequent_colours, CARS, "structure", "replace", 1),
)
