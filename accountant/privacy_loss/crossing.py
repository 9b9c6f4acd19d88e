"""From a certified profile in doubles to the epsilons around a delta: every answer is an evaluation made."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from dpproof.accountant.numbers.arithmetic import cache
from dpproof.accountant.numbers.inversion import enclose, sign_change

LEAST_DELTA = math.nextafter(1e-300, 0)
"""No upper end is below it, and no lower end that is not 0: below, doubles lose their accuracy."""

_FARTHEST, _NEAREST = 1e12, 1e-300


def check_least(delta: Fraction) -> None:
    """Refuse a delta above 0 that doubles are not accurate enough for.

    Raises:
        ValueError: for a delta below 1e-300.

    >>> check_least(Fraction(1, 10**301))
    Traceback (most recent call last):
    ValueError: delta (1e-301) must be 0 or at least 1e-300: this loss is computed in double precision, ...
    """
    if delta >= LEAST_DELTA:
        return
    power = len(str(delta.denominator)) - len(str(delta.numerator))
    shown = f"{float(delta):g}" if float(delta) else f"about 1e-{power}"
    why = "this loss is computed in double precision, which is not accurate below. Ask at a larger delta"
    raise ValueError(f"delta ({shown}) must be 0 or at least 1e-300: {why}")


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
    goal = math.log(delta.numerator) - math.log(delta.denominator)
    low = _turn(lambda epsilon: _gap(lower(epsilon), delta, goal), -1)
    high = _turn(lambda epsilon: _gap(upper(epsilon), delta, goal), 1)
    return min(low, high), high


def _gap(value: float, delta: Fraction, goal: float) -> float:
    """Above 0 exactly where ``value`` exceeds ``delta``; else a guide to how far."""
    if value > delta:
        return max(math.log(min(value, 1e300)) - goal, 1e-18)
    return min(math.log(max(value, 1e-320)) - goal, -1e-18)


def _turn(gap: Callable[[float], float], side: int) -> float:
    """An epsilon near the change of sign, on the side where the gap is above 0 (-1) or not (1)."""
    if gap(0.0) <= 0:
        return 0.0
    gap = cache(gap)
    low, high = enclose(gap, 1.0, _NEAREST, _FARTHEST, 16.0)
    if gap(low) <= 0:
        low = 0.0
    elif math.isfinite(high):
        low, high = sign_change(gap, low, high, close=1e-14, at=(gap(low), gap(high)))
    return low if side < 0 else high
