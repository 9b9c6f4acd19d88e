"""Scores from one coordinate, from the parity of two bits, and from Fisher's linear discriminant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.engine.scores.protocol import Floats, Ints, Learned, Scorer, flattened, viewed
from dpproof.audits.engine.scores.tails import LEVELS

MOST = 1 << 15
"""A fit uses at most this many of the latest samples."""
WIDEST = 512
"""The largest number of coordinates that are compared: those with the largest range."""
DECLARED = 64
"""The number of first coordinates from which the two bits of a parity are chosen."""


@dataclass(frozen=True)
class BestCoordinate(Learned):
    """A score that is one coordinate of the output, the one whose extreme values differ most between the inputs.

    The score finds a rare event in one coordinate, which a linear score over many coordinates does not show.
    """

    kind = "best coordinate"
    oriented: bool = False

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return a function from outputs to the coordinate whose tail best distinguishes the inputs."""
        x = flattened(outputs[-MOST:])
        signs = np.where(labels[-MOST:] == 1, 1.0, -1.0)
        columns = np.sort(np.argsort(-np.ptp(x, axis=0), kind="stable")[:WIDEST])
        best = int(columns[np.argmax(_clearest(x[:, columns], signs - signs.mean()))])
        return lambda drawn: np.ascontiguousarray(flattened(drawn)[:, best])


def _clearest(x: Floats, signs: Floats) -> Floats:
    """Return for each coordinate the largest sum of signs in a tail, in standard deviations."""
    n = len(x)
    sizes = np.unique(np.clip(np.rint(LEVELS * n).astype(np.int64), 1, n))
    sums = signs[np.argsort(x, axis=0, kind="stable")].cumsum(axis=0)
    lower, upper = sums[sizes - 1], sums[-1] - np.where(sizes < n, 1, 0)[:, None] * sums[n - sizes - 1]
    spread = np.sqrt(sizes + 1.0)[:, None]
    return np.asarray((np.maximum(np.abs(lower), np.abs(upper)) / spread).max(axis=0))


@dataclass(frozen=True)
class BitParity(Learned):
    """A score that is the parity of two bits of the output, those whose parity differs most between the inputs.

    A coordinate above 1/2 is a bit that is set.
    """

    kind = "parity of two bits"

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return a function from outputs to scores, after choosing the two bits; 0 unless both labels occur."""
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
class LinearDiscriminant(Learned):
    """A score that is Fisher's linear discriminant: a linear function that separates the two inputs' outputs.

    The direction is the inverse covariance within a class times the difference of the two means; a class holds the
    outputs of one input. With a tiny ``ridge``, a direction in which the outputs hardly vary within a class has a
    huge weight. So the score finds a number that reveals the input exactly, such as reused noise. With a large
    ``ridge`` the fit is stable for few samples in many dimensions.

    Attributes:
        ridge: the weight of the identity matrix when it is mixed with the covariance of the standardised coordinates.
            ``None`` stands for d / (n + d), for n samples in d dimensions.
        limit: the largest dimension; if the outputs have more coordinates, those whose means differ most are used.
    """

    ridge: float | None = 1e-10
    limit: int = 512

    @property
    def name(self) -> str:
        """The name of the score, which depends on ``ridge``, with the name of its ``view``."""
        kind = "linear-discriminant-shrunk" if self.ridge is None else "linear-discriminant-sharp"
        return kind + viewed(self.view)

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return a function from outputs to scores, fitted to the samples; 0 unless both labels occur twice."""
        x = flattened(outputs)
        if np.bincount(labels, minlength=2).min() < 2:
            return lambda drawn: np.zeros(len(drawn))
        means = [x[labels == b].mean(axis=0) for b in (0, 1)]
        spread = x.std(axis=0)
        constant = spread <= 1e-13 * np.abs(x).max(axis=0)
        scale = np.where(constant, 1.0, spread)
        gap = np.where(constant, 0.0, (means[1] - means[0]) / scale)
        kept = np.sort(np.argsort(-np.abs(gap), kind="stable")[: self.limit])
        within = np.stack(means)[labels]
        np.subtract(x, within, out=within)  # in place, which is several times faster
        within /= scale
        weights = _ridge_direction(within[:, kept], gap[kept], self.ridge) / scale[kept]
        center = (means[0] + means[1])[kept] / 2

        def scorer(drawn: NDArray[np.generic]) -> Floats:
            at = flattened(drawn)[:, kept]
            at -= center
            return np.asarray(at @ weights)

        return scorer


def _ridge_direction(within: Floats, gap: Floats, ridge: float | None) -> Floats:
    n, d = within.shape
    covariance = within.T @ within / n
    share = d / (n + d) if ridge is None else ridge
    weights = np.linalg.lstsq(covariance * (1 - share) + share * np.eye(d), gap, rcond=None)[0]
    size = np.abs(weights).max(initial=0.0)
    return np.asarray(weights / size if size > 0 else weights)
