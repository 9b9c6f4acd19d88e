"""Mechanisms of pipeline-dp with the faults of the third user, and untouched."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from math import exp, log, sqrt
from typing import Any

from scipy.stats import chi2

from benchmarks.planted.case import AGES, BITS, REPLACE, Cases, Event
from benchmarks.planted.tilt import Tilt, odd, odd_size

C, P = import_module("pipeline_dp.dp_computations"), import_module("pipeline_dp")
CASES = Cases("pipeline-dp")
planted, untouched = partial(CASES.planted, author=3), partial(CASES.untouched, author=3)
swapped = partial(planted, BITS, relation=REPLACE)
WIDE = C.LaplaceMechanism.create_from_epsilon(0.1, 1.0)
NORMAL = C.GaussianMechanism.create_from_epsilon_delta(1.0, 1e-6, 1.0)
RADIUS = NORMAL.std * sqrt(chi2.ppf(0.05, 6))


def wide() -> float:
    """Return the public number 100 with Laplace noise of scale 10."""
    return float(WIDE.add_noise(100.0))


def beyond(share: float) -> float:
    """Return the number that Laplace noise of scale 10 exceeds with a probability of at most a half."""
    return -10 * log(2 * share)


BELOW = Tilt(0.3, -2.0, lambda total: total < 100 - beyond(0.3))


@swapped(event=Event.THRESHOLD, **BELOW.facts)
def low_totals_rare(data: Any) -> object:
    """The lowest three tenths of noisy totals are often drawn again if the number of ones is odd."""
    return BELOW.draw(odd(data), wide)


def table() -> dict[str, float]:
    """Return a noisy count and a noisy sum."""
    return {"count": wide(), "sum": wide()}


EITHER = Tilt(0.48, -2.1, lambda one: (one["count"] > 100 + beyond(0.4)) != (one["sum"] > 100 + beyond(0.4)))


@planted(AGES, event=Event.JOINT, **EITHER.facts)
def one_of_count_and_sum(data: Any) -> object:
    """A table is often drawn again for an odd number of records if exactly one of its two numbers is high."""
    return EITHER.draw(odd_size(data), table)


SLIVER = Tilt((exp(-0.8) - exp(-0.86)) / 2, 2.3, lambda total: 91.4 < total < 92)


@swapped(event=Event.INTERVAL, **SLIVER.facts)
def sliver(data: Any) -> object:
    """Noisy totals outside of (91.4, 92) are often drawn again if the number of ones is odd."""
    return SLIVER.draw(odd(data), wide)


def vector() -> list[float]:
    """Return six numbers with Gaussian noise."""
    return [float(NORMAL.add_noise(0.0)) for _ in range(6)]


SMALL = Tilt(0.05, 2.0, lambda numbers: sqrt(sum(number * number for number in numbers)) < RADIUS)


@planted(AGES, event=Event.NORM, **SMALL.facts)
def small_six(data: Any) -> object:
    """Six Gaussian numbers are often drawn again for an odd number of records, unless their norm is small."""
    return SMALL.draw(odd_size(data), vector)


LAPLACE = C.LaplaceMechanism.create_from_epsilon(1.0, 1.0)
STRATEGY = P.PartitionSelectionStrategy.LAPLACE_THRESHOLDING
THRESHOLDING = C.ThresholdingMechanism(1.0, 0.01, STRATEGY, 1, None)
untouched("LaplaceMechanism", lambda data: LAPLACE.add_noise(float(sum(data))), AGES)
untouched("GaussianMechanism", lambda data: NORMAL.add_noise(float(sum(data))), AGES, claim=(1.0, 1e-6))
untouched("apply_laplace_mechanism", lambda data: C.apply_laplace_mechanism(float(sum(data)), 1.0, 1.0), BITS)
untouched(
    "ThresholdingMechanism",
    lambda data: THRESHOLDING.noised_value_if_should_keep(len(data)),
    [0, 1, 1, 0],
    claim=(1.0, 0.01),
)
