"""Scores linear in the output: one coordinate, two bits, and Fisher's linear discriminant, sharp or shrunk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.engine.scores.protocol import Floats, Ints, Scorer, View, flattened, viewed, whole
from dpproof.audits.engine.scores.tails import LEVELS

MOST = 1 << 15
"""A fit uses at most so many of the latest samples."""
WIDEST = 512
"""At most so many coordinates are compared, those whose spread is largest."""
DECLARED = 64
"""Parities are taken of the first so many coordinates."""


@dataclass(frozen=True)
class BestCoordinate:
    """The one coordinate whose tails differ most between the inputs.

    A direction that is found from means is lost among many coordinates if an event of few outputs differs.

    Attributes:
        training: samples before the first fit.
        view: what it looks at.
        weight: of its bets, beside those of other scores.
    """

    training: int = 64
    oriented: bool = False
    view: View = whole
    weight: float = 1.0

    @property
    def name(self) -> str:
        """That it is one coordinate, and of what."""
        return "best coordinate" + viewed(self.view)

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Choose the coordinate by the tail, of any of the audit's masses, that speaks most clearly."""
        x = flattened(outputs)[-MOST:]
        signs = np.where(labels[-MOST:] == 1, 1.0, -1.0)
        columns = np.sort(np.argsort(-np.ptp(x, axis=0), kind="stable")[:WIDEST])
        best = int(columns[np.argmax(_clearest(x[:, columns], signs - signs.mean()))])
        return lambda drawn: np.ascontiguousarray(flattened(drawn)[:, best])


def _clearest(x: Floats, signs: Floats) -> Floats:
    """For each coordinate the largest sum of signs in a tail, in standard deviations."""
    n = len(x)
    sizes = np.unique(np.clip(np.rint(LEVELS * n).astype(np.int64), 1, n))
    sums = signs[np.argsort(x, axis=0, kind="stable")].cumsum(axis=0)
    lower, upper = sums[sizes - 1], sums[-1] - np.where(sizes < n, 1, 0)[:, None] * sums[n - sizes - 1]
    spread = np.sqrt(sizes + 1.0)[:, None]
    return np.asarray((np.maximum(np.abs(lower), np.abs(upper)) / spread).max(axis=0))


@dataclass(frozen=True)
class BitParity:
    """Whether two bits differ, the two whose parity differs most between the inputs.

    Attributes:
        training: samples before the first fit.
        view: what it looks at; a coordinate above 1/2 is a bit that is set.
        weight: of its bets, beside those of other scores.
    """

    training: int = 64
    oriented: bool = True
    view: View = whole
    weight: float = 1.0

    @property
    def name(self) -> str:
        """That it is a parity, and of what."""
        return "parity of two bits" + viewed(self.view)

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Choose the pair by the difference of the mean parities; constant 0 unless both labels occur."""
        signs = _signs(outputs)
        if np.unique(labels).size < 2 or signs.shape[1] < 2:
            return lambda drawn: np.zeros(len(drawn))
        ones, zeros = signs[labels == 1], signs[labels == 0]
        gap = np.triu(ones.T @ ones / len(ones) - zeros.T @ zeros / len(zeros), 1)
        i, j = np.unravel_index(int(np.abs(gap).argmax()), gap.shape)
        towards = 1.0 if gap[i, j] > 0 else -1.0

        def scorer(drawn: NDArray[np.generic]) -> Floats:
            bits = _signs(drawn)
            return np.asarray(towards * bits[:, i] * bits[:, j])

        return scorer


def _signs(outputs: NDArray[np.generic]) -> Floats:
    flat = outputs.reshape(len(outputs), -1)[:, :DECLARED]
    return np.where(np.greater(flat, 0.5), 1.0, -1.0)


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
        weight: its share of the bets, against 1 for scores without a weight.
    """

    ridge: float | None = 1e-10
    training: int = 64
    oriented: bool = True
    limit: int = 512
    view: View = whole
    weight: float = 1.0

    @property
    def name(self) -> str:
        """Which of the two it is, and what it looks at."""
        kind = "linear-discriminant-shrunk" if self.ridge is None else "linear-discriminant-sharp"
        return kind + viewed(self.view)

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Fit to flattened outputs; constant 0 unless both labels occur twice."""
        x = flattened(outputs)
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
        return lambda drawn: (flattened(drawn)[:, kept] - center) @ weights


def _ridge_direction(within: Floats, gap: Floats, ridge: float | None) -> Floats:
    n, d = within.shape
    covariance = within.T @ within / n
    share = d / (n + d) if ridge is None else ridge
    weights = np.linalg.lstsq(covariance * (1 - share) + share * np.eye(d), gap, rcond=None)[0]
    size = np.abs(weights).max(initial=0.0)
    return np.asarray(weights / size if size > 0 else weights)
