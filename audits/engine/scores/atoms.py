"""Scores from values that repeat: in one coordinate, as whole outputs, or in the bits of floating-point numbers.

A mechanism that computes noise in floating point reaches only some doubles. Which doubles it reaches depends on the
number to which the noise was added (Mironov 2012, "On significance of the least significant bits"). The lowest bit
that is set shows this number: the bit is finer if the sum is small and the data were zero. The score of whole outputs
is meant for mechanisms whose outputs are words of a finite language.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.alike import NUMBER
from dpproof.audits.data.encoding import features, integers_of
from dpproof.audits.data.encoding import tokens as canonical_tokens
from dpproof.audits.data.exact import low_bytes
from dpproof.audits.engine.scores.protocol import Floats, Ints, Score, Scorer, View, viewed, whole


@dataclass(frozen=True)
class Atoms:
    """A score that is a sum over the coordinates of an output, from values that occurred in earlier samples.

    A coordinate with such a value adds the log odds of the two inputs for this value. Other values add nothing, so a
    continuous coordinate adds nothing. The score finds values that have positive probability and depend on the input.
    They come from missing noise, rounding or a default, for example. The score finds them even if they hardly change
    the variance.
    """

    training: int = 64
    fewest: int = 4
    oriented: bool = True
    view: View = whole
    weight: float = 1.0

    @property
    def name(self) -> str:
        """The name of the score, with the name of its ``view``, which converts the outputs."""
        return "atoms" + viewed(self.view)

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return a function from outputs to scores, which uses values that occur at least ``fewest`` times."""
        digits = _digits(outputs)
        tables = [_atoms(column, labels, self.fewest) for column in _columns(outputs, digits).T]
        found = [(i, values, odds) for i, (values, odds) in enumerate(tables) if values.size]
        return lambda drawn: _log_odds(_columns(drawn, digits), found)


HALF, HALF_SINGLE = 26, 12
"""The number of binary digits to which double and single precision numbers are rounded: half of all digits."""


def coarse(numbers: NDArray[np.generic], digits: int = HALF) -> Floats:
    """Return numbers rounded to a few binary digits, so that floating-point rounding causes no repeated values.

    Whole numbers of moderate size are not rounded, because they do not come from rounding.

    >>> coarse(np.array([1 + 2.0**-40, 2.0**30 + 1])).tolist()
    [1.0, 1073741825.0]
    """
    flat = np.clip(numbers.astype(np.float64, copy=False), -1e300, 1e300)
    exact = (flat == np.rint(flat)) & (np.abs(flat) < 2.0 ** (digits + HALF_SINGLE))
    if exact.all():
        return flat
    fraction, exponent = np.frexp(flat[~exact])
    flat[~exact] = np.ldexp(np.rint(np.ldexp(fraction, digits)), exponent - digits)
    return flat


def _digits(outputs: NDArray[np.generic]) -> int:
    """Return half of the number of binary digits with which the outputs seem to be computed."""
    if outputs.dtype.kind != "f":
        return HALF
    with np.errstate(over="ignore"):
        single = outputs.astype(np.float32).astype(outputs.dtype) == outputs
    return HALF_SINGLE if single.all() and (outputs != np.rint(outputs)).any() else HALF


def _columns(outputs: NDArray[np.generic], digits: int) -> NDArray[Any]:
    """Return one row per output; whole numbers are exact, other numbers are rounded."""
    flat = outputs.reshape(len(outputs), -1)
    return coarse(flat, digits) if flat.dtype.kind == "f" else flat


def _atoms(column: NDArray[np.generic], labels: Ints, fewest: int) -> tuple[NDArray[Any], Floats]:
    if (column == column[:1]).all():  # without a sort
        values, codes, counts = column[:1], np.zeros(column.size, np.int64), np.array([column.size])
    else:
        values, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    ones = np.bincount(codes, weights=labels, minlength=values.size)
    odds = np.log((ones + 0.5) / (counts - ones + 0.5))
    kept = counts >= fewest
    return values[kept], odds[kept]


def _log_odds(x: NDArray[np.generic], found: list[tuple[int, NDArray[np.generic], Floats]]) -> Floats:
    total = np.zeros(len(x))
    for i, values, odds in found:
        place = np.minimum(np.searchsorted(values, x[:, i]), values.size - 1)
        total += np.where(values[place] == x[:, i], odds[place], 0.0)
    return total


ZERO = 2048
"""The value that stands for the lowest set bit of 0, infinity and NaN, which have none."""


def lowest_bit(outputs: NDArray[np.generic], *, rounded: bool = False) -> Floats:
    """Return the exponent of the lowest set bit of every number, as an array ``(n, numbers)``.

    If ``rounded``, the numbers are rounded to half of their digits first.

    >>> lowest_bit(np.array([[1.0], [0.75], [0.1], [0.0]])).ravel().tolist()
    [0.0, -2.0, -55.0, 2048.0]
    >>> lowest_bit(np.array([[0.75 + 2.0**-40]]), rounded=True).tolist()
    [[-2.0]]
    """
    flat = np.ascontiguousarray(outputs.reshape(len(outputs), -1), dtype=np.float64)
    flat = coarse(flat, _digits(outputs)) if rounded else flat
    words = flat.view(np.int64)
    exponent = (words >> 52) & 0x7FF
    digits = (words & ((1 << 52) - 1)) | ((exponent > 0) * np.int64(1 << 52))
    lowest = ((digits & -digits).astype(np.float64).view(np.int64) >> 52) - 1023
    usable = (exponent < 0x7FF) & (digits > 0)
    return np.where(usable, np.maximum(exponent, 1) - 1075 + lowest, ZERO).astype(np.float64)


def lowest_bit_of_cells(outputs: NDArray[np.generic], width: int, *, rounded: bool = False) -> Floats:
    """Return ``lowest_bit`` of the first ``width`` numbers and words of each output.

    Whole numbers and words have the result `ZERO`.

    >>> lowest_bit_of_cells(np.array([0.75, 3.0, "word"], dtype=object), 1).ravel().tolist()
    [-2.0, 2048.0, 2048.0]
    """
    cells = features(outputs, width)
    values, kinds = cells[:, 1 : 1 + width], cells[:, 1 + width : 1 + 2 * width]
    fractions = (kinds == NUMBER) & (values != np.rint(values))
    return lowest_bit(np.where(fractions, values, 0.0), rounded=rounded)


def low_bytes_of_cells(outputs: NDArray[np.generic], width: int, count: int) -> NDArray[np.int64]:
    """Return the lowest bits and bytes of the integers among the first numbers and words of each output."""
    return low_bytes(integers_of(outputs, width), count)


def float_bits(training: int = 64, view: View = lowest_bit, weight: float = 1.0) -> Atoms:
    """Return the score that sums the log odds of the lowest set bits of an output's numbers."""
    return Atoms(training, view=view, weight=weight)


BIT_VIEWS = (lowest_bit, lowest_bit_of_cells)
"""The functions from outputs to their floating-point bits, which real numbers do not have."""


def only_bits(score: Score) -> bool:
    """Return whether a score (a number computed from an output) depends only on floating-point bits.

    >>> only_bits(float_bits()), only_bits(Atoms())
    (True, False)
    """
    return getattr(score.view, "func", score.view) in BIT_VIEWS


def rounded_bits(score: Atoms) -> Atoms:
    """Return the score of the bits of the same numbers, rounded to half of their digits.

    They show decimals and fractions of numbers of moderate size, and hardly any rounding error of one addition.

    >>> rounded_bits(float_bits()).view(np.array([0.5 + 2.0**-50])).tolist()
    [[-1.0]]
    """
    view: Any = score.view
    return replace(score, view=partial(view, rounded=True))


def row_tokens(outputs: NDArray[np.generic]) -> NDArray[np.uint64]:
    """Return a 64-bit number for each row, the same for equal rows and almost surely different for other rows.

    Args:
        outputs: an array ``(n, ...)`` of numbers. Integers are not rounded. Other numbers are rounded to half of
            their digits, so that floating-point rounding does not matter
            (`dpproof.audits.engine.scores.atoms.coarse`).

    Returns:
        Uint64 array ``(n, 1)``. If different rows have the same number, the audit may only miss a violation.

    >>> one, other, again = row_tokens(np.array([[1, 2], [2, 1], [1, 2]]))[:, 0]
    >>> one == again, one == other
    (np.True_, np.False_)
    """
    flat = outputs.reshape(len(outputs), -1)
    if flat.dtype.kind == "O":
        return canonical_tokens(flat)
    numbers = (
        coarse(flat) + 0.0
        if flat.dtype.kind == "f"
        else flat.astype("u8" if flat.dtype.kind == "u" else "i8")
    )
    words = np.ascontiguousarray(numbers).view(np.uint64)
    mixed = np.zeros(len(flat), np.uint64)
    for column in words.T:
        mixed = _mix(mixed ^ column)
    return mixed[:, None]


def tokens(training: int = 64, weight: float = 1.0) -> Atoms:
    """Return the score that is the log odds of the two inputs for a whole output.

    The log odds are estimated from earlier equal outputs. The score is 0 if there are fewer than two.
    """
    return Atoms(training, fewest=2, view=row_tokens, weight=weight)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea & Flood 2014): a bijection of 64-bit words."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
