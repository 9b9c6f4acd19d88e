"""The Poisson-subsampled Gaussian, (1-q) N(0, s^2) + q N(1, s^2) against N(0, s^2); q = 1 is the Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np

from dpproof.accountant.numbers.enclosures import arb_of, exact
from dpproof.accountant.numbers.normal import interval_masses
from dpproof.accountant.pairs.base import Cells, Characteristic, Floats
from dpproof.accountant.pairs.checks import double, sampling_rate, within
from dpproof.accountant.pairs.lattice import mixed
from dpproof.accountant.pairs.subsampled import ends_after_sampling, loss_before_sampling, swapped

__all__ = ["SubsampledGaussian"]

_U = 2.0**-53


@dataclass(frozen=True)
class SubsampledGaussian:
    """Poisson sampling at ``rate``, then a sum of sensitivity 1 with noise of deviation ``noise_multiplier``.

    ``removes`` says which of the two neighbours is P: with it P is the mixture (a user is removed), without
    it P is N(0, s^2) (a user is added).

    >>> pair = SubsampledGaussian(1.0, 1.0)
    >>> cells = pair.cells(np.array([0.5]))  # the loss of N(1,1) against N(0,1) is N(1/2, 1)
    >>> [float(p) for p in cells.p]
    [0.5, 0.5]

    Raises:
        ValueError: unless both are doubles, 1e-300 <= rate <= 1 and 1e-4 <= noise_multiplier <= 1e12.

    Source: Zhu, Dong and Wang, arXiv:2106.08567v4, Theorem 11 (the dominating pairs); this project,
    docs/notes/loss_grid.md, section 2.
    """

    rate: float
    noise_multiplier: float
    removes: bool = True

    def __post_init__(self) -> None:
        sampling_rate(self.rate)
        noise = within(self.noise_multiplier, "noise_multiplier", 1e-4, 1e12)
        object.__setattr__(self, "rate", double(self.rate, "rate"))
        object.__setattr__(self, "noise_multiplier", noise)

    def cells(self, edges: Floats) -> Cells:
        """The masses between increasing ``edges`` of losses."""
        if not self.removes:
            return swapped(SubsampledGaussian(self.rate, self.noise_multiplier).cells(-edges[::-1]))
        outputs, slack = self._outputs(edges)
        distance = 1 / self.noise_multiplier
        without, without_error = interval_masses(outputs)
        sampled, sampled_error = interval_masses(outputs, (distance, 1.01 * _U * distance))
        if self.rate == 1:
            return Cells(sampled, without, sampled_error, without_error, slack)
        p, error = mixed([(1 - self.rate, without, without_error), (self.rate, sampled, sampled_error)])
        return Cells(p, without, error, without_error, slack)

    def _outputs(self, edges: Floats) -> tuple[Floats, float]:
        """The outputs, in deviations, whose losses are ``edges``; how far in loss they may be off."""
        s = self.noise_multiplier
        exponents, slack, share = loss_before_sampling(edges, self.rate)
        size = np.where(np.isfinite(exponents), np.abs(exponents), 0.0)
        rounding = float((share * (8 * size + 4 / (s * s))).max())
        return s * exponents + 1 / (2 * s), slack + 2 * _U * rounding

    def reversed(self) -> SubsampledGaussian:
        """The pair (Q, P); without sampling the pair itself, as reflecting the output exchanges the two."""
        if self.rate == 1:
            return self
        return SubsampledGaussian(self.rate, self.noise_multiplier, not self.removes)

    def loss_range(self) -> tuple[float, float]:
        """Ends of the finite losses, outward: the mixture's are above log(1 - rate)."""
        least = ends_after_sampling((-math.inf, 0.0), exact(self.rate))[0]
        return (least, math.inf) if self.removes else (-math.inf, -least)

    def profile(self, epsilon: flint.arb) -> flint.arb:
        """delta(epsilon) of one use, enclosed at the precision in force; ``epsilon`` at least 0.

        The loss grows, or falls, with the output: those of larger loss lie beyond one point x, where
        1 - q + q e^w = e^(+-epsilon).
        """
        rate, sigma = arb_of(exact(self.rate)), arb_of(exact(self.noise_multiplier))
        side = 1 if self.removes else -1
        share = (side * epsilon).expm1() / rate + 1
        if not share > 0:
            return flint.arb(0) if share <= 0 else flint.arb(0).union(flint.arb(1))
        x = sigma * share.log() + 1 / (2 * sigma)
        without, moved = (_beyond(side * y) for y in (x, x - 1 / sigma))
        mixed = (1 - rate) * without + rate * moved
        p, q = (mixed, without) if self.removes else (without, mixed)
        return (p - epsilon.exp() * q).max(flint.arb(0))

    @property
    def square(self) -> Fraction | None:
        """The square of the distance of two Gaussians, where nothing is sampled: composing adds squares."""
        return 1 / exact(self.noise_multiplier) ** 2 if self.rate == 1 else None

    def characteristic(self) -> Characteristic | None:
        """The moment-generating function of the loss, by a proved quadrature."""
        from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianCharacteristic

        found: Characteristic = SubsampledGaussianCharacteristic(
            self.rate, self.noise_multiplier, removes=self.removes
        )
        return found


def _beyond(y: flint.arb) -> flint.arb:
    return (y / flint.arb(2).sqrt()).erfc() / 2
