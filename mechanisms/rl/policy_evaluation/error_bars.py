"""Error bars of private values that include the noise of the release. Values and returns are in [0, 1] here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_ROOM = 1 + 1e-5
"""Factor on widths that covers the grid (2^-20 standard deviations) and the rounding of returns and doubles."""
_GRAIN = 2.0**-29
_NOT_INCLUDED = (
    "They do not include a policy that differs from the logged one, trajectories that depend on each other, and "
    "returns that were clipped or cut off."
)


class Bars(Protocol):
    """Error bars of the values of all states."""

    @property
    def values(self) -> Floats:
        """The values (S,)."""

    @property
    def covers(self) -> str:
        """What the error bars include, in words."""

    @property
    def standard_errors(self) -> Floats:
        """Approximate standard errors (S,)."""

    def intervals(self, alpha: float) -> Floats:
        """Return an interval for each state (S, 2), each of which fails with probability at most `alpha`."""


@dataclass(frozen=True, eq=False)
class SumBars:
    """Error bars of ratios of noisy sums of centred returns and noisy visits.

    Attributes:
        sums, visits: the noisy numbers (S,).
        sum_noise, visit_noise: the standard deviations of their noise (S,).
    """

    sums: Floats
    visits: Floats
    sum_noise: Floats
    visit_noise: Floats
    covers: str = (
        "Intervals and standard errors include the noise and the chance of independent trajectories. "
        + _NOT_INCLUDED
    )

    @property
    def values(self) -> Floats:
        """The values (S,), clipped to [0, 1]. A state without a positive number of visits has the value 1/2."""
        positive = self.visits > 0
        ratio = self.sums / np.where(positive, self.visits, 1.0)
        return np.where(positive, np.clip(0.5 + ratio, 0.0, 1.0), 0.5)

    @property
    def standard_errors(self) -> Floats:
        """Approximate standard errors: the noise to first order, and the largest variance of returns in [0, 1].

        Returns in [0, 1] with mean v have at most the variance v (1 - v). An error is at most 1.
        """
        visits, values = np.maximum(self.visits, 1.0), self.values
        noise = (self.sum_noise**2 + ((values - 0.5) * self.visit_noise) ** 2) / visits**2
        found = np.sqrt(noise + values * (1 - values) / visits)
        return np.where(self.visits > 0, np.minimum(found, 1.0), 1.0)

    def intervals(self, alpha: float) -> Floats:
        """Return an interval for each state (S, 2), each of which fails with probability at most `alpha`.

        Half of `alpha` is for the noise: with the batch's average v, sums - (v - 1/2) visits is Gaussian with a known
        variance (Fieller). A quarter is for the number of visits, which is at least `least`. A quarter is for the
        average of so many independent returns in [0, 1] (Hoeffding).
        """
        inside = self.noise_intervals(alpha / 2)
        least = self.visits - _ROOM * _upper(alpha / 4) * self.visit_noise
        margin = np.sqrt(math.log(8 / alpha) / (2 * np.maximum(least, 0.5))) * _ROOM + _GRAIN
        margin = np.where(least >= 1, margin, 1.0)
        return np.asarray(np.clip(inside + np.stack([-margin, margin], axis=1), 0.0, 1.0))

    def noise_intervals(self, alpha: float) -> Floats:
        """Return intervals (S, 2) for the batch's average returns; each fails with probability at most `alpha`.

        They solve (sums - x visits)^2 <= z^2 (sum_noise^2 + x^2 visit_noise^2) for x = v - 1/2 in [-1/2, 1/2].
        """
        z = _ROOM * _upper(alpha / 2)
        square = self.visits**2 - (z * self.visit_noise) ** 2
        middle, rest = self.sums * self.visits, self.sums**2 - (z * self.sum_noise) ** 2
        known = (square > 0) & (self.visits > 0)
        size = np.where(known, square, 1.0)
        root = np.sqrt(np.maximum(middle**2 - size * rest, 0.0))
        ends = np.stack([(middle - root) / size, (middle + root) / size], axis=1) + 0.5
        wide = np.where(known[:, None], np.clip(ends, 0.0, 1.0), np.array([0.0, 1.0]))
        return np.asarray(np.clip(wide + np.array([-_GRAIN, _GRAIN]), 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class NoiseBars:
    """Error bars of DP-LSW and DP-LSL, whose noise is private: a public upper bound on it.

    Attributes:
        values: the values (S,).
        most: the largest standard deviation that the noise can have for any batch of this size.
    """

    values: Floats
    most: float
    covers: str = (
        "Standard errors are a public upper bound on the noise, whose size is private; they include nothing else. "
        "Intervals are the whole range of returns. " + _NOT_INCLUDED
    )

    @property
    def standard_errors(self) -> Floats:
        """The public upper bound on the noise (S,), at most 1."""
        return np.full(len(self.values), min(self.most, 1.0))

    def intervals(self, alpha: float) -> Floats:
        """Return the interval [0, 1] for each state."""
        return np.tile([0.0, 1.0], (len(self.values), 1))


def bars_of_sums(sums: Floats, visits: Floats, sum_noise: Floats, visit_noise: Floats) -> SumBars:
    """Return the error bars of noisy sums and visits, whose noise has these standard deviations."""
    return SumBars(sums, visits, sum_noise, visit_noise)


def bars_of_noise(values: Floats, most: float) -> NoiseBars:
    """Return the error bars of values whose noise has at most the standard deviation `most`."""
    return NoiseBars(values, most)


def _upper(alpha: float) -> float:
    """Return the point that a standard normal variable exceeds with probability `alpha`."""
    return NormalDist().inv_cdf(1 - alpha) if alpha > 1e-12 else math.sqrt(2 * math.log(1 / alpha))
