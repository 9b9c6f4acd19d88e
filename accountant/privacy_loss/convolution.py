"""Convolution powers of nonnegative sequences by FFT, with a bound on every entry's rounding error."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft

from accountant.pairs.base import Floats

__all__ = ["FFT_CONSTANT", "circular_power"]

_U = 2.0**-53
FFT_CONSTANT = 24.0
"""Assumed: scipy's transform of length 2^k errs by at most FFT_CONSTANT (k + 2) 2^-53 relatively in the
Euclidean norm. Theory gives 7 k for a radix-2 transform with twiddle factors good to an ulp; see the note."""


def circular_power(parts: Sequence[tuple[Floats, int]]) -> tuple[Floats, float]:
    """The circular convolution of all x^(*count), and a bound on the absolute error of each entry.

    Args:
        parts: nonnegative sequences, all of one length that is a power of two, with their counts.

    >>> result, error = circular_power([(np.array([0.5, 0.5, 0.0, 0.0]), 2)])
    >>> [round(float(r), 12) for r in result], error < 1e-13
    ([0.25, 0.5, 0.25, 0.0], True)

    Source: Higham, Accuracy and Stability of Numerical Algorithms (2nd ed.), Theorem 24.2; this project,
    docs/notes/loss_grid.md, section 5.
    """
    n = len(parts[0][0])
    level = FFT_CONSTANT * (math.log2(n) + 2) * _U
    product = np.ones(n // 2 + 1, dtype=np.complex128)
    error = 0.0
    for x, count in parts:
        spectrum = rfft(x)
        total = float(x.sum()) * (1 + 1e-12)
        off = level * math.sqrt(n) * float(np.linalg.norm(x)) * (1 + 1e-12)
        power = _power(spectrum, count)
        before = np.abs(product)
        moved = before * np.exp((count - 1) * np.log(np.abs(spectrum) * (1 + 1e-15) + off + 1e-300))
        rounding = 16 * count * _U * _sum(before * np.abs(power)) / n
        error = error * max(1.0, total) ** count + count * _norm(moved) * off / n + rounding
        product *= power
    error += level * _norm(np.abs(product)) / math.sqrt(n)
    return irfft(product, n), error * (1 + 1e-6) + 1e-290


def _power(values: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """values^count by repeated squaring: 3 count u relatively, to first order."""
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
