"""What the bits of a floating-point output give away.

A sampler that computes noise in floating point reaches only some doubles, and which ones depends on the
number the noise was added to (Mironov 2012, "On significance of the least significant bits"). The
lowest bit that is set tells: it is finer where the sum is small and the data were zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.scores.atoms import Atoms
from audits.scores.protocol import Floats

__all__ = ["float_bits", "lowest_bit"]

ZERO = 2048
"""Stands for the lowest set bit of 0, infinity and NaN, which have none."""


def lowest_bit(outputs: NDArray[Any]) -> Floats:
    """The exponent of the lowest set bit of every number, ``(n, numbers)``.

    >>> lowest_bit(np.array([[1.0], [0.75], [0.1], [0.0]])).ravel().tolist()
    [0.0, -2.0, -55.0, 2048.0]
    """
    flat = outputs.reshape(len(outputs), -1).astype(np.float64)
    usable = np.isfinite(flat) & (flat != 0)
    fraction, exponent = np.frexp(np.where(usable, flat, 1.0))
    digits = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    lowest = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return np.where(usable, exponent - 53 + lowest, ZERO).astype(np.float64)


def float_bits(training: int = 64) -> Atoms:
    """The log odds of the lowest set bits, summed over the numbers of an output."""
    return Atoms(training, view=lowest_bit)
