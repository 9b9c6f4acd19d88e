"""Choosing the grid: tilt, step, range and window for an epsilon or a delta."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpproof.accountant.pairs.base import DominatingPair, Floats
from dpproof.accountant.privacy_loss.coarse import Guide
from dpproof.accountant.privacy_loss.loss_sums import Window

__all__ = ["Aim", "GridTooLargeError", "Parts", "Plan", "aim_at", "best_tilt", "plan"]

Parts = Sequence[tuple[DominatingPair, int]]
"""Pairs, each with the number of times it is composed."""


class GridTooLargeError(MemoryError):
    """Raised where the grid that would be needed exceeds the points allowed."""


@dataclass(frozen=True)
class Plan:
    """A grid. Nothing rests on it but accuracy."""

    step: float
    tilt: float
    """Per unit of loss."""
    ranges: tuple[tuple[int, int], ...]
    """First and last grid point of each part."""
    origins: tuple[float, ...]
    """Each part's loss at grid point 0."""
    window: Window
    start: int
    """The first grid point at which the profile is wanted."""
    slopes: tuple[float, float]
    """For Chernoff's bounds below and above the window, per unit of loss."""


def plan(
    parts: Parts, *, epsilon: float | None = None, delta: float | None = None, accuracy: float, points: int
) -> Plan:
    """A grid for the profile near ``epsilon``, or near where it is ``delta``.

    The wanted accuracy is given up in steps where the grid would have more than ``points`` points.

    Raises:
        GridTooLargeError: where even a relative width of 1e-3 needs 30 times as many.
    """
    guide = Guide.of(parts)
    steepest = _steepest(guide, parts)
    while True:
        small = 0.01 * accuracy
        aim = _aim(guide, steepest, epsilon, delta, small)
        tilt, low, high, slopes = best_tilt(aim, small)
        step = math.sqrt(8 * accuracy / (float(guide.counts.sum()) * aim.saddle * (aim.saddle + 1)))
        longest = max(high - low, float((aim.highs - aim.lows).sum()) / 2, 1e-12 * (1 + abs(high)))
        excess = longest / (step * points)
        if excess <= 1.01 or accuracy >= 1e-3:
            break
        accuracy *= min(10.0, 1.1 * excess**2)
    if excess > 30:
        needed = 2 ** math.ceil(math.log2(longest / step))
        raise GridTooLargeError(
            f"points ({points}) must be about {needed} for a relative width of {accuracy:.0e}"
        )
    size = 2 ** min(max(round(math.log2(longest / step)), 14), round(math.log2(points)))
    step, origins = _aligned(longest / (size - 16), parts)
    size = 1 << math.ceil(math.log2((high - low) / step + 8))
    moved = float(np.dot(guide.counts, origins))
    first = math.floor((low - moved) / step) - 1
    start = max(first, math.floor((aim.epsilon - moved - 300 / tilt) / step))
    ranges = tuple(
        (math.floor((a - o) / step) - 1, math.ceil((b - o) / step) + 1)
        for a, b, o in zip(aim.lows, aim.highs, origins, strict=True)
    )
    return Plan(step, tilt, ranges, origins, Window(first, size), start, slopes)


@dataclass(frozen=True)
class Aim:
    """Where the profile is wanted, the ranges of losses that matter there, and the law cut to them."""

    guide: Guide
    saddle: float
    epsilon: float
    log_delta: float
    lows: Floats
    highs: Floats

    @property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest sum."""
        counts = self.guide.counts
        return float(counts @ self.lows), float(counts @ self.highs)


def _aim(guide: Guide, steepest: float, epsilon: float | None, delta: float | None, small: float) -> Aim:
    """The saddle point, found again after the law is cut to what matters at it."""
    cut = guide
    for _ in range(2):
        saddle = min(_saddle(cut, epsilon, delta), steepest)
        here, log_delta = cut.saddle(saddle)
        lows, highs = guide.ranges(saddle, log_delta + math.log(small), small)
        cut = guide.cut(lows, highs)
    return Aim(cut, saddle, here if epsilon is None else epsilon, log_delta, lows, highs)


def _saddle(guide: Guide, epsilon: float | None, delta: float | None) -> float:
    if epsilon is not None:
        return _crossing(lambda tilt: guide.saddle(tilt)[0] - epsilon, 1e-9, 1e15)
    wanted = delta or 0.0
    goal = math.log(max(wanted - guide.infinite, 1e-3 * wanted, 1e-300))
    return _crossing(lambda tilt: goal - guide.saddle(tilt)[1], 1e-9, 1e15)


def aim_at(guide: Guide, epsilon: float) -> Aim:
    """The whole law, aimed at an epsilon."""
    most = float(guide.counts @ guide.losses.max(axis=1))
    room = max(most - guide.log_mgf(0.0)[1], 1e-290)
    saddle = min(_saddle(guide, epsilon, None), 200 / room if most < 1.01 * epsilon else math.inf)
    return Aim(guide, saddle, epsilon, guide.saddle(saddle)[1], guide.lows[:, 0], guide.highs[:, -1])


_NOISY_SIGNAL = 1e-5


def best_tilt(aim: Aim, small: float) -> tuple[float, float, float, tuple[float, float]]:
    """The tilt, at most the saddle point, with the shortest window among those that keep out the FFT's noise.

    Also the window's ends, by Chernoff's bound, and the slopes that give them.
    """
    found = []
    for factor in (1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1):
        tilt = factor * aim.saddle
        here = aim.guide.log_mgf(tilt)[0]
        log_signal = min(aim.log_delta + tilt * aim.epsilon - here, 0.0)
        goal = math.log(small) + log_signal
        (low, down), (high, up) = (_end(aim, tilt, here, goal, sign) for sign in (-1, 1))
        cost = (high - low) ** 2 * (1 + _NOISY_SIGNAL * math.exp(min(-log_signal, 600.0)))
        found.append((cost, tilt, low, high, (down, up)))
    return min(found)[1:]


def _steepest(guide: Guide, parts: Parts) -> float:
    """A tilt beyond which a bounded sum only sits at its largest value."""
    tops = np.array([pair.loss_range()[1] for pair, _ in parts])
    top = float(np.dot(guide.counts, tops))
    if math.isinf(top):
        return math.inf
    tilt = 200 / max(top - guide.log_mgf(0.0)[1], 1e-290)
    while tilt < 1e12 and tilt * (top - guide.log_mgf(tilt)[1]) > 1:
        tilt *= 2
    return tilt


def _end(aim: Aim, tilt: float, here: float, goal: float, sign: int) -> tuple[float, float]:
    """The window's end below or above, and the slope for the certified Chernoff bound beyond it.

    The end has tilted mass exp(goal) beyond it by Chernoff's bound on the coarse law; where that is close to
    the extreme sum, it lies beyond the extreme sum.
    """
    slopes = tilt * 2.0 ** np.arange(-6, 6, 0.5)
    ends = [(aim.guide.log_mgf(tilt + sign * s)[0] - here - goal) / s for s in slopes]
    best = int(np.argmin(ends))
    end, room = sign * aim.epsilon, sign * (aim.extremes[sign > 0] - aim.epsilon)
    if 0 < room < 2 * (float(ends[best]) - end):
        gap = 0.02 * room
        return sign * (end + room + gap), -1.2 * goal / gap
    return sign * max(end, float(ends[best])), float(slopes[best])


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function changes sign, by bisection of the logarithm; an end where it does not."""
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return high


def _aligned(step: float, parts: Parts) -> tuple[float, tuple[float, ...]]:
    """A step, and each part's origin, for which atoms lie on the grid; else a step with few bits.

    Atoms lie at origin + multiples of ``lattice``, where a pair has these; the most frequent part decides.
    """
    atoms = [(count, found) for pair, count in parts if (found := getattr(pair, "lattice", None))]
    spacing = max(atoms, default=(0, 0.0))[1]
    if spacing >= step:
        step = spacing / math.floor(spacing / step)
    else:
        mantissa, exponent = math.frexp(step)
        step = math.ldexp(math.ceil(mantissa * 2**16), exponent - 16)
    return step, tuple(_remainder(getattr(pair, "origin", 0.0), step) for pair, _ in parts)


def _remainder(origin: float, step: float) -> float:
    """The origin modulo the step; 0 where it is a multiple up to rounding."""
    rest = origin - step * round(origin / step)
    return 0.0 if abs(rest) <= 1e-9 * step else rest % step
