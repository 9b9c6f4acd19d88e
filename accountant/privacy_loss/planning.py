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

def _last(holds: Callable[[float], bool]) -> float:
    """An epsilon at which ``holds``, which it does at 0, and hardly any larger one at which it does."""
    return _search(holds)[0]


def _next(holds: Callable[[float], bool]) -> float:
    """An epsilon at which ``holds`` fails, as small as a search finds; infinite where there is none."""
    return _search(holds)[1]


def _search(holds: Callable[[float], bool]) -> tuple[float, float]:
    if holds(math.inf):
        return math.inf, math.inf
    low, high = 0.0, 1e-12
    while holds(high):
        low, high = high, 4 * high
        if high > 1e300:
            return low, math.inf
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


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

    def epsilon(self, delta: float) -> tuple[float, float]:
        """Ends around the smallest epsilon >= 0 whose delta is at most ``delta``.

        Raises:
            ValueError: unless 0 <= delta < 1.
        """
        if not 0 <= delta < 1:
            raise ValueError(f"delta ({delta!r}) must be in [0, 1)")
        low = 0.0 if self.lower(0.0) <= delta else _last(lambda epsilon: self.lower(epsilon) > delta)
        high = 0.0 if self.upper(0.0) <= delta else _next(lambda epsilon: self.upper(epsilon) > delta)
        return min(low, high), high


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

    The wanted accuracy is given up in steps of ten where the grid would have more than ``points`` points.
    """
    guide = Guide.of(parts)
    steepest = _steepest(guide, parts)
    while True:
        small = 0.01 * accuracy
        aim = _aim(guide, steepest, epsilon, delta, small)
        tilt, low, high, slopes = _best_tilt(aim, small)
        step = math.sqrt(8 * accuracy / (float(guide.counts.sum()) * aim.saddle * (aim.saddle + 1)))
        longest = max(high - low, float((aim.highs - aim.lows).sum()) / 2, 1e-12 * (1 + abs(high)))
        excess = longest / (step * points)
        if excess <= 1.01 or accuracy >= 1e-3:
            break
        accuracy *= min(10.0, 1.1 * excess**2)
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
class _Aim:
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


def _aim(guide: Guide, steepest: float, epsilon: float | None, delta: float | None, small: float) -> _Aim:
    """The saddle point, found again after the law is cut to what matters at it."""
    cut = guide
    for _ in range(2):
        if epsilon is not None:
            saddle = _crossing(lambda t: cut.saddle(t)[0] - epsilon, 1e-9, 1e9)
        else:
            assert delta is not None
            goal = math.log(max(delta - guide.infinite, 1e-3 * delta, 1e-300))
            saddle = _crossing(lambda t: goal - cut.saddle(t)[1], 1e-9, 1e9)
        saddle = min(saddle, steepest)
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
        goal = math.log(small) + log_signal
        (low, down), (high, up) = (_end(aim, tilt, here, goal, sign) for sign in (-1, 1))
        cost = (high - low) ** 2 * (1 + _NOISY_SIGNAL * math.exp(-log_signal))
        found.append((cost, tilt, low, high, (down, up)))
    return min(found)[1:]


def _steepest(guide: Guide, parts: Parts) -> float:
    """A tilt beyond which a bounded sum only sits at its largest value."""
    tops = np.array([pair.loss_range()[1] for pair, _ in parts])
    room = float(np.dot(guide.counts, tops)) - guide.log_mgf(0.0)[1]
    return 200 / max(room, 1e-290) if room < math.inf else math.inf


def _end(aim: _Aim, tilt: float, here: float, goal: float, sign: int) -> tuple[float, float]:
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

    Atoms lie at origin + multiples of ``lattice``, where a pair has these; the most frequent such part decides.
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


def compose(parts: Parts, planned: Plan) -> Composed:
    """Both sides of the profile on a planned grid; sound for every plan."""
    counts = [count for _, count in parts]
    ranges, step = planned.ranges, planned.step
    rows = list(zip(parts, ranges, planned.origins, strict=True))
    above = [law_above(pair, step, *ends, origin) for (pair, _), ends, origin in rows]
    below = [law_below(pair, step, *ends, planned.tilt, origin) for (pair, _), ends, origin in rows]
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
    """The certified profile of a composition, most accurate near ``epsilon``, or near where it is ``delta``.

    >>> from accountant.pairs.laplace import Laplace
    >>> composed = profile([(Laplace(10.0), 100)], delta=1e-6)
    >>> low, high = composed.epsilon(1e-6)
    >>> round(low, 6), high - low < 1e-6
    (4.692667, True)

    Args:
        parts: pairs with the number of times each is composed, at least 1.
        epsilon, delta: exactly one of them, epsilon >= 0 or 0 <= delta < 1.
        accuracy: the relative width of delta aimed at; what is reached is what the two sides say.
        points: the most grid points used, a power of two; memory is about 100 bytes a point.

    Raises:
        ValueError: for no parts, a count that is no positive whole number, or an epsilon or delta outside its
            range.

    Source: this project, docs/notes/loss_grid.md.
    """
    _check(parts, epsilon, delta, points)
    return compose(parts, plan(parts, epsilon=epsilon, delta=delta, accuracy=accuracy, points=points))


def _check(parts: Parts, epsilon: float | None, delta: float | None, points: int) -> None:
    if not parts:
        raise ValueError("parts must hold at least one pair")
    for _, count in parts:
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise ValueError(f"count ({count!r}) must be a whole number, at least 1")
    if (epsilon is None) == (delta is None):
        raise ValueError("exactly one of epsilon and delta must be given")
    if epsilon is not None and not 0 <= epsilon < math.inf:
        raise ValueError(f"epsilon ({epsilon!r}) must be finite and at least 0")
    if delta is not None and not 0 <= delta < 1:
        raise ValueError(f"delta ({delta!r}) must be in [0, 1)")
    if points < 2**10 or points & (points - 1):
        raise ValueError(f"points ({points!r}) must be a power of two, at least 1024")
