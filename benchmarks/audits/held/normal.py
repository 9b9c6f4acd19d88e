"""Gaussian noise, large enough for some delta, under a claim whose delta is 0."""

from __future__ import annotations

import numpy as np

from benchmarks.audits.held.data import ANSWERS, EVENTS, HOURS, LABELS, PULLS, ROWS, SPENDING, TRIPS
from benchmarks.audits.held.fault import Fault, unit_rows


def normal_count(data, n, rng):
    """The number of people who said yes."""
    return sum(one == "yes" for one in data) + rng.normal(0, 1.2, n)


def normal_mean(data, n, rng):
    """The mean of hours."""
    return np.clip(data, 0, 24).mean() + rng.normal(0, 24 / len(data), n)


def rounded_normal(data, n, rng):
    """A count with whole noise, for epsilon 1/2."""
    return np.sum(data) + np.rint(rng.normal(0, 2.5, n)).astype(int)


def normal_bins(data, n, rng):
    """How often each answer was given; two counts differ, so the distance is the root of 2."""
    counts = [sum(one == label for one in data) for label in LABELS]
    return np.array(counts) + rng.normal(0, 1.5 * np.sqrt(2), (n, 3))


def normal_vectors(data, n, rng):
    """The sum of clipped rows; replacing one moves it by 2."""
    return unit_rows(data).sum(axis=0) + rng.normal(0, 2, (n, data.shape[1]))


def normal_spending(data, n, rng):
    """What all users spent, at most 5 each."""
    return sum(min(sum(amounts), 5.0) for amounts in data.values()) + rng.normal(0, 6, n)


def normal_rewards(data, n, rng):
    """The sums of the rewards of two arms; the rewards are -1 and 1."""
    rewards = np.array([sum(r for arm, r in data if arm == one) for one in (0, 1)])
    return rewards + rng.normal(0, 2.2, (n, 2))


def normal_visits(data, n, rng):
    """How often each of three states was visited, in whole numbers; a trajectory has four steps."""
    counts = np.bincount(data.states, minlength=3)[:3]
    return np.rint(counts + rng.normal(0, 4, (n, 3))).astype(int)


def normal_stream(data, n, rng):
    """Counts of pairs of moments, for epsilon 2."""
    counts = np.array(data).reshape(-1, 2).sum(axis=1)
    return counts + rng.normal(0, 0.75, (n, len(counts)))


FAULTS = (
    Fault(normal_count, ANSWERS, "normal", "add-remove", 1),
    Fault(normal_mean, HOURS, "normal", "replace", 1),
    Fault(rounded_normal, EVENTS, "normal", "replace", 0.5),
    Fault(normal_bins, ANSWERS, "normal", "replace", 1),
    Fault(normal_vectors, ROWS, "normal", "replace", 1),
    Fault(normal_spending, SPENDING, "normal", "add-remove", 1),
    Fault(normal_rewards, PULLS, "normal", "replace", 1),
    Fault(normal_visits, TRIPS, "normal", "add-remove", 1),
    Fault(normal_stream, EVENTS, "normal", "replace", 2),
)
