"""Kinds of events in which violations are planted to measure the power of an audit.

An event is a set of outputs. A planted violation makes this event more probable on one input. Events are chosen from
a sketch: some outputs that are used for nothing else and are drawn after the audit was fixed. So an event is
independent of the outputs in which a violation is planted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.canonical import is_whole
from dpproof.audits.engine.power.fresh_outputs import SKETCH, Outputs
from dpproof.audits.engine.power.planting import Planted, Scaled
from dpproof.audits.time_budget import check_time

Values = NDArray[np.generic]
Event = Callable[[Outputs], Values]
"""A function that returns for each output whether it is in an event, or a number; its tails are then the events."""
Floats = NDArray[np.float64]

FLOOR, TAIL, HALF = 0.01, 0.1, 0.5
"""Bounds on the probability of an event in which a violation is planted: at least `FLOOR`, and at most `TAIL` for tails
and for claims with several points (epsilon, delta). Any other event, or its complement, has at most the probability
`HALF`."""
STATED = 0.02
"""Answers list events of a smaller probability as not covered. It is a chosen margin: violations are planted in events
down to `FLOOR`, and the power is the average over all of them, but the narrowest are detected less often
(docs/planted-faults.md)."""
TRIES = 64
"""The largest number of events that are drawn until one event has an allowed probability."""
DECLARED = 64
"""The number of varying columns of the outputs that are searched for bits, to form pairs of bits."""
LOW = 8
"""The number of lowest bits of a whole number from which an event takes three to eight adjacent ones."""
FEWEST = 16
"""If the values of a score are divided into fewer ranges than this, the score's tails are used as events."""
DEPTHS: Floats = np.exp(-0.35 * np.arange(1, 32)) * 0.7
"""The values of a score are divided into ranges at the thresholds of tails with these probabilities, on each side."""


@dataclass(frozen=True)
class EventClass:
    """A kind of events, such as tails of one coordinate, in which an audit plants violations to measure its power.

    Attributes:
        name: the name of the kind in the evidence.
        law: a description of how an event is drawn.
        applies: a function from some outputs to whether these outputs have such events.
        draw: a function that draws an event. It may also draw a score; then the upper and lower tails of this score
            are the events.
        deep: whether the events are tails of probability at most `TAIL`.
        narrow: whether tails have a mass as in `narrow_mass`, with many small ones.
    """

    name: str
    law: str
    applies: Callable[[Outputs], bool]
    draw: Callable[[Outputs, np.random.Generator], Event]
    deep: bool = False
    narrow: bool = False


def planted_in(
    chosen: EventClass, sketch: Outputs, twice: Scaled, rng: np.random.Generator
) -> Planted | None:
    """Return a violation of twice the claim in an event of the kind ``chosen``; None if no event is found."""
    most = HALF if len(twice.odds) == 1 and not chosen.deep else TAIL
    for _ in range(TRIES):
        check_time()
        values = chosen.draw(sketch, rng)
        known = values(sketch)
        if known.dtype != bool and twice.rank_shift is not None and not chosen.deep:
            found = _shifted(values, known, twice)
            if found is not None:
                return _either(found, rng)
        inside = values if known.dtype == bool else _tail(values, known, _mass(chosen, most, rng), rng)
        mass = float(inside(sketch).mean())
        other, mass = mass > HALF, min(mass, 1 - mass)
        if FLOOR <= mass <= most:
            laws = np.array([[1 - chance, chance] for chance in twice.event(mass)])
            return _either(Planted(partial(_in_or_out, inside, other), laws), rng)
    return None


def _in_or_out(inside: Event, other: bool, outputs: Outputs) -> NDArray[np.int64]:
    """Return the cell of each output for an event or its complement: 1 inside, 0 outside."""
    return np.asarray(np.asarray(inside(outputs), bool) != other).astype(np.int64)


def _either(planted: Planted, rng: np.random.Generator) -> Planted:
    """Swap the two labels of a violation with probability 1/2."""
    return planted if rng.random() < 0.5 else Planted(planted.cells, planted.laws[::-1])


def _mass(chosen: EventClass, most: float, rng: np.random.Generator) -> float:
    """Draw the mass of a tail."""
    if chosen.narrow:
        return narrow_mass(rng, most)
    return float(rng.uniform(FLOOR, min(TAIL, most) if chosen.deep else most))


def narrow_mass(rng: np.random.Generator, most: float = HALF) -> float:
    """Draw a mass whose logarithm is uniform, so that two of five are below 0.05."""
    return float(np.exp(rng.uniform(np.log(FLOOR), np.log(most))))


def _tail(values: Event, known: Values, mass: float, rng: np.random.Generator) -> Event:
    """Draw a tail of a score, upper or lower, with about this mass."""
    known, count = np.sort(known), len(known)
    at = min(count - 1, max(0, round(mass * count) - 1))
    if rng.random() < 0.5:
        return lambda outputs: np.asarray(values(outputs) >= known[count - 1 - at])
    return lambda outputs: np.asarray(values(outputs) <= known[at])


def _shifted(values: Event, known: Values, twice: Scaled) -> Planted | None:
    """Plant a Gaussian shift in the rank of a score, in cells; return None if the score has too few values."""
    count = min(len(known), SKETCH)
    places = np.unique(np.rint(np.concatenate([DEPTHS, 1 - DEPTHS, [0.5]]) * count).astype(np.int64))
    edges = np.unique(np.sort(known[:count])[places[(places > 0) & (places < count)]])
    counts = np.bincount(edges.searchsorted(known, "right"), minlength=edges.size + 1)
    if np.count_nonzero(counts) < FEWEST:
        return None
    laws = np.stack(twice.ranks(counts / counts.sum()))
    if not twice.admits(laws[0], laws[1]):
        return None
    return Planted(lambda outputs: edges.searchsorted(values(outputs), "right"), laws)


def varying(sketch: Outputs) -> NDArray[np.int64]:
    """Return the columns whose numbers are not all equal."""
    known = sketch.numbers
    return np.flatnonzero(known.max(axis=0) > known.min(axis=0)).astype(np.int64)


def _coordinate(sketch: Outputs, rng: np.random.Generator) -> Event:
    column = rng.choice(varying(sketch))
    return lambda outputs: np.asarray(outputs.numbers[:, column])


def _projection(sketch: Outputs, rng: np.random.Generator) -> Event:
    spread = sketch.numbers.astype(np.float64).std(axis=0)
    direction = np.where(spread > 0, rng.standard_normal(spread.size) / np.where(spread > 0, spread, 1), 0.0)
    return lambda outputs: np.asarray(outputs.numbers.astype(np.float64) @ direction)


def _bits(sketch: Outputs) -> NDArray[np.int64]:
    """Return the columns that contain only truth values, or only 0 and 1."""
    columns = varying(sketch)[:DECLARED]
    known = sketch.numbers[:, columns]
    return np.asarray(columns[((known == 0) | (known == 1)).all(axis=0)])


def _parity(sketch: Outputs, rng: np.random.Generator) -> Event:
    one, other = rng.choice(_bits(sketch), 2, replace=False)
    return lambda outputs: np.asarray(outputs.numbers[:, one] != outputs.numbers[:, other], bool)


def whole_columns(sketch: Outputs) -> NDArray[np.int64]:
    """Return the columns of whole numbers that are not bits."""
    columns = np.setdiff1d(varying(sketch), _bits(sketch))
    if sketch.numbers.dtype.kind in "iu":
        return columns
    whole = [all(is_whole(number) for number in sketch.numbers[:, column]) for column in columns]
    return np.asarray(columns[np.array(whole, bool)])


def _low_bits(sketch: Outputs, rng: np.random.Generator) -> Event:
    """Draw three to eight adjacent bits among the lowest eight; the event is a random half of their patterns."""
    return patterns_of_bits(sketch, rng, lambda count: count // 2)


def patterns_of_bits(sketch: Outputs, rng: np.random.Generator, some: Callable[[int], int]) -> Event:
    """Draw adjacent low bits of a whole number; the event is a random set of ``some(count)`` of their patterns."""
    size = int(rng.integers(3, LOW + 1))
    shift = int(rng.integers(0, LOW - size + 1))
    patterns = rng.permutation(1 << size)[: some(1 << size)]
    column = rng.choice(whole_columns(sketch))
    return lambda outputs: np.isin(_bits_of(outputs.numbers[:, column], shift, size), patterns)


def _bits_of(numbers: NDArray[Any], shift: int, size: int) -> NDArray[np.int64]:
    """Return the ``size`` bits of whole numbers above the lowest ``shift`` bits; 0 for other numbers.

    The result for doubles from 2^61 on is 0, because their lowest eight bits are 0.
    """
    if numbers.dtype == np.float64:
        whole = (np.abs(numbers) < 2.0**61) & (np.floor(numbers) == numbers)
        found: NDArray[np.int64] = np.where(whole, numbers, 0.0).astype(np.int64)
    elif numbers.dtype.kind in "iu":
        found = numbers.astype(np.int64)
    else:
        found = np.array([int(x) & 0xFF if is_whole(x) else 0 for x in numbers.tolist()], dtype=np.int64)
    return (found >> shift) & ((1 << size) - 1)


def _token(sketch: Outputs, rng: np.random.Generator) -> Event:
    """Draw the event that a token is in the output, or that it comes before another token."""
    words = sketch.words[int(rng.integers(len(sketch.rows)))]
    if not words:
        return lambda outputs: np.zeros(len(outputs.rows), bool)
    one, other = words[int(rng.integers(len(words)))], words[int(rng.integers(len(words)))]
    if one == other or rng.random() < 0.5:
        return lambda outputs: np.array([one in found for found in outputs.words], bool)
    return lambda outputs: np.array([_before(one, other, found) for found in outputs.words], bool)


def _before(one: str, other: str, words: list[str]) -> bool:
    return one in words and (other not in words or words.index(one) < words.index(other))


CLASSES: tuple[EventClass, ...] = (
    EventClass(
        "a tail of one coordinate",
        f"a coordinate that varies, uniform; its upper, or lower, tail of mass up to {TAIL:g}, uniform",
        lambda sketch: varying(sketch).size > 0,
        _coordinate,
        deep=True,
    ),
    EventClass(
        "one coordinate beyond a threshold",
        "a coordinate that varies, uniform; at least, or at most, a quantile of it, of uniform mass",
        lambda sketch: varying(sketch).size > 0,
        _coordinate,
    ),
    EventClass(
        "a random projection",
        "a Gaussian direction in units of the spreads; its upper, or lower, tail, of uniform mass",
        lambda sketch: varying(sketch).size > 1,
        _projection,
    ),
    EventClass(
        "parity of two bits",
        f"two of the first {DECLARED} bits, uniform; they differ, or are equal",
        lambda sketch: _bits(sketch).size > 1,
        _parity,
    ),
    EventClass(
        "adjacent low bits of a number",
        f"three to {LOW} adjacent bits among the lowest {LOW}, uniform; a random half of their patterns",
        lambda sketch: whole_columns(sketch).size > 0,
        _low_bits,
    ),
    EventClass(
        "presence of a token, or its place before another (mixed)",
        "a token of an output, uniform: it is there, or it comes before another token of that output",
        lambda sketch: not sketch.layout.plain,
        _token,
    ),
)
"""The kinds of events, those with rare events first. Power is measured for each kind that the outputs have."""
