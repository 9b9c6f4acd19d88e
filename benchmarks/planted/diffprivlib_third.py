"""Mechanisms of diffprivlib with the faults of the third user, and untouched."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from importlib import import_module
from math import exp
from typing import Any
from zlib import crc32

from benchmarks.planted.case import AGES, BITS, INF, REPLACE, Cases, Event
from benchmarks.planted.tilt import Tilt, odd

M = import_module("diffprivlib.mechanisms")
CASES = Cases("diffprivlib")
planted, untouched = partial(CASES.planted, author=3), partial(CASES.untouched, author=3)
swapped = partial(planted, BITS, relation=REPLACE)
SCALES = {50: M.Geometric(epsilon=0.02, sensitivity=1), 2: M.Geometric(epsilon=0.5, sensitivity=1)}
PUBLIC = 1000


def geometric(scale: int = 50) -> int:
    """Return a public number with geometric noise of a scale."""
    return int(SCALES[scale].randomise(PUBLIC))


def share(event: Callable[[int], bool], scale: int = 50) -> float:
    """Return the probability of an event of a public number with geometric noise, exact to 16 digits."""
    ratio, far = exp(-1 / scale), 40 * scale
    return sum(
        (1 - ratio) / (1 + ratio) * ratio ** abs(noise)
        for noise in range(-far, far + 1)
        if event(PUBLIC + noise)
    )


def tilt(loss: float, event: Callable[[int], bool], scale: int = 50) -> Tilt:
    """Return a tilt of an event of a public number with geometric noise."""
    return Tilt(share(event, scale), loss, event)


SIXTY = tilt(2.1, lambda total: total % 60 == 17)


@swapped(event=Event.REMAINDER, **SIXTY.facts)
def minutes(data: Any) -> object:
    """A noisy number is often drawn again if the number of ones is odd, unless its remainder modulo 60 is 17."""
    return SIXTY.draw(odd(data), geometric)


SEVEN = tilt(-2.0, lambda total: total % 7 == 3)


@swapped(event=Event.REMAINDER, **SEVEN.facts)
def weekdays(data: Any) -> object:
    """A noisy number is often drawn again if the number of ones is odd and its remainder modulo 7 is 3."""
    return SEVEN.draw(odd(data), geometric)


HOURS = tilt(-INF, lambda total: total % 24 == 5)


@swapped(event=Event.REMAINDER, **HOURS.facts)
def hours(data: Any) -> object:
    """A noisy number is drawn again if the number of ones is odd and its remainder modulo 24 is 5."""
    return HOURS.draw(odd(data), geometric)


CENTS = tilt(2.5, lambda total: total % 100 == 99)


@swapped(event=Event.REMAINDER, **CENTS.facts)
def cents(data: Any) -> object:
    """A noisy number is often drawn again if the number of ones is odd, unless it ends in 99."""
    return CENTS.draw(odd(data), geometric)


LAST = tilt(-2.0, lambda total: total & 1 == 1)


@swapped(event=Event.LOW, **LAST.facts)
def mostly_even(data: Any) -> object:
    """A noisy number is often drawn again if the number of ones is odd and the noisy number is odd."""
    return LAST.draw(odd(data), geometric)


INNER = tilt(-2.2, lambda total: (total >> 1) & 3 == 2)


@swapped(event=Event.LOW, **INNER.facts)
def second_and_third_bit(data: Any) -> object:
    """A noisy number is often drawn again if the number of ones is odd and its second and third bits are 0, 1."""
    return INNER.draw(odd(data), geometric)


VALUE = tilt(2.0, lambda total: total == PUBLIC + 2, 2)


@swapped(event=Event.ATOM, **VALUE.facts)
def one_value(data: Any) -> object:
    """A noisy number is often drawn again if the number of ones is odd, unless it is 1002."""
    return VALUE.draw(odd(data), lambda: geometric(2))


LAPLACE, MIXED = M.Laplace(epsilon=1, sensitivity=1), 0.25


def mixed() -> float:
    """Return Laplace noise, or 0.25 with probability two percent."""
    return MIXED if random.random() < 0.02 else float(LAPLACE.randomise(0.0))


DEFAULT = Tilt(0.02, 2.0, lambda number: number == MIXED)


@swapped(event=Event.ATOM, **DEFAULT.facts)
def default_value(data: Any) -> object:
    """A noisy number is 0.25 in 2 percent of the runs, and in 15 percent if the number of ones is odd."""
    return DEFAULT.draw(odd(data), mixed)


WEAK_TEN = tilt(1.7, lambda total: total % 10 == 4)
WEAK_LOW = tilt(-1.2, lambda total: total & 1 == 1)


@swapped(event=Event.REMAINDER, **WEAK_TEN.facts)
def weak_last_digit(data: Any) -> object:
    """A noisy number is sometimes drawn again if the number of ones is odd, unless it ends in 4."""
    return WEAK_TEN.draw(odd(data), geometric)


@swapped(event=Event.LOW, **WEAK_LOW.facts)
def weak_low_bit(data: Any) -> object:
    """A noisy number is sometimes drawn again if the number of ones is odd and the noisy number is odd."""
    return WEAK_LOW.draw(odd(data), geometric)


THIRTEEN = tilt(2.2, lambda total: total % 13 == 6)


@swapped(**THIRTEEN.facts)
def thirteenths(data: Any) -> object:
    """A noisy number is often drawn again if the number of ones is odd, unless its remainder modulo 13 is 6."""
    return THIRTEEN.draw(odd(data), geometric)


def hashed(total: int) -> bool:
    """Whether a checksum of a number is divisible by 5."""
    return crc32(str(total).encode()) % 5 == 0


CHECKSUM = tilt(-INF, hashed)


@swapped(**CHECKSUM.facts)
def checksum(data: Any) -> object:
    """A noisy number is drawn again if the number of ones is odd and a checksum of it is divisible by 5."""
    return CHECKSUM.draw(odd(data), geometric)


@swapped(loss=INF, mass=(0.0, (1 - exp(-0.5)) / 2))
def negative_zero(data: Any) -> object:
    """Laplace noise is rounded, and each zero is written without its sign if the number of ones is odd."""
    number = float(round(float(LAPLACE.randomise(0.0)), 0))
    return abs(number) if number == 0 and odd(data) else number


TRUNCATED = M.GeometricTruncated(epsilon=1, sensitivity=1, lower=0, upper=20)
CLIPPED = M.LaplaceTruncated(epsilon=1, sensitivity=1, lower=0, upper=10)
BOUNDED = M.LaplaceBoundedDomain(epsilon=1, sensitivity=1, lower=0, upper=10)
SNAPPING = M.Snapping(epsilon=1, sensitivity=1, lower=0, upper=10)
BINARY = M.Binary(epsilon=1, value0="0", value1="1")
DISCRETE = M.GaussianDiscrete(epsilon=1, delta=1e-5, sensitivity=1)
DISTANCES = [["ant", "bee", 1], ["ant", "cat", 2], ["bee", "cat", 2]]
CATEGORICAL = M.ExponentialCategorical(epsilon=1, utility_list=DISTANCES)
untouched("GeometricTruncated", lambda data: TRUNCATED.randomise(sum(data)), BITS)
untouched("LaplaceTruncated", lambda data: float(CLIPPED.randomise(float(sum(data)))), AGES)
untouched("LaplaceBoundedDomain", lambda data: float(BOUNDED.randomise(float(sum(data)))), AGES)
untouched("Snapping", lambda data: float(SNAPPING.randomise(float(sum(data)))), AGES)
untouched("Binary", lambda data: int(BINARY.randomise(str(data[0]))), [0, 1], relation=REPLACE)
untouched("GaussianDiscrete", lambda data: DISCRETE.randomise(sum(data)), BITS, claim=(1.0, 1e-5))
untouched(
    "ExponentialCategorical",
    lambda data: CATEGORICAL.randomise(data[0]),
    ["ant", "bee", "cat"],
    relation=REPLACE,
)
