"""The kind of noise in fresh outputs: Laplace, Gaussian, bounded or other; continuous or discrete."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from scipy.stats import kurtosis
from scipy.stats import laplace as laplace_law

from dpproof.audits.engine.explaining.facts import Floats

FIT = 1.4
"""A distribution fits n outputs if its distance from their distribution is at most `FIT` / sqrt(n)."""
TAILS = 3.0
"""The excess kurtosis of Gaussian noise differs from 0 by at most this many standard deviations."""
EDGE = 0.6
"""Noise is called bounded if the range of its largest 1 % is at most this share of the range of the next 9 %."""


@dataclass(frozen=True)
class Noise:
    """The noise in a number of the outputs: its values, minus the median on the same input.

    Attributes:
        centred: these differences.
        step: the distance of the equally spaced points on which all values lie; 0 if there are no such points.
    """

    centred: Floats
    step: float

    @property
    def laplace(self) -> float | None:
        """The scale of the Laplace noise that fits (discrete if ``step`` is not 0); None if none fits."""
        size = float(np.abs(self.centred).mean())
        if not size:
            return None
        if not self.step:
            return size if self._fits(laplace_law(scale=size).cdf) else None
        mean = size / self.step
        ratio = (math.sqrt(1 + mean * mean) - 1) / mean

        def below(x: Floats) -> Floats:
            k = np.floor(x / self.step)
            low, high = ratio ** np.maximum(-k, 0.0), ratio ** np.maximum(k + 1, 0.0)
            return np.where(k < 0, low / (1 + ratio), 1 - high / (1 + ratio))

        return -self.step / math.log(ratio) if self._fits(below) else None

    @property
    def gaussian(self) -> float | None:
        """The standard deviation of Gaussian noise that fits (rounded if ``step`` is not 0); None if none fits."""
        count, size = len(self.centred), float(np.std(self.centred))
        if not size or abs(kurtosis(self.centred)) > TAILS * math.sqrt(24 / count):
            return None
        middle = float(self.centred.mean())
        return size if self._fits(lambda x: ndtr((x + self.step / 2 - middle) / size)) else None

    def _fits(self, below: Callable[[Floats], Floats]) -> bool:
        """Whether a distribution function is close to that of the values."""
        held = np.sort(self.centred)
        points = np.unique(held + self.step / 1e6) if self.step else held
        shares = np.searchsorted(held, points, side="right") / len(held)
        return bool(np.abs(below(points) - shares).max() * math.sqrt(len(held)) <= FIT)

    @property
    def bounded(self) -> bool:
        """Whether the noise seems to have a largest or a smallest possible value."""
        return any(_ends_sharply(side * self.centred) for side in (1, -1))


def _ends_sharply(values: Floats) -> bool:
    last, far, near = float(values.max()), *np.quantile(values, [0.99, 0.9])
    return bool(last - far <= EDGE * (far - near))


def step_of(values: Floats) -> float:
    """Return the distance of the equally spaced points on which all values lie; 0 if most values occur once.

    >>> step_of(np.repeat([1.0, 5.0, 7.0], 3)), step_of(np.array([0.1, 0.25, 0.7]))
    (2.0, 0.0)
    """
    found = np.unique(values)
    if len(found) < 2 or len(found) > 0.9 * len(values):
        whole = len(found) > 1 and bool(((np.abs(found) < 2.0**53) & (found == np.rint(found))).all())
        return float(np.gcd.reduce(np.diff(found).astype(np.int64))) if whole else 0.0
    gaps = np.diff(found)
    step = float(gaps.min())
    multiples = gaps / step
    return step if np.allclose(multiples, np.rint(multiples), atol=1e-6) else 0.0


def stands_out(values: Floats, value: float) -> bool:
    """Return whether a value occurs far more often than the values next to it, and not because of clipping."""
    values = values[np.isfinite(values)]
    count = int((values == value).sum())
    rest = values[values != value]
    if count < 8 or not len(rest):
        return False
    if (value > rest.max() or value < rest.min()) and np.abs(rest - value).min() < np.ptp(rest):
        return False  # an end of clipped noise
    step = step_of(values)
    near, next_ = (
        max(int((np.abs(values - (value + side * n * step)) < step / 4).sum()) for side in (-1, 1))
        if step
        else 0
        for n in (1, 2)
    )
    return count >= 4 * max(near, near * near / max(next_, 0.5), 1.0)
