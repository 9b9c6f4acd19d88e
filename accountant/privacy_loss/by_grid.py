"""Route (b): epsilon and delta of a composition on a grid of losses."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from accountant.pairs.base import Pair

__all__ = ["delta_by_grid", "epsilon_by_grid"]


def delta_by_grid(parts: Sequence[tuple[Pair, int]], epsilon: Fraction) -> tuple[float, float]:
    """Certified ends around delta(epsilon)."""
    raise ArithmeticError(f"the grid cannot answer for {parts} at epsilon {float(epsilon)!r}")


def epsilon_by_grid(parts: Sequence[tuple[Pair, int]], delta: Fraction) -> tuple[float, float]:
    """Certified ends around the smallest epsilon with delta(epsilon) <= delta."""
    raise ArithmeticError(f"the grid cannot answer for {parts} at delta {float(delta)!r}")
