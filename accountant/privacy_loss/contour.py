"""The inversion integral by the trapezoidal rule on one vertical line, with all its errors.

The rule's sum is delta(epsilon) plus terms that are never negative (aliasing, bounded by Chernoff), less
what is cut off (bounded by ``uniform_layers``), plus rounding (carried along). One set of nodes serves
every epsilon near the one it was chosen for. Derivation: docs/notes/saddle_inversion.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.pairs.base import Floats
from dpproof.accountant.pairs.phases import EPS
from dpproof.accountant.pairs.uniform_layers import decay
from dpproof.accountant.privacy_loss.crossing import LEAST_DELTA
from dpproof.accountant.privacy_loss.saddle import Inapplicable, Line, Parts, line_at

__all__ = ["Contour", "contour"]

_QUIET = 30.0
"""Aliasing and the cut are made smaller than exp(-30) = 1e-13 of delta."""
_MOST_NODES = 1 << 17
_FACTORS = (1.4, 2.5)


@dataclass(frozen=True)
class Contour:
    """delta(epsilon), from the values of the characteristic function at the nodes of one line."""

    line: Line
    step: float
    log_phi: NDArray[np.complex128]
    """The log of the tilted characteristic function at n step, n = 0, 1, ..."""
    phi_error: Floats
    """Absolute errors of the characteristic function there."""
    cut: float
    """Bound on the sum of the terms left out, as a part of M(c) exp(-c epsilon)."""
    others: tuple[Line, ...]
    """Lines at larger c, for the Chernoff bounds on aliasing."""

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Ends around the value at ``epsilon``, certified, before they are cut to [0, 1]."""
        times = self.step * np.arange(len(self.log_phi))
        size = np.exp(self.log_phi.real)
        z = self.line.c + 1j * times
        poles = np.abs(z * (z + 1))
        phase = self.log_phi.imag - times * epsilon - np.angle(z) - np.angle(z + 1)
        terms = size * np.cos(phase) / poles
        terms[0] /= 2
        turned = EPS * (40 + 8 * times * abs(epsilon))
        wrong = (size * turned + self.phi_error) / poles
        value = self.step / math.pi * math.fsum(terms)
        error = 1.01 * (self.step / math.pi * math.fsum(wrong) + self.cut + 8 * EPS * abs(value))
        return self._scaled(value - error - self._alias(epsilon), value + error, epsilon)

    def _scaled(self, low: float, high: float, epsilon: float) -> tuple[float, float]:
        """Times M(c) exp(-c epsilon), outwards."""
        exponent = self.line.log_mgf - self.line.c * epsilon
        error = self.line.log_mgf_error + 4 * EPS * (abs(self.line.log_mgf) + self.line.c * abs(epsilon) + 4)
        if high <= 0 or exponent > 700:
            raise Inapplicable("the integral did not come out positive")
        upper = high * math.exp(exponent + error) * (1 + 16 * EPS)
        lower = low * math.exp(exponent - error) * (1 - 16 * EPS) if low > 0 else 0.0
        return lower if lower >= LEAST_DELTA else 0.0, max(upper, LEAST_DELTA)

    def _alias(self, epsilon: float) -> float:
        """Bound on the aliasing terms, as a part of M(c) exp(-c epsilon).

        They are exp(c k R) delta(epsilon + k R), k != 0, R = 2 pi/step. For k < 0 delta is at most 1, for
        k > 0 at most M(c') exp(-c' (epsilon + k R)) for every c' > c.
        """
        period, own = 2 * math.pi / self.step, self.line
        below = -_log_expm1(own.c * period) - own.log_mgf + own.c * epsilon + own.log_mgf_error
        above = min(
            (
                other.log_mgf - own.log_mgf - (other.c - own.c) * epsilon
                + other.log_mgf_error + own.log_mgf_error - _log_expm1((other.c - own.c) * period)
                for other in self.others
            ),
            default=math.inf,
        )  # fmt: skip
        slack = 1e-9 * (1 + abs(below) + abs(above) + abs(own.log_mgf) + own.c * abs(epsilon))
        return _exp(below + slack) + _exp(above + slack)


def contour(parts: Parts, line: Line, log_delta: float) -> Contour:
    """Nodes on ``line`` for the epsilons whose delta is about exp(``log_delta``).

    Raises:
        Inapplicable: if that takes more nodes than allowed.
    """
    others = _others(parts, line)
    if not others:
        raise Inapplicable("the moment-generating function is not known beyond the saddle point")
    step = _short(2 * math.pi / _period(line, others, log_delta))
    scale = line.log_mgf - line.c * line.saddle_epsilon()
    count = math.ceil(_end(line, log_delta - scale - _QUIET) / step) + 1
    if count > _MOST_NODES:
        raise Inapplicable(f"the inversion integral needs {count} nodes, more than {_MOST_NODES}")
    log_phi, error = _values(parts, line.c, step, count)
    last = float(_log_decay(line, np.array([step * count]))[0])
    cut = 1.01 * math.exp(last) / (math.pi * step * (count - 1))
    return Contour(line, step, log_phi, error, cut, others)


def _others(parts: Parts, line: Line) -> tuple[Line, ...]:
    """Lines at larger c, as far as the moment-generating function is known."""
    found: list[Line] = []
    for factor in _FACTORS:
        try:
            found.append(line_at(parts, line.c * factor))
        except Inapplicable:
            break
    return tuple(found)


def _period(line: Line, others: tuple[Line, ...], log_delta: float) -> float:
    """A distance R between aliases at which they are below exp(-_QUIET) delta; a guide."""
    epsilon = line.saddle_epsilon()
    share = log_delta - (line.log_mgf - line.c * epsilon)
    above = min(
        (_QUIET - share + max(other.log_mgf - line.log_mgf - (other.c - line.c) * epsilon, 0))
        / (other.c - line.c)
        for other in others
    )
    return max((_QUIET - log_delta) / line.c, above)


def _end(line: Line, log_share: float) -> float:
    """The first t of a geometric grid beyond which the integral is proved to be below exp(log_share)."""
    times = np.geomspace(1 / math.sqrt(line.variance), 1e6 / math.sqrt(line.variance), 128)
    enough = _log_decay(line, times) - np.log(times) <= log_share
    if not enough.any():
        raise Inapplicable("the characteristic function is not proved to decay fast enough")
    return float(times[int(np.argmax(enough))])


def _log_decay(line: Line, times: Floats) -> Floats:
    """The log of a bound on the composed phi at every frequency beyond each of ``times``."""
    return sum((decay(*tilt.uniform(), times) * count for tilt, count in line.tilts), 0 * times)


def _values(parts: Parts, c: float, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
    """The log of phi of the composition at the nodes, and absolute errors of phi."""
    log_phi, log_size = np.zeros(count, dtype=np.complex128), np.zeros(count)
    largest, relative = np.zeros(count), np.zeros(count)
    for part, times in parts:
        try:
            found, error = part.minus_one(c, step, count)
        except OverflowError as refused:
            raise Inapplicable(str(refused)) from refused
        error = 1.01 * (error + 80 * EPS * np.abs(found))
        own = _log_of_one_plus(found)
        size = np.exp(own.real)
        log_phi += times * own
        log_size += times * np.abs(own)
        largest += times * (own.real + np.log1p(error / size))
        relative += times * error / (size + error)
    turned = EPS * (8 + len(parts)) * log_size
    return log_phi, 1.01 * (relative + turned) * np.exp(np.minimum(largest, 600.0))


def _log_of_one_plus(found: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """The log of 1 + found: errors of at most 80 EPS |found|, as errors of its argument."""
    size = np.abs(found)
    near = np.log1p(np.maximum(2 * found.real + size * size, -0.9)) / 2
    far = np.log(np.maximum(np.hypot(1 + found.real, found.imag), 1e-300))
    log = np.empty_like(found)
    log.real = np.where(size < 0.5, near, far)
    log.imag = np.arctan2(found.imag, 1 + found.real)
    return log


def _short(step: float) -> float:
    """A number just below ``step`` with so few bits that its multiples are exact."""
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.floor(mantissa * 1024), exponent - 10)


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x))


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
