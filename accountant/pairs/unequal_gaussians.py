"""Pairs of two Gaussians with different variances, in one dimension or many.

In one dimension the privacy loss is a quadratic function of the output, so each interval of losses comes from
two intervals of outputs. For spherical Gaussians in any dimension d, P = N(m, e^h I) and Q = N(0, I), with
|m| = a, x = e^h - 1 and g(z) = 1 - x z, the moment-generating function M of the loss is

    log M(z) = a^2 z (z + 1)/(2 g(z)) - (d/2) (h z + log g(z)),    Re g(z) > 0,

and the loss is affine in a non-central chi-square variable (docs/notes/smooth_sensitivity.md, section 7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import flint
from numpy.typing import NDArray

from dpproof.accountant.guarantees.gaussian import normal_tail
from dpproof.accountant.numbers.arithmetic import np
from dpproof.accountant.numbers.checks import at_least_zero, whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.normal import interval_masses
from dpproof.accountant.pairs.base import Cells, Characteristic, Floats, Tilted
from dpproof.accountant.pairs.lattice import charged
from dpproof.accountant.pairs.phases import EPS, layers
from dpproof.accountant.smooth_sensitivity.spherical import chi_square_tail, spherical_profile


@dataclass(frozen=True)
class SphericalGaussians:
    """The pair of two spherical Gaussians P and Q with different standard deviations.

    The standard deviation of P is exp(log_ratio) times the standard deviation of Q. The caller must prove
    that this pair is the worst one. For noise scaled by a smooth bound on the sensitivity, the worst pair
    depends on epsilon. So this pair does not dominate compositions. Use ``SmoothGaussian.renyi`` for them.

    >>> import numpy as np
    >>> SphericalGaussians(0, "0.5", 2).cells(np.array([0.0])).p
    array([0.441207, 0.558793])

    Args:
        shift: the distance of the means in units of the smaller standard deviation, at least 0.
        log_ratio: the logarithm of the ratio of the standard deviations, not 0.
        dimension: the dimension of the Gaussians, at least 1.

    Raises:
        ValueError: for a number outside its domain.
    """

    shift: Number
    log_ratio: Number
    dimension: int

    def __post_init__(self) -> None:
        at_least_zero(self.shift, "shift")
        if exact(self.log_ratio, "log_ratio") == 0:
            raise ValueError(f"log_ratio ({self.log_ratio!r}) must not be 0, so that the variances differ")
        whole(self.dimension, "dimension", 1)

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of losses between ``edges``. This is slow, and meant for coarse grids."""
        with precision(_BITS):
            p, q = ([self._above(edge, under_p=which) for edge in edges] for which in (True, False))
            (p_mass, p_error), (q_mass, q_error) = _masses(p), _masses(q)
        return Cells(p_mass, q_mass, p_error, q_error, 0.0)

    def _above(self, edge: float, *, under_p: bool) -> flint.arb:
        """Return the mass of the losses that are at least ``edge``."""
        rate, shift, least = self._rate(), self._shift_by_q(), self._vertex()
        x = rate.expm1()
        level = 2 * (arb_of(exact(float(edge))) - least) * rate.exp() / x  # squared radius, in Q's units
        if level <= 0:
            return flint.arb(1) if x > 0 else flint.arb(0)
        centre = (shift / x) ** 2  # of Q's mean, in Q's units; P's is e^h as far
        spread, noncentral = (rate.exp(), centre * rate.exp()) if under_p else (flint.arb(1), centre)
        tail = chi_square_tail(level / spread, noncentral, self.dimension)
        return tail if x > 0 else 1 - tail

    def _rate(self) -> flint.arb:
        """Return the logarithm of the ratio of variances, P's over Q's."""
        return arb_of(2 * exact(self.log_ratio))

    def _shift_by_q(self) -> flint.arb:
        """Return the distance between the means in Q's deviations."""
        shift, log_ratio = arb_of(exact(self.shift)), exact(self.log_ratio)
        return shift if log_ratio > 0 else shift * arb_of(log_ratio).exp()

    def _vertex(self) -> flint.arb:
        """Return the loss at the centre of its spheres. It is the smallest loss if P is wider, else the largest."""
        return -(self._shift_by_q() ** 2) / (2 * self._rate().expm1()) - self.dimension * self._rate() / 2

    def reversed(self) -> SphericalGaussians:
        """Return the pair (Q, P), for the other direction of the neighbouring relation."""
        return SphericalGaussians(self.shift, -exact(self.log_ratio), self.dimension)

    def loss_range(self) -> tuple[float, float]:
        """Return bounds on the finite privacy losses, which are bounded from one side only."""
        with precision(_BITS):
            vertex, wider = self._vertex(), exact(self.log_ratio) > 0
            return (round_down(vertex), math.inf) if wider else (-math.inf, round_up(vertex))

    def profile(self, epsilon: flint.arb) -> flint.arb:
        """Return an interval around the delta at ``epsilon`` >= 0 of a single use, at the current precision."""
        return spherical_profile(exact(self.shift), exact(self.log_ratio), self.dimension, epsilon)

    def characteristic(self) -> Characteristic:
        """Return the moment-generating function of the loss, in closed form."""
        return SphericalCharacteristic(self)


def _masses(above: list[flint.arb]) -> tuple[Floats, Floats]:
    """Return upper bounds on the masses between points, given the mass above each, and relative errors up to 1."""
    steps = [flint.arb(1), *above, flint.arb(0)]
    ends = [(round_down(high - low), round_up(high - low)) for high, low in pairwise(steps)]
    lows, highs = (np.maximum(np.array(side), 0.0) for side in zip(*ends, strict=True))
    errors = (highs - lows) / np.where(highs > 0, highs, 1.0)
    return highs, np.minimum(errors * (1 + 4 * EPS), 1.0)


@dataclass(frozen=True)
class SphericalCharacteristic:
    """An object that computes the moment-generating function of the privacy loss of two spherical Gaussians.

    The function has a closed form. On each vertical line c + i t its absolute value falls as t > 0 grows.

    Source: this project, docs/notes/smooth_sensitivity.md, section 7.
    """

    pair: SphericalGaussians

    def tilted(self, c: float) -> Tilted:
        """Return the distribution of the privacy loss tilted at ``c``; see ``Characteristic.tilted``.

        Raises:
            OverflowError: if the moment-generating function is infinite at ``c``.
        """
        with precision(_BITS):
            rate, square, z = self.pair._rate(), self.pair._shift_by_q() ** 2, arb_of(exact(c))
            x, d = rate.expm1(), self.pair.dimension
            g = self._g(c)
            log_mgf = square * z * (z + 1) / (2 * g) - (rate * z + g.log()) * d / 2
            mean = square / 2 * ((2 * z + 1) / g + x * z * (z + 1) / g**2) - (rate - x / g) * d / 2
            spread = 1 / g + x * (2 * z + 1) / g**2 + x**2 * z * (z + 1) / g**3
            variance = square * spread + (x / g) ** 2 * d / 2
            low, high = round_down(log_mgf), round_up(log_mgf)
        return Tilted(low, (high - low) * (1 + EPS), float(mean), float(variance), lambda: self._uniform(c))

    def _g(self, c: float) -> flint.arb:
        g = 1 - self.pair._rate().expm1() * arb_of(exact(c))
        if not g > 0:
            raise OverflowError(f"the moment-generating function is infinite at {c!r}")
        return g

    def minus_one(self, c: float, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
        """Return values and error bounds; see ``Characteristic.minus_one``. The errors cover all rounding."""
        with precision(_BITS):
            rate, square = self.pair._rate(), self.pair._shift_by_q() ** 2
            x, g, z = rate.expm1(), self._g(c), arb_of(exact(c))
            lean = float(x / g)
            fall = float(square * rate.exp() / (2 * g**3))
            drift = float(square / (2 * g) * (2 * z + 1 + (z * z + z) * x / g))
            bend = float(square * x / (2 * g**2))
            turn, half = float(rate), self.pair.dimension / 2
        t = step * np.arange(count)
        y = t * lean
        below = 1 + y * y
        real = -fall * (t * t) / below - half / 2 * np.log1p(y * y)
        parts = drift * t / below, bend * (t * t * t) / below, half * turn * t, half * np.arctan(y)
        imaginary = parts[0] - parts[1] - parts[2] + parts[3]
        wrong = EPS * (12 * np.abs(real) + 12 * sum(np.abs(part) for part in parts))
        return _exponential_minus_one(real, imaginary, wrong)

    def _uniform(self, c: float) -> tuple[Floats, Floats]:
        """Return uniform distributions inside the tilted one, conditional on one of its two independent summands.

        The tilted distribution is an affine function of a sum: (Z + sqrt(l))^2 plus an independent chi-square
        variable of d - 1 degrees. A bound that holds for every value of one summand holds for their sum. The
        summand of larger variance is used.
        """
        with precision(_BITS):
            rate, g = self.pair._rate(), self._g(c)
            scale = float(abs(rate.expm1()) / (2 * g))
            root = float(self.pair._shift_by_q() * (rate / 2).exp() / abs(rate.expm1()) / g.sqrt())
        degrees = self.pair.dimension - 1
        if 2 * degrees > 2 + 4 * root * root:
            density, points = _gamma_cells(degrees)
        else:
            density, points = _square_cells(root)
        weights, widths = layers(density, points)
        return weights * (1 - 1e-6), widths * scale * (1 - 1e-6)


def _square_cells(root: float) -> tuple[Floats, Floats]:
    """Return lower bounds on the density of (Z + root)^2 on cells, using only the event Z + root > 0."""
    z = np.linspace(max(-9.0, -root), 9.0, 401)
    logs = -z * z / 2
    density = np.exp(np.minimum(logs[:-1], logs[1:])) / (2 * (z[1:] + root)) / math.sqrt(2 * math.pi)
    return density * (1 - 1e-6), z * (2 * root + z)  # less root^2: only lengths count


def _gamma_cells(degrees: int) -> tuple[Floats, Floats]:
    """Return lower bounds on the density of a chi-square distribution on cells. The density has one peak."""
    with precision(_BITS):
        norm = float((flint.arb(degrees) / 2).lgamma() + flint.arb(degrees) / 2 * flint.arb(2).log())
    width = math.sqrt(2 * degrees)
    points = np.linspace(max(degrees - 8 * width, 1e-3), degrees + 10 * width, 401)
    power = degrees / 2 - 1
    logs = power * np.log(points) - points / 2
    slack = 1e-15 * (abs(power) * np.abs(np.log(points)) + points + abs(norm) + 1) * 8
    logs = logs - norm - slack
    return np.exp(np.minimum(logs[:-1], logs[1:])) * (1 - 1e-6), points


def _exponential_minus_one(
    real: Floats, imaginary: Floats, wrong: Floats
) -> tuple[NDArray[np.complex128], Floats]:
    """Return exp(real + i imaginary) - 1 and its error, for real <= 0 and exponents off by at most ``wrong``."""
    size, loss, half = np.exp(real), np.expm1(real), np.sin(imaginary / 2)
    found = np.empty(real.shape, dtype=np.complex128)
    found.real = loss * np.cos(imaginary) - 2 * half * half
    found.imag = size * np.sin(imaginary)
    rounding = 16 * EPS * (np.abs(loss) + 2 * half * half + np.abs(found.imag))
    moved = size * np.where(wrong < 0.5, 1.3 * wrong, 3.0)
    return found, 1.01 * (rounding + moved) + 1e-300


_ULP = 2.0**-52
_BITS = 256
_FAR = 100.0
"""Deviations beyond which no relevant mass is left: it is far below the smallest mass that is distinguished."""


@dataclass(frozen=True)
class UnequalGaussians:
    """The pair of two Gaussians in one dimension, P = N(mean, sigma_p^2) and Q = N(0, sigma_q^2).

    The privacy loss of the output x is L(x) = a x^2 + b x + c with a = (1/sigma_q^2 - 1/sigma_p^2)/2, b =
    mean/sigma_p^2 and c = log(sigma_q/sigma_p) - mean^2/(2 sigma_p^2). The caller must prove that this pair
    dominates the outputs of any two neighbours, also if their means or their variances differ by less.

    Source: the densities; thresholds and errors in docs/notes/pairs.md, section 1.

    >>> import numpy as np
    >>> UnequalGaussians(0, 2, 1).cells(np.array([0.0])).p
    array([0.503355, 0.496645])

    Raises:
        ValueError: if a standard deviation is not above 0, or the two Gaussians are the same.
    """

    mean: Number
    sigma_p: Number
    sigma_q: Number

    def __post_init__(self) -> None:
        mean = exact(self.mean, "mean")
        for name in ("sigma_p", "sigma_q"):
            if exact(getattr(self, name), name) <= 0:
                raise ValueError(f"{name} ({getattr(self, name)!r}) must be above 0")
        if mean == 0 and exact(self.sigma_p) == exact(self.sigma_q):
            raise ValueError(f"mean ({self.mean!r}) must not be 0 if sigma_p equals sigma_q")

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        mean, sigma_p, sigma_q = abs(exact(self.mean)), exact(self.sigma_p), exact(self.sigma_q)
        a, b, c = self._rounded()
        reach = 2 * _FAR * float(max(sigma_p, sigma_q) + mean)
        near, far, slack = _roots(a, b, c, reach, np.concatenate(([-np.inf], edges, [np.inf])))
        near, far = near / float(sigma_q), far / float(sigma_q)
        p, p_error = _two(near, far, float(mean / sigma_p), float(sigma_q / sigma_p))
        q, q_error = _two(near, far, 0.0, 1.0)
        return Cells(p, q, p_error, q_error, slack)

    def reversed(self) -> UnequalGaussians:
        """Return the pair (Q, P), whose standard deviations are exchanged."""
        if exact(self.sigma_p) == exact(self.sigma_q):
            return self
        return UnequalGaussians(self.mean, self.sigma_q, self.sigma_p)

    def loss_range(self) -> tuple[float, float]:
        """Return bounds on the losses. With unequal standard deviations, one of the bounds is finite."""
        if exact(self.sigma_p) == exact(self.sigma_q):
            return -math.inf, math.inf
        wider = exact(self.sigma_p) > exact(self.sigma_q)
        with precision(_BITS):
            a, b, c = self._coefficients()
            vertex = c - b * b / (4 * a)
            return (round_down(vertex), math.inf) if wider else (-math.inf, round_up(vertex))

    def characteristic(self) -> None:
        """Return None: no characteristic function is known, so composition uses a grid of privacy losses."""
        return

    def profile(self, epsilon: flint.arb) -> flint.arb:
        """Return an interval around the delta at ``epsilon`` >= 0 of a single use, at the current precision.

        The privacy loss is quadratic. So it exceeds epsilon either outside two roots or between them.
        """
        p, q = arb_of(exact(self.sigma_p)), arb_of(exact(self.sigma_q))
        mean = arb_of(abs(exact(self.mean)))
        a, b, c = self._coefficients()
        apart = b * b - 4 * a * (c - epsilon)
        if a == 0:
            x = (epsilon - c) / b
            return (normal_tail((x - mean) / p) - epsilon.exp() * normal_tail(x / q)).max(flint.arb(0))
        if not apart > 0:
            nowhere = flint.arb(0) if a < 0 else flint.arb(1) - epsilon.exp()
            return nowhere.max(flint.arb(0)) if apart < 0 else flint.arb(0).union(flint.arb(1))
        sign = 1 if a > 0 else -1
        low, high = ((-b + side * sign * apart.sqrt()) / (2 * a) for side in (-1, 1))
        outside = _outside((low - mean) / p, (high - mean) / p), _outside(low / q, high / q)
        inside = _inside((low - mean) / p, (high - mean) / p), _inside(low / q, high / q)
        first, second = outside if a > 0 else inside
        return (first - epsilon.exp() * second).max(flint.arb(0))

    def _coefficients(self) -> tuple[flint.arb, flint.arb, flint.arb]:
        mean, p, q = abs(exact(self.mean)), exact(self.sigma_p), exact(self.sigma_q)
        return (
            arb_of((1 / q**2 - 1 / p**2) / 2),
            arb_of(mean / p**2),
            arb_of(q / p).log() - arb_of(mean**2 / (2 * p**2)),
        )

    def _rounded(self) -> tuple[float, float, float]:
        """Return the rounded coefficients. They use the size of the mean: its sign only reflects the loss."""
        with precision(_BITS):
            a, b, c = (round_down(x) for x in self._coefficients())
        return a, b, c


def _outside(low: flint.arb, high: flint.arb) -> flint.arb:
    """Return the mass of N(0, 1) below ``low`` and above ``high``."""
    return normal_tail(-low) + normal_tail(high)


def _inside(low: flint.arb, high: flint.arb) -> flint.arb:
    """Return the mass between ``low`` and ``high``, as a difference on the side where both tails are small."""
    return normal_tail(low) - normal_tail(high) if low + high > 0 else normal_tail(-high) - normal_tail(-low)


def _roots(a: float, b: float, c: float, reach: float, edges: Floats) -> tuple[Floats, Floats, float]:
    """Return the two points of loss e for each edge, and how far the loss there may be from e.

    The first point grows with the edge, and the second falls. Without such an outcome both are the vertex.
    """
    vertex = -b * b / (4 * a) if a else math.inf
    height = np.maximum(edges - c, vertex) if a > 0 else np.minimum(edges - c, vertex)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        total = b + np.sqrt(np.maximum(b * b + 4 * a * height, 0))
        near = np.where(total > 0, 2 * height / total, 0.0)
        far = -total / (2 * a) if a else np.full_like(height, -np.inf)
    for end in (np.isposinf(height), np.isneginf(height)):
        near[end] = height[end]
        far[end] = -height[end] if a else -np.inf
    if a:  # both exactly there, and on their own sides of it: no mass is lost or counted twice
        middle = -b / (2 * a)
        near[height == vertex] = far[height == vertex] = middle
        right, left = (np.maximum, np.minimum) if a > 0 else (np.minimum, np.maximum)
        near, far = right(near, middle), left(far, middle)
    near, far = np.maximum.accumulate(near), np.minimum.accumulate(far)
    return near, far, _slack(a, b, c, height, near, far, reach)


def _slack(a: float, b: float, c: float, height: Floats, near: Floats, far: Floats, reach: float) -> float:
    """Bound the error of the loss at the roots, recomputed from them, including the error of this computation.

    Roots beyond ``reach`` have no mass beyond them, wherever they are.
    """
    worst = 0.0
    for root in (near, far):
        known = np.isfinite(height) & (np.abs(root) <= reach)
        x, e = root[known], height[known]
        miss = np.abs(x * (a * x + b) - e)
        size = np.abs(a) * x * x + np.abs(b * x) + abs(c) + np.abs(e)
        moved = np.abs((2 * a * x + b) * x)
        worst = max(worst, float(np.max(miss + _ULP * (8 * size + 4 * moved), initial=0.0)))
    return worst


def _two(near: Floats, far: Floats, mean: float, ratio: float) -> tuple[Floats, Floats]:
    """Return the mass of both intervals of each cell, and its relative error; an end y means the point y sigma_q.

    The mass is that of N(0, 1) between the points ratio y - mean.
    """
    first, one = _one(near, mean, ratio)
    second, other = _one(far[::-1], mean, ratio)
    left, right = first[1:-1], second[-2:0:-1]
    total = left + right
    error = (left * one[1:-1] + right * other[-2:0:-1]) / total + 4 * _ULP
    return total, np.minimum(error, 1.0)


def _one(ends: Floats, mean: float, ratio: float) -> tuple[Floats, Floats]:
    """Return masses as in ``interval_masses``. The rounding of each end adds to the error of both adjacent cells."""
    y = np.clip(ends * ratio - mean, -_FAR, _FAR)
    masses, errors = interval_masses(y)
    if ratio == 1 and mean == 0:
        return masses, errors
    moved = 3 * _ULP * (np.abs(y) + 2 * mean) * np.exp(-y * y / 2)  # 3/sqrt(2 pi) leaves a fifth for rounding
    return charged(masses, errors, np.concatenate((moved, [0.0])) + np.concatenate(([0.0], moved)))
