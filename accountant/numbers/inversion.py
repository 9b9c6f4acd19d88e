"""Root searches that find the smallest epsilon for a delta, from a decreasing profile delta(epsilon).

``bracket`` is certified. A search in floating-point numbers proposes an epsilon, and two evaluations in ball
arithmetic, one on each side, confirm it. ``sign_change`` is this search in floating-point numbers.
``crossing`` applies ``sign_change`` to a profile that is computed in doubles with certified bounds. Every
answer of ``crossing`` is an epsilon at which the profile was evaluated.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

import flint

from dpproof.accountant.numbers.arithmetic import cache
from dpproof.accountant.numbers.enclosures import arb_of, precision

LEAST_DELTA = math.nextafter(1e-300, 0)
"""The smallest delta that inversion and grids represent accurately. Their positive bounds are never below it.

Closed forms in ball arithmetic go further down."""

_FARTHEST, _NEAREST = 1e12, 1e-300


def check_least(delta: Fraction) -> None:
    """Raise ValueError for a delta above 0 that is too small for the accuracy of doubles.

    Raises:
        ValueError: for a delta below 1e-300.

    >>> check_least(Fraction(1, 10**301))
    Traceback (most recent call last):
    ValueError: delta (1e-301) must be 0 or at least 1e-300. Double precision is too coarse for less. ...
    """
    if delta >= LEAST_DELTA:
        return
    power = len(str(delta.denominator)) - len(str(delta.numerator))
    shown = f"{float(delta):g}" if float(delta) else f"about 1e-{power}"
    why = "Double precision is too coarse for less. Use a larger delta."
    raise ValueError(f"delta ({shown}) must be 0 or at least 1e-300. {why}")


def crossing(
    lower: Callable[[float], float], upper: Callable[[float], float], delta: Fraction
) -> tuple[float, float]:
    """Return bounds on the epsilon at which a privacy profile falls to ``delta``.

    ``lower`` and ``upper`` are bounds on the profile. The first result is an epsilon at which ``lower`` exceeds
    ``delta``, or 0. The second result is an epsilon at which ``upper`` is at most ``delta``, or infinity if
    the search, which ends before 1e12, finds none.

    >>> import math
    >>> ends = crossing(lambda e: math.exp(-e), lambda e: math.exp(-e), Fraction(1, 10))
    >>> ends[0] <= 2.302585092994046 <= ends[1]
    True
    """
    goal = math.log(delta.numerator) - math.log(delta.denominator)
    low = _turn(lambda epsilon: _log_excess(lower(epsilon), delta, goal), -1)
    high = _turn(lambda epsilon: _log_excess(upper(epsilon), delta, goal), 1)
    return min(low, high), high


def _log_excess(value: float, delta: Fraction, goal: float) -> float:
    """Return a number above 0 exactly if ``value`` exceeds ``delta``; its size is a guide for the search.

    Raises:
        ArithmeticError: for NaN, which neither exceeds ``delta`` nor stays below it.
    """
    if math.isnan(value):
        raise ArithmeticError("The privacy profile is NaN at some epsilon.")
    if value > delta:
        return max(math.log(min(value, 1e300)) - goal, 1e-18)
    return min(math.log(max(value, 1e-320)) - goal, -1e-18)


def _turn(gap: Callable[[float], float], side: int) -> float:
    """Return an epsilon near the change of sign, where the gap is above 0 (``side`` -1) or not (``side`` 1)."""
    if gap(0.0) <= 0:
        return 0.0
    gap = cache(gap)
    low, high = enclose(gap, 1.0, _NEAREST, _FARTHEST, 16.0)
    if gap(low) <= 0:
        low = 0.0
    elif math.isfinite(high):
        low, high = sign_change(gap, low, high, close=1e-14, at=(gap(low), gap(high)))
    return low if side < 0 else high


_UNSEEN = flint.arb(2) ** -1100
"""A number far below the smallest double."""
PRECISIONS = (128, 256, 512, 1024, 2048, 4096)
Decreasing = Callable[[Fraction], flint.arb]
"""A decreasing function that returns an interval around delta, given an exact epsilon."""


def refined(evaluate: Callable[[], flint.arb], bits: int = 64) -> flint.arb:
    """Return ``evaluate()`` at the first working precision that gives ``bits`` correct bits.

    If no precision in ``PRECISIONS`` does, the function returns the value at the last one, or at the first one that
    adds nothing. In any case the result contains the true value. An interval without any double except 0 is
    accurate enough. Precisions below that of the caller's ``precision`` block are not used.
    """
    before = 0
    for working in sorted({max(working, flint.ctx.prec) for working in PRECISIONS}):
        with precision(working):
            value = evaluate()
        if value.is_exact() or (value.is_finite() and value.rel_accuracy_bits() >= bits):
            break
        if abs(value) < _UNSEEN or _is_stuck(value, before):
            break
        before = value.rel_accuracy_bits()
    return value


def _is_stuck(value: flint.arb, before: int) -> bool:
    """Return whether the last increase of the precision hardly improved a value that had ``before`` correct bits.

    Then rounding does not limit the accuracy: the formula itself encloses the value between two other numbers.
    """
    return bool(20 <= value.rel_accuracy_bits() < before + 8)


def bracket(profile: Decreasing, target: Fraction, start: float = 1.0) -> tuple[float, float]:
    """Return certified bounds on the epsilon at which ``profile`` falls to ``target``.

    The bounds are floats lower <= upper with profile(lower) > target >= profile(upper). ``profile`` must
    decrease on [0, inf). The result is (0, 0) if profile(0) <= target. The result is (inf, inf) if the target
    is 0 and profile(0) is above 0.

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
    guess = _search(cache(lambda epsilon: _gap(profile, epsilon, target)), start)
    return _step_out(profile, guess, target)


def _gap(profile: Decreasing, epsilon: float, target: Fraction) -> float:
    """Return roughly log(profile / target). Its sign guides the search; no certified result depends on it.

    It uses the first precision that determines the sign. Near a target close to 1, low precisions do not.
    """
    ratio = flint.arb(0)
    for working in PRECISIONS:
        with precision(working):
            value, goal = profile(Fraction(epsilon)), arb_of(target)
            ratio = (value.mid() / goal).log()
            if (value < goal or value > goal) and (value.rel_accuracy_bits() >= 20 or abs(value) < _UNSEEN):
                break
    return float(ratio.mid()) if ratio.is_finite() else -1e6


def _at_most(profile: Decreasing, epsilon: float, target: Fraction) -> bool | None:
    """Whether profile(epsilon) <= target; None if no precision decides it."""
    before = 0
    for working in PRECISIONS:
        with precision(working):
            value, goal = profile(Fraction(epsilon)), arb_of(target)
            if value <= goal:
                return True
            if value > goal:
                return False
        if _is_stuck(value, before):
            return None
        before = value.rel_accuracy_bits()
    return None


def sign_change(
    gap: Callable[[float], float],
    low: float,
    high: float,
    *,
    close: float = 4e-16,
    apart: float = 0.0,
    whole: bool = False,
    at: tuple[float, float] = (math.inf, -math.inf),
) -> tuple[float, float]:
    """Return two close numbers: ``gap`` is above 0 at the first one, and at most 0 at the second one.

    This is the Illinois method for a falling function. The bracket is the interval between the two numbers.
    If four steps do not make it at most half as long, the next step cuts it in half. If values of ``gap`` are
    infinite, only their signs are known, and the method is bisection.

    >>> sign_change(lambda x: 8 - x**3, 0.0, 3.0)
    (1.99999..., 2.0)

    Args:
        gap: a falling function. It is evaluated between ``low`` and ``high`` only.
        low: a number at which ``gap`` is above 0.
        high: a number at which ``gap`` is at most 0.
        close: the largest relative distance of the two results.
        apart: the largest absolute distance of the two results. The larger of the two limits counts.
        whole: whether ``gap`` is evaluated at whole numbers only.
        at: the values of ``gap`` at ``low`` and ``high``, if they are known.
    """
    (at_low, at_high), width, side = at, high - low, 0
    for step in range(300):
        near = max(close * max(abs(low), abs(high)), apart)
        if high - low <= near:
            break
        halve, width = (high - low > width / 2, high - low) if step % 4 == 3 else (False, width)
        halve = halve or (step > 40 and step % 2 == 1)  # a root of high order
        middle = math.nan if halve else _chord(low, at_low, high, at_high)
        middle = min(max(middle, low + near / 2), high - near / 2)  # close to one end: beyond the root
        if not low < middle < high:
            middle = (low + high) / 2
        if whole:
            middle = min(max(round(middle), low + 1), high - 1)
        if not low < middle < high:
            break
        value = gap(middle)
        if value > 0:
            low, at_low, at_high, side = middle, value, at_high / 2 if side > 0 else at_high, 1
        else:
            high, at_high, at_low, side = middle, value, at_low / 2 if side < 0 else at_low, -1
    return low, high


def _chord(low: float, at_low: float, high: float, at_high: float) -> float:
    """Return the place where the chord is 0; NaN if only the signs are known."""
    return (low * at_high - high * at_low) / (at_high - at_low) if at_high < at_low else math.nan


def last_where(
    holds: Callable[[float], bool], low: float, high: float, *, close: float = 4e-16, apart: float = 0.0
) -> tuple[float, float]:
    """Return two close numbers: ``holds`` is true at the first one and false at the second one.

    The search is between ``low`` and ``high``. ``close`` and ``apart`` limit the distance of the two results,
    as in ``sign_change``. If ``holds`` is false everywhere, the first number is ``low``. If ``holds`` is true
    everywhere below ``high``, the second number is ``high``.
    """
    return sign_change(
        lambda place: math.inf if holds(place) else -math.inf, low, high, close=close, apart=apart
    )


def first_whole(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first whole number above ``low`` where ``holds`` is true.

    ``holds`` must be true at ``high``, where it is not evaluated.

    >>> first_whole(lambda x: x * x > 50, 0, 100)
    8
    """
    return low + 1 + bisect_left(range(low + 1, high), True, key=holds)


def first_step(holds: Callable[[float], bool], place: float, step: float, end: float) -> float:
    """Start at ``place``, take steps that double, and return the first number where ``holds`` is true.

    If there is no such number before ``end``, return ``end``, where ``holds`` is not evaluated.

    The sign of ``step`` is the direction, and the first step is no shorter than the distance to the next double.

    >>> first_step(lambda x: x > 5, 0.0, 1.0, math.inf)
    7.0

    Raises:
        ArithmeticError: if ``place`` or ``step`` is NaN.
    """
    if math.isnan(place) or math.isnan(step):
        raise ArithmeticError(
            f"The search cannot begin at {place!r} with a step of {step!r}, because neither may be NaN."
        )
    step = math.copysign(max(abs(step), math.ulp(place) if math.isfinite(place) else 0.0), step)
    while (place < end if step > 0 else place > end) and not holds(place):
        place, step = (min if step > 0 else max)(place + step, end), 2 * step
    return place


def enclose(
    gap: Callable[[float], float], start: float, least: float, most: float, down: float = 2.0
) -> tuple[float, float]:
    """Return positive numbers on both sides of the sign change of the falling function ``gap``.

    The search begins at ``start``. If ``gap`` is above 0, the search doubles the number. Otherwise it divides
    the number by ``down``, and stops near ``least``. If ``gap`` is above 0 up to ``most``, the second result
    is infinite.
    """
    low = high = start
    if gap(start) > 0:
        while gap(high) > 0:
            low, high = high, 2 * high
            if high > most:
                return low, math.inf
    else:
        while gap(low) <= 0 and low > least:
            low, high = low / down, low
    return low, high


_SMALLEST, _LARGEST = sys.float_info.min, sys.float_info.max


def _search(gap: Callable[[float], float], start: float) -> float:
    """Return the positive place where ``gap`` changes sign, or the nearest double that can be represented."""
    low, high = enclose(gap, min(max(start, _SMALLEST), _LARGEST), _SMALLEST, _LARGEST)
    if math.isinf(high) or gap(low) <= 0:
        return low
    return sign_change(gap, low, high, at=(gap(low), gap(high)))[1]


def _step_out(profile: Decreasing, guess: float, target: Fraction) -> tuple[float, float]:
    """Return certified bounds near ``guess``, moved outwards in doubling steps until both are decided."""
    high = first_step(lambda x: _at_most(profile, x, target) is True, guess, _ulp(guess), math.inf)
    return below(profile, guess, target, _ulp(guess)), high


def below(profile: Decreasing, guess: float, target: Fraction, step: float) -> float:
    """Return an epsilon at or below ``guess`` at which ``profile`` is certified to be above ``target``, or 0.

    The search goes down in doubling steps, which begin with ``step``.
    """
    return first_step(lambda x: _at_most(profile, x, target) is False, guess, -step, 0.0)


def neighbours(value: Fraction) -> tuple[float, float]:
    """Return the doubles just below and above ``value``, which is at least 0.

    If ``value`` is a double, return this double twice.

    >>> from fractions import Fraction
    >>> neighbours(Fraction(1, 2))
    (0.5, 0.5)
    """
    near = float(value)
    if near == value:
        return near, near
    return (near, math.nextafter(near, math.inf)) if near < value else (math.nextafter(near, -math.inf), near)


def at_least(number: Fraction) -> float:
    """Return a double that is at least the number: the nearest double, or the next larger one.

    >>> at_least(Fraction(1, 10)), at_least(Fraction(1, 5 * 10**5)) >= Fraction(1, 5 * 10**5)
    (0.1, True)
    """
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def neighbours_of(value: Fraction) -> tuple[float, float]:
    """Return the largest double that is at most ``value``, and the smallest double above ``value``.

    >>> neighbours_of(Fraction(1, 10)) == (math.nextafter(0.1, 0), 0.1)
    True
    """
    nearest = float(value)
    low = nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
    return low, math.nextafter(low, math.inf)


def _ulp(value: float) -> float:
    return max(value * 2.0**-52, 5e-324)
