"""Values that come up again and again, and what each of them says of the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.engine.scores.protocol import Floats, Ints, Scorer, View, viewed, whole


@dataclass(frozen=True)
class Atoms:
    """Values that come up again and again: the sum over coordinates of the log odds of those seen before.

    A continuous coordinate has none. Point masses (noise left out, rounding, a default) that depend on the
    input are found however small their share of the variance.
    """

    training: int = 64
    fewest: int = 4
    oriented: bool = True
    view: View = whole
    weight: float = 1.0

    @property
    def name(self) -> str:
        """That it is atoms, and of what."""
        return "atoms" + viewed(self.view)

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Collect the values seen at least ``fewest`` times, coordinate by coordinate."""
        digits = _digits(outputs)
        tables = [_atoms(column, labels, self.fewest) for column in _columns(outputs, digits).T]
        found = [(i, values, odds) for i, (values, odds) in enumerate(tables) if values.size]
        return lambda drawn: _log_odds(_columns(drawn, digits), found)


HALF, HALF_SINGLE = 26, 12
"""Binary digits of a number that atoms look at, of double and of single precision: half of them."""


def coarse(numbers: NDArray[np.generic], digits: int = HALF) -> Floats:
    """Numbers rounded to so many binary digits, so that the grid of floating point makes no atoms.

    Whole numbers of moderate size stay as they are: they are none that rounding has made.

    >>> coarse(np.array([1 + 2.0**-40, 2.0**30 + 1])).tolist()
    [1.0, 1073741825.0]
    """
    flat = np.clip(numbers.astype(np.float64), -1e300, 1e300)
    fraction, exponent = np.frexp(flat)
    rounded = np.ldexp(np.rint(np.ldexp(fraction, digits)), exponent - digits)
    return np.where((flat == np.rint(flat)) & (np.abs(flat) < 2.0 ** (digits + HALF_SINGLE)), flat, rounded)


def _digits(outputs: NDArray[np.generic]) -> int:
    """Half of the digits that the numbers seem to be computed with."""
    if outputs.dtype.kind != "f":
        return HALF
    with np.errstate(over="ignore"):
        single = outputs.astype(np.float32).astype(outputs.dtype) == outputs
    return HALF_SINGLE if single.all() and (outputs != np.rint(outputs)).any() else HALF


def _columns(outputs: NDArray[np.generic], digits: int) -> NDArray[Any]:
    """One row an output; whole numbers are exact, others rounded."""
    flat = outputs.reshape(len(outputs), -1)
    return coarse(flat, digits) if flat.dtype.kind == "f" else flat


def _atoms(column: NDArray[np.generic], labels: Ints, fewest: int) -> tuple[NDArray[Any], Floats]:
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
