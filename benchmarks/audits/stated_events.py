"""Laws of the events in which faults are hidden, written a second time from the description of each class of events.

Each function draws an event from some outputs of the mechanism, the sketch, and returns the test whether outputs are in
it. The engine's own events are not used, so that a mistake in them would show as a difference.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.audits.stated_outputs import Generator, Outputs

Inside = Callable[[Outputs], NDArray[np.bool_]]
Event = Callable[[Outputs, Generator], Inside]
LEAST, DEEP, HALF = 0.01, 0.1, 0.5
SMALLER, LARGER = (3, 7, 10, 24, 60), (100, 1000)
"""The moduli of two classes of remainders."""


def matrix(outputs: Outputs) -> NDArray[Any]:
    """Return outputs that are arrays of numbers as a matrix."""
    array = np.asarray(outputs)
    return array.reshape(len(array), -1)


def _beyond(
    values: Callable[[Outputs], NDArray[Any]], sketch: Outputs, rng: Generator, mass: float
) -> Inside:
    """Return the upper or the lower tail of a number, with about this mass."""
    known = np.sort(values(sketch))
    rank = max(1, round(mass * len(known)))
    if rng.random() < 0.5:
        return lambda outputs: np.asarray(values(outputs) >= known[-rank])
    return lambda outputs: np.asarray(values(outputs) <= known[rank - 1])


def _narrow(rng: Generator) -> float:
    """Draw a mass from .01 to .5 that is below .05 in two of five cases: its logarithm is uniform."""
    return float(LEAST * (HALF / LEAST) ** rng.random())


def _column(sketch: Outputs, rng: Generator) -> int:
    return int(rng.integers(matrix(sketch).shape[1]))


def _at(column: int, outputs: Outputs) -> NDArray[Any]:
    return matrix(outputs)[:, column]


def tail(sketch: Outputs, rng: Generator, most: float = DEEP) -> Inside:
    """Draw a coordinate, a side and the mass of a tail."""
    return _beyond(partial(_at, _column(sketch, rng)), sketch, rng, rng.uniform(LEAST, most))


def threshold(sketch: Outputs, rng: Generator) -> Inside:
    """Draw a coordinate, a side and a quantile."""
    return tail(sketch, rng, HALF)


def projection(sketch: Outputs, rng: Generator) -> Inside:
    """Draw a Gaussian direction in units of the spreads, and a quantile."""
    known = matrix(sketch)
    direction = rng.standard_normal(known.shape[1]) / known.std(axis=0)
    return _beyond(lambda outputs: matrix(outputs) @ direction, sketch, rng, rng.uniform(LEAST, HALF))


def norm(sketch: Outputs, rng: Generator) -> Inside:
    """Draw a quantile of the squared distance from the medians, in units of the spreads."""
    known = matrix(sketch)
    centre, spread = np.median(known, axis=0), known.std(axis=0)
    return _beyond(
        lambda outputs: (((matrix(outputs) - centre) / spread) ** 2).sum(axis=1), sketch, rng, _narrow(rng)
    )


def interval(sketch: Outputs, rng: Generator) -> Inside:
    """Draw a coordinate and two of its quantiles, often with little mass between them."""
    column, mass = _column(sketch, rng), _narrow(rng)
    start = rng.uniform(0, 1 - mass)
    low, high = np.quantile(_at(column, sketch), [start, start + mass])
    return lambda outputs: np.asarray((_at(column, outputs) >= low) & (_at(column, outputs) <= high))


def joint(sketch: Outputs, rng: Generator) -> Inside:
    """Draw two coordinates, and a side of a quantile of each; in the event both are there, or exactly one is."""
    known = matrix(sketch)
    columns = rng.choice(known.shape[1], 2, replace=False)
    levels = [np.quantile(known[:, column], rng.uniform(0.1, 0.9)) for column in columns]
    sides, both = rng.random(2) < 0.5, rng.random() < 0.5

    def inside(outputs: Outputs) -> NDArray[np.bool_]:
        one, other = (
            (_at(column, outputs) > level) == side
            for column, level, side in zip(columns, levels, sides, strict=True)
        )
        return np.asarray(one & other if both else one ^ other)

    return inside


def parity(count: int, sketch: Outputs, rng: Generator) -> Inside:
    """Draw some of the first 64 bits; the event is that an odd number of them is 1."""
    columns = rng.choice(min(matrix(sketch).shape[1], 64), count, replace=False)
    return lambda outputs: np.asarray(matrix(outputs)[:, columns].sum(axis=1) % 2 == 1)


def low_bits(sketch: Outputs, rng: Generator) -> Inside:
    """Draw 3 to 8 adjacent bits of the lowest 8 of a whole number, and a random half of their patterns."""
    column, size = _column(sketch, rng), int(rng.integers(3, 9))
    shift = int(rng.integers(0, 9 - size))
    chosen = np.zeros(1 << size, bool)
    chosen[rng.permutation(1 << size)[: 1 << (size - 1)]] = True
    return lambda outputs: chosen[(_at(column, outputs) >> shift) & ((1 << size) - 1)]


def token(sketch: Sequence[Any], rng: Generator) -> Inside:
    """Draw a word of an output; the event is that it is there, or that it comes before another word of that output."""
    known = _words(sketch[int(rng.integers(len(sketch)))])
    one, other = (known[int(rng.integers(len(known)))] for _ in range(2))
    if one == other or rng.random() < 0.5:
        return lambda outputs: _each(outputs, lambda row: one in row)
    return lambda outputs: _each(
        outputs, lambda row: one in row and (other not in row or row.index(one) < row.index(other))
    )


def _words(output: Any) -> list[Any]:
    if isinstance(output, str):
        return output.split()
    return (
        sorted(output.items() if isinstance(output, dict) else output)
        if not isinstance(output, list)
        else output
    )


def _each(outputs: Sequence[Any], inside: Callable[[list[Any]], bool]) -> NDArray[np.bool_]:
    return np.array([inside(_words(output)) for output in outputs], bool)


def order(sketch: Sequence[Any], rng: Generator) -> Inside:
    """Draw two words of an output; the event is that both are there, in this order."""
    known = sorted(set(_words(sketch[int(rng.integers(len(sketch)))])))
    if len(known) < 2:
        return lambda outputs: np.zeros(len(outputs), bool)
    one, other = (known[place] for place in rng.choice(len(known), 2, replace=False))
    return lambda outputs: _each(
        outputs, lambda row: one in row and other in row and row.index(one) < row.index(other)
    )


def value(sketch: Outputs, rng: Generator) -> Inside:
    """Draw one of the values of coordinates, or of the whole outputs, that have a mass between .01 and .5."""
    if not isinstance(sketch, np.ndarray):
        wanted = _draw_one(_recurring(sketch), rng)
        return lambda outputs: np.array([output == wanted for output in outputs], bool)
    known = matrix(sketch)
    found: list[tuple[int, Any]] = [(-1, row) for row in _recurring(list(map(tuple, known.tolist())))]
    for column in range(known.shape[1]):
        found += [(column, number) for number in _recurring(known[:, column].tolist())]
    column, wanted = _draw_one(found, rng)
    if column < 0:
        return lambda outputs: np.asarray((matrix(outputs) == np.array(wanted)).all(axis=1))
    return lambda outputs: np.asarray(_at(column, outputs) == wanted)


def _recurring(values: Sequence[Any]) -> list[Any]:
    return [x for x, count in Counter(values).items() if LEAST <= count / len(values) <= HALF]


def _draw_one(values: Sequence[Any], rng: Generator) -> Any:
    return values[int(rng.integers(len(values)))]


def length(sketch: Sequence[Collection[Any]], rng: Generator) -> Inside:
    """Draw a quantile of the number of characters of a text, or of elements of a collection."""
    return _beyond(lambda outputs: np.array([len(output) for output in outputs]), sketch, rng, _narrow(rng))


def remainder(moduli: Sequence[int], sketch: Outputs, rng: Generator) -> Inside:
    """Draw a coordinate, a modulus that fits twice into its range, and a set of remainders."""
    column = _column(sketch, rng)
    wide = np.ptp(_at(column, sketch))
    modulus = int(rng.choice([one for one in moduli if 2 * one <= wide]))
    chosen = _some_remainders(modulus, rng)
    return lambda outputs: chosen[_at(column, outputs) % modulus]


def digit(sketch: Outputs, rng: Generator) -> Inside:
    """Draw a coordinate of amounts with two decimals, the hundredths, tenths or ones, and a set of digits."""
    column, power = _column(sketch, rng), 10 ** int(rng.integers(3))
    chosen = _some_remainders(10, rng)
    return lambda outputs: chosen[np.rint(_at(column, outputs) * 100).astype(np.int64) // power % 10]


def digit_of_spread(sketch: Outputs, rng: Generator) -> Inside:
    """Draw a coordinate, its ones digit or one of the next five digits, and a set of values of this digit."""
    column, power = _column(sketch, rng), 10 ** int(rng.integers(6))
    chosen = _some_remainders(10, rng)
    return lambda outputs: chosen[np.floor(_at(column, outputs) * power).astype(np.int64) % 10]


def _some_remainders(modulus: int, rng: Generator) -> NDArray[np.bool_]:
    """Return a random set of the remainders, or an arc of them, often with little mass."""
    count = max(1, round(_narrow(rng) * modulus))
    if rng.random() < 0.5:
        return _some(modulus, count, rng)
    chosen = np.zeros(modulus, bool)
    chosen[(int(rng.integers(modulus)) + np.arange(count)) % modulus] = True
    return chosen


def few_patterns(sketch: Outputs, rng: Generator) -> Inside:
    """Draw 3 to 8 adjacent bits of the lowest 8 of a whole number, and a set of patterns, often with little mass."""
    column, size = _column(sketch, rng), int(rng.integers(3, 9))
    shift = int(rng.integers(0, 9 - size))
    chosen = _some(1 << size, max(1, round(_narrow(rng) * (1 << size))), rng)
    return lambda outputs: chosen[(_at(column, outputs) >> shift) & ((1 << size) - 1)]


def _half(count: int, rng: Generator) -> NDArray[np.bool_]:
    return _some(count, count // 2, rng)


def _some(count: int, some: int, rng: Generator) -> NDArray[np.bool_]:
    chosen = np.zeros(count, bool)
    chosen[rng.permutation(count)[:some]] = True
    return chosen


def signs(count: int, sketch: Outputs, rng: Generator) -> Inside:
    """Draw some coordinates; the event is that an odd number of them is above the median."""
    columns = rng.choice(matrix(sketch).shape[1], count, replace=False)
    centres = np.median(matrix(sketch)[:, columns], axis=0)
    return lambda outputs: np.asarray((matrix(outputs)[:, columns] > centres).sum(axis=1) % 2 == 1)


def ring_and_signs(sketch: Outputs, rng: Generator) -> Inside:
    """Draw four coordinates. Two lie in a circle, the third is positive, the fourth too. One or all are true."""
    one, other, third, fourth = rng.choice(matrix(sketch).shape[1], 4, replace=False)

    def radius(outputs: Outputs) -> NDArray[Any]:
        return np.hypot(_at(one, outputs), _at(other, outputs))

    middle = np.median(radius(sketch))
    return lambda outputs: np.asarray(
        (radius(outputs) < middle) ^ (_at(third, outputs) > 0) ^ (_at(fourth, outputs) > 0)
    )


def board(sketch: Outputs, rng: Generator) -> Inside:
    """Draw two coordinates; the event is the black squares of a board of 16 by 16 quantiles."""
    columns = rng.choice(matrix(sketch).shape[1], 2, replace=False)
    cuts = [np.quantile(_at(column, sketch), np.arange(1, 16) / 16) for column in columns]
    return lambda outputs: np.asarray(
        sum(cut.searchsorted(_at(column, outputs)) for cut, column in zip(cuts, columns, strict=True)) % 2
        == 1
    )


def three_in_order(sketch: Sequence[Any], rng: Generator) -> Inside:
    """Draw three words; the event is that all are there in this order."""
    known = sorted({word for row in sketch for word in _words(row)})
    one, two, three = (known[place] for place in rng.choice(len(known), 3, replace=False))

    def inside(row: list[Any]) -> bool:
        return (
            one in row and two in row and three in row and row.index(one) < row.index(two) < row.index(three)
        )

    return lambda outputs: _each(outputs, inside)


def checksum(_sketch: Outputs, rng: Generator) -> Inside:
    """Draw a bit of a checksum of the whole output."""
    bit, start = int(rng.integers(32)), int(rng.integers(1 << 31))
    return lambda outputs: np.array(
        [zlib.crc32(np.asarray(row).tobytes(), start) >> bit & 1 for row in outputs], bool
    )


def rare(sketch: Outputs, rng: Generator) -> Inside:
    """Draw a tail of a coordinate with a mass between .001 and .004."""
    column = _column(sketch, rng)
    level = np.quantile(_at(column, sketch), 1 - rng.uniform(0.001, 0.004))
    return lambda outputs: np.asarray(_at(column, outputs) >= level)


def quotient(sketch: Outputs, rng: Generator) -> Inside:
    """Draw a divisor from 1,001 to 1,999; the event is that the quotient is odd."""
    column, divisor = _column(sketch, rng), int(rng.integers(1001, 2000))
    return lambda outputs: np.asarray(_at(column, outputs) // divisor % 2 == 1)


def equal(sketch: Outputs, rng: Generator) -> Inside:
    """Draw two coordinates; the event is that they are equal."""
    one, other = rng.choice(matrix(sketch).shape[1], 2, replace=False)
    return lambda outputs: np.asarray(_at(one, outputs) == _at(other, outputs))


def odd_sum(_sketch: Outputs, _rng: Generator) -> Inside:
    """Return the event that the sum of all coordinates is odd."""
    return lambda outputs: np.asarray(matrix(outputs).sum(axis=1) % 2 == 1)


def mantissa(sketch: Outputs, rng: Generator) -> Inside:
    """Draw five adjacent bits of the lowest 20 of the mantissa of a double, and a random half of their patterns."""
    column, shift, chosen = _column(sketch, rng), int(rng.integers(16)), _half(32, rng)
    return lambda outputs: chosen[(np.ascontiguousarray(_at(column, outputs)).view(np.int64) >> shift) & 31]


def kind(_sketch: Outputs, _rng: Generator) -> Inside:
    """Return the event that the number is a float, not an integer."""
    return lambda outputs: np.array([isinstance(row[0], float) for row in outputs], bool)
