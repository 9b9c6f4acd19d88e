"""Renyi curves in closed form: pure privacy, the Laplace and geometric mechanisms, two Gaussians.

Each curve is enclosed at the order 1 too (the Kullback-Leibler divergence), and at infinity (the largest
loss).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.guarantees.notions import RenyiDP
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.numbers.checks import at_least_zero, whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision


def pure_renyi(epsilon: Number) -> RenyiDP:
    """epsilon-DP along its Renyi curve: that of randomised response, the least private such mechanism.

    Source: Bun and Steinke, arXiv:1605.02065v1, Proposition 3.3 and its proof; Mironov,
    arXiv:1702.07476v3, Proposition 5 (randomised response).

    >>> pure_renyi(1).epsilon("1e-9").upper
    1.0

    Raises:
        ValueError: if epsilon is negative or no number.
    """
    loss = at_least_zero(epsilon, "epsilon")
    return RenyiDP(_RandomisedResponse(loss))


def geometric_renyi(epsilon: Number, sensitivity: int = 1) -> RenyiDP:
    """Two-sided geometric noise, P(k) ~ e^(-epsilon |k|), on a count that moves by ``sensitivity``.

    >>> geometric_renyi("0.5", 2).epsilon("1e-9").upper
    1.0

    Raises:
        ValueError: if epsilon is negative or no number, or the sensitivity no integer of at least 1.
    """
    step = at_least_zero(epsilon, "epsilon")
    whole(sensitivity, "sensitivity", 1)
    return RenyiDP(_Geometric(step, sensitivity))


def laplace_renyi(scale: Number, sensitivity: Number = 1) -> RenyiDP:
    """Laplace noise of ``scale`` on a value that moves by ``sensitivity``.

    Source: Mironov, arXiv:1702.07476v3, Proposition 6.

    >>> laplace_renyi(1).epsilon("1e-6").upper
    0.999999

    Raises:
        ValueError: if the scale is not above 0 or the sensitivity negative.
    """
    width, moved = exact(scale, "scale"), at_least_zero(sensitivity, "sensitivity")
    if width <= 0:
        raise ValueError(f"scale ({scale!r}) must be above 0")
    return RenyiDP(_Laplace(moved / width))


def gaussian_renyi(mu: Number) -> RenyiDP:
    """mu-Gaussian privacy along its Renyi curve, order mu^2/2 (Mironov, arXiv:1702.07476v3, Proposition 7).

    The curve forgets something: ``GaussianDP`` is the tighter notion.

    >>> gaussian_renyi(1).epsilon("1e-6").upper
    5.2215343

    Raises:
        ValueError: if mu is negative or no number.
    """
    half = at_least_zero(mu, "mu") ** 2 / 2
    return RenyiDP(lambda order: arb_of(half) * order)


def unequal_gaussians_renyi(shift: Number, deviation: Number, other: Number) -> RenyiDP:
    """N(0, deviation^2) against N(shift, other^2), in both directions.

    Known at the orders below s^2/(s^2 - t^2), s the larger and t the smaller deviation; at all orders if they
    are equal. Source: Gil, Alajaji and Linder 2013 (Information Sciences 249), Table 2.

    >>> unequal_gaussians_renyi(1, 1, 2).orders.below
    Fraction(4, 3)

    Raises:
        ValueError: if a deviation is not above 0 or the shift negative.
    """
    moved = at_least_zero(shift, "shift")
    sizes = exact(deviation, "deviation"), exact(other, "other")
    for size, name in zip(sizes, ("deviation", "other"), strict=True):
        if size <= 0:
            raise ValueError(f"{name} ({size}) must be above 0")
    small, large = sorted(size**2 for size in sizes)
    below = None if small == large else large / (large - small)
    return RenyiDP(_UnequalGaussians(moved**2, small, large), Orders(below))


@dataclass(frozen=True)
class _RandomisedResponse:
    loss: Fraction

    def __call__(self, order: flint.arb) -> flint.arb:
        loss = arb_of(self.loss)
        if not self.loss or order == flint.arb("inf"):
            return loss
        up, down = 1 / (1 + (-loss).exp()), 1 / (1 + loss.exp())
        if order == 1:
            return loss * (up - down)
        return _over(lambda a: up * ((a - 1) * loss).expm1() + down * (-(a - 1) * loss).expm1(), order)


@dataclass(frozen=True)
class _Laplace:
    ratio: Fraction

    def __call__(self, order: flint.arb) -> flint.arb:
        b = arb_of(self.ratio)
        if not self.ratio or order == flint.arb("inf"):
            return b
        if order == 1:
            return b + (-b).expm1()
        return _over(lambda a: (a * ((a - 1) * b).expm1() + (a - 1) * (-a * b).expm1()) / (2 * a - 1), order)


@dataclass(frozen=True)
class _Geometric:
    step: Fraction
    sensitivity: int

    def __call__(self, order: flint.arb) -> flint.arb:
        if not self.step or order == flint.arb("inf"):
            return arb_of(self.step) * self.sensitivity
        with precision(flint.ctx.prec + self._lost_bits(order)):
            return self._mean(order) if order == 1 else _over(self._excess, order)

    def _lost_bits(self, order: flint.arb) -> int:
        """What the sums lose where first orders cancel: losses of size z leave z^2, or (order - 1) z^2."""
        gap = abs((order - 1).mid()) if order != 1 else flint.arb(1)
        small = flint.arb(1).min(gap).log() + flint.arb(1).min(arb_of(self.step * self.sensitivity)).log()
        return 32 + int(-4 * float(small.mid()) + 2 * math.log(self.sensitivity))

    def _weights(self) -> tuple[flint.arb, flint.arb]:
        """The mass at 0, and that of all k <= 0, which have the largest loss."""
        step = arb_of(self.step)
        return (step / 2).tanh(), 1 / (1 + (-step).exp())

    def _excess(self, a: flint.arb) -> flint.arb:
        """E exp((a - 1) loss) - 1: k = 1 .. m - 1 has the loss (m - 2 k) step, and a geometric mass."""
        step, m = arb_of(self.step), self.sensitivity
        share, end = self._weights()
        largest = step * m
        inner = ((a - 1) * largest).exp() * _powers((2 * a - 1) * step, m) - _powers(step, m)
        outer = ((a - 1) * largest).expm1() + (-largest).exp() * (-(a - 1) * largest).expm1()
        return share * inner + end * outer

    def _mean(self, order: flint.arb) -> flint.arb:
        """The mean loss; sum of k r^k over 0 < k < m is r (1 - m r^(m-1) + (m - 1) r^m)/(1 - r)^2."""
        step, m = arb_of(self.step), self.sensitivity
        share, end = self._weights()
        r = (-step).exp()
        first = r * (1 - m * r ** (m - 1) + (m - 1) * r**m) / (1 - r) ** 2
        return step * (share * (m * _powers(step, m) - 2 * first) - end * m * (-step * m).expm1())


def _powers(rate: flint.arb, below: int) -> flint.arb:
    """The sum of exp(-rate k) over 0 < k < ``below``."""
    return (-rate).exp() * (-rate * (below - 1)).expm1() / (-rate).expm1()


@dataclass(frozen=True)
class _UnequalGaussians:
    """D_a(N(m, v) || N(0, w)) = log(w/v)/2 + log(w/z)/(2(a-1)) + a m^2/(2 z), z = a w + (1 - a) v."""

    square: Fraction
    small: Fraction
    large: Fraction

    def __call__(self, order: flint.arb) -> flint.arb:
        one, other = arb_of(self.small), arb_of(self.large)
        return self._directed(order, one, other).max(self._directed(order, other, one))

    def _directed(self, a: flint.arb, v: flint.arb, w: flint.arb) -> flint.arb:
        z = a * w + (1 - a) * v
        if self.small == self.large:
            return a * arb_of(self.square) / (2 * v)
        if not z > 0:
            return flint.arb("inf") if z <= 0 else flint.arb("nan")
        mean = a * arb_of(self.square) / (2 * z)
        if a == 1:
            return (w / v).log() / 2 + (v / w - 1) / 2 + mean
        return (w / v).log() / 2 + (w / z).log() / (2 * (a - 1)) + mean


def _over(excess: Callable[[flint.arb], flint.arb], order: flint.arb) -> flint.arb:
    """log(1 + excess(order))/(order - 1)."""
    return excess(order).log1p() / (order - 1)
