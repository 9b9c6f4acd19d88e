"""Delta and epsilon of a composition by inversion of its moment-generating function.

The search for epsilon is not certified, but one evaluation of the profile certifies each of its two bounds.
Derivations: docs/notes/saddle_inversion.md and docs/notes/rare_jumps.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from typing import ParamSpec, TypeVar

from dpproof.accountant.numbers.arithmetic import np
from dpproof.accountant.numbers.inversion import LEAST_DELTA, first_step, neighbours
from dpproof.accountant.privacy_loss.jump_outlook import Jumping
from dpproof.accountant.privacy_loss.rare_jumps import Parted, parted
from dpproof.accountant.privacy_loss.saddle import (
    MOST_NODES,
    Contour,
    Inapplicable,
    Line,
    Parts,
    contour,
    line_at,
)
from dpproof.accountant.privacy_loss.saddle_search import MOST_TRIES, saddle_for_delta, saddle_for_epsilon

Ends = tuple[float, float]
Integral = Contour | Parted
Saddle = Callable[[float, int], Line]
"""A function that returns a line near the saddle point.

The numbers are by how much its log delta is misjudged, and how many places may be tried.
"""
_RAREST = math.log(1e-300)
_FEW_NODES, _NARROW, _WIDE, _FAR_OFF = 5000, 1e-7, 1e-6, 2.0
_FEW_TRIES = 3
"""If estimates mislead the search for a line, rare jumps outweigh all other losses there."""
_RARE = 1.0
_FLATTEST = 0.25
"""The smallest distance between the line and the pole at 0, in units of 1 over the loss's standard deviation."""


_P = ParamSpec("_P")
_T = TypeVar("_T")


def _in_doubles(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function that raises `Inapplicable` if a number leaves the range of doubles: a bound might be lost."""

    @wraps(function)
    def checked(*given: _P.args, **named: _P.kwargs) -> _T:
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                return function(*given, **named)
        except FloatingPointError as error:
            raise Inapplicable(f"the inversion leaves the range of doubles: {error}") from error

    return checked


def delta_by_inversion(parts: Parts, epsilon: Fraction) -> tuple[float, float]:
    """Return certified bounds on the delta of a composition at ``epsilon``, from moment-generating functions.

    Raises:
        Inapplicable: if this method has no answer.
    """

    def saddle(_: float, tries: int) -> Line:
        return _away_from_pole(parts, saddle_for_epsilon(parts, float(epsilon), tries))

    def in_parts(part: Jumping, times: int) -> Parted:
        return parted(part, times, log_delta=_RAREST, epsilon=float(epsilon))

    def ends(found: Integral) -> Ends:
        return delta_of(found, epsilon)

    return _best(parts, saddle, lambda line: min(line.log_delta(float(epsilon)), -1e-9), in_parts, ends)


@_in_doubles
def delta_of(found: Integral, epsilon: Fraction) -> Ends:
    """Return certified bounds on the delta at ``epsilon``, from an integral for an epsilon that may be another one."""
    below, above = neighbours(epsilon)
    high = found.delta(below)
    low = high if below == above else found.delta(above)
    return min(low[0], 1.0), min(high[1], 1.0)


def epsilon_by_inversion(parts: Parts, delta: Fraction) -> tuple[float, float]:
    """Return certified bounds on the smallest epsilon >= 0 at ``delta`` in (0, 1), from moment-generating functions.

    Raises:
        Inapplicable: if this method has no answer.
    """
    goal = math.log(delta.numerator) - math.log(delta.denominator)

    def saddle(off: float, tries: int) -> Line:
        return _away_from_pole(parts, saddle_for_delta(parts, min(goal + off, -1e-9), tries))

    def in_parts(part: Jumping, times: int) -> Parted:
        return parted(part, times, log_delta=goal)

    return _best(parts, saddle, lambda _: goal, in_parts, lambda found: epsilon_of(found, delta))


@_in_doubles
def epsilon_of(found: Integral, delta: Fraction) -> Ends:
    """Return certified bounds on the epsilon at ``delta``, from an integral for a delta that may be another one.

    Raises:
        Inapplicable: if the integral is too inaccurate at this delta.
    """
    goal = math.log(delta.numerator) - math.log(delta.denominator)
    guess, wrong = _solve(found, goal)
    if guess <= 0 and found.delta(0.0)[1] <= delta:
        return 0.0, 0.0
    return _below(found, max(guess, 0.0), wrong, delta), _above(found, max(guess, 0.0), wrong, delta)


@_in_doubles
def integral_between(parts: Parts, log_middle: float, log_least: float) -> Contour:
    """Return one integral for all epsilons near the one with log delta ``log_middle``.

    Where delta is at least exp(``log_least``), aliasing and truncation are small against it.

    Raises:
        Inapplicable: if the integral needs too many points, or a moment-generating function is not known.
    """
    line = _away_from_pole(parts, saddle_for_delta(parts, log_middle))
    return contour(parts, line, log_least)


@_in_doubles
def parts_between(parts: Parts, log_middle: float) -> Parted:
    """Return integrals with and without rare jumps, for all epsilons near the one with log delta ``log_middle``.

    Raises:
        Inapplicable: unless the composition is of one kind that may jump.
    """
    first, times = parts[0]
    if len(parts) > 1 or not isinstance(first, Jumping) or not first.may_jump:
        raise Inapplicable("the composition has no rare jumps of one kind")
    return parted(first, times, log_delta=log_middle)


def _best(
    parts: Parts,
    saddle: Saddle,
    log_delta: Callable[[Line], float],
    in_parts: Callable[[Jumping, int], Parted],
    ends: Callable[[Integral], Ends],
) -> Ends:
    """Return the first narrow answer: by one integral, by parts with and without rare jumps, or by more points.

    Bounds of several methods are combined.
    """
    methods: list[tuple[Callable[[], Integral], float]] = [
        (lambda: _centred(parts, saddle, log_delta, MOST_NODES, MOST_TRIES), _WIDE)
    ]
    first = parts[0][0]
    if len(parts) == 1 and isinstance(first, Jumping) and first.may_jump:
        # If hardly any step samples a record, the search for a single line takes long and is in vain.
        place = 0 if parts[0][1] * first.rate < _RARE else 1
        methods.insert(0, (lambda: _centred(parts, saddle, log_delta, _FEW_NODES, _FEW_TRIES), _NARROW))
        methods.insert(place, (lambda: in_parts(first, parts[0][1]), _NARROW))
    low, high, refused = 0.0, math.inf, Inapplicable("no method applies")
    for method, wide in methods:
        if high < math.inf and high - low <= wide * high:
            break
        try:
            found = ends(_in_doubles(method)())
        except Inapplicable as error:
            refused = error
            continue
        low, high = max(low, found[0]), min(high, found[1])
    if math.isinf(high):
        raise refused
    return low, high


def _centred(
    parts: Parts, saddle: Saddle, log_delta: Callable[[Line], float], most: int, tries: int
) -> Contour:
    """Return the integral on one line. If the line is far from the saddle point, take the line that corrects this."""
    off = 0.0
    for _ in range(3):
        line = saddle(off, tries)
        found = contour(parts, line, log_delta(line), most)
        here = line.saddle_epsilon()
        low, high = found.delta(here) if here > 0 else (0.0, 0.0)
        if low <= 0:
            break
        off = line.log_delta(here) - math.log(low / 2 + high / 2)
        if abs(off) < _FAR_OFF:
            break
    return found


def _away_from_pole(parts: Parts, line: Line) -> Line:
    if not line.variance > 0:
        raise Inapplicable("the variance of the privacy loss is not above 0 in double precision")
    least = _FLATTEST / math.sqrt(line.variance)
    return line if line.c >= least else line_at(parts, least)


def _solve(found: Integral, goal: float) -> tuple[float, float]:
    """Return the place where the middle of the certified bounds meets the goal, and the uncertainty of the place.

    ``sign_change`` is not used, because the contour gives no information far from the saddle point, so there
    is no bracket.
    """
    (epsilon, slope), width = found.aim, 0.0
    previous: tuple[float, float] | None = None
    for _ in range(30):
        low, high = found.delta(epsilon)
        if low <= 0 and high < 4 * LEAST_DELTA:  # delta is below the smallest number that counts
            epsilon += 2 / slope
            continue
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


def _above(found: Integral, guess: float, step: float, delta: Fraction) -> float:
    """An epsilon at or above ``guess`` whose delta is certified to be at most ``delta``."""
    end = guess + 2.0**60 * step
    if (high := first_step(lambda epsilon: found.delta(epsilon)[1] <= delta, guess, step, end)) < end:
        return high
    raise Inapplicable("no epsilon near the saddle point is certified to meet delta")


def _below(found: Integral, guess: float, step: float, delta: Fraction) -> float:
    """An epsilon at or below ``guess``, at least 0, whose delta is certified to be above ``delta``."""
    return first_step(lambda epsilon: found.delta(epsilon)[0] > delta, guess, -step, 0.0)
