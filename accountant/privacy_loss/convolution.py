"""Convolution powers of nonnegative sequences by FFT, with a bound on every entry's rounding error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import NDArray
from scipy.fft import irfft, rfft

from dpproof.accountant.numbers.arithmetic import Assumption, assume, math, np
from dpproof.accountant.pairs.base import Floats

Complexes = NDArray[np.complex128]

__all__ = ["FFT_CONSTANT", "Noise", "circular_power"]

_U = 2.0**-53
FFT_CONSTANT = 24.0
"""Assumed: scipy's transform of length 2^k errs by at most FFT_CONSTANT (k + 2) 2^-53 relatively in the
Euclidean norm. Theory gives 7 k for a radix-2 transform with twiddle factors good to an ulp; see the note."""


@dataclass(frozen=True)
class Noise:
    """Bounds on the rounding error of a convolution: of each entry, and in the Euclidean norm."""

    entry: float
    norm: float

    def of_geometric_sum(self, tilt: float, length: int) -> float:
        """A bound on the error of sum_m c_m y_m with 0 <= c_m <= exp(-tilt m), over ``length`` entries."""
        weights = min(1 / -math.expm1(-tilt), float(length)) * (1 + 1e-9)
        squares = min(1 / -math.expm1(-2 * tilt), float(length)) * (1 + 1e-9)
        return min(self.entry * weights, self.norm * math.sqrt(squares)) * (1 + 1e-9)


def circular_power(parts: Sequence[tuple[Floats, int]]) -> tuple[Floats, Noise]:
    """The circular convolution of all x^(*count), and bounds on its error.

    Args:
        parts: nonnegative sequences, all of one length that is a power of two, with their counts.

    >>> result, error = circular_power([(np.array([0.5, 0.5, 0.0, 0.0]), 2)])
    >>> [round(float(r), 12) for r in result], error.entry < 1e-13
    ([0.25, 0.5, 0.25, 0.0], True)

    Source: Higham, Accuracy and Stability of Numerical Algorithms (2nd ed.), Theorem 24.2; this project,
    docs/notes/loss_grid.md, section 5.
    """
    assume(Assumption.FFT)
    n = len(parts[0][0])
    product = np.ones(n // 2 + 1, dtype=np.complex128)
    entry, norm, moved = 0.0, 0.0, 0
    for x, count in parts:
        top = int(np.argmax(x))
        spectrum, off = _spectrum_less_one(np.roll(x, -top))
        moved = (moved + top * count) % n
        power, rounding = _power(spectrum, count)
        before, size = np.abs(product), np.abs(1 + spectrum) + off * math.sqrt(n)
        others = before * np.exp((count - 1) * np.log(size + 1e-300))
        growth = (1 + max(0.0, float(x.sum()) * (1 + 1e-12) - 1)) ** count
        rounding = before * (rounding + 4 * _U * np.abs(power))
        entry = entry * growth + count * _norm(others) * off / math.sqrt(n) + _sum(rounding) / n
        norm = norm * growth + count * float(others.max()) * off + _norm(rounding) / math.sqrt(n)
        product *= power
    last = _level(n) * _norm(np.abs(product)) / math.sqrt(n)
    noise = Noise(float(entry + last) * (1 + 1e-6) + 1e-290, float(norm + last) * (1 + 1e-6) + 1e-290)
    return np.roll(irfft(product, n), moved), noise


def _level(n: int) -> float:
    return FFT_CONSTANT * (math.log2(n) + 2) * _U


def _spectrum_less_one(x: Floats) -> tuple[Complexes, float]:
    """The transform of x less 1, the largest entry x_0 kept apart; its error is at most the second number.

    That number times sqrt(n) bounds the Euclidean norm of the error, so the number times n bounds each entry.
    """
    rest = x.copy()
    rest[0] = 0.0
    result = rfft(rest)
    result += x[0] - 1
    rounding = 2 * _U * (abs(x[0] - 1) + float(np.abs(result).max()))
    return result, (_level(len(x)) * float(np.linalg.norm(rest)) + rounding) * (1 + 1e-9)


def _power(less_one: Complexes, count: int) -> tuple[Complexes, Floats]:
    """(1 + z)^count and its absolute error, by the logarithm where z is small, else by squaring."""
    if count > 64 and np.abs(less_one).max() < 0.5:
        return _power_by_logarithm(less_one, count)
    result = _power_by_squaring(1 + less_one, count)
    return result, 8 * count * _U * np.abs(result)


def _power_by_logarithm(z: Complexes, count: int) -> tuple[Complexes, Floats]:
    """By exp(count log(1 + z)); log1p(a (2 + a) + b^2)/2 errs by 35 u |z|, and the angle by 24 u |z|."""
    a, b = z.real, z.imag
    logs = count * 0.5 * np.log1p(a * (2 + a) + b * b)
    angles = count * np.arctan2(b, 1 + a)
    size = np.exp(logs)
    error = size * _U * (count * 60 * np.abs(z) + 4 * np.abs(logs) + 4 * np.abs(angles) + 40)
    return size * (np.cos(angles) + 1j * np.sin(angles)), error


def _power_by_squaring(values: Complexes, count: int) -> Complexes:
    """The powers by repeated squaring: 3 count u relatively to first order, 4 count u with 1 + z rounded."""
    result, square = np.ones_like(values), values
    while True:
        if count & 1:
            result = result * square
        count >>= 1
        if not count:
            return result
        square = square * square


def _sum(half: Floats) -> float:
    return 2 * float(half.sum())


def _norm(half: Floats) -> float:
    """At least the Euclidean norm of a full spectrum, of which one half is given."""
    return math.sqrt(2 * float(np.dot(half, half)))
