"""Further kinds of events in which an audit measures its power. *Consistent* does not need them.

An answer lists those in which the audit has enough power as covered, and the others as not covered.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.canonical import plain
from dpproof.audits.data.encoding import lengths, tokens
from dpproof.audits.engine.power.event_classes import (
    FLOOR,
    HALF,
    LOW,
    Event,
    EventClass,
    Values,
    narrow_mass,
    patterns_of_bits,
    varying,
    whole_columns,
)
from dpproof.audits.engine.power.fresh_outputs import Outputs
from dpproof.audits.engine.scores.atoms import coarse, row_tokens
from dpproof.audits.engine.scores.remainders import INFINITE, LEVELS, LIMIT, PARTS, multiples, whole_parts

MODULI = tuple(modulus for place, modulus in PARTS if place == 1)
LARGE = 100
"""Remainders modulo this number or a larger one are a class of their own: narrow events there are hardest to detect."""
SMALLER, LARGER = (tuple(one for one in MODULI if (one >= LARGE) == large) for large in (False, True))
DIGITS = ((1, 10), (10, 10), (100, 10))
"""The decimal digits among `PARTS`."""
FEWEST = 32
"""A number has intervals if it takes at least this many values."""
Floats = NDArray[np.float64]


def _listed(numbers: Sequence[int]) -> str:
    """Return numbers in words, such as ``3, 7 or 10``."""
    return f"{', '.join(map(str, numbers[:-1]))} or {numbers[-1]}"


def _doubles(outputs: Outputs) -> Floats:
    return np.asarray(outputs.numbers, np.float64)


def _units_of_spread(sketch: Outputs) -> tuple[Floats, Floats]:
    """Return the median of each column, and one divided by its standard deviation; 0 for a constant."""
    known = _doubles(sketch)
    spread = known.std(axis=0)
    return np.median(known, axis=0), np.where(spread > 0, 1 / np.where(spread > 0, spread, 1), 0.0)


def _norm(sketch: Outputs, rng: np.random.Generator) -> Event:
    """Return the squared distance from the medians, in units of the spreads, as a score whose tails are events."""
    centre, weights = sketch.once(_units_of_spread)
    return lambda outputs: np.asarray((((_doubles(outputs) - centre) * weights) ** 2).sum(axis=1))


def _continuous(sketch: Outputs) -> NDArray[np.int64]:
    """Return the columns that take at least `FEWEST` values."""
    columns = varying(sketch)
    return columns[[len(set(sketch.numbers[:, one].tolist())) >= FEWEST for one in columns]]


def _interval(sketch: Outputs, rng: np.random.Generator) -> Event:
    column, mass = rng.choice(sketch.once(_continuous)), narrow_mass(rng)
    known, start = np.sort(sketch.numbers[:, column]), rng.uniform(0, 1 - mass)
    low, high = (known[min(int(share * len(known)), len(known) - 1)] for share in (start, start + mass))
    return lambda outputs: np.asarray(
        (outputs.numbers[:, column] >= low) & (outputs.numbers[:, column] < high)
    )


def _joint(sketch: Outputs, rng: np.random.Generator) -> Event:
    """Draw two coordinates and a side of a quantile of each; the event is that both, or exactly one, is there."""
    both = rng.random() < 0.5
    sides = [_side(sketch, column, rng) for column in rng.choice(varying(sketch), 2, replace=False)]

    def inside(outputs: Outputs) -> Values:
        one, other = (side(outputs) for side in sides)
        return np.asarray(np.logical_and(one, other) if both else np.logical_xor(one, other))

    return inside


def _side(sketch: Outputs, column: int, rng: np.random.Generator) -> Event:
    known = np.sort(sketch.numbers[:, column])
    at, above = known[int(rng.uniform(0.1, 0.9) * len(known))], rng.random() < 0.5
    if above:
        return lambda outputs: np.asarray(outputs.numbers[:, column] >= at, bool)
    return lambda outputs: np.asarray(outputs.numbers[:, column] < at, bool)


def _words_of(outputs: Outputs) -> NDArray[Any]:
    return outputs.seen(row_tokens if outputs.layout.plain else tokens)[:, 0]


def _atoms(sketch: Outputs) -> list[tuple[int, Any]]:
    """Return the values of coordinates, and the whole outputs (coordinate -1), of mass at least `FLOOR`."""
    columns = {int(one): _recurring(sketch.numbers[:, one]) for one in varying(sketch)}
    columns[-1] = _recurring(_words_of(sketch))
    return [(column, value) for column, values in columns.items() for value in values]


def _recurring(values: NDArray[Any]) -> list[Any]:
    rounded = coarse(values) if values.dtype.kind == "f" else values
    found, counts = np.unique(rounded, return_counts=True)
    shares = counts / len(values)
    return list(found[(shares >= FLOOR) & (shares <= HALF)])


def _atom(sketch: Outputs, rng: np.random.Generator) -> Event:
    found = sketch.once(_atoms)
    column, value = found[int(rng.integers(len(found)))]

    def inside(outputs: Outputs) -> Values:
        numbers = _words_of(outputs) if column < 0 else outputs.numbers[:, column]
        return np.asarray((coarse(numbers) if numbers.dtype.kind == "f" else numbers) == value, bool)

    return inside


def _sizes(outputs: Outputs) -> NDArray[np.int64]:
    """Return the number of characters of each text, and the number of numbers and words of every other output."""
    found = lengths(outputs.rows)
    texts = [(place, value) for place, value in enumerate(outputs.rows) if isinstance(plain(value), str)]
    for place, value in texts:
        found[place] = len(value)
    return found


def _length(sketch: Outputs, rng: np.random.Generator) -> Event:
    return _sizes


Part = tuple[int, float, int, int]
"""A digit or remainder of a number: the column, the unit, and the place and modulus as in `PARTS`."""


def _parts(sketch: Outputs, exact: bool) -> list[list[Part]]:
    """Return for each number with units the parts that it has, those of one unit together.

    Args:
        sketch: the outputs.
        exact: whether to return those of numbers that are multiples of their smallest unit, or those of the others.
    """
    layout, found = sketch.layout, []
    smallest = {
        column: min(unit for one, unit in layout.units if one == column) for column, _ in layout.units
    }
    for shown, unit in layout.units:
        known = sketch.seen(layout.view).reshape(len(sketch.rows), -1)[:, shown].astype(np.float64)
        known, least = known[np.abs(known) < INFINITE], smallest[shown]
        if (multiples(known, least) or bool((known == np.rint(known)).all())) != exact:
            continue
        most = float(np.ptp(known)) / unit / 2
        kinds = PARTS if exact and unit == least else DIGITS
        fitting = [part for part in kinds if not exact or part[0] * part[1] <= most] or [(1, 10)]
        found.append([(layout.number_of(shown), unit, *part) for part in fitting])
    return found


def _exact_parts(sketch: Outputs) -> list[list[Part]]:
    return _with_moduli(sketch, large=False)


def _large_parts(sketch: Outputs) -> list[list[Part]]:
    return _with_moduli(sketch, large=True)


def _with_moduli(sketch: Outputs, large: bool) -> list[list[Part]]:
    """Return the parts of exact numbers whose modulus is at least `LARGE`, or those whose modulus is below."""
    found = [[part for part in parts if (part[3] >= LARGE) == large] for parts in _parts(sketch, exact=True)]
    return [parts for parts in found if parts]


def _other_parts(sketch: Outputs) -> list[list[Part]]:
    return _parts(sketch, exact=False)


def _remainder(sketch: Outputs, rng: np.random.Generator) -> Event:
    return _part_of(sketch.once(_exact_parts), rng)


def _large_remainder(sketch: Outputs, rng: np.random.Generator) -> Event:
    return _part_of(sketch.once(_large_parts), rng)


def _digit(sketch: Outputs, rng: np.random.Generator) -> Event:
    return _part_of(sketch.once(_other_parts), rng)


def _part_of(parts: Sequence[Sequence[Part]], rng: np.random.Generator) -> Event:
    """Draw a number with its unit, and a part of it; the event is a random set of its values, or an arc of them."""
    chosen = parts[int(rng.integers(len(parts)))]
    column, unit, place, modulus = chosen[int(rng.integers(len(chosen)))]
    wanted = (
        rng.permutation(modulus) if rng.random() < 0.5 else np.roll(np.arange(modulus), rng.integers(modulus))
    )
    return partial(_has_remainder, column, unit, place, modulus, wanted[: _size(modulus, rng)])


def _size(values: int, rng: np.random.Generator) -> int:
    """Draw how many of some equally frequent values are in an event, so that its mass is as in `narrow_mass`."""
    return max(1, round(narrow_mass(rng) * values))


def _few_patterns(sketch: Outputs, rng: np.random.Generator) -> Event:
    """Draw three to eight adjacent bits among the lowest eight; the event is a random set of their patterns."""
    return patterns_of_bits(sketch, rng, lambda count: _size(count, rng))


def _has_remainder(
    column: int, unit: float, place: int, modulus: int, wanted: NDArray[np.int64], outputs: Outputs
) -> Values:
    numbers = outputs.seen(outputs.layout.digits).reshape(len(outputs.rows), -1)
    found = whole_parts(numbers[:, [column]], [unit])[:, 0]
    return np.isin(found // place % modulus, wanted)


def _order(sketch: Outputs, rng: np.random.Generator) -> Event:
    """Draw two tokens of an output; the event is that both are there, and the first one before the second one."""
    known = list(dict.fromkeys(sketch.words[int(rng.integers(len(sketch.rows)))]))
    if len(known) < 2:
        return lambda outputs: np.zeros(len(outputs.rows), bool)
    one, other = (known[place] for place in rng.choice(len(known), 2, replace=False))
    return lambda outputs: np.array([_in_order(one, other, found) for found in outputs.words], bool)


def _in_order(one: str, other: str, words: Sequence[str]) -> bool:
    return one in words and other in words and words.index(one) < words.index(other)


NARROW = f"of a mass from {FLOOR:g} to {HALF:g} whose logarithm is uniform, as far as the values allow it"
"""The law of the mass of most of these events. An event of one digit has a mass of about 0.1 at least."""
FURTHER: tuple[EventClass, ...] = (
    EventClass(
        "a norm",
        "the squared distance from the medians, in units of the spreads; at least, or at most, a quantile of"
        f" it, {NARROW}",
        lambda sketch: varying(sketch).size > 1,
        _norm,
        narrow=True,
    ),
    EventClass(
        "an interval of one coordinate",
        f"a coordinate, uniform; between two quantiles of it, {NARROW}",
        lambda sketch: sketch.once(_continuous).size > 0,
        _interval,
    ),
    EventClass(
        "two coordinates beyond thresholds",
        "two coordinates, uniform; both, or exactly one, beyond a quantile from 0.1 to 0.9",
        lambda sketch: varying(sketch).size > 1,
        _joint,
    ),
    EventClass(
        "one value that repeats",
        f"a value of a coordinate, or a whole output, of mass at least {FLOOR:g}, uniform among them",
        lambda sketch: bool(sketch.once(_atoms)),
        _atom,
    ),
    EventClass(
        "the length of an output",
        "the number of characters of a text, or of numbers and words; at least, or at most, a quantile of it,"
        f" {NARROW}",
        lambda sketch: not sketch.layout.plain and bool(np.ptp(_sizes(sketch))),
        _length,
        narrow=True,
    ),
    EventClass(
        f"a decimal digit, or a remainder modulo {_listed(SMALLER)}, of an exact number",
        f"one of the first {LIMIT} groups of three digits, of numbers that are whole or have up to six decimals: one"
        f" of the last {3 * LEVELS} digits of such a number, or a"
        f" remainder modulo {_listed(SMALLER)} in units of its last place; a random set of the values, or an arc of"
        f" them, {NARROW}",
        lambda sketch: bool(sketch.once(_exact_parts)),
        _remainder,
    ),
    EventClass(
        "one of six digits from the size of the spread on",
        f"one of the first {LIMIT} groups of three digits, of numbers with more decimals: the digit at the place of the"
        " distance of the number's quartiles (of the other values if the quartiles are equal), or at one of the next"
        f" five places; a random set of the digits, or an arc of them, {NARROW}",
        lambda sketch: bool(sketch.once(_other_parts)),
        _digit,
    ),
    EventClass(
        f"a remainder modulo {_listed(LARGER)} of an exact number",
        f"the same for the remainder modulo {_listed(LARGER)}, {NARROW}",
        lambda sketch: bool(sketch.once(_large_parts)),
        _large_remainder,
    ),
    EventClass(
        "a few patterns of adjacent low bits",
        f"three to {LOW} adjacent bits among the lowest {LOW}, uniform; a random set of patterns, {NARROW}",
        lambda sketch: whole_columns(sketch).size > 0,
        _few_patterns,
    ),
    EventClass(
        "two tokens in an order",
        f"two tokens of an output, uniform; both are there, the first before the second, with mass at least {FLOOR:g}",
        lambda sketch: not sketch.layout.plain and any(len(set(words)) > 1 for words in sketch.words),
        _order,
    ),
)
"""The further kinds of events. They are measured after those of `event_classes`, and none of them ends the count."""
