"""Values that come up again and again, and what each of them says of the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.scores.protocol import Floats, Ints, Scorer, View, flattened, viewed, whole

__all__ = ["Atoms"]


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

    def fit(self, outputs: NDArray[Any], labels: Ints) -> Scorer:
        """Collect the values seen at least ``fewest`` times, coordinate by coordinate."""
        tables = [_atoms(column, labels, self.fewest) for column in flattened(outputs).T]
        found = [(i, values, odds) for i, (values, odds) in enumerate(tables) if values.size]
        return lambda drawn: _log_odds(flattened(drawn), found)


def _atoms(column: Floats, labels: Ints, fewest: int) -> tuple[Floats, Floats]:
    values, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    ones = np.bincount(codes, weights=labels, minlength=values.size)
    odds = np.log((ones + 0.5) / (counts - ones + 0.5))
    kept = counts >= fewest
    return values[kept], odds[kept]


def _log_odds(x: Floats, found: list[tuple[int, Floats, Floats]]) -> Floats:
    total = np.zeros(len(x))
    for i, values, odds in found:
        place = np.minimum(np.searchsorted(values, x[:, i]), values.size - 1)
        total += np.where(values[place] == x[:, i], odds[place], 0.0)
    return total
