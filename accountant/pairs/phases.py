"""Characteristic functions of discrete distributions at equally spaced t, and bounds at high frequencies.

E exp(i t L) - 1 is one matrix product. With n = a B + b the power exp(i n s L) is a product of two short
tables, x = exp(i a B s L) - 1 and y = exp(i b s L) - 1. The sum xy + x + y has no cancellation where t L is
small. So the result is accurate relative to E|t L|, which the composition of millions of mechanisms needs
(section 3 of docs/notes/saddle_inversion.md).

An inversion formula for the characteristic function phi can be truncated if |phi(t)| is bounded beyond some
frequency. If a distribution contains uniform distributions of weights w_j on intervals of widths l_j, then
for all t

    |phi(t)| <= 1 - sum_j w_j (1 - |sinc(t l_j / 2)|),     sinc(x) = sin(x)/x.

Replacing |sinc| by its supremum over larger arguments gives a bound that decreases in t (section 4 of that note).
"""

from __future__ import annotations

import math

from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import lru_cache, np
from dpproof.accountant.pairs.base import Floats

EPS = 2.0**-52
"""The spacing of doubles at 1.

The relative error of an elementary function is at most 4 times this number (``numbers.elementary``). The relative error
of one operation is at most half of this number.
"""


def phases_minus_one(
    weights: Floats, relative: Floats, values: Floats, absolute: Floats, step: float, count: int
) -> tuple[NDArray[np.complex128], Floats]:
    """Return sum_j w_j (exp(i n step v_j) - 1) for n = 0 .. count - 1, and proved absolute errors.

    This is the characteristic function minus 1, at n step, of a distribution with probabilities w_j at values
    v_j.

    Args:
        weights: w_j >= 0 with a sum close to 1. ``relative`` holds their relative errors.
        values: v_j. ``absolute`` holds their absolute errors.
        step: a number such that n step is a double for every n < count.

    >>> import numpy as np
    >>> coin, exact = np.array([0.5, 0.5]), np.zeros(2)
    >>> found, error = phases_minus_one(coin, exact, np.array([1.0, -1.0]), exact, 0.5, 3)
    >>> bool(abs(found[2] - (np.cos(1.0) - 1)) <= error[2]), bool(error[2] < 1e-13)
    (True, True)
    """
    width = max(math.isqrt(count), 1)
    rows = -(-count // width)
    fast = _minus_one(np.outer(step * np.arange(width), values))
    slow = _minus_one(np.outer(step * width * np.arange(rows), values)) * weights
    # Not slow @ fast.T: the threads of a linear-algebra library cost more than these small products.
    sums: NDArray[np.complex128] = (
        np.einsum("an,bn->ab", slow, fast) + slow.sum(axis=1)[:, None] + (fast * weights).sum(axis=1)[None, :]
    )
    moved = np.abs(values)
    charge = relative + EPS * (40 + 8 * len(weights))
    slope = 1.01 * float((weights * (charge * moved + absolute)).sum())
    return sums.ravel()[:count], slope * step * np.arange(count, dtype=np.float64)


def _minus_one(angles: Floats) -> NDArray[np.complex128]:
    """Return exp(i angle) - 1 with an error of at most 10 EPS |angle|, so it is accurate for small angles."""
    half = np.sin(angles / 2)
    found = np.empty(angles.shape, dtype=np.complex128)
    found.real = -2 * half * half
    found.imag = np.sin(angles)
    return found


_SECOND_PEAK = 0.21724
"""An upper bound on |sinc(x)| for every x >= pi; its largest value there is 0.217233..."""


@lru_cache(maxsize=1)
def _levels() -> Floats:
    """Return levels of the density relative to its peak: evenly spaced for the body, geometric for the tails."""
    return np.array(
        sorted({*np.linspace(0, 1, 49)[1:], *np.geomspace(1e-5, 0.5, 40), *np.geomspace(1e-40, 1e-6, 40)})
    )


def decay(weights: Floats, widths: Floats, frequencies: Floats) -> Floats:
    """Return logarithms of bounds on a characteristic function phi beyond each of the ``frequencies``.

    The bound for a frequency t holds for |phi(t')| at every t' >= t. phi belongs to a distribution that
    contains uniform distributions with these ``weights``, on intervals of these ``widths``. The bounds say
    where an inversion integral of phi can be cut off. Frequencies are above 0.

    >>> import numpy as np
    >>> uniform = decay(np.array([1.0]), np.array([2.0]), np.array([1.0, 100.0]))
    >>> float(np.exp(uniform[0])), float(np.exp(uniform[1]))
    (0.841471, 0.01)
    """
    half = np.outer(frequencies, widths) / 2
    beyond = np.minimum(_SECOND_PEAK, 1 / np.maximum(half, np.pi))
    near = np.clip(half, 1e-300, np.pi)
    first = np.sin(near) / near
    supremum = np.maximum(first, beyond)
    loss = ((1 - supremum) * weights).sum(axis=1)
    return np.asarray(np.log1p(-np.minimum(loss * (1 - 1e-9), 1 - 1e-12)))


def layers(density: Floats, points: Floats, error: Floats | float = 0.0) -> tuple[Floats, Floats]:
    """Return weights and widths of uniform distributions whose weighted sum is at most a given density.

    Args:
        density: an array of shape (n,). Each entry is a lower bound on the density in one of n adjacent cells
            (intervals).
        points: the n + 1 ends of the cells, increasing.
        error: absolute errors of the ends.

    Call the cell with the highest lower bound the peak. For each of several heights, the function takes the
    largest interval around the peak in which every lower bound is at least this height. These intervals are
    nested.
    """
    peak = int(np.argmax(density))
    left = np.minimum.accumulate(density[: peak + 1][::-1])[::-1]
    right = np.minimum.accumulate(density[peak:])
    levels = density[peak] * _levels()
    first = np.searchsorted(left, levels, side="left")
    last = peak + len(right) - np.searchsorted(right[::-1], levels, side="left")
    last = np.maximum(last, first + 1)
    error = np.broadcast_to(np.asarray(error, dtype=np.float64), points.shape)
    widths = np.maximum((points[last] - points[first] - error[last] - error[first]) * (1 - 1e-9), 0.0)
    weights = np.diff(levels, prepend=0.0) * widths * (1 - 1e-9)
    return weights, widths
