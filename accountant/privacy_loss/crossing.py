"""From a certified profile in doubles to the epsilons around a delta: every answer is an evaluation made."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

__all__ = ["crossing"]

_FARTHEST = 1e12


def crossing(
    lower: Callable[[float], float], upper: Callable[[float], float], delta: Fraction
) -> tuple[float, float]:
    """Epsilons, the first with ``lower`` above ``delta`` (or 0), the second with ``upper`` at most ``delta``.

    Infinite where the profile does not come down to ``delta`` before 1e12.

    >>> import math
    >>> ends = crossing(lambda e: math.exp(-e), lambda e: math.exp(-e), Fraction(1, 10))
    >>> ends[0] <= 2.302585092994046 <= ends[1]
    True
    """
    low = _turn(lambda epsilon: lower(epsilon) > delta)[0]
    high = _turn(lambda epsilon: not upper(epsilon) <= delta)[1]
    return min(low, high), high


def _turn(still: Callable[[float], bool]) -> tuple[float, float]:
    """The last epsilon tried at which ``still`` holds and the first at which it does not."""
    if not still(0.0):
        return 0.0, 0.0
    low, high = 0.0, 1.0
    while still(high):
        low, high = high, 2 * high
        if high > _FARTHEST:
            return low, math.inf
    while low < 1e-15 * high and high > 1e-300:
        low, high = _tried(still, low, high, high * 1e-3)
    while high - low > 2e-16 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = _tried(still, low, high, middle)
    return low, high


def _tried(still: Callable[[float], bool], low: float, high: float, at: float) -> tuple[float, float]:
    return (at, high) if still(at) else (low, at)
