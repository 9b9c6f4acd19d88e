"""Mechanisms with a fault in one event: outside of the event, and inside it, the outputs have the same law on both inputs.

The event is drawn anew for every run. Its two probabilities have the ratio e^(2 epsilon). The faults of `FAULTS` lie in a
class of events in which an audit measures its power. The faults of `OUTSIDE` lie in none of these classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.audits import stated_events as events
from benchmarks.audits import stated_outputs as laws
from benchmarks.audits.stated_events import DEEP, HALF, LEAST, Event, Inside
from benchmarks.audits.stated_outputs import Generator, Law, Outputs

EPSILON = 1.0
"""The claimed epsilon. The faults have twice this epsilon."""
SKETCH, TRIES = 4096, 64
CAP = 64_000
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
        kind: the name of the class of events.
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
    cap: int = CAP
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


TAIL, THRESHOLD, PROJECTION = (
    "a tail of one coordinate",
    "one coordinate beyond a threshold",
    "a random projection",
)
PARITY, LOW_BITS = "parity of two bits", "adjacent low bits of a number"
TOKEN, NORM, INTERVAL = "presence or order of a token", "a norm", "an interval of one coordinate"
JOINT, VALUE, LENGTH = "a joint event of two coordinates", "a value that repeats", "a length"
REMAINDER = "a remainder or decimal digit"

_Rows = list[tuple[Law, int, str]]


def _of(kind: str, event: Event, rows: _Rows, **more: Any) -> list[Fault]:
    return [
        Fault(kind, law, event, width, shape, **{"cap": _cap(width), **more}) for law, width, shape in rows
    ]


def _cap(width: int) -> int:
    """Return the largest budget of outputs of this width."""
    return CAP if width <= 20 else 16_000 if width <= 200 else 8_000


def _numbers() -> list[Fault]:
    """Return the faults in one coordinate, or in a projection."""
    return [
        *_of(
            TAIL,
            events.tail,
            [
                (laws.student(1, 1), 1, "a Cauchy number"),
                (laws.student(2, 3), 2, "2 Student numbers, 3 degrees of freedom"),
                (laws.exponential(5), 5, "5 exponential numbers"),
                (laws.lognormal(5), 5, "5 log-normal numbers"),
                (laws.poisson(5, 50.0), 5, "5 Poisson counts of mean 50"),
                (laws.correlated(20), 20, "20 correlated normal numbers"),
                (laws.mixture(20), 20, "20 numbers around two centres"),
                (laws.laplace(64), 64, "64 Laplace numbers of different scales"),
                (laws.uniform(1000), 1000, "1,000 uniform numbers"),
            ],
            most=DEEP,
        ),
        *_of(
            THRESHOLD,
            events.threshold,
            [
                (laws.student(1, 1), 1, "a Cauchy number"),
                (laws.lognormal(2, 2.0), 2, "2 log-normal numbers, sigma 2"),
                (laws.geometric(5, 0.1), 5, "5 geometric counts of mean 10"),
                (laws.half_zero(5), 5, "5 numbers, half of them 0"),
                (laws.mixture(20), 20, "20 numbers around two centres"),
                (laws.student(64, 3), 64, "64 Student numbers, 3 degrees of freedom"),
                (laws.uniform(200), 200, "200 uniform numbers"),
                (laws.exponential(1000), 1000, "1,000 exponential numbers"),
            ],
        ),
        *_of(
            PROJECTION,
            events.projection,
            [
                (laws.student(2, 3), 2, "2 Student numbers, 3 degrees of freedom"),
                (laws.exponential(5), 5, "5 exponential numbers"),
                (laws.correlated(5), 5, "5 correlated normal numbers"),
                (laws.poisson(5, 3.0), 5, "5 Poisson counts of mean 3"),
                (laws.uniform(20), 20, "20 uniform numbers"),
                (laws.laplace(64), 64, "64 Laplace numbers of different scales"),
            ],
        ),
    ]


def _bits_and_words() -> list[Fault]:
    """Return the faults in bits, digits, and words."""
    return [
        *_of(
            PARITY,
            partial(events.parity, 2),
            [
                (laws.bits(2), 2, "2 fair bits"),
                (laws.bits(5, 0.2), 5, "5 bits, each 1 with probability 0.2"),
                (laws.sticky_bits(20), 20, "20 bits of a Markov chain"),
                (laws.bits(64, 0.4), 64, "64 bits, each 1 with probability 0.4"),
                (laws.bits(200), 200, "200 fair bits"),
            ],
        ),
        *_of(
            LOW_BITS,
            events.low_bits,
            [
                (laws.geometric(1, 0.001), 1, "a geometric count of mean 1,000"),
                (laws.integers(1, -(2**60), 2**60), 1, "an integer of 61 bits"),
                (laws.poisson(2, 2000.0), 2, "2 Poisson counts of mean 2,000"),
                (laws.integers(5, 0, 1 << 20), 5, "5 integers of 20 bits"),
            ],
        ),
        *_of(
            REMAINDER,
            events.remainder,
            [
                (laws.poisson(1, 5000.0), 1, "a Poisson count of mean 5,000"),
                (laws.geometric(2, 0.0005), 2, "2 geometric counts of mean 2,000"),
            ],
        ),
        *_of(
            REMAINDER,
            partial(events.digit, 2),
            [(laws.rounded(1, 2, 40.0), 1, "an amount with 2 decimal places")],
        ),
        *_of(
            TOKEN,
            events.token,
            [
                (laws.texts(5, 12), 5, "texts of up to 5 words"),
                (laws.words(5, 12), 5, "lists of up to 5 words"),
                (laws.tables(4, 8), 4, "tables of up to 4 words"),
                (laws.sets(5, 12), 5, "sets of up to 5 words"),
                (laws.texts(20, 40), 20, "texts of up to 20 words"),
            ],
        ),
        *_of(
            LENGTH,
            events.length,
            [
                (laws.letters(20.0), 20, "texts of about 20 letters"),
                (laws.ragged(0.2), 5, "lists of about 5 numbers"),
            ],
        ),
    ]


def _several() -> list[Fault]:
    """Return the faults in a norm, an interval, two coordinates at once, and a repeated value."""
    return [
        *_of(
            NORM,
            events.norm,
            [
                (laws.exponential(2), 2, "2 exponential numbers"),
                (laws.student(5, 5), 5, "5 Student numbers, 5 degrees of freedom"),
                (laws.uniform(20), 20, "20 uniform numbers"),
                (laws.correlated(64), 64, "64 correlated normal numbers"),
            ],
        ),
        *_of(
            INTERVAL,
            events.interval,
            [
                (laws.student(1, 1), 1, "a Cauchy number"),
                (laws.mixture(2), 2, "2 numbers around two centres"),
                (laws.exponential(5), 5, "5 exponential numbers"),
                (laws.uniform(20), 20, "20 uniform numbers"),
            ],
        ),
        *_of(
            JOINT,
            events.joint,
            [
                (laws.uniform(2), 2, "2 uniform numbers"),
                (laws.student(5, 3), 5, "5 Student numbers, 3 degrees of freedom"),
                (laws.correlated(5), 5, "5 correlated normal numbers"),
            ],
        ),
        *_of(
            VALUE,
            events.value,
            [
                (laws.poisson(1, 3.0), 1, "a Poisson count of mean 3"),
                (laws.half_zero(5), 5, "5 numbers, half of them 0"),
                (laws.categories((8, 5, 3, 2, 1, 1)), 1, "one of six words"),
            ],
        ),
    ]


def _outside() -> list[Fault]:
    """Return the faults outside of all classes."""

    def fault(what: str, law: Law, event: Event, width: int, shape: str, **more: float) -> Fault:
        return Fault(what, law, event, width, shape, 32_000, **more)

    three = partial(events.signs, 3)
    return [
        fault("parity of three bits", laws.bits(20), partial(events.parity, 3), 20, "20 fair bits"),
        fault("product of three signs", laws.student(5, 3), three, 5, "5 Student numbers"),
        fault(
            "a circle in two coordinates, or else a sign",
            laws.uniform(5, -1.0),
            events.ring_and_sign,
            5,
            "5 uniform numbers",
        ),
        fault("black squares of a board", laws.uniform(2), events.board, 2, "2 uniform numbers"),
        fault("two coordinates are equal", laws.integers(5, 0, 10), events.equal, 5, "5 digits"),
        fault("odd sum of all coordinates", laws.poisson(5, 50.0), events.odd_sum, 5, "5 Poisson counts"),
        fault("a bit of a checksum", laws.exponential(5), events.checksum, 5, "5 exponential numbers"),
        fault(
            "a bit of a quotient", laws.integers(1, 0, 1 << 20), events.quotient, 1, "an integer of 20 bits"
        ),
        fault(
            "a tail of mass below .01",
            laws.exponential(2),
            events.rare,
            2,
            "2 exponential numbers",
            least=0.001,
            most=0.009,
        ),
        fault("low bits of a double", laws.exponential(1), events.mantissa, 1, "an exponential number"),
        fault(
            "three words in an order", laws.words(8, 10), events.three_in_order, 8, "lists of up to 8 words"
        ),
        fault("integer or float of equal value", laws.typed(0, 50), events.kind, 1, "lists of one number"),
    ]


def _named(faults: list[Fault]) -> Mapping[str, Fault]:
    named = {fault.name: fault for fault in faults}
    assert len(named) == len(faults)
    return named


FAULTS: Mapping[str, Fault] = _named([*_numbers(), *_bits_and_words(), *_several()])
"""Name -> a fault in a named class of events."""
OUTSIDE: Mapping[str, Fault] = _named(_outside())
"""Name -> a fault in none of the classes. Its `kind` says what the event is."""
