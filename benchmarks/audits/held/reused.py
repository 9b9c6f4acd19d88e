"""One draw of noise is used for two or more numbers of the output; independent draws of it would suffice."""

from __future__ import annotations

import numpy as np

from benchmarks.audits.held.data import (
    ANSWERS,
    CHOICES,
    COLOURS,
    EVENTS,
    FLAGS,
    HOURS,
    ROWS,
    SHARES,
    STAYS,
    WARDS,
)
from benchmarks.audits.held.fault import DELTA, SIGMA, Fault, geometric, unit_rows


def one_for_all_bins(data, rng):
    """How often each colour was chosen; one number is drawn and added to the array."""
    counts = np.array([sum(one == colour for one in data) for colour in COLOURS])
    return counts + geometric(rng, 2)


def sum_and_size(data, n, rng):
    """A sum of numbers in [0, 1] and their number, half of epsilon for each."""
    noise = rng.laplace(0, 2, n)
    return np.column_stack([np.clip(data, 0, 1).sum() + noise, len(data) + noise])


def seeded_again(data, rng):
    """Sums of three columns; the generator of the noise is made anew, with the same seed, for each column."""
    seed = rng.integers(2**32)
    return [int(column.sum()) + geometric(np.random.default_rng(seed), 3) for column in data.T]


def hours_and_minutes(data, n, rng):
    """All hours together, in hours and in minutes, with noise large enough for minutes."""
    total, noise = np.clip(data, 0, 24).sum(), rng.laplace(0, 2 * 60 * 24, n)
    return np.column_stack([total + noise, 60 * total + noise])


def two_tables(data, n, rng):
    """The stays and the nights in each ward; the noise of the larger table is taken for both."""
    nights, ward = data["nights"].clip(0, 8).to_numpy(), data["ward"].to_numpy()
    noise = geometric(rng, 32, (n, 3))
    stays = np.array([np.sum(ward == one) for one in WARDS])
    return np.hstack([stays + noise, np.array([nights[ward == one].sum() for one in WARDS]) + noise])


def noise_of_last_week(data, n, rng):
    """Counts of pairs of moments; the noise of three counts is repeated for the next ones."""
    counts = np.array(data[:12]).reshape(6, 2).sum(axis=1)
    return counts + np.tile(geometric(rng, 1, (n, 3)), (1, 2))


def one_up_one_down(data, n, rng):
    """The yes and the no, with opposite noise so that their sum looks right."""
    noise = rng.laplace(0, 1, n)
    yes, no = (sum(one == label for one in data) for label in ("yes", "no"))
    return np.column_stack([yes + noise, no - noise])


def two_steps(data, n, rng):
    """Gradients of two disjoint batches; the noise was drawn before the loop."""
    noise, rows = rng.normal(0, 2 * SIGMA, (n, 3)), unit_rows(data)
    half = len(rows) // 2
    return np.hstack([batch.sum(axis=0) + noise for batch in (rows[:half], rows[half:])])


FAULTS = (
    Fault(one_for_all_bins, CHOICES, "reused", "replace", 1),
    Fault(sum_and_size, SHARES, "reused", "add-remove", 1),
    Fault(seeded_again, FLAGS, "reused", "replace", 1),
    Fault(hours_and_minutes, HOURS, "reused", "replace", 1),
    Fault(two_tables, STAYS, "reused", "replace", 1),
    Fault(noise_of_last_week, EVENTS, "reused", "replace", 1),
    Fault(one_up_one_down, ANSWERS, "reused", "add-remove", 1),
    Fault(two_steps, ROWS, "reused", "replace", 1, DELTA),
)
