"""A whole output as one token: for mechanisms whose outputs are words of a finite language."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.canonical import tokens as canonical_tokens
from dpproof.audits.engine.scores.atoms import Atoms, coarse


def row_tokens(outputs: NDArray[np.generic]) -> NDArray[np.uint64]:
    """A word of 64 bits for each row; equal rows have equal words, others hardly ever.

    Args:
        outputs: an array ``(n, ...)`` of numbers. Integers count in full, other numbers with half of their
            digits that a grid of floating point does not touch (`dpproof.audits.engine.scores.atoms.coarse`).

    Returns:
        Uint64 array ``(n, 1)``. A collision costs power only: which rows collide is fixed beforehand.

    >>> one, other, again = row_tokens(np.array([[1, 2], [2, 1], [1, 2]]))[:, 0]
    >>> one == again, one == other
    (np.True_, np.False_)
    """
    flat = outputs.reshape(len(outputs), -1)
    if flat.dtype.kind == "O":
        return canonical_tokens(flat)
    numbers = (
        coarse(flat) + 0.0
        if flat.dtype.kind == "f"
        else flat.astype("u8" if flat.dtype.kind == "u" else "i8")
    )
    words = np.ascontiguousarray(numbers).view(np.uint64)
    mixed = np.zeros(len(flat), np.uint64)
    for column in words.T:
        mixed = _mix(mixed ^ column)
    return mixed[:, None]


def tokens(training: int = 64, weight: float = 1.0) -> Atoms:
    """The log odds of whole outputs that were seen before."""
    return Atoms(training, fewest=2, view=row_tokens, weight=weight)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea & Flood 2014): a bijection of 64-bit words."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
