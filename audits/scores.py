"""Scores: one number per output; tails of a score are the events an audit bets on.

A bad score costs power, never soundness: a score used on a block is fixed before that block is drawn.
A score with ``training`` 0 is fixed from the start; any other is fitted to that many samples, which are spent
on it, and refitted as the stream doubles, each fit being used on later samples only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Atoms", "Identity", "LinearDiscriminant", "LogLikelihoodRatio", "Projection", "Score", "whole"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scorer = Callable[[NDArray[Any]], Floats]
View = Callable[[NDArray[Any]], NDArray[Any]]


def whole(outputs: NDArray[Any]) -> NDArray[Any]:
    """The outputs as they are: what a score looks at unless told otherwise."""
    return outputs


class Score(Protocol):
    """What an audit needs of a score."""

    @property
    def name(self) -> str:
        """A name for the witness."""
        ...

    @property
    def oriented(self) -> bool:
        """Whether high scores speak for the second input."""
        ...

    @property
    def training(self) -> int:
        """The samples the first fit needs; 0 for a fixed score."""
        ...

    @property
    def view(self) -> View:
        """What the score looks at: from outputs ``(n, ...)`` to an array ``(n, ...)``, the input of `fit`."""
        ...

    def fit(self, outputs: NDArray[Any], labels: Ints) -> Scorer:
        """The function from outputs ``(n, ...)`` to scores ``(n,)``, given samples and labels so far."""
        ...


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

    def fit(self, outputs: NDArray[Any], labels: Ints) -> Scorer:
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

    def fit(self, outputs: NDArray[Any], labels: Ints) -> Scorer:
        """The same for all samples."""
        return lambda drawn: _flat(drawn) @ np.asarray(self.direction)


@dataclass(frozen=True)
class LogLikelihoodRatio:
    """The exact ln p1/p0 of a law given by the mechanism: on a mechanism with that law, the best score."""

    ratio: Callable[[NDArray[Any]], Floats]
    name: str = "log-likelihood-ratio"
    oriented: bool = True
    training: int = 0
    view: View = whole

    def fit(self, outputs: NDArray[Any], labels: Ints) -> Scorer:
        """The same for all samples."""
        return self.ratio


@dataclass(frozen=True)
class LinearDiscriminant:
    """Fisher's direction, found from samples: within-class covariance inverse times difference of means.

    With a tiny ``ridge`` a direction in which the outputs barely vary within a class gets a huge weight: a
    statistic that reveals the input exactly (reused noise, a residual that is constant) stands out. With a
    large one the fit is stable for few samples in many dimensions.

    Attributes:
        ridge: added to the covariance of the standardised coordinates; ``None`` means d / (n + d) of it.
        limit: beyond this dimension only the coordinates whose means differ most are used.
        view: what it looks at, for example a few coordinates that are known to matter.
    """

    ridge: float | None = 1e-10
    training: int = 64
    oriented: bool = True
    limit: int = 512
    view: View = whole

    @property
    def name(self) -> str:
        """Which of the two it is, and what it looks at."""
        kind = "linear-discriminant-shrunk" if self.ridge is None else "linear-discriminant-sharp"
        return kind + _of(self.view)

    def fit(self, outputs: NDArray[Any], labels: Ints) -> Scorer:
        """Fit to flattened outputs; constant 0 unless both labels occur twice."""
        x = _flat(outputs)
        if np.bincount(labels, minlength=2).min() < 2:
            return lambda drawn: np.zeros(len(drawn))
        means = [x[labels == b].mean(axis=0) for b in (0, 1)]
        spread = x.std(axis=0)
        constant = spread <= 1e-13 * np.abs(x).max(axis=0)
        scale = np.where(constant, 1.0, spread)
        gap = np.where(constant, 0.0, (means[1] - means[0]) / scale)
        kept = np.sort(np.argsort(-np.abs(gap), kind="stable")[: self.limit])
        within = ((x - np.where(labels[:, None] == 1, means[1], means[0])) / scale)[:, kept]
        weights = _ridge_direction(within, gap[kept], self.ridge) / scale[kept]
        center = (means[0] + means[1])[kept] / 2
        return lambda drawn: (_flat(drawn)[:, kept] - center) @ weights


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

    @property
    def name(self) -> str:
        """That it is atoms, and of what."""
        return "atoms" + _of(self.view)

    def fit(self, outputs: NDArray[Any], labels: Ints) -> Scorer:
        """Collect the values seen at least ``fewest`` times, coordinate by coordinate."""
        tables = [_atoms(column, labels, self.fewest) for column in _flat(outputs).T]
        found = [(i, values, odds) for i, (values, odds) in enumerate(tables) if values.size]
        return lambda drawn: _log_odds(_flat(drawn), found)


def _of(view: View) -> str:
    function = getattr(view, "func", view)
    return "" if view is whole else f" of {getattr(function, '__name__', 'a view')}"


def _flat(outputs: NDArray[Any]) -> Floats:
    flat = outputs.reshape(len(outputs), -1).astype(np.float64)
    return np.clip(flat, -1e300, 1e300, out=flat)


def _only_number(outputs: NDArray[Any]) -> Floats:
    if outputs.size != len(outputs):
        raise ValueError(f"score (identity): the outputs' shape {outputs.shape} must hold one number each")
    return outputs.reshape(-1).astype(np.float64)


def _ridge_direction(within: Floats, gap: Floats, ridge: float | None) -> Floats:
    n, d = within.shape
    covariance = within.T @ within / n
    share = d / (n + d) if ridge is None else ridge
    weights = np.linalg.lstsq(covariance * (1 - share) + share * np.eye(d), gap, rcond=None)[0]
    size = np.abs(weights).max(initial=0.0)
    return np.asarray(weights / size if size > 0 else weights)


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
