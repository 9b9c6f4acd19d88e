"""The classes of events that violations are planted in, by the kind of the outputs.

Events are chosen by outputs of the bank that are used for nothing else, after the audit was fixed. So an
event is independent of the outputs that are planted in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audits.planted_laws import Doubled
from audits.planting import Bank, Planted

__all__ = ["CLASSES", "FLOOR", "EventClass", "planted_in"]

Values = NDArray[np.generic]
Floats = NDArray[np.float64]

FLOOR, TAIL, HALF = 0.01, 0.1, 0.5
"""No event of smaller mass is planted; tails, and events against a curve, have at most the second; others
have at most half of the outputs, or their complements do."""
TRIES = 64
"""So many events are drawn until one has the mass that is wanted."""
DECLARED = 64
"""Of outputs made of bits, the first so many are looked at in pairs."""
LOW = 8
"""The lowest bits of a whole number that are looked at, three to eight of them at once."""
FEWEST = 16
"""A score with fewer cells has no ranks worth the name; its tails are events."""
DEPTHS: Floats = np.exp(-0.35 * np.arange(1, 32)) * 0.7
"""The masses of the tails between which the cells of a score lie, on both sides."""


@dataclass(frozen=True)
class EventClass:
    """A class of events.

    Attributes:
        name: for the answer.
        law: how an event is drawn from it, in words.
        applies: whether outputs like those of the bank have such events.
        draw: the values of all outputs of the bank: whether they are in an event, or a score of them, whose
            upper and lower tails are the events.
        deep: events are tails of mass at most `TAIL`.
    """

    name: str
    law: str
    applies: Callable[[Bank], bool]
    draw: Callable[[Bank, np.random.Generator], Values]
    deep: bool = False


def planted_in(chosen: EventClass, bank: Bank, twice: Doubled, rng: np.random.Generator) -> Planted | None:
    """A violation of twice the claim in an event drawn from a class; None if none was found to plant."""
    most = HALF if len(twice.odds) == 1 else TAIL
    for _ in range(TRIES):
        values = chosen.draw(bank, rng)
        if values.dtype != bool and twice.rank_shift is not None and not chosen.deep:
            found = _shifted(values, bank.sketch, twice)
            if found is not None:
                return _either(found, rng)
        inside = values if values.dtype == bool else _tail(values, bank.sketch, chosen.deep, most, rng)
        planted = np.asarray(inside[bank.sketch :], bool)
        mass = float(planted.mean())
        if mass > HALF:
            planted, mass = np.logical_not(planted), 1 - mass
        if FLOOR <= mass <= most:
            chances = twice.event(mass)
            laws = np.array([[1 - chance, chance] for chance in chances])
            return _either(Planted(planted.astype(np.int64), laws), rng)
    return None


def _either(planted: Planted, rng: np.random.Generator) -> Planted:
    """The event speaks for either label."""
    return planted if rng.random() < 0.5 else Planted(planted.cells, planted.laws[::-1])


def _tail(
    values: Values, sketch: int, deep: bool, most: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """A tail of a score, its mass drawn uniformly."""
    known = np.sort(values[:sketch])
    mass = rng.uniform(FLOOR, min(TAIL, most) if deep else most)
    at = min(sketch - 1, max(0, round(mass * sketch) - 1))
    if rng.random() < 0.5:
        return np.asarray(values >= known[sketch - 1 - at])
    return np.asarray(values <= known[at])


def _shifted(values: Values, sketch: int, twice: Doubled) -> Planted | None:
    """A Gaussian shift of the rank of a score, in cells; None if the score has too few values."""
    places = np.unique(np.rint(np.concatenate([DEPTHS, 1 - DEPTHS, [0.5]]) * sketch).astype(np.int64))
    edges = np.unique(np.sort(values[:sketch])[places[(places > 0) & (places < sketch)]])
    cells = edges.searchsorted(values[sketch:], "right")
    counts = np.bincount(cells, minlength=edges.size + 1)
    if np.count_nonzero(counts) < FEWEST:
        return None
    laws = np.stack(twice.ranks(counts / counts.sum()))
    return Planted(cells, laws) if twice.admits(laws[0], laws[1]) else None


def _varying(bank: Bank) -> NDArray[np.int64]:
    known = bank.numbers[: bank.sketch]
    return np.flatnonzero(known.max(axis=0) > known.min(axis=0)).astype(np.int64)


def _coordinate(bank: Bank, rng: np.random.Generator) -> Values:
    return np.asarray(bank.numbers[:, rng.choice(_varying(bank))])


def _projection(bank: Bank, rng: np.random.Generator) -> Values:
    known = bank.numbers[: bank.sketch].astype(np.float64)
    spread = known.std(axis=0)
    direction = np.where(spread > 0, rng.standard_normal(spread.size) / np.where(spread > 0, spread, 1), 0.0)
    return np.asarray(bank.numbers.astype(np.float64) @ direction)


def _bits(bank: Bank) -> NDArray[np.int64]:
    """The columns that are bits: truth values, or 0 and 1 and nothing else."""
    columns = _varying(bank)[:DECLARED]
    known = bank.numbers[: bank.sketch, columns]
    return np.asarray(columns[((known == 0) | (known == 1)).all(axis=0)])


def _parity(bank: Bank, rng: np.random.Generator) -> Values:
    one, other = rng.choice(_bits(bank), 2, replace=False)
    return np.asarray(bank.numbers[:, one] != bank.numbers[:, other])


def _whole(bank: Bank) -> NDArray[np.int64]:
    """The columns of whole numbers that are more than bits."""
    columns = np.setdiff1d(_varying(bank), _bits(bank))
    if bank.numbers.dtype.kind == "O":
        whole = [all(isinstance(x, int) for x in bank.numbers[:, column]) for column in columns]
        return np.asarray(columns[np.array(whole, bool)])
    return columns if bank.numbers.dtype.kind in "iu" else columns[:0]


def _low_bits(bank: Bank, rng: np.random.Generator) -> Values:
    """Three to eight adjacent bits among the lowest eight; the event is a random half of their patterns."""
    size = int(rng.integers(3, LOW + 1))
    shift = int(rng.integers(0, LOW - size + 1))
    patterns = rng.permutation(1 << size)[: 1 << (size - 1)]
    seen = (bank.numbers[:, rng.choice(_whole(bank))] >> shift) & ((1 << size) - 1)
    return np.isin(seen.astype(np.int64), patterns)


def _token(bank: Bank, rng: np.random.Generator) -> Values:
    """A token is there, or it comes before another one."""
    words = bank.words[int(rng.integers(bank.sketch))]
    if not words:
        return np.zeros(len(bank.outputs), bool)
    one, other = words[int(rng.integers(len(words)))], words[int(rng.integers(len(words)))]
    if one == other or rng.random() < 0.5:
        return np.array([one in found for found in bank.words], bool)
    return np.array([_before(one, other, found) for found in bank.words], bool)


def _before(one: str, other: str, words: list[str]) -> bool:
    return one in words and (other not in words or words.index(one) < words.index(other))


CLASSES: tuple[EventClass, ...] = (
    EventClass(
        "a tail of one coordinate",
        f"a coordinate that varies, uniform; its upper, or lower, tail of mass up to {TAIL:g}, uniform",
        lambda bank: _varying(bank).size > 0,
        _coordinate,
        deep=True,
    ),
    EventClass(
        "one coordinate",
        "a coordinate that varies, uniform; at least, or at most, a quantile of it, of uniform mass",
        lambda bank: _varying(bank).size > 0,
        _coordinate,
    ),
    EventClass(
        "a random projection",
        "a Gaussian direction in units of the spreads; its upper, or lower, tail, of uniform mass",
        lambda bank: _varying(bank).size > 1,
        _projection,
    ),
    EventClass(
        "parity of two bits",
        f"two of the first {DECLARED} bits, uniform; they differ, or are equal",
        lambda bank: _bits(bank).size > 1,
        _parity,
    ),
    EventClass(
        "adjacent low bits of a number",
        f"three to {LOW} adjacent bits among the lowest {LOW}, uniform; a random half of their patterns",
        lambda bank: _whole(bank).size > 0,
        _low_bits,
    ),
    EventClass(
        "presence or order of a token",
        "a token of an output, uniform: it is there, or it comes before another token of that output",
        lambda bank: not bank.layout.plain,
        _token,
    ),
)
"""The required classes, those that are seldom seen first; one is required where outputs have such events."""
