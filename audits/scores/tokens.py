"""A whole output as one token: for mechanisms whose outputs are words of a finite language."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.scores.atoms import Atoms
from audits.scores.protocol import Floats

__all__ = ["row_tokens", "tokens"]


def row_tokens(outputs: NDArray[Any]) -> Floats:
    """A number below 2^53 for each row; equal rows have equal numbers, others hardly ever.

    Args:
        outputs: an array ``(n, ...)``; 0.0 and -0.0 are the same number, hence the same token.

    Returns:
        Float64 array ``(n, 1)``. A collision costs power only: which rows collide is fixed beforehand.

    >>> one, other, again = row_tokens(np.array([[1, 2], [2, 1], [1, 2]]))[:, 0]
    >>> one == again, one == other
    (np.True_, np.False_)
    """
    flat = np.ascontiguousarray(outputs.reshape(len(outputs), -1).astype(np.float64) + 0.0)
    words = flat.view(np.uint64)
    mixed = np.zeros(len(flat), np.uint64)
    for column in words.T:
        mixed = _mix(mixed ^ column)
    return (mixed >> np.uint64(11)).astype(np.float64)[:, None]


def tokens(training: int = 64, weight: float = 1.0) -> Atoms:
    """The log odds of whole outputs that were seen before."""
    return Atoms(training, fewest=2, view=row_tokens, weight=weight)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea & Flood 2014): a bijection of 64-bit words."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
