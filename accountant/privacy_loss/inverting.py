"""Route (a): epsilon and delta of a composition by inverting its moment-generating function.

The search for epsilon is a guide; its two ends are certified each by one evaluation of the profile.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpproof.accountant.numbers.inversion import neighbours
from dpproof.accountant.privacy_loss.contour import Contour, contour
from dpproof.accountant.privacy_loss.saddle import (
    Inapplicable,
    Line,
    Parts,
    line_at,
    saddle_for_delta,
    saddle_for_epsilon,
)

__all__ = ["delta_by_inversion", "epsilon_by_inversion"]

_FLATTEST = 0.25
"""The line is not moved closer to the pole at 0 than this over the loss's standard deviation."""


def delta_by_inversion(parts: Parts, epsilon: Fraction) -> tuple[float, float]:
    """Certified ends around delta(epsilon).

    Raises:
        Inapplicable: where this route has no answer.
    """
    below, above = neighbours(epsilon)
    line = _away_from_pole(parts, saddle_for_epsilon(parts, float(epsilon)))
    found = contour(parts, line, min(line.log_delta(float(epsilon)), -1e-9))
    high = found.delta(below)
    low = high if below == above else found.delta(above)
    return min(low[0], 1.0), min(high[1], 1.0)


def epsilon_by_inversion(parts: Parts, delta: Fraction) -> tuple[float, float]:
    """Certified ends around the smallest epsilon >= 0 with delta(epsilon) <= delta, for delta in (0, 1).

    Raises:
        Inapplicable: where this route has no answer.
    """
    goal = math.log(delta.numerator) - math.log(delta.denominator)
    line = _away_from_pole(parts, saddle_for_delta(parts, min(goal, -1e-9)))
    found = contour(parts, line, goal)
    guess, wrong = _solve(found, line, goal)
    if guess <= 0 and found.delta(0.0)[1] <= delta:
        return 0.0, 0.0
    return _below(found, max(guess, 0.0), wrong, delta), _above(found, max(guess, 0.0), wrong, delta)


def _away_from_pole(parts: Parts, line: Line) -> Line:
    if not line.variance > 0:
        raise Inapplicable("the loss does not vary in double precision")
    least = _FLATTEST / math.sqrt(line.variance)
    return line if line.c >= least else line_at(parts, least)


def _solve(found: Contour, line: Line, goal: float) -> tuple[float, float]:
    """Where the middle of the certified ends meets the goal, and how far a step of certainty is there."""
    epsilon, slope, width = line.saddle_epsilon(), -line.c, 0.0
    previous: tuple[float, float] | None = None
    for _ in range(30):
        low, high = found.delta(epsilon)
        if low <= 0:
            raise Inapplicable("rounding hides delta")
        gap, width = math.log(low / 2 + high / 2) - goal, (high - low) / high
        if previous and previous[0] != epsilon and (gap - previous[1]) / (epsilon - previous[0]) < 0:
            slope = (gap - previous[1]) / (epsilon - previous[0])
        previous = epsilon, gap
        moved = -gap / slope
        if abs(moved) <= max(1e-15 * abs(epsilon), width / 4 / abs(slope)):
            break
        epsilon += moved
    return epsilon, max(width / abs(slope), 4e-16 * abs(epsilon), 1e-320)


def _above(found: Contour, guess: float, step: float, delta: Fraction) -> float:
    """An epsilon at or above ``guess`` whose delta is certified to be at most ``delta``."""
    for _ in range(60):
        if found.delta(guess)[1] <= delta:
            return guess
        guess, step = max(guess + step, math.nextafter(guess, math.inf)), 2 * step
    raise Inapplicable("no upper end was found near the saddle point")


def _below(found: Contour, guess: float, step: float, delta: Fraction) -> float:
    """An epsilon at or below ``guess``, at least 0, whose delta is certified to be above ``delta``."""
    for _ in range(60):
        if guess <= 0 or found.delta(guess)[0] > delta:
            return max(guess, 0.0)
        guess, step = min(guess - step, math.nextafter(guess, -math.inf)), 2 * step
    raise Inapplicable("no lower end was found near the saddle point")
