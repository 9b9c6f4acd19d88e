"""Mechanisms with a fault in one event. Given the event, or its complement, both inputs have the same law of outputs.

The event is drawn anew for every run. Its two probabilities have the ratio e^(2 epsilon). The faults of `FAULTS` lie
in a class of events in which an audit measures its power. The faults of `OUTSIDE` lie in none of these classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.audits import stated_events as events
from benchmarks.audits import stated_outputs as laws
from benchmarks.audits.stated_events import DEEP, HALF, LEAST, Event, Inside
from benchmarks.audits.stated_outputs import Generator, Law, Outputs

EPSILON = 1.0
"""The claimed epsilon. The faults have twice this epsilon."""
SKETCH, TRIES = 4096, 64
Mechanism = Callable[[float, int, Generator], Outputs]


@dataclass(frozen=True)
class Drawn:
    """A fault: its event, the estimated mass of the event, and the chances of the event on the two inputs."""

    inside: Inside
    mass: float
    chances: tuple[float, float]


@dataclass(frozen=True)
class Fault:
    """A kind of fault: a law of outputs, and a law of events in which the two inputs differ.

    Attributes:
        kind: the name of the class of events; of a fault outside of the classes, the event in words.
        law: the law of the outputs of the mechanism without a fault.
        event: the function that draws an event from some outputs.
        width: the number of coordinates of an output, or the largest number of its words.
        shape: the outputs in words.
        cap: the largest budget of an audit.
        least, most: bounds on the mass of the event, or of its complement.
    """

    kind: str
    law: Law
    event: Event
    width: int
    shape: str
    cap: int
    least: float = LEAST
    most: float = HALF

    @property
    def name(self) -> str:
        """The class and the outputs in words."""
        return f"{self.kind}: {self.shape}"

    def draw(self, seed: int) -> Drawn:
        """Draw the event of a run, and the input on which it is more probable."""
        rng = np.random.default_rng([seed, 1])
        sketch = self.law(SKETCH, rng)
        for _ in range(TRIES):
            inside = self.event(sketch, rng)
            mass = float(inside(sketch).mean())
            if self.least <= min(mass, 1 - mass) <= self.most:
                return Drawn(*_smaller(inside, mass), _chances(min(mass, 1 - mass), rng))
        raise RuntimeError(f"fault ({self.name}) has no event of an allowed mass for seed {seed}")

    def faulty(self, seed: int) -> Mechanism:
        """Return the mechanism with the fault of this run."""
        drawn = self.draw(seed)

        def mechanism(value: float, n: int, rng: Generator) -> Outputs:
            return placed(self.law, drawn, rng.random(n) < drawn.chances[int(value)], rng)

        return mechanism

    def without(self) -> Mechanism:
        """Return the mechanism without a fault: both inputs have the same outputs."""
        return lambda _value, n, rng: self.law(n, rng)


def _smaller(inside: Inside, mass: float) -> tuple[Inside, float]:
    """Return the event, or its complement, whichever is less probable."""
    return (inside, mass) if mass <= HALF else (lambda outputs: ~inside(outputs), 1 - mass)


def _chances(mass: float, rng: Generator) -> tuple[float, float]:
    """Return two chances with this mean and the ratio e^(2 epsilon), in random order."""
    odds = math.exp(2 * EPSILON)
    pair = 2 * mass / (1 + odds), 2 * mass * odds / (1 + odds)
    return pair if rng.random() < 0.5 else pair[::-1]


def placed(law: Law, drawn: Drawn, wanted: NDArray[np.bool_], rng: Generator) -> Outputs:
    """Return independent outputs, each given that it is in the event or not, as is wanted."""
    counts = np.array([np.count_nonzero(~wanted), np.count_nonzero(wanted)])
    parts: list[Outputs] = []
    found = np.empty(0, bool)
    while (left := counts - np.bincount(found, minlength=2)).max() > 0:
        size = 16 + int(1.1 * max(left[0] / (1 - drawn.mass), left[1] / drawn.mass))
        parts.append(law(size, rng))
        found = np.append(found, drawn.inside(parts[-1]))
    places = np.empty(len(wanted), np.int64)
    for cell, count in enumerate(counts):
        places[wanted == bool(cell)] = np.flatnonzero(found == bool(cell))[:count]
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)[places] if parts else law(0, rng)
    rows = [row for part in parts for row in part]
    return [rows[place] for place in places]


TAIL, THRESHOLD = "a tail of one coordinate", "one coordinate beyond a threshold"
PROJECTION, PARITY = "a random projection", "parity of two bits"
LOW_BITS = "adjacent low bits of a number"
REMAINDER = "a decimal digit, or a remainder modulo 3, 7, 10, 24 or 60, of an exact number"
LARGE = "a remainder modulo 100 or 1000 of an exact number"
DIGIT = "one of six digits from the size of the spread on"
TOKEN, LENGTH, VALUE = (
    "presence of a token, or its place before another (mixed)",
    "the length of an output",
    "one value that repeats",
)
NORM, INTERVAL = "a norm", "an interval of one coordinate"
JOINT, PATTERNS = "two coordinates beyond thresholds", "a few patterns of adjacent low bits"
ORDER = "two tokens in an order"
CAPS = {20: 256_000, 64: 64_000, 200: 16_000, 1000: 4_000}
"""The largest budget for vectors of at most this many numbers."""
OBJECTS = 32_000
"""The largest budget for outputs that are no vectors of numbers, which take longer."""
OUTSIDE_CAP = 128_000
"""The largest budget of a fault outside of the classes, unless its outputs take long."""


def _of(
    kind: str, event: Event, *rows: tuple[Law, int, str], cap: int = 0, most: float = HALF
) -> list[Fault]:
    return [
        Fault(kind, law, event, width, shape, cap or _cap(width), LEAST, most) for law, width, shape in rows
    ]


def _cap(width: int) -> int:
    return next(cap for most, cap in CAPS.items() if width <= most)


def _one_coordinate() -> list[Fault]:
    """Return the faults in one coordinate."""
    tails = (
        (laws.student(1, 1), 1, "a Cauchy number"),
        (laws.student(2, 3), 2, "2 Student numbers"),
        (laws.exponential(5), 5, "5 exponential numbers"),
        (laws.lognormal(5), 5, "5 log-normal numbers"),
        (laws.poisson(5, 50.0), 5, "5 Poisson counts of mean 50"),
        (laws.correlated(20), 20, "20 correlated normal numbers"),
        (laws.laplace(64), 64, "64 Laplace numbers of different scales"),
        (laws.uniform(1000), 1000, "1,000 uniform numbers"),
    )
    thresholds = (
        (laws.student(1, 1), 1, "a Cauchy number"),
        (laws.lognormal(2, 2.0), 2, "2 log-normal numbers, sigma 2"),
        (laws.geometric(5, 0.1), 5, "5 geometric counts of mean 10"),
        (laws.half_zero(5), 5, "5 numbers, half of them 0"),
        (laws.mixture(20), 20, "20 numbers around two centres"),
        (laws.bits(64, 0.4), 64, "64 bits, each 1 with probability 0.4"),
        (laws.integers(200, 0, 3), 200, "200 numbers out of 0, 1, 2"),
        (laws.sticky_bits(1000), 1000, "1,000 bits of a Markov chain"),
    )
    intervals = (
        (laws.student(1, 1), 1, "a Cauchy number"),
        (laws.mixture(2), 2, "2 numbers around two centres"),
        (laws.exponential(5), 5, "5 exponential numbers"),
        (laws.uniform(20), 20, "20 uniform numbers"),
    )
    return [
        *_of(TAIL, events.tail, *tails, most=DEEP),
        *_of(THRESHOLD, events.threshold, *thresholds),
        *_of(INTERVAL, events.interval, *intervals),
    ]


def _several_coordinates() -> list[Fault]:
    """Return the faults in a projection, in a norm, in two bits, and in two coordinates at once."""
    projections = (
        (laws.student(2, 3), 2, "2 Student numbers"),
        (laws.exponential(5), 5, "5 exponential numbers"),
        (laws.correlated(5), 5, "5 correlated normal numbers"),
        (laws.poisson(5, 3.0), 5, "5 Poisson counts of mean 3"),
        (laws.bits(20, 0.4), 20, "20 bits, each 1 with probability 0.4"),
        (laws.integers(64, 0, 3), 64, "64 numbers out of 0, 1, 2"),
    )
    parities = (
        (laws.bits(2), 2, "2 fair bits"),
        (laws.bits(5, 0.3), 5, "5 bits, each 1 with probability 0.3"),
        (laws.sticky_bits(10), 10, "10 bits of a Markov chain"),
        (laws.bits(20), 20, "20 fair bits"),
    )
    norms = (
        (laws.exponential(2), 2, "2 exponential numbers"),
        (laws.student(5, 5), 5, "5 Student numbers, 5 degrees of freedom"),
        (laws.integers(20, 0, 4), 20, "20 numbers out of 0, 1, 2, 3"),
    )
    joints = (
        (laws.uniform(2), 2, "2 uniform numbers"),
        (laws.student(5, 3), 5, "5 Student numbers"),
        (laws.correlated(5), 5, "5 correlated normal numbers"),
        (laws.integers(5, 0, 4), 5, "5 numbers out of 0, 1, 2, 3"),
    )
    return [
        *_of(PROJECTION, events.projection, *projections),
        *_of(PARITY, partial(events.parity, 2), *parities),
        *_of(NORM, events.norm, *norms),
        *_of(JOINT, events.joint, *joints),
    ]


def _digits_and_words() -> list[Fault]:
    """Return the faults in digits, in repeated values, and in words."""
    whole = (
        (laws.geometric(1, 0.001), 1, "a geometric count of mean 1,000"),
        (laws.integers(1, -(2**60), 2**60), 1, "an integer of 61 bits"),
        (laws.poisson(2, 2000.0), 2, "2 Poisson counts of mean 2,000"),
        (laws.integers(5, 0, 1 << 20), 5, "5 integers of 20 bits"),
    )
    remainders = (
        (laws.poisson(1, 5000.0), 1, "a Poisson count of mean 5,000"),
        (laws.geometric(2, 0.0005), 2, "2 geometric counts of mean 2,000"),
    )
    values = (
        (laws.poisson(1, 3.0), 1, "a Poisson count of mean 3"),
        (laws.half_zero(2), 2, "2 numbers, half of them 0"),
        (laws.geometric(5, 0.4), 5, "5 geometric counts of mean 2.5"),
    )
    tokens = (
        (laws.categories((8, 5, 3, 2, 1, 1)), 1, "one of six texts"),
        (laws.words(2, 4), 2, "lists of up to 2 words"),
        (laws.texts(3, 6), 3, "texts of up to 3 words"),
        (laws.tables(2, 4), 2, "tables of up to 2 words"),
        (laws.sets(5, 12), 5, "sets of up to 5 words"),
    )
    lengths = (
        (laws.letters(20.0), 20, "texts of about 20 letters"),
        (laws.ragged(0.5), 2, "lists of about 2 numbers"),
    )
    return [
        *_of(LOW_BITS, events.low_bits, *whole),
        *_of(PATTERNS, events.few_patterns, *whole[::2]),
        *_of(REMAINDER, partial(events.remainder, events.SMALLER), *remainders),
        *_of(LARGE, partial(events.remainder, events.LARGER), *remainders),
        *_of(REMAINDER, events.digit, (laws.rounded(1, 2, 40.0), 1, "an amount with 2 decimals")),
        *_of(DIGIT, events.digit_of_spread, (laws.exponential(1), 1, "an exponential number")),
        *_of(VALUE, events.value, *values),
        *_of(TOKEN, events.token, *tokens, cap=OBJECTS),
        *_of(ORDER, events.order, (laws.words(4, 6), 4, "lists of up to 4 words"), cap=OBJECTS),
        *_of(LENGTH, events.length, *lengths, cap=OBJECTS),
    ]


def _outside() -> list[Fault]:
    """Return the faults outside of all classes."""
    rows = (
        ("parity of three bits", laws.bits(20), partial(events.parity, 3), 20, "20 fair bits"),
        ("product of three signs", laws.student(5, 3), partial(events.signs, 3), 5, "5 Student numbers"),
        ("a circle and two signs", laws.student(20, 5), events.ring_and_signs, 20, "20 Student numbers"),
        ("black squares of a board", laws.uniform(2), events.board, 2, "2 uniform numbers"),
        ("two coordinates are equal", laws.integers(5, 0, 20), events.equal, 5, "5 integers below 20"),
        ("odd sum of all coordinates", laws.poisson(5, 50.0), events.odd_sum, 5, "5 Poisson counts"),
        ("a bit of a checksum", laws.exponential(5), events.checksum, 5, "5 exponential numbers"),
        ("a bit of a quotient", laws.integers(1, 0, 1 << 20), events.quotient, 1, "an integer of 20 bits"),
        ("low bits of a double", laws.exponential(1), events.mantissa, 1, "an exponential number"),
        ("three words in an order", laws.words(8, 10), events.three_in_order, 8, "lists of up to 8 words"),
        ("integer or float of equal value", laws.typed(0, 50), events.kind, 1, "lists of one number"),
    )
    slow = {events.ring_and_signs, events.three_in_order, events.kind}
    rare = "a tail of mass below .01", laws.exponential(2), events.rare, 2, "2 exponential numbers"
    caps = (OBJECTS if event in slow else OUTSIDE_CAP for _, _, event, *_ in rows)
    return [Fault(*row, cap) for row, cap in zip(rows, caps, strict=True)] + [
        Fault(*rare, OUTSIDE_CAP, 0.0005, 0.006)
    ]


def _named(faults: list[Fault]) -> Mapping[str, Fault]:
    named = {fault.name: fault for fault in faults}
    assert len(named) == len(faults)
    return named


FAULTS: Mapping[str, Fault] = _named([*_one_coordinate(), *_several_coordinates(), *_digits_and_words()])
"""Name -> a fault in a named class of events."""
OUTSIDE: Mapping[str, Fault] = _named(_outside())
"""Name -> a fault in none of the classes. Its `kind` says what the event is."""
