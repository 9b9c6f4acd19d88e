"""Choosing the grid: tilt, step, range and window for an epsilon or a delta, and the two-sided answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from accountant.pairs.base import Floats, Pair
from accountant.privacy_loss.coarse import Guide
from accountant.privacy_loss.grid import law_above, law_below
from accountant.privacy_loss.loss_sums import LossSum, Window, sum_of_losses

__all__ = ["Composed", "GridTooLargeError", "Plan", "compose", "plan", "profile"]

Parts = Sequence[tuple[Pair, int]]


class GridTooLargeError(MemoryError):
    """Raised where the grid that would be needed exceeds the points allowed."""


@dataclass(frozen=True)
class Composed:
    """The privacy profile of a composition, from both sides, certified at every epsilon >= 0."""

    above: LossSum
    below: LossSum

    def upper(self, epsilon: float) -> float:
        """At least delta(epsilon)."""
        return self.above.delta(epsilon)

    def lower(self, epsilon: float) -> float:
        """At most delta(epsilon)."""
        return min(self.below.delta(epsilon), self.above.delta(epsilon))


@dataclass(frozen=True)
class Plan:
    """A grid. Nothing rests on it but accuracy."""

    step: float
    tilt: float
    """Per unit of loss."""
    ranges: tuple[tuple[int, int], ...]
    """First and last grid point of each part."""
    window: Window
    start: int
    """The first grid point at which the profile is wanted."""
    slopes: tuple[float, float]
    """For Chernoff's bounds below and above the window, per unit of loss."""


def plan(
    parts: Parts, *, epsilon: float | None = None, delta: float | None = None, accuracy: float, points: int
) -> Plan:
    """A grid for the profile near ``epsilon``, or near where it is ``delta``.

    The wanted accuracy is given up in steps of ten where the grid would have more than ``points`` points.
    """
    guide = Guide.of(parts)
    while True:
        small = 0.01 * accuracy
        aim = _aim(guide, epsilon, delta, small)
        tilt, low, high, slopes = _best_tilt(aim, small)
        step = math.sqrt(8 * accuracy / (float(guide.counts.sum()) * aim.saddle * (aim.saddle + 1)))
        longest = max(high - low, float((aim.highs - aim.lows).max()), 1e-12 * (1 + abs(high)))
        excess = longest / (step * points)
        if excess <= 1.01 or accuracy >= 1e-3:
            break
        accuracy *= min(10.0, 1.1 * excess**2)
    size = 2 ** min(max(round(math.log2(longest / step)), 14), round(math.log2(points)))
    step = _short(longest / (size - 16), parts)
    size = 1 << math.ceil(math.log2((high - low) / step + 8))
    first = math.floor(low / step) - 1
    start = max(first, math.floor(aim.epsilon / step - 300 / (tilt * step)))
    ranges = zip(np.floor(aim.lows / step) - 1, np.ceil(aim.highs / step) + 1, strict=True)
    return Plan(step, tilt, tuple((int(a), int(b)) for a, b in ranges), Window(first, size), start, slopes)


@dataclass(frozen=True)
class _Aim:
    """Where the profile is wanted, the ranges of losses that matter there, and the law cut to them."""

    guide: Guide
    saddle: float
    epsilon: float
    log_delta: float
    lows: Floats
    highs: Floats


def _aim(guide: Guide, epsilon: float | None, delta: float | None, small: float) -> _Aim:
    """The saddle point, found again after the law is cut to what matters at it."""
    cut = guide
    for _ in range(2):
        if epsilon is not None:
            saddle = _crossing(lambda t: cut.saddle(t)[0] - epsilon, 1e-9, 1e9)
        else:
            assert delta is not None
            goal = math.log(max(delta - guide.infinite, 1e-3 * delta, 1e-300))
            saddle = _crossing(lambda t: goal - cut.saddle(t)[1], 1e-9, 1e9)
        here, log_delta = cut.saddle(saddle)
        lows, highs = guide.ranges(saddle, log_delta + math.log(small), small)
        cut = guide.cut(lows, highs)
    return _Aim(cut, saddle, here if epsilon is None else epsilon, log_delta, lows, highs)


_NOISY_SIGNAL = 1e-5


def _best_tilt(aim: _Aim, small: float) -> tuple[float, float, float, tuple[float, float]]:
    """The tilt, at most the saddle point, with the shortest window among those that keep out the FFT's noise.

    Also the window's ends, by Chernoff's bound, and the slopes that give them.
    """
    found = []
    for factor in (1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1):
        tilt = factor * aim.saddle
        here = aim.guide.log_mgf(tilt)[0]
        log_signal = min(aim.log_delta + tilt * aim.epsilon - here, 0.0)
        ends = [_chernoff(aim.guide, tilt, here, math.log(small) + log_signal, sign) for sign in (-1, 1)]
        low, high = min(ends[0][0], aim.epsilon), max(ends[1][0], aim.epsilon)
        cost = (high - low) ** 2 * (1 + _NOISY_SIGNAL * math.exp(-log_signal))
        found.append((cost, tilt, low, high, (ends[0][1], ends[1][1])))
    return min(found)[1:]


def _chernoff(guide: Guide, tilt: float, here: float, goal: float, sign: int) -> tuple[float, float]:
    """The end beyond which the tilted sum has at most the mass exp(goal), and the slope that gives it."""
    slopes = tilt * 2.0 ** np.arange(-6, 6, 0.5)
    ends = [(guide.log_mgf(tilt + sign * s)[0] - here - goal) / s for s in slopes]
    best = int(np.argmin(ends))
    return sign * float(ends[best]), float(slopes[best])


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function changes sign, by bisection of the logarithm; an end where it does not."""
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return high


def _short(step: float, parts: Parts) -> float:
    """A step with few bits, so that the grid points are exact; or a part of the lattice of the atoms."""
    lattices = [found for pair, _ in parts if (found := getattr(pair, "lattice", None))]
    if lattices and lattices[0] >= step:
        return float(lattices[0] / math.floor(lattices[0] / step))
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.ceil(mantissa * 2**16), exponent - 16)


def compose(parts: Parts, planned: Plan) -> Composed:
    """Both sides of the profile on a planned grid; sound for every plan."""
    counts = [count for _, count in parts]
    ranges, step = planned.ranges, planned.step
    above = [law_above(pair, step, *ends) for (pair, _), ends in zip(parts, ranges, strict=True)]
    below = [law_below(pair, step, *ends, planned.tilt) for (pair, _), ends in zip(parts, ranges, strict=True)]
    slopes = tuple(slope * step for slope in planned.slopes)
    sides = [
        sum_of_losses(
            list(zip(laws, counts, strict=True)),
            step=step,
            tilt=planned.tilt * step,
            window=planned.window,
            start=planned.start,
            slopes=(slopes[0], slopes[1]),
            sign=sign,
        )
        for laws, sign in ((above, 1), (below, -1))
    ]
    return Composed(*sides)


def profile(
    parts: Parts,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    accuracy: float = 1e-6,
    points: int = 2**20,
) -> Composed:
    """The certified profile of a composition, most accurate near ``epsilon`` or near where it is ``delta``."""
    return compose(parts, plan(parts, epsilon=epsilon, delta=delta, accuracy=accuracy, points=points))
