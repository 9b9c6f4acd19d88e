"""E exp(i t L) - 1 of a discrete law at equally spaced t, as one matrix product, with its rounding error.

With n = a B + b the power exp(i n s L) is a product of two short tables, x = exp(i a B s L) - 1 and
y = exp(i b s L) - 1, and xy + x + y loses nothing where t L is small: the result is accurate relative to
E|t L|, which composing millions of times needs. See docs/notes/saddle_inversion.md, section 3.
"""

from __future__ import annotations

import math

from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import np
from dpproof.accountant.pairs.base import Floats

__all__ = ["EPS", "phases_minus_one"]

EPS = 2.0**-52
"""Spacing of doubles at 1. An elementary numpy function is charged 4 of them, an operation one half."""


def phases_minus_one(
    weights: Floats, relative: Floats, values: Floats, absolute: Floats, step: float, count: int
) -> tuple[NDArray[np.complex128], Floats]:
    """sum_j w_j (exp(i n step v_j) - 1) for n = 0 .. count - 1, and proved absolute errors.

    Args:
        weights: w_j >= 0 with sum close to 1, each with its error in ``relative``.
        values: v_j, each with its error in ``absolute``.
        step: such that n step is a double for every n asked for.

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
    """exp(i angle) - 1, accurate where the angle is small: an error of at most 10 EPS |angle|."""
    half = np.sin(angles / 2)
    found = np.empty(angles.shape, dtype=np.complex128)
    found.real = -2 * half * half
    found.imag = np.sin(angles)
    return found
