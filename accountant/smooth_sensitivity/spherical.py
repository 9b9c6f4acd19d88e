"""The exact hockey-stick divergence of two spherical Gaussians with different variances, in any dimension.

P = N(0, s1^2 I) and Q = N(m, s2^2 I) in dimension d. The set where the privacy loss exceeds epsilon is a ball
or the outside of one. Its probability is that of a non-central chi-square distribution, whose upper tail is
``chi_square_tail``. Both probabilities are sums of Bessel functions with the same argument. Their difference
is a sum of positive terms, so the relative accuracy holds at any delta (docs/notes/smooth_sensitivity.md).

The ratios rho_n = I_{n+1}(z)/I_n(z) of modified Bessel functions I_n satisfy rho_{n-1} = 1/(2n/z + rho_n)
(DLMF 10.29.1). Computed from the largest order downwards, they are stable. Horner's rule gives every sum of
such functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.guarantees.gaussian import gaussian_delta, normal_tail
from dpproof.accountant.numbers.arithmetic import math
from dpproof.accountant.numbers.enclosures import arb_of
from dpproof.accountant.numbers.inversion import first_whole

_MOST_TERMS = 60_000
_CUT = (
    76.0  # sums are cut where the terms are exp(-76) < 2^-109 of the largest; the rest is bounded and added
)


class TooManyTermsError(ArithmeticError):
    """Raised if a sum of Bessel functions needs more than 60,000 terms."""


@dataclass(frozen=True)
class Weights:
    """The weights w_j of the terms j = 0, 1, ... of a sum of Bessel functions.

    w_j = 1 - exp(-rate (start + step j)), where the step is 1 or -1. Without a rate all weights are 1.
    """

    rate: flint.arb | None = None
    start: float = 0.0
    step: int = 1

    def decay(self, index: int) -> flint.arb:
        """Return 1 - w_j for j = ``index``, where w_j is the weight of term j."""
        if self.rate is None:
            return flint.arb(0)
        return (-self.rate * (self.start + self.step * index)).exp()

    def growth(self) -> flint.arb:
        """Return the factor (1 - w_{j-1})/(1 - w_j), which does not depend on j."""
        return flint.arb(1) if self.rate is None else (self.rate * self.step).exp()


def bessel(z: flint.arb, order: float) -> flint.arb:
    """Return exp(-z) I_order(z), where I is the modified Bessel function."""
    return z.bessel_i(flint.arb(order), scaled=True)


def finite_sum(z: flint.arb, factor: flint.arb, order: float, count: int, weights: Weights,
               rest: flint.arb | None = None) -> flint.arb:  # fmt: skip
    """Return the sum over j < count of w_j factor^j exp(-z) I_{order+j}(z), plus ``rest`` for all further terms.

    I is the modified Bessel function, and w_j are the ``weights``.

    Args:
        z: positive.
        factor: positive.
        order: the order of the first term, at least -1/2.
        count: the number of terms.
        weights: the weights w_j.
        rest: the weight of the next term, instead of w_count. This term stands for all further terms. By
            default it is 0.
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
    """Return the sum over all j >= 0 of w_j factor^j exp(-z) I_{order+j}(z).

    I is the modified Bessel function, and w_j are the ``weights``, which must be in [0, 1]. The function adds
    some terms, and bounds all further terms by a geometric series. The bound holds because I_{n+1}/I_n <=
    z/(n + 1/2 + sqrt(z^2 + (n + 1/2)^2)), and the right side falls in n (Amos, Math. Comp. 28, 1974,
    inequality 11).

    Raises:
        TooManyTermsError: if more than 60,000 terms are needed.
    """
    count = _cut(_clipped(z), _clipped(factor), order)
    half = order + count + flint.arb(1) / 2
    share = factor * z / (half + (z * z + half * half).sqrt())
    rest = flint.arb(0).union(1 / (1 - share)) if share < 1 else flint.arb("nan")
    return finite_sum(z, factor, order, count, weights, rest)


def _clipped(value: flint.arb) -> float:
    return min(max(float(value), 1e-200), 1e200)


def _cut(z: float, factor: float, order: float) -> int:
    """Estimate the number of terms to sum. The remainder is bounded for every number.

    Two terms have about the ratio factor exp(-asinh(n/z)), where n is the mean of their orders. The logarithm of a
    term is approximated by the integral of that of the ratio. Its maximum is at the order z sinh(log factor).
    """
    gain = math.log(factor)

    def log_term(count: float) -> float:
        return count * gain - z * (_asinh_integral((order + count) / z) - _asinh_integral(order / z))

    peak = max(z * (factor - 1 / factor) / 2 - order, 0.0)
    if peak >= _MOST_TERMS or log_term(_MOST_TERMS) > log_term(peak) - _CUT:
        raise TooManyTermsError(
            f"The sum of Bessel functions at z = {z:g} with factor {factor:g} needs more than {_MOST_TERMS} terms."
        )
    return first_whole(lambda count: log_term(count) <= log_term(peak) - _CUT, math.floor(peak), _MOST_TERMS)


def _asinh_integral(x: float) -> float:
    """Return x asinh(x) - sqrt(1 + x^2), a primitive of asinh, for x >= 0."""
    root = math.hypot(1.0, x)
    return x * math.log1p(x + x * (x / (1 + root))) - root


def chi_square_tail(point: flint.arb, noncentral: flint.arb, degrees: int) -> flint.arb:
    """Return P[X > point] for X with a non-central chi-square distribution, at the current working precision.

    It is a sum of positive terms.

    >>> from dpproof.accountant.numbers.enclosures import precision, round_up
    >>> with precision(128): round_up(chi_square_tail(flint.arb(3), flint.arb(1), 2))
    0.379357

    Args:
        point: a positive number.
        noncentral: the noncentrality parameter, at least 0.
        degrees: the number of degrees of freedom, at least 1.

    For even degrees with a noncentrality of tens of millions, the sum has too many terms. Then the interval
    encloses the tails with one degree less and one degree more, because an added square only increases X.

    Source: this project, docs/notes/smooth_sensitivity.md, section 3.
    """
    if noncentral == 0:
        return (point / 2).gamma_upper(flint.arb(degrees) / 2, regularized=1)
    inner, outer = noncentral.sqrt(), point.sqrt()
    q, z, order = outer / inner, inner * outer, degrees / 2 - 1
    gap = outer - inner  # times itself: Arb's power of a ball around 0 is no number
    weight, lowest = (-(gap * gap) / 2).exp(), 0.5 if degrees % 2 else 1.0
    found = flint.arb(0)
    if order >= lowest:
        found = q ** flint.arb(lowest) * finite_sum(z, q, lowest, int(order - lowest) + 1, Weights())
    if degrees % 2:
        root = flint.arb(2).sqrt()
        return weight * found + ((gap / root).erfc() + ((outer + inner) / root).erfc()) / 2
    try:
        return weight * (found + endless_sum(z, 1 / q, 0, Weights()))
    except TooManyTermsError:
        fewer, more = (chi_square_tail(point, noncentral, degrees + change) for change in (-1, 1))
        return fewer.union(more)


def spherical_delta(shift: Fraction, log_ratio: Fraction, dimension: int, epsilon: Fraction) -> flint.arb:
    """Return an enclosure of the hockey-stick divergence of two spherical Gaussians P and Q.

    It is the largest P(A) - e^epsilon Q(A) over all events A. P = N(0, s1^2 I), Q = N(m, s2^2 I),
    ``log_ratio`` is log(s1/s2), and ``shift`` is |m| in units of the smaller of s1 and s2. If the working
    precision is too low, the enclosure is crude. ``refined`` raises the precision.

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
    return spherical_profile(shift, log_ratio, dimension, arb_of(epsilon))


def spherical_profile(shift: Fraction, log_ratio: Fraction, dimension: int, epsilon: flint.arb) -> flint.arb:
    """Return the divergence as ``spherical_delta`` does, at an epsilon that is given as an interval.

    ``log_ratio`` must not be 0.
    """
    found = _concentric if shift == 0 else _apart
    value = found(shift, log_ratio, dimension, epsilon)
    inside = flint.arb(0).union(flint.arb(1))
    return value if value.is_finite() and value.rad() < 1 else inside


def _concentric(_: Fraction, log_ratio: Fraction, dimension: int, epsilon: flint.arb) -> flint.arb:
    """Return the value for equal means, from the central chi-square masses of a ball around them under P and Q."""
    rate, gap = arb_of(2 * abs(log_ratio)), arb_of(dimension * abs(log_ratio))
    wide = log_ratio > 0
    level = gap + epsilon if wide else gap - epsilon  # |x|^2 (1 - 1/r^2)/2 at the boundary, wide in units
    if level <= 0:
        return flint.arb(0)
    narrow_half = level * rate.exp() / rate.expm1()  # squared radius over 2, in units of the smaller variance
    wide_half = level / rate.expm1()
    half, scale = flint.arb(dimension) / 2, epsilon.exp()
    if wide:
        mass, radii = flint.arb.gamma_upper, (wide_half, narrow_half)
    else:
        mass, radii = flint.arb.gamma_lower, (narrow_half, wide_half)
    return mass(radii[0], half, regularized=1) - scale * mass(radii[1], half, regularized=1)


@dataclass(frozen=True)
class _Ball:
    """The sphere where the loss equals epsilon; its centre lies beyond the two means."""

    q: flint.arb
    """Its radius divided by the distance of its centre from the mean of the wider Gaussian."""
    u: flint.arb
    """The square of that distance, in units of the wider variance."""
    near: flint.arb
    """(1 - q) sqrt(u), without cancellation."""
    far: flint.arb
    """Its radius less the distance of its centre from the narrower mean, in units of the narrower deviation."""
    rate: flint.arb
    """The log of the ratio of variances, above 0."""
    dimension: int

    @property
    def order(self) -> float:
        """The order d/2 - 1 of the Bessel functions, where d is ``dimension``."""
        return self.dimension / 2 - 1

    @property
    def z(self) -> flint.arb:
        """The argument of the Bessel functions, which is the same under both Gaussians."""
        return self.q * self.u


def _ball(shift: flint.arb, rate: flint.arb, dimension: int, twice_epsilon: flint.arb) -> _Ball | None:
    """Return the sphere where the loss equals epsilon; None if the loss never exceeds epsilon."""
    slack = shift * shift - twice_epsilon - dimension * rate
    square = 1 + slack * (-rate).expm1() / shift**2
    if square <= 0:
        return None
    q, growth = square.sqrt(), (rate / 2).exp()
    lean = slack / (shift * (1 + q))
    u = shift**2 * rate.exp() / rate.expm1() ** 2
    return _Ball(q, u, lean / growth, shift - lean, rate, dimension)


def _apart(shift: Fraction, log_ratio: Fraction, dimension: int, epsilon: flint.arb) -> flint.arb:
    wide = log_ratio > 0
    rate, twice = arb_of(2 * abs(log_ratio)), 2 * epsilon if wide else -2 * epsilon
    found = _outside if wide else _inside
    scale = epsilon.exp()

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
    """Return the value if P is the wider one: the loss exceeds epsilon outside the ball."""
    weight = (-(ball.near * ball.near) / 2).exp()  # no power: of a ball around 0 Arb's is no number
    if ball.dimension % 2:
        root, r = ball.u.sqrt(), (ball.rate / 2).exp()
        wide = normal_tail(-ball.near) + normal_tail(root * (1 + ball.q))
        far = normal_tail(ball.far) + normal_tail(root * (r * ball.q + 1 / r))
        return wide - scale * far + weight * _head(ball, 0.5)
    beyond = endless_sum(ball.z, 1 / ball.q, 0, Weights(ball.rate, ball.order + 1, 1))
    return weight * (beyond + _head(ball, 1))


def _inside(ball: _Ball, scale: flint.arb) -> flint.arb:
    """Return the value if P is the narrower one: the loss exceeds epsilon inside the ball."""
    weight, growth, first = (-(ball.far * ball.far) / 2).exp(), ball.rate.exp(), ball.order + 1
    step = ball.q * growth
    try:
        return weight * step**first * endless_sum(ball.z, step, first, Weights(ball.rate, 0, 1))
    except TooManyTermsError:
        if ball.dimension % 2 == 0:
            raise
    root, r = ball.u.sqrt(), (ball.rate / 2).exp()
    narrow = normal_tail(-ball.far) - normal_tail(root * (r * ball.q + 1 / r))
    wide = normal_tail(ball.near) - normal_tail(root * (1 + ball.q))
    return narrow - scale * wide + weight * growth**first * _head(ball, 0.5)


def _head(ball: _Ball, lowest: float) -> flint.arb:
    """Return the sum over orders n from ``lowest`` to d/2 - 1 of (1 - exp(-rate (d/2 - n))) q^n exp(-z) I_n(z)."""
    count = int(ball.order - lowest) + 1
    if ball.order < lowest:
        return flint.arb(0)
    weights = Weights(ball.rate, ball.order + 1 - lowest, -1)
    return ball.q ** flint.arb(lowest) * finite_sum(ball.z, ball.q, lowest, count, weights)
