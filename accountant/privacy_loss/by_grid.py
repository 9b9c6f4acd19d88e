"""Route (b): epsilon and delta of a composition on a grid of losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dpproof.accountant.numbers.inversion import neighbours
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.privacy_loss.grid_profile import profile
from dpproof.accountant.privacy_loss.largest import infinite_mass

__all__ = ["delta_by_grid", "epsilon_by_grid"]

_BEYOND = 1e300
"""Beyond all finite losses on any grid."""


def delta_by_grid(parts: Sequence[tuple[DominatingPair, int]], epsilon: Fraction) -> tuple[float, float]:
    """Certified ends around delta(epsilon).

    Raises:
        GridTooLargeError: if no grid of the size allowed covers the losses.
    """
    if _reveals_all(parts):
        return 1.0, 1.0
    below, above = neighbours(epsilon)
    found = profile(parts, epsilon=below)
    return found.lower(above), min(found.upper(below), 1.0)


def epsilon_by_grid(parts: Sequence[tuple[DominatingPair, int]], delta: Fraction) -> tuple[float, float]:
    """Certified ends around the smallest epsilon >= 0 with delta(epsilon) <= delta, for delta in (0, 1).

    Raises:
        GridTooLargeError: if no grid of the size allowed covers the losses.
    """
    if _reveals_all(parts):
        return math.inf, math.inf
    found = profile(parts, delta=min(float(delta), 1 - 2.0**-53))
    if found.lower(_BEYOND) > delta:  # more than delta of the mass has an infinite loss
        return math.inf, math.inf
    return found.epsilon(delta)


def _reveals_all(parts: Sequence[tuple[DominatingPair, int]]) -> bool:
    """Whether some pair's loss is infinite for certain."""
    return infinite_mass(parts)[0] >= 1
