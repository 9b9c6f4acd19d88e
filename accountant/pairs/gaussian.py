"""The Poisson-subsampled Gaussian pair, (1-q) N(0, sigma^2) + q N(1, sigma^2) against N(0, sigma^2).

q is the sampling rate. With q = 1 it is the Gaussian pair. The probabilities of privacy losses come from the
normal distribution. The moment-generating function of the loss is in ``pairs.gaussian_moments``.
"""

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
from dpproof.accountant.pairs.subsampled import ends_after_sampling, loss_before_sampling, swapped

_U = 2.0**-53


@dataclass(frozen=True)
class SubsampledGaussian:
    """The dominating pair of a sum of sensitivity 1 after Poisson sampling at ``rate``, with Gaussian noise.

    The noise has standard deviation s = ``noise_multiplier``, and q is the ``rate``. If ``removes`` is true,
    a user is removed: P is the mixture (1-q) N(0, s^2) + q N(1, s^2), and Q is N(0, s^2). Otherwise a user is
    added, and P and Q are exchanged.

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
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
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
        """Return the outputs, in deviations, whose losses are ``edges``, and a bound on their error in loss."""
        s = self.noise_multiplier
        exponents, slack, share = loss_before_sampling(edges, self.rate)
        size = np.where(np.isfinite(exponents), np.abs(exponents), 0.0)
        rounding = float((share * (8 * size + 4 / (s * s))).max())
        return s * exponents + 1 / (2 * s), slack + 2 * _U * rounding

    def reversed(self) -> SubsampledGaussian:
        """Return the pair (Q, P), for the other direction of the neighbouring relation.

        At rate 1 this is the pair itself, because reflecting the output exchanges P and Q.
        """
        if self.rate == 1:
            return self
        return SubsampledGaussian(self.rate, self.noise_multiplier, not self.removes)

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        If a user is removed, all losses are above log(1 - rate).
        """
        least = ends_after_sampling((-math.inf, 0.0), exact(self.rate))[0]
        return (least, math.inf) if self.removes else (-math.inf, -least)

    def profile(self, epsilon: flint.arb) -> flint.arb:
        """Return an interval around the delta at ``epsilon`` >= 0 of a single step, at the current precision.

        The loss is monotone in the output. So the outputs with a loss above epsilon lie beyond one number x,
        where 1 - q + q e^w = e^(+-epsilon) with w = x/s - 1/(2 s^2). Here q is the ``rate`` and s the
        ``noise_multiplier``.
        """
        rate, sigma = arb_of(exact(self.rate)), arb_of(exact(self.noise_multiplier))
        side = 1 if self.removes else -1
        share = (side * epsilon).expm1() / rate + 1
        if not share > 0:
            return flint.arb(0) if share <= 0 else flint.arb(0).union(flint.arb(1))
        x = sigma * share.log() + 1 / (2 * sigma)
        without, moved = (normal_tail(side * y) for y in (x, x - 1 / sigma))
        mixed = (1 - rate) * without + rate * moved
        p, q = (mixed, without) if self.removes else (without, mixed)
        return (p - epsilon.exp() * q).max(flint.arb(0))

    def divergence(self) -> float:
        """Return an upper bound on the smaller of the two Kullback-Leibler divergences of the pair.

        The divergence of the mixture from Q is at most log(1 + chi^2), and chi^2 is q^2 (e^(1/s^2) - 1). The
        total variation distance of a composition does not depend on the direction, so both directions may
        use this bound.
        """
        with precision(128):
            spread = (1 / arb_of(exact(self.noise_multiplier)) ** 2).expm1()
            return round_up((arb_of(exact(self.rate)) ** 2 * spread).log1p())

    @property
    def square(self) -> Fraction | None:
        """The squared distance of the two means in standard deviations, or None if the rate is below 1.

        If Gaussian steps are composed, their squared distances are added.
        """
        return 1 / exact(self.noise_multiplier) ** 2 if self.rate == 1 else None

    def characteristic(self) -> Characteristic | None:
        """Return the moment-generating function of the loss, which a proved quadrature computes."""
        found: Characteristic = SubsampledGaussianCharacteristic(
            self.rate, self.noise_multiplier, Change.REMOVED if self.removes else Change.ADDED
        )
        return found
