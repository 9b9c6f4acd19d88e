"""Scores that are known beforehand and learn nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.exact import wider
from dpproof.audits.engine.scores.protocol import Floats, Ints, Scorer, View, exact_order, flattened, whole


@dataclass(frozen=True)
class Identity:
    """The output itself, for mechanisms that return one number.

    >>> Identity().fit(np.empty(0), np.empty(0, int))(np.array([[2.0], [3.0]]))
    array([2., 3.])
    """

    name: str = "identity"
    oriented: bool = False
    training: int = 0
    view: View = whole
    weight: float = 1.0

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """The same for all samples. The function raises ValueError for more than one number per output."""
        return _only_number


@dataclass(frozen=True)
class Projection:
    """A fixed linear function of the flattened output: ``output @ direction``."""

    direction: tuple[float, ...]
    name: str = "projection"
    oriented: bool = False
    training: int = 0
    view: View = whole

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """The same for all samples."""
        return self._projected

    def _projected(self, drawn: NDArray[np.generic]) -> NDArray[Any]:
        flat = drawn.reshape(len(drawn), -1)
        if flat.dtype.kind == "f" or not wider(flat).any():
            return np.asarray(flattened(drawn) @ np.asarray(self.direction))
        return np.asarray(
            flat.astype(object) @ np.array([Fraction(weight) for weight in self.direction], object)
        )


@dataclass(frozen=True)
class LogLikelihoodRatio:
    """The exact ln p1/p0 of a law given by the mechanism: on a mechanism with that law, the best score."""

    ratio: Callable[[NDArray[Any]], Floats]
    name: str = "log-likelihood-ratio"
    oriented: bool = True
    training: int = 0
    view: View = whole

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """The same for all samples."""
        return self.ratio


def _only_number(outputs: NDArray[np.generic]) -> NDArray[Any]:
    if outputs.size != len(outputs):
        raise ValueError(f"score (identity): the outputs' shape {outputs.shape} must hold one number each")
    return exact_order(outputs.reshape(-1))
