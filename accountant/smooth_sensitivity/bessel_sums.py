"""Sums of modified Bessel functions of neighbouring orders, all terms positive, enclosed.

The ratios rho_n = I_{n+1}(z)/I_n(z) satisfy rho_{n-1} = 1/(2n/z + rho_n) (DLMF 10.29.1): one pass
downwards in the order gives all of them, stably, and by Horner's rule every sum over them.
"""

from __future__ import annotations

from dataclasses import dataclass

import flint

from dpproof.accountant.numbers.arithmetic import math, np

__all__ = ["TooManyTermsError", "Weights", "bessel", "endless_sum", "finite_sum"]

_MOST_TERMS = 60_000
_CUT = (
    76.0  # sums are cut where the terms are exp(-76) < 2^-109 of the largest; the rest is bounded and added
)


class TooManyTermsError(ArithmeticError):
    """Raised where a sum needs more than 60,000 terms."""


@dataclass(frozen=True)
class Weights:
    """The weights w_j = 1 - exp(-rate (start + step j)) of a sum, j = 0, 1, ...; step is 1 or -1.

    Without a rate all weights are 1.
    """

    rate: flint.arb | None = None
    start: float = 0.0
    step: int = 1

    def decay(self, index: int) -> flint.arb:
        """1 - w_j."""
        if self.rate is None:
            return flint.arb(0)
        return (-self.rate * (self.start + self.step * index)).exp()

    def growth(self) -> flint.arb:
        """What 1 - w_j is multiplied by from one j to the one below."""
        return flint.arb(1) if self.rate is None else (self.rate * self.step).exp()


def bessel(z: flint.arb, order: float) -> flint.arb:
    """exp(-z) I_order(z)."""
    return z.bessel_i(flint.arb(order), scaled=True)


def finite_sum(z: flint.arb, factor: flint.arb, order: float, count: int, weights: Weights,
               rest: flint.arb | None = None) -> flint.arb:  # fmt: skip
    """The sum over j < count of w_j factor^j exp(-z) I_{order+j}(z), and ``rest`` times the next term.

    Args:
        z: positive.
        factor: positive.
        order: of the first term, at least -1/2.
        count: number of terms.
        weights: the w_j.
        rest: what stands for w_count and all further terms; nothing by default.
    """
    total = flint.arb(0) if rest is None else rest
    if count == 0:
        return total * bessel(z, order)
    last = order + count - 1
    ratio, twice = bessel(z, last + 1) / bessel(z, last), 2 / z
    decay, growth = weights.decay(count - 1), weights.growth()
    while True:
        total = (1 - decay) + factor * ratio * total
        if last == order:
            return total * bessel(z, order)
        ratio = 1 / (last * twice + ratio)
        decay = decay * growth
        last -= 1


def endless_sum(z: flint.arb, factor: flint.arb, order: float, weights: Weights) -> flint.arb:
    """The sum over all j >= 0 of w_j factor^j exp(-z) I_{order+j}(z); weights in [0, 1].

    The rest after a cut is at most a geometric series: I_{n+1}/I_n <= z/(n + 1/2 + sqrt(z^2 + (n + 1/2)^2)),
    which falls in n (Amos, Math. Comp. 28, 1974, inequality 11).

    Raises:
        TooManyTermsError: if the cut comes after 60,000 terms.
    """
    count = _cut(_clipped(z), _clipped(factor), order)
    half = order + count + flint.arb(1) / 2
    share = factor * z / (half + (z * z + half * half).sqrt())
    rest = flint.arb(0).union(1 / (1 - share)) if share < 1 else flint.arb("nan")
    return finite_sum(z, factor, order, count, weights, rest)


def _clipped(value: flint.arb) -> float:
    return min(max(float(value), 1e-200), 1e200)


def _cut(z: float, factor: float, order: float) -> int:
    """How many terms to take: a proposal in ordinary numbers; the rest is bounded wherever the cut is."""
    count = 256
    while count <= 4 * _MOST_TERMS:
        half = order + np.arange(count) + 0.5
        steps = math.log(factor) + math.log(z) - np.log(half + np.hypot(half, z))
        logs = np.cumsum(steps)
        small = np.flatnonzero((logs < max(logs.max(), 0.0) - _CUT) & (steps < -1e-9))
        if small.size and small[0] < _MOST_TERMS:
            return int(small[0]) + 1
        count *= 4
    raise TooManyTermsError(f"z = {z:g}, factor = {factor:g}: more than {_MOST_TERMS} terms")
