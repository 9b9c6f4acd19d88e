"""Fisher's linear discriminant, sharp or shrunk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.engine.scores.protocol import Floats, Ints, Scorer, View, flattened, viewed, whole


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
