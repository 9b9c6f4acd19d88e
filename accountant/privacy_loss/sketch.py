"""Estimates of a moment-generating function by sums over listed outputs, in plain doubles.

They guide the choice of the lines of an inversion integral. Nothing certified depends on them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np

from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.pairs.base import Characteristic, Floats


@runtime_checkable
class Sketched(Characteristic, Protocol):
    """A moment-generating function that is also, up to small unproved errors, a sum over listed outputs."""

    def __hash__(self) -> int: ...

    def sketch(self) -> tuple[Floats, Floats]:
        """Return the logarithms of the probabilities of the outputs, and their losses."""
        ...


Moments = tuple[float, float, float]
"""Estimates of log M(c), and of the mean and the variance of the loss tilted at c."""


def is_sketched(parts: Sequence[tuple[Characteristic, int]]) -> TypeGuard[Sequence[tuple[Sketched, int]]]:
    """Return whether the outputs of all parts are listed."""
    return all(isinstance(part, Sketched) for part, _ in parts)


def rough_moments(parts: Sequence[tuple[Sketched, int]], c: float) -> Moments:
    """Return estimates for a composition of parts, each with the number of its uses."""
    found = [(_moments(part, c), times) for part, times in parts]
    log_mgf, mean, variance = (math.fsum(row[i] * times for row, times in found) for i in range(3))
    return log_mgf, mean, variance


@lru_cache(32)
def _sketch(part: Sketched) -> tuple[Floats, Floats, Floats]:
    """Return the logarithms of probabilities, the probabilities, and the losses."""
    logs, losses = part.sketch()
    return logs, np.exp(logs), losses


def _moments(part: Sketched, c: float) -> Moments:
    logs, masses, losses = _sketch(part)
    moved = c * losses
    exponents = logs + moved
    top = float(exponents.max())
    weights = np.exp(exponents - top)
    total = float(weights.sum())
    mean = float(weights @ losses) / total
    variance = float(weights @ (losses - mean) ** 2) / total
    log_mgf = top + math.log(total)
    if abs(log_mgf) < 1:  # then the difference from 0 counts, because steps are repeated
        grown = np.where(
            moved > 1, np.exp(np.minimum(exponents, 1.0)) - masses, masses * np.expm1(np.minimum(moved, 1.0))
        )
        log_mgf = math.log1p(float(grown.sum()) + (float(masses.sum()) - 1))
    return log_mgf, mean, variance
