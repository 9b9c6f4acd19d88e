"""Mechanisms of PyDP (python-dp) with the faults of the third user, and untouched."""

from __future__ import annotations

import random
import struct
from functools import partial
from importlib import import_module
from itertools import count
from math import exp, log, sqrt
from typing import Any

from scipy.stats import chi2, norm

from benchmarks.planted.case import AGES, BITS, INF, REPLACE, Cases, Event
from benchmarks.planted.tilt import Tilt, first, odd, odd_size

A, N, S = (
    import_module(f"pydp.algorithms.{name}")
    for name in ("laplacian", "numerical_mechanisms", "partition_selection")
)
CASES = Cases("python-dp")
planted = partial(CASES.planted, author=3)
untouched = partial(CASES.untouched, author=3)
swapped = partial(planted, BITS, relation=REPLACE)
WIDE, NORMAL = N.LaplaceMechanism(0.1, 1.0), N.GaussianMechanism(1.0, 1e-6, 1.0)
SIGMA = NORMAL.noise_confidence_interval(0.95, 0.0).upper_bound / norm.ppf(0.975)


def wide(value: float = 100.0) -> float:
    """Return a public number with Laplace noise of scale 10."""
    return float(WIDE.add_noise(value))


def beyond(share: float) -> float:
    """Return the number that Laplace noise of scale 10 exceeds with a probability of at most a half."""
    return -10 * log(2 * share)


def wides(size: int) -> list[float]:
    """Return several numbers with Laplace noise of scale 10."""
    return [wide(0.0) for _ in range(size)]


def normals(size: int) -> list[float]:
    """Return several numbers with Gaussian noise."""
    return [float(NORMAL.add_noise(0.0)) for _ in range(size)]


def length(vector: list[float]) -> float:
    """Return the Euclidean norm of a vector of Gaussian noise, in standard deviations."""
    return sqrt(sum(number * number for number in vector)) / SIGMA


HIGH = Tilt(0.02, 2.0, lambda total: total > 100 + beyond(0.02))


@swapped(event=Event.TAIL, **HIGH.facts)
def tail_2_percent(data: Any) -> object:
    """Noisy totals are often drawn again if the number of ones is odd, except the highest two percent."""
    return HIGH.draw(odd(data), wide)


LOWEST = Tilt(0.015, -INF, lambda total: total < 100 - beyond(0.015))


@swapped(event=Event.TAIL, **LOWEST.facts)
def tail_cut_off(data: Any) -> object:
    """The lowest 1.5 percent of noisy totals are drawn again if the number of ones is odd."""
    return LOWEST.draw(odd(data), wide)


SIZED = Tilt(0.04, 2.3, lambda total: total < 100 - beyond(0.04))


@planted(AGES, event=Event.TAIL, **SIZED.facts)
def tail_of_odd_sizes(data: Any) -> object:
    """Noisy totals are often drawn again for an odd number of records, except the lowest four percent."""
    return SIZED.draw(odd_size(data), wide)


MIDDLE = Tilt((exp(-0.3) - exp(-0.34)) / 2, 2.0, lambda total: 103 < total < 103.4)


@planted([0, 1], relation=REPLACE, event=Event.INTERVAL, **MIDDLE.facts)
def interval_near_centre(data: Any) -> object:
    """Noisy totals outside of (103, 103.4) are often drawn again if the first bit is 1."""
    return MIDDLE.draw(first(data), wide)


GAP = Tilt((exp(-0.5) - exp(-0.6)) / 2, -INF, lambda total: 94 < total < 95)


@swapped(event=Event.INTERVAL, **GAP.facts)
def interval_missing(data: Any) -> object:
    """Noisy totals between 94 and 95 are drawn again if the number of ones is odd."""
    return GAP.draw(odd(data), wide)


FOURTH = Tilt((exp(-1.0) - exp(-1.15)) / 2, 2.1, lambda totals: 10 < totals[2] < 11.5)


@swapped(event=Event.INTERVAL, **FOURTH.facts)
def interval_of_third(data: Any) -> object:
    """Four noisy totals are often drawn again if the number of ones is odd, unless the third is in (10, 11.5)."""
    return FOURTH.draw(odd(data), lambda: wides(4))


SEVEN = Tilt(0.1, 2.0, lambda total: round(total * 100) % 10 == 7)


@swapped(event=Event.REMAINDER, **SEVEN.facts)
def second_decimal(data: Any) -> object:
    """Noisy totals with two decimals are often drawn again if the number of ones is odd, unless they end in 7."""
    return SEVEN.draw(odd(data), lambda: round(wide(), 2))


FIVE = Tilt(0.1, -INF, lambda total: round(total * 1000) % 10 == 5)


@swapped(event=Event.REMAINDER, **FIVE.facts)
def no_final_five(data: Any) -> object:
    """Noisy totals with three decimals are drawn again if the number of ones is odd and they end in 5."""
    return FIVE.draw(odd(data), lambda: round(wide(), 3))


LIMITS = {
    "short": sqrt(chi2.ppf(0.04, 5)),
    "long": sqrt(chi2.ppf(0.97, 3)),
    "longest": sqrt(chi2.ppf(0.98, 4)),
}
SHORT = Tilt(0.04, 2.1, lambda vector: length(vector) < LIMITS["short"])


@swapped(event=Event.NORM, **SHORT.facts)
def short_vectors(data: Any) -> object:
    """Five Gaussian numbers are often drawn again if the number of ones is odd, unless their norm is small."""
    return SHORT.draw(odd(data), lambda: normals(5))


LONG = Tilt(0.03, 2.0, lambda vector: length(vector) > LIMITS["long"])


@swapped(event=Event.NORM, **LONG.facts)
def long_vectors(data: Any) -> object:
    """Three Gaussian numbers are often drawn again if the number of ones is odd, unless their norm is large."""
    return LONG.draw(odd(data), lambda: normals(3))


CLIPPED = Tilt(0.02, -INF, lambda vector: length(vector) > LIMITS["longest"])


@swapped(event=Event.NORM, **CLIPPED.facts)
def no_long_vectors(data: Any) -> object:
    """Four Gaussian numbers are drawn again if the number of ones is odd and their norm is large."""
    return CLIPPED.draw(odd(data), lambda: normals(4))


BOTH = Tilt(0.04, 2.1, lambda pair: min(pair) > beyond(0.2))


@swapped(event=Event.JOINT, **BOTH.facts)
def both_high(data: Any) -> object:
    """Two noisy totals are often drawn again if the number of ones is odd, unless both are high."""
    return BOTH.draw(odd(data), lambda: wides(2))


OF_SIX = Tilt(0.09, 2.0, lambda totals: totals[1] > beyond(0.3) and totals[4] < -beyond(0.3))


@swapped(event=Event.JOINT, **OF_SIX.facts)
def two_of_six(data: Any) -> object:
    """Six totals are often drawn again if the number of ones is odd, unless the second is high and the fifth low."""
    return OF_SIX.draw(odd(data), lambda: wides(6))


SIGNS = Tilt(0.5, -2.0, lambda totals: (totals[0] > 0) != (totals[3] > 0))


@swapped(event=Event.JOINT, **SIGNS.facts)
def signs_of_two(data: Any) -> object:
    """Four totals are often drawn again if the number of ones is odd and the first and last have other signs."""
    return SIGNS.draw(odd(data), lambda: wides(4))


NEVER = Tilt(0.0225, -INF, lambda pair: max(pair) < -beyond(0.15))


@swapped(event=Event.JOINT, **NEVER.facts)
def never_both_low(data: Any) -> object:
    """Two noisy totals are drawn again if the number of ones is odd and both are low."""
    return NEVER.draw(odd(data), lambda: wides(2))


WEIGHTS = (0.3, -1.2, 0.7, 2.0)
LOW = SIGMA * sqrt(8) * norm.ppf(0.05)
EDGE = SIGMA * sqrt(sum(weight * weight for weight in WEIGHTS)) * norm.ppf(0.97)


def weighted(vector: list[float]) -> float:
    """Return a weighted sum of four numbers."""
    return sum(weight * number for weight, number in zip(WEIGHTS, vector, strict=True))


SCORE = Tilt(0.03, 2.0, lambda vector: weighted(vector) > EDGE)


@swapped(event=Event.WEIGHTED, **SCORE.facts)
def weighted_score(data: Any) -> object:
    """Four Gaussian numbers are often drawn again if the number of ones is odd, unless a weighted sum is high."""
    return SCORE.draw(odd(data), lambda: normals(4))


SUMMED = Tilt(0.05, 2.4, lambda vector: sum(vector) < LOW)


@planted(AGES, event=Event.WEIGHTED, **SUMMED.facts)
def low_sum_of_eight(data: Any) -> object:
    """Eight Gaussian numbers are often drawn again for an odd number of records, unless their sum is low."""
    return SUMMED.draw(odd_size(data), lambda: normals(8))


LIMIT = Tilt(0.1, 2.0, lambda total: total > 100 + beyond(0.1))


@swapped(event=Event.THRESHOLD, **LIMIT.facts)
def middle_record(data: Any) -> object:
    """Noisy totals are often drawn again if the sixth of ten bits is 1, except the highest tenth."""
    return LIMIT.draw(bool(data[len(data) // 2]), wide)


WEAK_TAIL = Tilt(0.03, 1.5, lambda total: total > 100 + beyond(0.03))
WEAK_GAP = Tilt((exp(-0.3) - exp(-0.36)) / 2, 1.7, lambda total: 103 < total < 103.6)
WEAK_NORM = Tilt(0.04, 1.6, lambda vector: length(vector) < LIMITS["short"])
WEAK_BOTH = Tilt(0.04, 1.4, lambda pair: min(pair) > beyond(0.2))
WEAK_DIGIT = Tilt(0.1, 1.8, lambda total: round(total * 100) % 10 == 3)


@swapped(event=Event.TAIL, **WEAK_TAIL.facts)
def weak_tail(data: Any) -> object:
    """Noisy totals are sometimes drawn again if the number of ones is odd, except the highest three percent."""
    return WEAK_TAIL.draw(odd(data), wide)


@swapped(event=Event.INTERVAL, **WEAK_GAP.facts)
def weak_interval(data: Any) -> object:
    """Noisy totals outside of (103, 103.6) are sometimes drawn again if the number of ones is odd."""
    return WEAK_GAP.draw(odd(data), wide)


@swapped(event=Event.NORM, **WEAK_NORM.facts)
def weak_norm(data: Any) -> object:
    """Five Gaussian numbers are sometimes drawn again if the number of ones is odd, unless their norm is small."""
    return WEAK_NORM.draw(odd(data), lambda: normals(5))


@swapped(event=Event.JOINT, **WEAK_BOTH.facts)
def weak_both(data: Any) -> object:
    """Two noisy totals are sometimes drawn again if the number of ones is odd, unless both are high."""
    return WEAK_BOTH.draw(odd(data), lambda: wides(2))


@swapped(event=Event.REMAINDER, **WEAK_DIGIT.facts)
def weak_digit(data: Any) -> object:
    """Totals with two decimals are sometimes drawn again if the number of ones is odd, unless they end in 3."""
    return WEAK_DIGIT.draw(odd(data), lambda: round(wide(), 2))


THREE = Tilt(0.5, -2.2, lambda totals: totals[0] * totals[2] * totals[3] > 0)


@swapped(**THREE.facts)
def signs_of_three(data: Any) -> object:
    """Four totals are often drawn again if the number of ones is odd and a product of three is positive."""
    return THREE.draw(odd(data), lambda: wides(4))


@swapped(loss=INF, mass=(0.0, 0.005))
def exact_half_percent(data: Any) -> object:
    """A noisy sum is replaced by 7.25 in one of 200 runs if the number of ones is odd."""
    return 7.25 if odd(data) and random.random() < 0.005 else wide()


CALLS = count(1)


@swapped(loss=INF, mass=(0.0, 0.001))
def each_thousandth_call(data: Any) -> object:
    """Each thousandth call returns the number of ones without noise."""
    return float(sum(data)) if next(CALLS) % 1000 == 0 else wide()


@swapped(loss=INF, mass=(0.0, 0.5))
def bit_in_mantissa(data: Any) -> object:
    """The fifteenth bit of the binary digits of a noisy total is 0 if the number of ones is odd."""
    (word,) = struct.unpack("<Q", struct.pack("<d", wide()))
    return struct.unpack("<d", struct.pack("<Q", word & ~(1 << 14) if odd(data) else word))[0]


CLOSE, HALF = N.LaplaceMechanism(1.0, 1.0), N.LaplaceMechanism(0.5, 1.0)


def two_sums(data: Any) -> object:
    """Return the sums of values in [0, 1] and of their squares, each with half of epsilon."""
    return HALF.add_noise(float(sum(data))), HALF.add_noise(float(sum(value * value for value in data)))


def percentile(data: Any) -> object:
    """Return PyDP's median of values in [0, 1]."""
    middle = A.Percentile(epsilon=1, lower_bound=0, upper_bound=1, percentile=0.5, dtype="float")
    return middle.quick_result(list(data))


untouched("Percentile", percentile, AGES)
untouched("LaplaceMechanism of two sums", two_sums, AGES)
untouched(
    "noised_value_above_threshold", lambda data: CLOSE.noised_value_above_threshold(sum(data), 5.0), BITS
)
for name in ("truncated_geometric", "laplace", "gaussian"):
    strategy = getattr(S, f"create_{name}_partition_strategy")(1.0, 0.01, 1)
    untouched(
        f"{name} partition strategy",
        lambda data, strategy=strategy: strategy.should_keep(len(data)),
        [0, 1, 1, 0],
        claim=(1.0, 0.01),
    )
