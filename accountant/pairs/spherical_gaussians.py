"""Pairs of two spherical Gaussians with different variances, in any dimension.

For P = N(m, e^h I) and Q = N(0, I) in dimension d, with |m| = a, x = e^h - 1 and g(z) = 1 - x z, the
moment-generating function M of the privacy loss is

    log M(z) = a^2 z (z + 1)/(2 g(z)) - (d/2) (h z + log g(z)),    Re g(z) > 0,

and the loss is affine in a non-central chi-square variable (docs/notes/smooth_sensitivity.md, section 7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import flint
from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import np
from dpproof.accountant.numbers.checks import at_least_zero, whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.pairs.base import Cells, Characteristic, Floats, Tilted
from dpproof.accountant.pairs.phases import EPS, layers
from dpproof.accountant.smooth_sensitivity.spherical import chi_square_tail, spherical_profile

_BITS = 256


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
