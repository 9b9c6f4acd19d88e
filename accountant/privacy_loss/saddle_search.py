"""Search for the line of an inversion integral: the real c near the saddle point.

Every line gives valid bounds, so the search need not be certified. It first uses sums over listed outputs in plain
doubles (``sketch``) where there are any. Then one certified evaluation at the c that was found is usually enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dpproof.accountant.numbers.inversion import last_where, sign_change
from dpproof.accountant.privacy_loss.saddle import (
    Inapplicable,
    Line,
    Parts,
    chernoff_factor,
    line_at,
    rough_line_at,
)
from dpproof.accountant.privacy_loss.sketch import is_sketched

MOST_TRIES = 80


def saddle_for_delta(parts: Parts, log_delta: float, tries: int = MOST_TRIES) -> Line:
    """Return the ``Line`` whose c is near the saddle point for the epsilon with this ``log_delta`` < 0.

    Raises:
        Inapplicable: if that many tries do not find it.
    """

    def gap(line: Line) -> float:
        """Return log((1 - log_delta)/(1 - x)), where x is the log of the delta that ``line`` gives."""
        found = min(line.log_delta(line.saddle_epsilon()), 0.0)
        return math.log((1 - log_delta) / (1 - found))

    return _saddle(parts, gap, tries)


def saddle_for_epsilon(parts: Parts, epsilon: float, tries: int = MOST_TRIES) -> Line:
    """Return the ``Line`` whose c is near the saddle point of the integral for delta at ``epsilon``.

    Raises:
        Inapplicable: if that many tries do not find it.
    """
    return _saddle(parts, lambda line: math.asinh((epsilon - line.saddle_epsilon()) * line.c / 8), tries)


_START, _SMALLEST, _LARGEST = 1.0, 1e-9, 1e18
_MANY = 32
"""If there are more parts than this, the search first uses an eighth of them to find its start."""
_CLOSE, _CLOSER = 0.08, 0.01
"""The tolerances of the search, roughly relative to log delta: of lines, and of estimates."""


def _saddle(parts: Parts, gap: Callable[[Line], float], tries: int) -> Line:
    """Return the line where ``gap``, decreasing in c, is about 0."""
    start = _START
    if is_sketched(parts):
        deviation = math.sqrt(rough_line_at(parts, _SMALLEST).variance)
        start = min(max(1 / max(deviation, 1e-300), _SMALLEST), _LARGEST)
        start = _search(lambda c: rough_line_at(parts, c), gap, start, _CLOSER).c
    elif len(parts) > _MANY:
        start = _saddle(parts[::8], lambda line: gap(line.repeated(8)), tries).c
    return _search(lambda c: line_at(parts, c), gap, start, _CLOSE, tries)


def _search(
    line_of: Callable[[float], Line],
    gap: Callable[[Line], float],
    c: float,
    close: float,
    tries: int = MOST_TRIES,
) -> Line:
    """Return the line where ``gap``, decreasing in c, is about 0. The search begins at ``c``.

    It uses the Gaussian model, and the Illinois method once there is a bracket. ``sign_change`` is not used: some
    places have no value, and each value comes with a line that the answer needs.
    """
    low, high = (_SMALLEST, 0.0), (_LARGEST, 0.0)
    for _ in range(tries):
        try:
            line = line_of(c)
            value = gap(line)
        except (Inapplicable, OverflowError) as refused:
            if tries < MOST_TRIES:
                raise Inapplicable(str(refused)) from refused
            high, c = (c, 0.0), max(c / 4, math.sqrt(low[0] * c))
            continue
        if abs(value) < close or high[0] / low[0] < 1 + 1e-6:
            return line
        if value > 0:
            low, high = (c, value), (high[0], high[1] / 2)
        else:
            low, high = (low[0], low[1] / 2), (c, value)
        c = _between(low, high) or _solve(_modelled(gap, line), max(low[0], c / 16), min(high[0], 2 * c))
    raise Inapplicable("no saddle point was found")


def _between(low: tuple[float, float], high: tuple[float, float]) -> float | None:
    """Return the zero of the chord in log c; None until both ends have a value."""
    if low[1] == 0 or high[1] == 0:
        return None
    share = low[1] / (low[1] - high[1])
    return low[0] * math.exp(math.log(high[0] / low[0]) * min(max(share, 0.02), 0.98))


def _modelled(gap: Callable[[Line], float], line: Line) -> Callable[[float], float]:
    return lambda c: gap(line.model(c))


def _solve(gap: Callable[[float], float], low: float, high: float) -> float:
    """Return where ``gap`` changes its sign, in log c; the nearer end if it does not."""
    ends = math.log(low), math.log(high)
    near = (ends[1] - ends[0]) * 2.0**-29.9
    return math.exp(sum(last_where(lambda place: gap(math.exp(place)) > 0, *ends, apart=near)) / 2)


def rough_saddle(rough_of: Callable[[float], Line], c: float, epsilon: float) -> Line:
    """Return the estimate of a line near c, with the saddle point at ``epsilon`` if there is one."""

    def gap(place: float) -> float:
        return epsilon - rough_of(math.exp(place)).saddle_epsilon()

    low, high = math.log(c / _WITHIN), math.log(c * _WITHIN)
    ends = gap(low), gap(high)
    if ends[0] > 0 >= ends[1]:
        low, high = sign_change(gap, low, high, apart=0.01, at=ends)
    return rough_of(math.exp(low if ends[0] <= 0 else high))


_WITHIN = 4.0


def log_chernoff(line: Line, epsilon: float) -> float:
    """Return Chernoff's bound on log delta, without the error of the line."""
    return line.log_mgf + chernoff_factor(line.c) - line.c * epsilon
