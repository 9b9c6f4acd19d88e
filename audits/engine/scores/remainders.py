"""A score from remainders and decimal digits of numbers, which thresholds do not show.

A mechanism that rounds, scales or encodes its result may show the input in the last digits, while large and small
values are equally frequent on both inputs. The score divides each number by a unit, takes remainders of the whole
part, and uses the tables of remainders whose counts differ most between the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.engine.scores.protocol import Floats, Ints, Learned, Scorer

CYCLE = 21_000
"""The whole part of a number is reduced modulo this. It is a multiple of all moduli and places of digits."""
PARTS = ((1, 3), (1, 7), (1, 10), (1, 24), (1, 60), (1, 100), (1, 1000), (10, 10), (100, 10))
"""Pairs of a place and a modulus: the tables hold (whole part // place) modulo the modulus."""
LIMIT, MANY = 32, 20
"""At most `LIMIT` numbers with a unit are used: the first ones that range over at least `MANY` units."""
MOST, ENTRIES = 1 << 13, 1 << 21
"""A fit uses at most `MOST` samples, spread evenly, or so many more that it counts `ENTRIES` remainders in all."""
KEPT, FEWEST = 8, 4
"""The largest number of tables that are used, and the smallest count of a remainder in a table."""
DECIMALS = (0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)
"""The units of numbers with a few decimals."""
FARTHEST = 2.0**28
"""A number with decimals has at most this many units. So its quotient by the unit is exact to less than `NUDGE`."""
PLACES = (2, 5)
"""The units of any other number with fractions have so many decimal places more than the spread of the number."""
INFINITE = 1e300
"""Scores see infinity as this number."""
LEVELS = 5
"""The largest number of units of one number. So all digits of whole numbers up to 2^52 are used."""
NUDGE = 1e-6
"""The share of a unit that is added before rounding down, so that 0.29 is 29 hundredths."""


@dataclass(frozen=True, kw_only=True)
class Remainders(Learned):
    """A score that is the log odds of the two inputs, summed over the tables of remainders that differ most.

    Attributes:
        columns: the places of the used numbers among the columns of ``view``.
        units: the unit of each of them.

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 2, 4000)
    >>> outputs = 10 * rng.integers(0, 99, (4000, 1)) + labels[:, None] + rng.integers(0, 9, (4000, 1))
    >>> scores = Remainders(columns=(0,), units=(1.0,)).fit(outputs[:2000], labels[:2000])(outputs[2000:])
    >>> bool(scores[labels[2000:] == 1].mean() > scores[labels[2000:] == 0].mean())
    True
    """

    kind = "remainders"
    columns: tuple[int, ...]
    units: tuple[float, ...]

    @property
    def name(self) -> str:
        """The name of the score in the record of an audit."""
        return self.kind

    def fit(self, outputs: NDArray[Any], labels: Ints) -> Scorer:
        """Return a function from outputs to scores, which uses remainders that occur at least `FEWEST` times."""
        every = replace(
            self, columns=self.columns * 2, units=(*self.units, *(-unit for unit in self.units))
        )  # the digits of negative numbers as they are printed, too
        most = max(MOST, ENTRIES // (len(every.columns) * len(PARTS)))
        step = max(1, -(-len(labels) // most))
        drawn, known = every._whole_parts(outputs[::step]), labels[::step]
        places = [(column, place, modulus) for column in range(drawn.shape[1]) for place, modulus in PARTS]
        tables = [_counts(drawn[:, column], place, modulus, known) for column, place, modulus in places]
        clear = np.array([_deviations(table) for table in tables])
        order = np.argsort(-clear, kind="stable")[:KEPT]
        needed = np.sqrt(2 * np.log(max(clear.size, 2)))
        found = [(places[one], _odds(tables[one])) for one in order if clear[one] > needed or one == order[0]]
        used = sorted({column for (column, _, _), _ in found})
        parts = replace(self, columns=self._only(every.columns, used), units=self._only(every.units, used))
        return lambda later: _summed(found, used, parts._whole_parts(later))

    @staticmethod
    def _only(values: tuple[Any, ...], used: Sequence[int]) -> tuple[Any, ...]:
        return tuple(values[place] for place in used)

    def _whole_parts(self, outputs: NDArray[Any]) -> Ints:
        return whole_parts(outputs.reshape(len(outputs), -1)[:, list(self.columns)], self.units)


def whole_parts(numbers: NDArray[Any], units: Sequence[float]) -> Ints:
    """Return the whole parts of numbers ``(n, columns)`` in the unit of each column, modulo `CYCLE`.

    A negative unit stands for the absolute values of the numbers, in units of its absolute value.

    The units of arrays of integers are whole. Infinity, and numbers whose whole part is beyond all doubles, become 0.

    >>> whole_parts(np.array([[0.29, -0.5]]), [0.01, 1.0]).tolist()
    [[29, 20999]]
    >>> whole_parts(np.array([[-24]]), [-1.0]).tolist()
    [[24]]
    >>> whole_parts(np.array([[math.inf], [2**80]], dtype=object), [1.0])[:, 0].tolist() == [0, 2**80 % CYCLE]
    True
    """
    if numbers.dtype.kind in "iu":
        kind = f"{numbers.dtype.kind}8"
        signed = _signed(numbers.astype(kind), units)
        return np.asarray(signed // np.abs(units).astype(kind) % CYCLE).astype(np.int64)
    if numbers.dtype.kind == "O":
        rows = [
            [_whole_part(x, unit) for x, unit in zip(row, units, strict=True)] for row in numbers.tolist()
        ]
        return np.array(rows, np.int64).reshape(numbers.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        signed = _signed(numbers.astype(np.float64, copy=False), units)
        whole = np.floor(signed / np.abs(units) + NUDGE)
        return np.where(np.isfinite(whole), np.mod(whole, CYCLE), 0).astype(np.int64)


def _signed(numbers: NDArray[Any], units: Sequence[float]) -> NDArray[Any]:
    """Return the numbers, or their absolute values in columns with a negative unit."""
    return np.where(np.asarray(units) < 0, np.abs(numbers), numbers)


def _whole_part(number: float, unit: float) -> int:
    """Return the whole part of one number, modulo `CYCLE`; it is exact for a Python integer and a whole unit.

    >>> _whole_part(2**80 + 1, 1.0) == (2**80 + 1) % CYCLE, _whole_part(math.inf, 1.0), _whole_part(2**2000, 0.1)
    (True, 0, 0)
    """
    if unit < 0:
        number, unit = abs(number), -unit
    if isinstance(number, int) and unit >= 1:
        return number // int(unit) % CYCLE
    try:
        return math.floor(number / unit + NUDGE) % CYCLE
    except OverflowError:  # infinite, or the whole part is
        return 0


def _counts(numbers: Ints, place: int, modulus: int, labels: Ints) -> Ints:
    """Return how often each remainder occurs with each label, ``(modulus, 2)``."""
    codes = 2 * (numbers // place % modulus) + labels
    return np.bincount(codes, minlength=2 * modulus).reshape(modulus, 2)


def _deviations(table: Ints) -> float:
    """Return how far a table is from equal shares of the labels, in standard deviations of the chi-square statistic."""
    both = table.sum(axis=1)
    used = both >= FEWEST
    share = table[used, 1].sum() / max(int(both[used].sum()), 1)
    freedom = int(used.sum()) - 1
    if freedom < 1 or not 0 < share < 1:
        return 0.0
    square = (table[used, 1] - share * both[used]) ** 2 / (share * (1 - share) * both[used])
    return float((square.sum() - freedom) / np.sqrt(2 * freedom))


def _odds(table: Ints) -> Floats:
    """Return the log odds of the labels for each remainder; 0 for a rare one."""
    odds = np.log((table[:, 1] + 0.5) / (table[:, 0] + 0.5))
    return np.where(table.sum(axis=1) >= FEWEST, odds, 0.0)


def _summed(
    found: list[tuple[tuple[int, int, int], Floats]], used: Sequence[int], drawn: NDArray[Any]
) -> Floats:
    total = np.zeros(len(drawn))
    for (column, place, modulus), odds in found:
        total += odds[drawn[:, used.index(column)] // place % modulus]
    return total


def steps_of(column: Floats) -> Iterator[float]:
    """Generate the units of some values of a number, in which three digits each are used.

    The first unit of whole numbers is 1, and that of numbers with a few decimals is their last decimal place. The next
    ones are 1,000 times larger. Other numbers have two units, for the first six digits from the size of the spread on.
    A unit is left out if the finite values range over fewer than `MANY` units.

    >>> list(steps_of(np.array([5.0, 70000.0]))), list(steps_of(np.array([0.5, 2.0, 3.25])))
    ([1.0, 1000.0], [0.01])
    >>> list(steps_of(np.array([2**0.5, 2.0, 3.25])))
    [0.01, 1e-05]
    """
    column = column[np.abs(column) < INFINITE]
    wide = float(np.ptp(column)) if column.size else 0.0
    yield from (unit for unit in _steps(column, wide) if wide >= MANY * unit)


def _steps(column: Floats, wide: float) -> Iterable[float]:
    first = 1.0 if (column == np.rint(column)).all() else next(_last_places(column, wide), None)
    if first is not None:
        return (first * 1000.0**level for level in range(LEVELS))
    place = math.floor(math.log10(_spread(column)))
    return (float(10.0 ** (place - places)) for places in PLACES)


def _spread(column: Floats) -> float:
    """Return the distance of the quartiles; if they are equal, of those of the values that differ from them.

    >>> _spread(np.array([0, 0, 0, 0, 0, 0, 0.5, 2.5])), _spread(np.array([0, 1, 2, 3, 4.5]))
    (2.0, 2.0)
    """
    low, high = np.quantile(column, [0.25, 0.75], method="nearest")
    others = column[column != low]
    if low == high and others.size:
        low, high = np.quantile(others, [0.25, 0.75], method="nearest")
    return min(max(float(high) - float(low), 1e-280), 1e280)


def _last_places(column: Floats, wide: float) -> Iterator[float]:
    return (unit for unit in DECIMALS if wide >= MANY * unit and multiples(column, unit))


def multiples(column: Floats, unit: float) -> bool:
    """Return whether numbers are multiples of a unit, and few enough units that rounding errors do not matter.

    >>> multiples(np.array([0.29, 3.1]), 0.01), multiples(np.array([0.29, 3.1]), 0.1)
    (True, False)
    """
    if not (np.abs(column) < FARTHEST * unit).all():
        return False
    scaled = column / unit
    return bool((np.abs(scaled - np.rint(scaled)) < NUDGE / 2).all())


def units_of(numbers: Floats, columns: Sequence[int]) -> tuple[tuple[int, float], ...]:
    """Return at most `LIMIT` columns with a unit, the first unit of each column first.

    >>> units_of(np.array([[0.0, 1.0], [70.0, 3.0]]), [0, 1])
    ((0, 1.0),)
    """
    found = [(level, one, unit) for one in columns for level, unit in enumerate(steps_of(numbers[:, one]))]
    return tuple((one, unit) for _, one, unit in sorted(found)[:LIMIT])
