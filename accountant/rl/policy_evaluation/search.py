"""Two searches in ordinary numbers: where a rising function turns positive, and a place of its least value.

They only propose, or return a place at which the caller's own certified question was answered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

__all__ = ["descent", "last_place"]


def last_place(gap: Callable[[float], float], start: float, least: float, close: float) -> float | None:
    """A place asked where ``gap`` is at most 0, and above 0 within ``close`` beyond it, if it rises.

    None where it is above 0 down to ``least``. By interpolation, truncation and projection (Oliveira and
    Takahashi, ACM Trans. Math. Softw. 47, 2021): hardly ever worse than bisection, mostly far faster.

    >>> round(last_place(lambda x: x**3 - 8, 0.0, -9.0, 1e-9), 6)
    2.0
    """
    low = high = start
    below = above = gap(start)
    step = math.log(2)
    while below > 0:
        if low < least:
            return None
        high, above, low = low, below, low - step
        below, step = gap(low), 2 * step
    while above <= 0:
        low, below, high = high, above, high + step
        above, step = gap(high), 2 * step
    return _between(gap, (low, below), (high, above), close)


def _between(
    gap: Callable[[float], float], left: tuple[float, float], right: tuple[float, float], close: float
) -> float:
    """The last place in a bracket where ``gap`` is at most 0, to ``close``."""
    (low, below), (high, above) = left, right
    width = high - low
    steps = math.ceil(math.log2(max(width / close, 1))) + 1
    for step in range(steps + 1):
        if high - low <= close:
            break
        half = (low + high) / 2
        secant = (above * low - below * high) / (above - below)
        toward = math.copysign(1, half - secant)
        shift = 0.2 * (high - low) ** 2 / width
        moved = secant + toward * shift if shift <= abs(half - secant) else half
        most = close / 2 * 2.0 ** (steps - step) - (high - low) / 2  # so that it ends in so many steps
        place = moved if abs(moved - half) <= most else half - toward * most
        value = gap(place)
        low, below, high, above = (low, below, place, value) if value > 0 else (place, value, high, above)
    return low


def descent(at: Callable[[int], float], begin: Sequence[int], ends: tuple[int, int]) -> tuple[int, float]:
    """A whole place where ``at`` is about least, and its value: from the best of ``begin``, in halved steps.

    >>> descent(lambda x: (x - 5) ** 2, (12, -4, -20), (-28, 20))
    (5, 0)
    """
    known: dict[int, float] = {}

    def value(place: int) -> float:
        if place not in known:
            known[place] = at(place)
        return known[place]

    best, step = min(begin, key=value), 8
    while step:
        before, near = best, (best, max(best - step, ends[0]), min(best + step, ends[1]))
        best = min(near, key=value)
        step = step // 2 if best == before else step
    return best, value(best)
