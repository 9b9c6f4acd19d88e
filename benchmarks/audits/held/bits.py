"""Noise that suffices for real numbers, but whose low bits depend on the number that it is added to."""

from __future__ import annotations

import numpy as np

from benchmarks.audits.held.data import (
    ANSWERS,
    EVENTS,
    FEW_ANSWERS,
    FEW_EVENTS,
    FEW_SPENDING,
    HOURS,
    LABELS,
    SPENDING,
    STAYS,
    WARDS,
)
from benchmarks.audits.held.fault import DELTA, SIGMA, Fault


def turnout(data, n, rng):
    """The number of people who said yes."""
    return sum(one == "yes" for one in data) + rng.laplace(0, 1, n)


def answers(data, n, rng):
    """How often each answer was given; one changed answer changes two counts."""
    counts = [sum(one == label for one in data) for label in LABELS]
    return np.array(counts) + rng.laplace(0, 2, (n, 3))


def all_hours(data, n, rng):
    """All hours together, at most 24 of each person."""
    return np.clip(data, 0, 24).sum() + rng.laplace(0, 24, n)


def by_inversion(data, n, rng):
    """A count, with Laplace noise from the inverse of its distribution function."""
    uniform = rng.random(n) - 0.5
    return np.sum(data) - np.sign(uniform) * np.log1p(-2 * np.abs(uniform))


def two_waits(data, n, rng):
    """A count; Laplace noise is the difference of two exponential variables."""
    return len(data) + (rng.exponential(1, n) - rng.exponential(1, n))


def all_spending(data, n, rng):
    """What all users spent, at most 5 each."""
    return sum(min(sum(amounts), 5.0) for amounts in data.values()) + rng.laplace(0, 5, n)


def nights_by_ward(data, n, rng):
    """The nights spent in each of the known wards, at most 8 for each stay."""
    nights, ward = data["nights"].clip(0, 8).to_numpy(), data["ward"].to_numpy()
    return np.array([nights[ward == one].sum() for one in WARDS]) + rng.laplace(0, 16, (n, 3))


def each_event(data, n, rng):
    """Whether something happened at each moment, with noise of scale 1 on each."""
    return np.array(data) + rng.laplace(0, 1, (n, len(data)))


def each_user(data, n, rng):
    """What each of the known users spent, at most 5."""
    spent = [min(sum(data[user]), 5.0) for user in sorted(data)]
    return np.array(spent) + rng.laplace(0, 5, (n, len(spent)))


def pressed_buttons(data, n, rng):
    """A mark for each answer of each person, with Gaussian noise; two marks differ."""
    marks = np.array([[one == label for label in LABELS] for one in data]).ravel()
    return marks + rng.normal(0, np.sqrt(2) * SIGMA, (n, len(marks)))


FAULTS = (
    Fault(turnout, ANSWERS, "bits", "add-remove", 1),
    Fault(answers, FEW_ANSWERS, "bits", "replace", 1),
    Fault(all_hours, HOURS[:3], "bits", "replace", 1),
    Fault(by_inversion, FEW_EVENTS, "bits", "replace", 1),
    Fault(two_waits, FEW_SPENDING, "bits", "add-remove", 1),
    Fault(all_spending, FEW_SPENDING, "bits", "add-remove", 1),
    Fault(nights_by_ward, STAYS, "bits", "replace", 1),
    Fault(each_event, EVENTS, "bits", "replace", 1),
    Fault(each_user, SPENDING, "bits", "replace", 1),
    Fault(pressed_buttons, FEW_ANSWERS, "bits", "replace", 1, DELTA),
)
