"""Two spherical Gaussians of different variance, in any dimension: one pair, its loss in closed form.

With P = N(m, e^h I), Q = N(0, I), |m| = a, x = e^h - 1 and g(z) = 1 - x z the loss has

    log M(z) = a^2 z (z + 1)/(2 g(z)) - (d/2) (h z + log g(z)),    Re g(z) > 0,

and is an affine function of a non-central chi-square law, under P, under Q and under every tilt
(docs/notes/smooth_sensitivity.md, section 7).
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
from dpproof.accountant.smooth_sensitivity.spherical import chi_square_tail

_BITS = 256


@dataclass(frozen=True)
class SphericalGaussians:
    """The pair P, Q of spherical Gaussians whose deviations have the ratio exp(log_ratio), P's over Q's.

    It is what it says, one pair: which pair of a mechanism is the worst is for the caller to prove. For noise
    scaled by a smooth bound the worst pair depends on epsilon, so that this pair alone does not dominate its
    compositions; ``SmoothGaussian.renyi`` does.

    >>> import numpy as np
    >>> SphericalGaussians(0, "0.5", 2).cells(np.array([0.0])).p
    array([0.441207, 0.558793])

    Args:
        shift: distance of the means in units of the smaller deviation, at least 0.
        log_ratio: not 0.
        dimension: at least 1.

    Raises:
        ValueError: for a number outside its domain.
    """

    shift: Number
    log_ratio: Number
    dimension: int

    def __post_init__(self) -> None:
        at_least_zero(self.shift, "shift")
        if exact(self.log_ratio, "log_ratio") == 0:
            raise ValueError(f"log_ratio ({self.log_ratio!r}) must not be 0: the variances differ")
        whole(self.dimension, "dimension", 1)

    def cells(self, edges: Floats) -> Cells:
        """See ``DominatingPair.cells``. In Arb, edge by edge: for single pairs and coarse grids."""
        with precision(_BITS):
            p, q = ([self._above(edge, under_p=which) for edge in edges] for which in (True, False))
            (p_mass, p_error), (q_mass, q_error) = _masses(p), _masses(q)
        return Cells(p_mass, q_mass, p_error, q_error, 0.0)

    def _above(self, edge: float, *, under_p: bool) -> flint.arb:
        """The mass of the losses of at least ``edge``."""
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
        """The log of the ratio of variances, P's over Q's."""
        return arb_of(2 * exact(self.log_ratio))

    def _shift_by_q(self) -> flint.arb:
        """The distance of the means in Q's deviations."""
        shift, log_ratio = arb_of(exact(self.shift)), exact(self.log_ratio)
        return shift if log_ratio > 0 else shift * arb_of(log_ratio).exp()

    def _vertex(self) -> flint.arb:
        """The loss at the centre of its spheres: the least one if P is wider, else the largest."""
        return -(self._shift_by_q() ** 2) / (2 * self._rate().expm1()) - self.dimension * self._rate() / 2

    def reversed(self) -> SphericalGaussians:
        """See ``DominatingPair.reversed``."""
        return SphericalGaussians(self.shift, -exact(self.log_ratio), self.dimension)

    def loss_range(self) -> tuple[float, float]:
        """See ``DominatingPair.loss_range``: losses are bounded on one side."""
        with precision(_BITS):
            vertex, wider = self._vertex(), exact(self.log_ratio) > 0
            return (round_down(vertex), math.inf) if wider else (-math.inf, round_up(vertex))

    def characteristic(self) -> Characteristic:
        """The moment-generating function, in closed form."""
        return SphericalCharacteristic(self)


def _masses(above: list[flint.arb]) -> tuple[Floats, Floats]:
    """The masses between the points with that mass above them, and relative errors."""
    steps = [flint.arb(1), *above, flint.arb(0)]
    found = [high - low for high, low in pairwise(steps)]
    ends = [(max(round_down(mass), 0.0), max(round_up(mass), 0.0)) for mass in found]
    errors = [(high - low) / low * (1 + 4 * EPS) if low > 0 else 1.0 for low, high in ends]
    masses = [low if low > 0 else high for low, high in ends]
    return np.array(masses), np.minimum(np.array(errors), 1.0)


@dataclass(frozen=True)
class SphericalCharacteristic:
    """M in closed form; on a vertical line |M(c + i t)| falls in t.

    Source: this project, docs/notes/smooth_sensitivity.md, section 7.
    """

    pair: SphericalGaussians

    def tilted(self, c: float) -> Tilted:
        """See ``Characteristic.tilted``.

        Raises:
            OverflowError: where M(c) is infinite.
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
        """See ``Characteristic.minus_one``; every coefficient is rounded once, every operation charged."""
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
        """Uniform laws inside the tilted law, given one of its two independent summands.

        The tilted law is an affine function of a non-central chi-square law: of (Z + sqrt(l))^2 and an
        independent chi-square variable of d - 1 degrees. What holds for every value of one summand
        holds for their sum; the summand of larger variance is used.
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
    """Lower bounds on the density of (Z + root)^2 on cells, from Z + root > 0 alone."""
    z = np.linspace(max(-9.0, -root), 9.0, 401)
    logs = -z * z / 2
    density = np.exp(np.minimum(logs[:-1], logs[1:])) / (2 * (z[1:] + root)) / math.sqrt(2 * math.pi)
    return density * (1 - 1e-6), z * (2 * root + z)  # less root^2: only lengths count


def _gamma_cells(degrees: int) -> tuple[Floats, Floats]:
    """Lower bounds on the density of a chi-square law on cells; it has one peak."""
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
    """exp(real + i imaginary) - 1 and its error, for exponents off by at most ``wrong``; real <= 0."""
    size, loss, half = np.exp(real), np.expm1(real), np.sin(imaginary / 2)
    found = np.empty(real.shape, dtype=np.complex128)
    found.real = loss * np.cos(imaginary) - 2 * half * half
    found.imag = size * np.sin(imaginary)
    rounding = 16 * EPS * (np.abs(loss) + 2 * half * half + np.abs(found.imag))
    moved = size * np.where(wrong < 0.5, 1.3 * wrong, 3.0)
    return found, 1.01 * (rounding + moved) + 1e-300
