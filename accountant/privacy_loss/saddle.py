"""The line through the saddle point: where the inversion integral of a privacy profile is taken.

For a composition with moment-generating function M and any c > 0,

    delta(epsilon) = (1/2 pi i) int_{c - i inf}^{c + i inf} exp(-z epsilon) M(z) / (z (z + 1)) dz.

Every c gives the same value; near the saddle point of the integrand nothing cancels and the integrand is
short. The search below is a guide: no error bound rests on where it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpproof.accountant.numbers.arithmetic import math
from dpproof.accountant.pairs.base import Characteristic, Tilted

__all__ = ["Inapplicable", "Line", "Parts", "line_at", "saddle_for_delta", "saddle_for_epsilon"]

Parts = Sequence[tuple[Characteristic, int]]
"""Characteristics of the composed pairs, with the number of times each occurs."""


class Inapplicable(ArithmeticError):  # noqa: N818 (a route that does not apply is no fault of the caller)
    """The inversion would need more nodes than it may use, or its integrand is not proved to decay."""


@dataclass(frozen=True)
class Line:
    """A composition's moment-generating function and tilted law at one real c."""

    c: float
    log_mgf: float
    log_mgf_error: float
    mean: float
    variance: float
    tilts: tuple[tuple[Tilted, int], ...]

    def saddle_epsilon(self) -> float:
        """The epsilon whose integrand has its saddle point here."""
        return self.mean - 1 / self.c - 1 / (1 + self.c)

    def log_delta(self, epsilon: float) -> float:
        """The saddle-point estimate of log delta at the epsilon that belongs to c."""
        curvature = self.variance + self.c**-2 + (1 + self.c) ** -2
        poles = math.log(self.c) + math.log1p(self.c)
        return self.log_mgf - self.c * epsilon - poles - math.log(2 * math.pi * curvature) / 2

    def repeated(self, times: int) -> Line:
        """The line of the composition taken that often."""
        return Line(
            self.c, self.log_mgf * times, math.inf, self.mean * times, self.variance * times, self.tilts
        )

    def model(self, c: float) -> Line:
        """The line at another c, if the loss were Gaussian from here on."""
        moved = c - self.c
        log_mgf = self.log_mgf + self.mean * moved + self.variance * moved * moved / 2
        return Line(c, log_mgf, math.inf, self.mean + self.variance * moved, self.variance, ())


def line_at(parts: Parts, c: float) -> Line:
    """The composition at ``c``; the errors of the factors add.

    Raises:
        Inapplicable: where a moment-generating function is not known at ``c``.
    """
    try:
        tilts = tuple((part.tilted(c), count) for part, count in parts)
    except OverflowError as refused:
        raise Inapplicable(str(refused)) from refused
    log_mgf = math.fsum(tilt.log_mgf * count for tilt, count in tilts)
    size = math.fsum(abs(tilt.log_mgf) * count for tilt, count in tilts)
    error = math.fsum(tilt.log_mgf_error * count for tilt, count in tilts)
    mean = math.fsum(tilt.mean * count for tilt, count in tilts)
    variance = math.fsum(tilt.variance * count for tilt, count in tilts)
    return Line(c, log_mgf, 1.01 * (error + 2.0**-52 * size), mean, variance, tilts)


def saddle_for_delta(parts: Parts, log_delta: float) -> Line:
    """The line near the saddle point of the epsilon that has ``log_delta`` (below 0)."""

    def gap(line: Line) -> float:
        """How many times too small the logarithm is, itself on a scale of logarithms."""
        found = min(line.log_delta(line.saddle_epsilon()), 0.0)
        return math.log((1 - log_delta) / (1 - found))

    return _saddle(parts, gap)


def saddle_for_epsilon(parts: Parts, epsilon: float) -> Line:
    """The line near the saddle point of ``epsilon``."""
    return _saddle(parts, lambda line: math.asinh((epsilon - line.saddle_epsilon()) * line.c / 8))


_START, _SMALLEST, _LARGEST = 1.0, 1e-9, 1e12
_MANY = 32
"""Of more parts than this an eighth shows where the search should begin."""
_CLOSE = 0.08
"""How near the search comes, about as a part of log delta."""


def _saddle(parts: Parts, gap: Callable[[Line], float]) -> Line:
    """Where ``gap``, decreasing in c, is about 0: the Gaussian model, in a bracket the Illinois method."""
    c = _saddle(parts[::8], lambda line: gap(line.repeated(8))).c if len(parts) > _MANY else _START
    low, high = (_SMALLEST, 0.0), (_LARGEST, 0.0)
    for _ in range(80):
        try:
            line = line_at(parts, c)
            value = gap(line)
        except (Inapplicable, OverflowError):
            high, c = (c, 0.0), max(c / 4, math.sqrt(low[0] * c))
            continue
        if abs(value) < _CLOSE or high[0] / low[0] < 1 + 1e-6:
            return line
        if value > 0:
            low, high = (c, value), (high[0], high[1] / 2)
        else:
            low, high = (low[0], low[1] / 2), (c, value)
        c = _between(low, high) or _solve(_modelled(gap, line), max(low[0], c / 16), min(high[0], 2 * c))
    raise Inapplicable("no saddle point was found")


def _between(low: tuple[float, float], high: tuple[float, float]) -> float | None:
    """Where the chord in log c crosses 0; None before both ends have a value."""
    if low[1] == 0 or high[1] == 0:
        return None
    share = low[1] / (low[1] - high[1])
    return low[0] * math.exp(math.log(high[0] / low[0]) * min(max(share, 0.02), 0.98))


def _modelled(gap: Callable[[Line], float], line: Line) -> Callable[[float], float]:
    return lambda c: gap(line.model(c))


def _solve(gap: Callable[[float], float], low: float, high: float) -> float:
    """Bisection in log c; the nearer end where there is no change of sign."""
    for _ in range(30):
        middle = math.sqrt(low * high)
        if gap(middle) > 0:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)
