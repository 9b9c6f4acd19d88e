"""The hockey stick of two spherical Gaussians of different variance: exact, in any dimension.

P = N(0, s1^2 I) and Q = N(m, s2^2 I) in dimension d. The set where the privacy loss exceeds epsilon is a
ball or the outside of one, its mass a non-central chi-square probability. Both masses are Bessel sums with
the same argument; their difference is then a sum of positive terms, so that the relative accuracy holds at
any delta (docs/notes/smooth_sensitivity.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.guarantees.gaussian import gaussian_delta
from dpproof.accountant.numbers.enclosures import arb_of
from dpproof.accountant.smooth_sensitivity.bessel_sums import (
    TooManyTermsError,
    Weights,
    endless_sum,
    finite_sum,
)

__all__ = ["spherical_delta"]


def spherical_delta(shift: Fraction, log_ratio: Fraction, dimension: int, epsilon: Fraction) -> flint.arb:
    """Sup over events of P(A) - e^epsilon Q(A), enclosed at the precision in force.

    ``log_ratio`` is log(s1/s2), ``shift`` is |m| in units of the smaller of s1 and s2. The enclosure is crude
    where the precision does not suffice; ``refined`` raises it.

    >>> from dpproof.accountant.numbers.enclosures import precision, round_up
    >>> with precision(128): round_up(spherical_delta(Fraction(1, 5), Fraction(3, 5000), 1000, Fraction(5)))
    2.922585e-120

    Args:
        shift: at least 0.
        log_ratio: any rational.
        dimension: at least 1.
        epsilon: at least 0.

    Source: this project's statement classic.smooth_gaussian_pair.
    """
    if log_ratio == 0:
        return gaussian_delta(shift, epsilon)
    found = _concentric if shift == 0 else _apart
    value = found(shift, log_ratio, dimension, epsilon)
    inside = flint.arb(0).union(flint.arb(1))
    return value if value.is_finite() and value.rad() < 1 else inside


def _concentric(_: Fraction, log_ratio: Fraction, dimension: int, epsilon: Fraction) -> flint.arb:
    """Equal means: P and Q masses of a ball around them, central chi-square probabilities."""
    rate, gap = arb_of(2 * abs(log_ratio)), dimension * abs(log_ratio)
    wide = log_ratio > 0
    level = arb_of(
        gap + epsilon if wide else gap - epsilon
    )  # |x|^2 (1 - 1/r^2)/2 at the boundary, wide in units
    if level <= 0:
        return flint.arb(0)
    narrow_half = level * rate.exp() / rate.expm1()  # squared radius over 2, in units of the smaller variance
    wide_half = level / rate.expm1()
    half, scale = flint.arb(dimension) / 2, arb_of(epsilon).exp()
    if wide:
        mass, radii = flint.arb.gamma_upper, (wide_half, narrow_half)
    else:
        mass, radii = flint.arb.gamma_lower, (narrow_half, wide_half)
    return mass(radii[0], half, regularized=1) - scale * mass(radii[1], half, regularized=1)


@dataclass(frozen=True)
class _Ball:
    """The sphere where the loss equals epsilon; its centre lies beyond the two means."""

    q: flint.arb
    """Its radius over its distance from the mean of the wider Gaussian."""
    u: flint.arb
    """The square of that distance, in units of the wider variance."""
    near: flint.arb
    """(1 - q) sqrt(u), without cancellation."""
    far: flint.arb
    """Radius less distance from the mean of the narrower Gaussian, in units of its deviation."""
    rate: flint.arb
    """log of the ratio of variances, above 0."""
    dimension: int

    @property
    def order(self) -> float:
        """d/2 - 1."""
        return self.dimension / 2 - 1

    @property
    def z(self) -> flint.arb:
        """The Bessel functions' argument: the same under both Gaussians."""
        return self.q * self.u


def _ball(shift: flint.arb, rate: flint.arb, dimension: int, twice_epsilon: flint.arb) -> _Ball | None:
    """The sphere; None where the loss nowhere exceeds epsilon."""
    slack = shift * shift - twice_epsilon - dimension * rate
    square = 1 + slack * (-rate).expm1() / shift**2
    if square <= 0:
        return None
    q, growth = square.sqrt(), (rate / 2).exp()
    lean = slack / (shift * (1 + q))
    u = shift**2 * rate.exp() / rate.expm1() ** 2
    return _Ball(q, u, lean / growth, shift - lean, rate, dimension)


def _apart(shift: Fraction, log_ratio: Fraction, dimension: int, epsilon: Fraction) -> flint.arb:
    wide = log_ratio > 0
    rate, twice = arb_of(2 * abs(log_ratio)), arb_of(2 * epsilon if wide else -2 * epsilon)
    found = _outside if wide else _inside
    scale = arb_of(epsilon).exp()

    def at(dimensions: int) -> flint.arb:
        ball = _ball(arb_of(shift), rate, dimensions, twice)
        return flint.arb(0) if ball is None else found(ball, scale)

    try:
        return at(dimension)
    except (
        TooManyTermsError
    ):  # an even dimension: projections lose distinguishability, odd ones are finite sums
        return at(dimension - 1).union(at(dimension + 1))


def _outside(ball: _Ball, scale: flint.arb) -> flint.arb:
    """P the wider one: the loss exceeds epsilon outside the ball."""
    weight = (-(ball.near * ball.near) / 2).exp()  # no power: of a ball around 0 Arb's is no number
    if ball.dimension % 2:
        root, r = ball.u.sqrt(), (ball.rate / 2).exp()
        wide = _tail(-ball.near) + _tail(root * (1 + ball.q))
        return (
            wide - scale * (_tail(ball.far) + _tail(root * (r * ball.q + 1 / r))) + weight * _head(ball, 0.5)
        )
    beyond = endless_sum(ball.z, 1 / ball.q, 0, Weights(ball.rate, ball.order + 1, 1))
    return weight * (beyond + _head(ball, 1))


def _inside(ball: _Ball, scale: flint.arb) -> flint.arb:
    """P the narrower one: the loss exceeds epsilon inside the ball."""
    weight, growth, first = (-(ball.far * ball.far) / 2).exp(), ball.rate.exp(), ball.order + 1
    step = ball.q * growth
    try:
        return weight * step**first * endless_sum(ball.z, step, first, Weights(ball.rate, 0, 1))
    except TooManyTermsError:
        if ball.dimension % 2 == 0:
            raise
    root, r = ball.u.sqrt(), (ball.rate / 2).exp()
    narrow = _tail(-ball.far) - _tail(root * (r * ball.q + 1 / r))
    wide = _tail(ball.near) - _tail(root * (1 + ball.q))
    return narrow - scale * wide + weight * growth**first * _head(ball, 0.5)


def _head(ball: _Ball, lowest: float) -> flint.arb:
    """The sum over orders n from ``lowest`` to d/2 - 1 of (1 - exp(-rate (d/2 - n))) q^n exp(-z) I_n(z)."""
    count = int(ball.order - lowest) + 1
    if ball.order < lowest:
        return flint.arb(0)
    weights = Weights(ball.rate, ball.order + 1 - lowest, -1)
    return ball.q ** flint.arb(lowest) * finite_sum(ball.z, ball.q, lowest, count, weights)


def _tail(x: flint.arb) -> flint.arb:
    """P[N(0, 1) > x]."""
    return (x / flint.arb(2).sqrt()).erfc() / 2
