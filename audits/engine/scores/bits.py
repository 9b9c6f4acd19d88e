"""What the bits of a floating-point output give away.

A sampler that computes noise in floating point reaches only some doubles, and which ones depends on the
number the noise was added to (Mironov 2012, "On significance of the least significant bits"). The
lowest bit that is set tells: it is finer where the sum is small and the data were zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.encoding import NUMBER, features
from dpproof.audits.engine.scores.atoms import Atoms
from dpproof.audits.engine.scores.protocol import Floats, Score, View

ZERO = 2048
"""Stands for the lowest set bit of 0, infinity and NaN, which have none."""


def lowest_bit(outputs: NDArray[np.generic]) -> Floats:
    """The exponent of the lowest set bit of every number, ``(n, numbers)``.

    >>> lowest_bit(np.array([[1.0], [0.75], [0.1], [0.0]])).ravel().tolist()
    [0.0, -2.0, -55.0, 2048.0]
    """
    flat = np.ascontiguousarray(outputs.reshape(len(outputs), -1), dtype=np.float64)
    words = flat.view(np.int64)
    exponent = (words >> 52) & 0x7FF
    digits = (words & ((1 << 52) - 1)) | ((exponent > 0) * np.int64(1 << 52))
    lowest = ((digits & -digits).astype(np.float64).view(np.int64) >> 52) - 1023
    usable = (exponent < 0x7FF) & (digits > 0)
    return np.where(usable, np.maximum(exponent, 1) - 1075 + lowest, ZERO).astype(np.float64)


def lowest_bit_of_cells(outputs: NDArray[np.generic], width: int) -> Floats:
    """The same for what `dpproof.audits.data.encoding` lays out of any outputs; whole numbers and words have none.

    >>> lowest_bit_of_cells(np.array([0.75, 3.0, "word"], dtype=object), 1).ravel().tolist()
    [-2.0, 2048.0, 2048.0]
    """
    cells = features(outputs, width)
    values, kinds = cells[:, 1 : 1 + width], cells[:, 1 + width : 1 + 2 * width]
    fractions = (kinds == NUMBER) & (values != np.rint(values))
    return lowest_bit(np.where(fractions, values, 0.0))


def float_bits(training: int = 64, view: View = lowest_bit, weight: float = 1.0) -> Atoms:
    """The log odds of the lowest set bits, summed over the numbers of an output."""
    return Atoms(training, view=view, weight=weight)


BIT_VIEWS = (lowest_bit, lowest_bit_of_cells)
"""Views of the bits with which a floating-point number is written, which no real number has."""


def only_bits(score: Score) -> bool:
    """Whether all that a score sees is how floating-point numbers are written.

    >>> only_bits(float_bits()), only_bits(Atoms())
    (True, False)
    """
    return getattr(score.view, "func", score.view) in BIT_VIEWS
