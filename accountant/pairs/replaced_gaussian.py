"""The dominating pair of Poisson-sampled Gaussian noise if one record is replaced. The pair is exact."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.guarantees.gaussian import normal_tail
from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_up
from dpproof.accountant.numbers.normal import interval_masses
from dpproof.accountant.pairs.base import Cells, Characteristic, Floats, double, sampling_rate, within
from dpproof.accountant.pairs.gaussian_moments import SubsampledGaussianCharacteristic
from dpproof.accountant.pairs.lattice import mixed
from dpproof.accountant.pairs.sampled_loss import Change

_ULP = 2.0**-52
_FAR = 100.0
"""From this number of deviations beyond every mean on, all masses count as the smallest one."""


@dataclass(frozen=True)
class ReplacedGaussian:
    """The dominating pair of a Poisson-sampled sum of vectors with Gaussian noise, if one vector is replaced.

    Vectors have a norm of at most 1. Let s be the ``noise_multiplier`` and q the ``rate``. P is (1-q) N(0,
    s^2) + q N(1, s^2). Q is (1-q) N(0, s^2) + q N(-1, s^2), because the vector is replaced by its opposite.
    The pair dominates every replacement of one vector by another, in every dimension. Two neighbours attain
    the pair. Both directions have the same privacy loss.

    Source: project statement classic.poisson_replaced_gaussian, docs/notes/sampling.md, section 3.

    >>> import numpy as np
    >>> ReplacedGaussian(1.0, 2.0).cells(np.array([0.5])).p  # shift 2, deviation 2: the loss is N(1/2, 1)
    array([0.5, 0.5])

    Raises:
        ValueError: unless both are doubles, 1e-300 <= rate <= 1, and 1e-4 <= noise_multiplier <= 1e12.
    """

    rate: float
    noise_multiplier: float

    def __post_init__(self) -> None:
        sampling_rate(self.rate)
        noise = within(self.noise_multiplier, "noise_multiplier", 1e-4, 1e12)
        object.__setattr__(self, "rate", double(self.rate, "rate"))
        object.__setattr__(self, "noise_multiplier", noise)

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        q, s = self.rate, self.noise_multiplier
        exponents = np.maximum.accumulate(self._exponents(edges))
        slack = self._slack(exponents, edges)
        distance = 1 / s
        outputs = np.clip(s * exponents, -_FAR - distance, _FAR + distance)
        away, up, down = (
            interval_masses(outputs, (place, _ULP * distance)) for place in (0.0, distance, -distance)
        )
        p, p_error = mixed([(1 - q, *away), (q, *up)])
        other, q_error = mixed([(1 - q, *away), (q, *down)])
        return Cells(p, other, p_error, q_error, slack)

    def profile(self, epsilon: flint.arb) -> flint.arb:
        """Return an interval around the delta at ``epsilon`` >= 0 of a single step, at the current precision.

        The loss is monotone in the output. It is above epsilon where the output, in deviations, is above s (epsilon/2 +
        arsinh(k sinh(epsilon/2))). Here s is the ``noise_multiplier``, and k is as in ``_exponents``.
        """
        q, s = arb_of(exact(self.rate)), arb_of(exact(self.noise_multiplier))
        factor = (1 - q) * (1 / (2 * s * s)).exp() / q
        x = s * (epsilon / 2 + (factor * (epsilon / 2).sinh()).asinh())
        middle, up, down = (normal_tail(x + place) for place in (0, -1 / s, 1 / s))
        p, other = (1 - q) * middle + q * up, (1 - q) * middle + q * down
        return (p - epsilon.exp() * other).max(flint.arb(0))

    def reversed(self) -> ReplacedGaussian:
        """Return the pair itself: reflecting the output exchanges P and Q."""
        return self

    def loss_range(self) -> tuple[float, float]:
        """Return infinite bounds: the losses are unbounded on both sides."""
        return -math.inf, math.inf

    @property
    def square(self) -> Fraction | None:
        """The squared distance of the means in deviations; None if the rate is below 1. Composition adds it."""
        return 4 / exact(self.noise_multiplier) ** 2 if self.rate == 1 else None

    def divergence(self) -> float:
        """Return an upper bound on the Kullback-Leibler divergence of P from Q.

        It is at most log(1 + chi^2). Q is at least (1-q) N(0, s^2), so chi^2 is at most q^2/(1-q) times the integral of
        (N(1, s^2) - N(-1, s^2))^2/N(0, s^2), which is 4 sinh(1/s^2).
        """
        if self.rate == 1:
            return math.inf
        with precision(128):
            q = arb_of(exact(self.rate))
            spread = 4 * (1 / arb_of(exact(self.noise_multiplier)) ** 2).sinh()
            return round_up((q * q / (1 - q) * spread).log1p())

    def characteristic(self) -> Characteristic | None:
        """Return the moment-generating function of the loss, which a proved quadrature computes."""
        found: Characteristic = SubsampledGaussianCharacteristic(
            self.rate, self.noise_multiplier, Change.REPLACED
        )
        return found

    def _exponents(self, edges: Floats) -> Floats:
        """Return the points output/s^2 at which the loss is e.

        They are e/2 + arsinh(k sinh(e/2)) with k = (1-q) exp(1/(2 s^2))/q. They are only a proposal:
        ``_slack`` computes the loss at each of them.
        """
        half = np.abs(edges) / 2
        if self.rate == 1:
            return edges / 2
        with np.errstate(divide="ignore"):
            log_sinh = half + np.log(-np.expm1(-2 * half)) - math.log(2)
        log_product = log_sinh + math.log1p(-self.rate) - math.log(self.rate) + self._offset()
        large = log_product > 20
        rest = np.where(large, log_product + math.log(2), np.arcsinh(np.exp(np.minimum(log_product, 21))))
        return np.asarray(np.sign(edges) * (half + rest))

    def _offset(self) -> float:
        return 1 / (2 * self.noise_multiplier * self.noise_multiplier)

    def _slack(self, t: Floats, edges: Floats) -> float:
        """Return how far the losses at ``t`` may be from the edges, including the rounding up to the masses.

        Each of the two logarithms has slope at most 1 in its argument t, so the loss has slope at most 2.
        """
        offset = self._offset()
        up, down = t - offset, -t - offset
        miss = np.abs(self._log_mixture(up) - self._log_mixture(down) - edges)
        size = np.abs(t) + offset
        return float(np.max(miss + _ULP * (48 * size + 32 + 4 * np.abs(edges))))

    def _log_mixture(self, u: Floats) -> Floats:
        """Return log(1 - q + q exp(u)), within 16 ulp of max(1, |u|). 1 - q is exact where it would cancel."""
        q, below = self.rate, np.minimum(u, 0)
        if q == 1:
            return u
        low = np.log1p(q * np.expm1(below)) if q <= 0.5 else np.log((1 - q) + q * np.exp(below))
        high = np.maximum(u, 0) + np.log(q + (1 - q) * np.exp(-np.maximum(u, 0)))
        return np.where(u <= 0, low, high)
