"""Poisson sampling, one record being replaced: exactly for Gaussian noise, soundly for any pair."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.enclosures import Number, exact
from dpproof.accountant.numbers.normal import interval_masses
from dpproof.accountant.pairs.base import Cells, DominatingPair, Floats
from dpproof.accountant.pairs.checks import double, sampling_rate, within
from dpproof.accountant.pairs.fixed_size import FixedSize
from dpproof.accountant.pairs.lattice import mixed

__all__ = ["ReplacedGaussian", "poisson_replaced"]

_ULP = 2.0**-52
_FAR = 100.0
"""Deviations beyond every mean between which no mass is told apart from none."""


@dataclass(frozen=True)
class ReplacedGaussian:
    """Poisson sampling at ``rate``, a sum of vectors of norm at most 1, Gaussian noise; one is replaced.

    With s the ``noise_multiplier``, P is (1-q) N(0, s^2) + q N(1, s^2), Q the same with N(-1, s^2): the
    record's vector is replaced by its opposite. The pair dominates every replacement of one record by
    another, in every dimension, and is attained; both directions have one privacy loss.

    Source: project statement classic.poisson_replaced_gaussian, docs/notes/sampling.md, section 3.

    >>> import numpy as np
    >>> ReplacedGaussian(1.0, 2.0).cells(np.array([0.5])).p  # shift 2, deviation 2: the loss is N(1/2, 1)
    array([0.5, 0.5])

    Raises:
        ValueError: unless both are doubles, 1e-300 <= rate <= 1 and 1e-4 <= noise_multiplier <= 1e12.
    """

    rate: float
    noise_multiplier: float

    def __post_init__(self) -> None:
        sampling_rate(self.rate)
        noise = within(self.noise_multiplier, "noise_multiplier", 1e-4, 1e12)
        object.__setattr__(self, "rate", double(self.rate, "rate"))
        object.__setattr__(self, "noise_multiplier", noise)

    def cells(self, edges: Floats) -> Cells:
        """See ``DominatingPair.cells``."""
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

    def reversed(self) -> ReplacedGaussian:
        """The pair itself: reflecting the output exchanges P and Q."""
        return self

    def loss_range(self) -> tuple[float, float]:
        """Unbounded on both sides."""
        return -math.inf, math.inf

    @property
    def square(self) -> Fraction | None:
        """The square of the distance of two Gaussians where nothing is sampled: composing adds squares."""
        return 4 / exact(self.noise_multiplier) ** 2 if self.rate == 1 else None

    def characteristic(self) -> None:
        """None: the grid serves it."""
        return

    def _exponents(self, edges: Floats) -> Floats:
        """Points output/s^2 at which the loss is e: e/2 + arsinh(k sinh(e/2)), k = (1-q) exp(1/(2 s^2))/q.

        Only a proposal: ``_slack`` computes the loss there.
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
        return 1 / (2 * self.noise_multiplier**2)

    def _slack(self, t: Floats, edges: Floats) -> float:
        """The loss at ``t``, computed forwards, against the edges; and what is lost on the way to the masses.

        Each of the two logarithms has slope at most 1 in its argument t, so that the loss has at most 2.
        """
        offset = self._offset()
        up, down = t - offset, -t - offset
        miss = np.abs(self._log_mixture(up) - self._log_mixture(down) - edges)
        size = np.abs(t) + offset
        return float(np.max(miss + _ULP * (48 * size + 32 + 4 * np.abs(edges))))

    def _log_mixture(self, u: Floats) -> Floats:
        """log(1 - q + q exp(u)), within 16 ulp of max(1, |u|): 1 - q is exact where it would cancel."""
        q, below = self.rate, np.minimum(u, 0)
        if q == 1:
            return u
        low = np.log1p(q * np.expm1(below)) if q <= 0.5 else np.log((1 - q) + q * np.exp(below))
        high = np.maximum(u, 0) + np.log(q + (1 - q) * np.exp(-np.maximum(u, 0)))
        return np.where(u <= 0, low, high)


def poisson_replaced(pair: DominatingPair, rate: Number) -> FixedSize:
    """A pair for Poisson sampling at ``rate`` of any mechanism, when one record is replaced by another.

    ``pair`` must dominate the mechanism both when one record is replaced and when one is removed (for noise
    of a fixed scale, the pair of a replacement does). Then so does what fixed-size sampling at the same rate
    has: sound for every mechanism, and for Gaussian noise looser than ``ReplacedGaussian``.

    Source: project statement classic.poisson_replaced, docs/notes/sampling.md, section 2; it rests on
    advanced joint convexity, Balle, Barthe and Gaboardi, arXiv:1807.01647v2, Theorem 2.

    Raises:
        ValueError: see ``FixedSize``.
    """
    return FixedSize(pair, rate)
