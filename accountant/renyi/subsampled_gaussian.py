"""The Renyi divergence of the Poisson-subsampled Gaussian, at every real order, certified.

Let q be the sampling rate, sigma the noise multiplier, x standard normal, and L(x) = 1 - q + q exp(x/sigma -
1/(2 sigma^2)). The divergence is log A/(order - 1), where A = E L(x)^order. At an integer order A is a finite
sum of positive terms. At other orders the code computes A by a trapezoidal sum with a known error bound. On
the line Im x = y the integrand is at most exp(y^2/2) times its value on the real line, up to the zeros of L
at |y| = pi sigma (docs/notes/renyi.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import flint

from dpproof.accountant.guarantees.notions import RenyiDP
from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision

_MOST_BITS = 128
_MOST_NODES = 20_000
_MOST_TERMS = 512


@dataclass(frozen=True)
class SubsampledGaussianCurve:
    """The Renyi curve of ``steps`` Poisson-subsampled Gaussian steps, as a function of the order.

    The curve is ``steps`` times the Renyi divergence of one step, in the direction in which this is larger.

    Source: Mironov, Talwar and Zhang, arXiv:1908.10530v1, Theorem 4 (reduction to one dimension) and its
    Theorem 5 (the divergence of the mixture from the Gaussian is the larger one).
    """

    sampling_rate: Fraction
    noise_multiplier: Fraction
    steps: int = 1

    def __call__(self, order: flint.arb) -> flint.arb:
        """Return the divergence at an ``order`` of at least 1, enclosed at the precision in force."""
        if order == flint.arb("inf"):
            return order if self.sampling_rate and self.steps else flint.arb(0)
        if self.sampling_rate in (0, 1) or not self.steps:
            return self.steps * self.sampling_rate.numerator * order * self._half_square()
        return self.steps * self._one_step(order)

    def _half_square(self) -> flint.arb:
        return 1 / (2 * arb_of(self.noise_multiplier) ** 2)

    def _one_step(self, order: flint.arb) -> flint.arb:
        if order == 1:
            return _mean_log(self)
        if order.is_integer() and order <= _MOST_TERMS:
            return _binomial_sum(self, int(order.mid().fmpq().p)).log1p() / (order - 1)
        found = _moment(self, order)
        return (self._crude(order) if found is None else found.log()) / (order - 1)

    def _crude(self, order: flint.arb) -> flint.arb:
        """Return bounds on log A at large orders.

        With R = exp(x/sigma - ...), q^order R^order <= L^order <= 1 - q + q R^order.
        """
        q, full = arb_of(self.sampling_rate), order * (order - 1) * self._half_square()
        low = full + order * q.log()
        high = full + (q + (1 - q) * (-full).exp()).log()
        return (low if low > 0 else flint.arb(0)).union(high)

    def log2_smallness(self, order: flint.arb) -> int:
        """Return the approximate number of bits that are lost when log A is computed from A.

        A is the number for which the divergence of one step is log A/(order - 1). Bits are lost because A is
        close to 1. The result is about -log2 |log A|, or 0 if this is negative.
        """
        gap = float((abs(order.mid() - 1) * order.mid()).log())
        spread = (flint.arb(1) / arb_of(self.noise_multiplier) ** 2).expm1().log()
        size = gap + 2 * float(arb_of(self.sampling_rate).log()) + min(float(spread), 700.0)
        return max(0, int(-size / math.log(2)) + 1)


def subsampled_gaussian_renyi(sampling_rate: Number, noise_multiplier: Number, steps: int = 1) -> RenyiDP:
    """Return the Renyi DP guarantee of DP-SGD, if one record is added or removed.

    >>> subsampled_gaussian_renyi("0.01", 1, 1000).epsilon("1e-6").upper
    2.4360

    Args:
        sampling_rate: the probability that a record takes part in a step, in [0, 1].
        noise_multiplier: the noise's standard deviation divided by the clipping norm, above 0.
        steps: the number of steps, at least 0.

    Raises:
        ValueError: for a parameter outside its domain. The message names it.
    """
    rate, noise = exact(sampling_rate, "sampling_rate"), exact(noise_multiplier, "noise_multiplier")
    if not 0 <= rate <= 1:
        raise ValueError(f"sampling_rate ({sampling_rate!r}) must be in [0, 1]")
    if noise <= 0:
        raise ValueError(f"noise_multiplier ({noise_multiplier!r}) must be above 0")
    whole(steps, "steps", 0)
    return RenyiDP(SubsampledGaussianCurve(rate, noise, steps))


def _binomial_sum(curve: SubsampledGaussianCurve, order: int) -> flint.arb:
    """Return A - 1 = sum over k >= 2 of C(order, k) (1-q)^(order-k) q^k (exp(k(k-1)/(2 sigma^2)) - 1)."""
    q, half = arb_of(curve.sampling_rate), curve._half_square()
    odds, total = q / (1 - q), flint.arb(0)
    weight = (1 - q) ** order
    for k in range(1, order + 1):
        weight = weight * odds * (order - k + 1) / k
        total += weight * (k * (k - 1) * half).expm1()
    return total


@dataclass
class _Nodes:
    """The grid k h with log L(k h) at a working precision. It grows if an order needs more of it."""

    curve: SubsampledGaussianCurve
    bits: int
    step: flint.arb
    height: flint.arb
    right: list[tuple[flint.arb, flint.arb]] = field(default_factory=list)
    left: list[tuple[flint.arb, flint.arb]] = field(default_factory=list)

    def walk(self, sign: int) -> Iterator[tuple[int, flint.arb, flint.arb]]:
        """Yield (k, x^2/2, log L(x)) for the grid points x = sign k h.

        If ``sign`` is 1, k starts at 0. If ``sign`` is -1, k starts at 1.
        """
        known = self.right if sign > 0 else self.left
        q, scale = arb_of(self.curve.sampling_rate), arb_of(1 / self.curve.noise_multiplier)
        k = 0 if sign > 0 else 1
        first = k
        while True:
            if k - first == len(known):
                x = self.step * (sign * k)
                log = (q * (x * scale - scale * scale / 2).expm1()).log1p()
                known.append((x * x / 2, log))
            yield (k, *known[k - first])
            k += 1

    def relative_error(self) -> flint.arb:
        """Return 2 exp(Y^2/2)/(exp(2 pi Y/h) - 1), a bound on the relative error of the trapezoidal sum.

        The sum approximates A, the number for which the divergence of one step is log A/(order - 1). Y is
        ``height``, and h is ``step``.
        """
        decay = (2 * flint.arb.pi() * self.height / self.step).expm1()
        return 2 * (self.height * self.height / 2).exp() / decay


@lru_cache(maxsize=64)
def _nodes(curve: SubsampledGaussianCurve, bits: int) -> _Nodes:
    sigma, goal = float(curve.noise_multiplier), (bits + 4) * math.log(2)
    step = math.pi * math.sqrt(2 / goal)
    if 2 / step > sigma:  # the zeros of L are nearer than the best line
        step = 2 * math.pi**2 * sigma / (goal + (math.pi * sigma) ** 2 / 2)
    height = min(2 * math.pi / step, math.pi * sigma * (1 - 1e-9))
    return _Nodes(curve, bits, flint.arb(step), flint.arb(height))


def _grid(curve: SubsampledGaussianCurve, order: flint.arb) -> _Nodes | None:
    """Return the grid for this order, or None if it would be too long."""
    lost = curve.log2_smallness(order)
    bits = 64 * math.ceil((min(flint.ctx.prec, _MOST_BITS) + lost) / 64)
    sigma = float(curve.noise_multiplier)
    if not 1e-150 < sigma < 1e150 or bits > 4096:
        return None
    nodes = _nodes(SubsampledGaussianCurve(curve.sampling_rate, curve.noise_multiplier), bits)
    reach = float(order.mid()) / sigma + 2 * math.sqrt(2 * bits)
    return nodes if reach <= _MOST_NODES * float(nodes.step) else None


def _moment(curve: SubsampledGaussianCurve, order: flint.arb) -> flint.arb | None:
    """Return A = E L^order by the trapezoidal rule, or None if the grid would be too long."""
    nodes = _grid(curve, order)
    if nodes is None:
        return None
    with precision(nodes.bits + 32):
        right, right_rest = _half(nodes, order, 1)
        left, left_rest = _half(nodes, order, -1)
        total = right + left
        total = total.union(total + right_rest + left_rest)
        error = nodes.relative_error()
        scale = nodes.step / (2 * flint.arb.pi()).sqrt()
        return scale * (total / (1 + error)).union(total / (1 - error))


def _half(nodes: _Nodes, order: flint.arb, sign: int) -> tuple[flint.arb, flint.arb]:
    """Return the sum over one half of the grid, and a bound on the terms beyond its last one.

    From x on, each term is at most exp(-(|x| - c) h - h^2/2) times the one before. c is order/sigma on the
    right and 0 on the left.
    """
    drift = order / arb_of(nodes.curve.noise_multiplier) if sign > 0 else flint.arb(0)
    first = math.ceil(float(drift.mid() / nodes.step)) + 1
    total, small = flint.arb(0), flint.arb(2) ** -nodes.bits
    for k, half_square, log in nodes.walk(sign):
        term = (order * log - half_square).exp()
        total += term
        if k >= first and k % 4 == 0:
            ratio = (-(k * nodes.step - drift) * nodes.step - nodes.step**2 / 2).exp()
            rest = term * ratio / (1 - ratio)
            if ratio < 1 and rest < total * small:
                break
    return total, rest


def _mean_log(curve: SubsampledGaussianCurve) -> flint.arb:
    """Return the Kullback-Leibler divergence E L log L, which is the slope of log A at the order 1.

    log A is convex and vanishes at the order 1. So the slope lies between the difference quotients on both
    sides, -log A(1 - s)/s and log A(1 + s)/s.
    """
    gap = flint.arb(2) ** -(flint.ctx.prec // 2)
    above, below = _moment(curve, 1 + gap), _moment(curve, 1 - gap)
    if above is None or below is None:
        return flint.arb(0).union(curve._half_square())
    return (-below.log() / gap).union(above.log() / gap)
