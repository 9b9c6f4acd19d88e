"""Inversion: from a decreasing profile delta(epsilon) to the smallest epsilon for a delta, certified.

A search in ordinary numbers proposes; two certified evaluations, one on each side, decide.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction

import flint

from dpproof.accountant.numbers.enclosures import arb_of, precision

PRECISIONS = (128, 256, 512, 1024, 2048, 4096)
Decreasing = Callable[[Fraction], flint.arb]
"""delta at an exact epsilon, enclosed at the precision in force."""


def refined(evaluate: Callable[[], flint.arb], bits: int = 64) -> flint.arb:
    """``evaluate()`` at the first precision that gives ``bits`` correct bits, else at the last one.

    The value is an enclosure in either case. Inside a caller's ``precision`` block none below that is tried.
    """
    for working in PRECISIONS:
        with precision(max(working, flint.ctx.prec)):
            value = evaluate()
        if value.is_exact() or (value.is_finite() and value.rel_accuracy_bits() >= bits):
            break
    return value


def bracket(profile: Decreasing, target: Fraction, start: float = 1.0) -> tuple[float, float]:
    """Floats ``lower <= upper`` with profile(lower) > target >= profile(upper), both certified.

    ``profile`` is decreasing on [0, inf). ``(0.0, 0.0)`` where already profile(0) <= target, and
    ``(inf, inf)`` where target is 0 and no representable epsilon reaches it.

    >>> from fractions import Fraction
    >>> from dpproof.accountant.numbers.enclosures import arb_of
    >>> low, high = bracket(lambda x: arb_of(-x).exp(), Fraction(1, 10))
    >>> low <= 2.302585092994046 <= high and high - low < 1e-14
    True
    """
    if _at_most(profile, 0.0, target):
        return 0.0, 0.0
    if target == 0:
        return math.inf, math.inf
    guess = _search(lambda epsilon: _gap(profile, epsilon, target), start)
    return _step_out(profile, guess, target)


def _gap(profile: Decreasing, epsilon: float, target: Fraction) -> float:
    """log(profile / target), roughly: its sign guides the search, nothing rests on it.

    At the first precision that tells the sign: near a target of nearly 1 few do.
    """
    ratio = flint.arb(0)
    for working in PRECISIONS:
        with precision(working):
            value, goal = profile(Fraction(epsilon)), arb_of(target)
            ratio = (value.mid() / goal).log()
            if (value < goal or value > goal) and value.rel_accuracy_bits() >= 20:
                break
    return float(ratio.mid()) if ratio.is_finite() else -1e6


def _at_most(profile: Decreasing, epsilon: float, target: Fraction) -> bool | None:
    """Whether profile(epsilon) <= target; None where no precision decides."""
    for working in PRECISIONS:
        with precision(working):
            value, goal = profile(Fraction(epsilon)), arb_of(target)
            if value <= goal:
                return True
            if value > goal:
                return False
    return None


def _search(gap: Callable[[float], float], start: float) -> float:
    """Where ``gap`` changes sign: doubling or halving to a bracket, then the Illinois method.

    The bracket is halved where four steps have not done it: gaps of 1e-4 may face gaps of 1e9.
    """
    low, high = _enclose(gap, start)
    if low == high or gap(low) <= 0:
        return low
    at_low, at_high, width = gap(low), gap(high), high - low
    for step in range(300):
        if high - low <= 4e-16 * high:
            break
        halve, width = (high - low > width / 2, high - low) if step % 4 == 3 else (False, width)
        middle = math.nan if halve else (low * at_high - high * at_low) / (at_high - at_low)
        if not low < middle < high:
            middle = (low + high) / 2
        value = gap(middle)
        if value == 0:
            return middle
        if value < 0:
            high, at_high, at_low = middle, value, at_low / 2
        else:
            low, at_low, at_high = middle, value, at_high / 2
    return high


_SMALLEST, _LARGEST = sys.float_info.min, sys.float_info.max


def _enclose(gap: Callable[[float], float], start: float) -> tuple[float, float]:
    low = high = min(max(start, _SMALLEST), _LARGEST)
    if gap(high) > 0:
        while gap(high) > 0:
            low, high = high, high * 2
            if math.isinf(high):
                return low, low
    else:
        while gap(low) <= 0 and low > _SMALLEST:
            low, high = low / 2, low
    return low, high


def _step_out(profile: Decreasing, guess: float, target: Fraction) -> tuple[float, float]:
    """Certified ends around ``guess``, moved outwards in doubling steps until both are decided."""
    high, step = guess, _ulp(guess)
    while not math.isinf(high) and _at_most(profile, high, target) is not True:
        high += step
        step *= 2
    return below(profile, guess, target, _ulp(guess)), high


def below(profile: Decreasing, guess: float, target: Fraction, step: float) -> float:
    """An epsilon below ``guess``, or 0, at which the profile is certified to be above ``target``."""
    low = guess
    while low > 0 and _at_most(profile, low, target) is not False:
        low = max(low - step, 0.0)
        step *= 2
    return low


def neighbours(value: Fraction) -> tuple[float, float]:
    """The doubles around an exact number, at least 0; the same one twice where it is a double.

    >>> from fractions import Fraction
    >>> neighbours(Fraction(1, 2))
    (0.5, 0.5)
    """
    near = float(value)
    if near == value:
        return near, near
    return (near, math.nextafter(near, math.inf)) if near < value else (math.nextafter(near, -math.inf), near)


def neighbours_of(value: Fraction) -> tuple[float, float]:
    """The largest double at most ``value``, and the smallest one above it.

    >>> neighbours_of(Fraction(1, 10)) == (math.nextafter(0.1, 0), 0.1)
    True
    """
    nearest = float(value)
    low = nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
    return low, math.nextafter(low, math.inf)


def _ulp(value: float) -> float:
    return max(value * 2.0**-52, 5e-324)
