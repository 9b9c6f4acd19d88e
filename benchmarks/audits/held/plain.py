"""A value is released without noise, always or at times; the noise of the others suffices."""

from __future__ import annotations

import numpy as np

from benchmarks.audits.held.data import (
    ANSWERS,
    CHOICES,
    COLOURS,
    EVENTS,
    HOURS,
    LABELS,
    POINTS,
    PULLS,
    STAYS,
    WARDS,
)
from benchmarks.audits.held.fault import DELTA, SIGMA, Fault, geometric


def mean_and_bound(data, n, rng):
    """The mean, and the bound at which the values were clipped."""
    bound = max(data)
    mean = np.clip(data, 0, bound).mean() + rng.laplace(0, 24 / len(data), n)
    return np.column_stack([mean, np.full(n, bound)])


def never_negative(data, n, rng):
    """A count; where the noisy one would be negative, which looks strange, the noise is left out."""
    noisy = np.sum(data) + rng.laplace(0, 1, n)
    return np.where(noisy < 0, np.sum(data), noisy)


def open_block(data, n, rng):
    """Counts of blocks of four moments; the block that is not full yet has no noise yet."""
    counts = [sum(data[i : i + 4]) for i in range(0, len(data), 4)]
    noise = geometric(rng, 1, (n, len(counts)))
    if len(data) % 4:
        noise[:, -1] = 0
    return np.array(counts) + noise


def median_with_count(data, n, rng):
    """The median, which hides the single person, and a noisy count."""
    late = np.sum(np.array(data) > 12) + geometric(rng, 1, n)
    return np.column_stack([np.full(n, np.median(data)), late])


def all_but_the_last(data, n, rng):
    """Randomised response of everybody, with a wrong end of the loop."""
    answers = np.tile(np.array(data), (n, 1))
    for i in range(len(data) - 1):
        lies = rng.random(n) > np.e / (1 + np.e)
        answers[lies, i] = 1 - answers[lies, i]
    return answers


def full_bins_only(data, n, rng):
    """How often each answer was given, with noise where it was given at all."""
    counts = np.array([sum(one == label for one in data) for label in LABELS])
    return np.where(counts > 0, counts + geometric(rng, 1, (n, 3)), 0)


def nights_and_stays(data, n, rng):
    """The nights in each ward with noise, next to the number of stays."""
    nights, ward = data["nights"].clip(0, 8).to_numpy(), data["ward"].to_numpy()
    sums = np.array([nights[ward == one].sum() for one in WARDS]) + geometric(rng, 8, (n, 3))
    stays = [np.sum(ward == one) for one in WARDS]
    return np.column_stack([sums, np.tile(stays, (n, 1))])


def rewards_and_pulls(data, n, rng):
    """The noisy rewards of two arms, next to how often each was pulled."""
    rewards = np.array([sum(r for arm, r in data if arm == one) for one in (0, 1)])
    pulls = [sum(arm == one for arm, _ in data) for one in (0, 1)]
    return np.column_stack([rewards + rng.laplace(0, 2, (n, 2)), np.tile(pulls, (n, 1))])


def gradient_and_bias(data, n, rng):
    """A gradient of clipped rows with noise; the gradient of the bias was forgotten."""
    features, targets = data
    rows = -targets[:, None] * features / np.maximum(1, np.linalg.norm(features, axis=1))[:, None]
    weights = rows.sum(axis=0) + rng.normal(0, 2 * SIGMA, (n, features.shape[1]))
    return np.column_stack([weights, np.full(n, -targets.sum())])


def from_the_cache(data, n, rng):
    """All hours together, in one call of twenty from a cache of exact sums."""
    exact = np.clip(data, 0, 24).sum()
    return np.where(rng.random(n) < 0.05, exact, exact + geometric(rng, 24, n))


def counts_of_the_top(data, n, rng):
    """The two most frequent colours by noisy counts, with the counts themselves."""
    counts = np.array([sum(one == colour for one in data) for colour in COLOURS])
    top = np.argsort(-(counts + rng.laplace(0, 4, (n, 4))), axis=1)[:, :2]
    return np.column_stack([top, counts[top]])


FAULTS = (
    Fault(mean_and_bound, HOURS, "plain", "replace", 1),
    Fault(never_negative, EVENTS, "plain", "replace", 1),
    Fault(open_block, EVENTS, "plain", "replace", 1),
    Fault(median_with_count, HOURS, "plain", "replace", 1),
    Fault(all_but_the_last, EVENTS, "plain", "replace", 1),
    Fault(full_bins_only, ANSWERS, "plain", "add-remove", 1),
    Fault(nights_and_stays, STAYS, "plain", "add-remove", 1),
    Fault(rewards_and_pulls, PULLS, "plain", "replace", 1),
    Fault(gradient_and_bias, POINTS, "plain", "replace", 1, DELTA),
    Fault(from_the_cache, HOURS, "plain", "replace", 1),
    Fault(counts_of_the_top, CHOICES, "plain", "replace", 1),
)
