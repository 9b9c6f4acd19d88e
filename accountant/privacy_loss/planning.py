"""Choosing the grid: tilt, step, range and window for an epsilon or a delta, and the two-sided answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from accountant.pairs.base import Floats, Pair
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
    """A grid: nothing rests on it but accuracy."""

    step: float
    tilt: float
    """Per unit of loss."""
    ranges: tuple[tuple[int, int], ...]
    """First and last grid point of each part."""
    window: Window
    start: int


@dataclass(frozen=True)
class _Guide:
    """A coarse law of each part's loss; nothing rests on it."""

    losses: list[Floats]
    masses: list[Floats]
    lows: list[Floats]
    highs: list[Floats]
    counts: list[int]
    infinite: float

    def log_mgf(self, tilt: float) -> tuple[float, float, float]:
        """Log of the moment-generating function of the sum, and its first two derivatives."""
        value = mean = variance = 0.0
        for losses, masses, count in zip(self.losses, self.masses, self.counts, strict=True):
            logs = np.log(masses) + tilt * losses
            top = logs.max()
            weights = np.exp(logs - top)
            total = weights.sum()
            first = float(weights @ losses / total)
            value += count * (float(top) + math.log(total))
            mean += count * first
            variance += count * float(weights @ (losses - first) ** 2 / total)
        return value, mean, variance

    def log_delta(self, tilt: float) -> tuple[float, float]:
        """The epsilon whose saddle point is ``tilt``, and roughly log delta there."""
        value, mean, variance = self.log_mgf(tilt)
        epsilon = mean - 1 / tilt - 1 / (tilt + 1)
        curvature = variance + 1 / tilt**2 + 1 / (tilt + 1) ** 2
        return epsilon, value - tilt * epsilon - math.log(tilt * (tilt + 1) * math.sqrt(2 * math.pi * curvature))


def _guide(parts: Parts) -> _Guide:
    positive = np.geomspace(1e-9, 1e5, 900)
    edges = np.concatenate([-positive[::-1], positive])
    found: list[list[Floats]] = [[], [], [], []]
    missing = 1.0
    for pair, count in parts:
        cells = pair.cells(edges)
        p, q = cells.p, cells.q
        sound = (p > 1e-280) & (np.asarray(cells.p_error) < 0.5)
        middles = np.concatenate([edges[:1], (edges[1:] + edges[:-1]) / 2, edges[-1:]])
        ends = np.concatenate([[-np.inf], edges, [np.inf]])
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.clip(np.log(p) - np.log(q), ends[:-1], ends[1:])
        loss = np.where(np.isfinite(loss) & (q > 1e-280), loss, middles)
        least, most = pair.loss_range()
        lows, highs = np.append(edges[:1], edges), np.append(edges, edges[-1:])
        for kept, values in zip(found, (loss, p, np.maximum(lows, least), np.minimum(highs, most)), strict=True):
            kept.append(values[sound])
        missing *= (1 - cells.infinite[1]) ** count
    return _Guide(*found, [count for _, count in parts], 1 - missing)


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function changes sign, by bisection of the logarithm; an end where it does not."""
    for _ in range(50):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return high


def plan(parts: Parts, *, epsilon: float | None, delta: float | None, accuracy: float, points: int) -> Plan:
    """A grid for the profile near ``epsilon`` or near where it is ``delta``.

    Raises:
        GridTooLargeError: if no grid of ``points`` points covers the range of the losses.
    """
    guide = _guide(parts)
    if epsilon is not None:
        tilt = _crossing(lambda t: guide.log_delta(t)[0] - epsilon, 1e-9, 1e9)
    else:
        assert delta is not None
        goal = math.log(max(delta - guide.infinite, delta * 1e-3, 1e-300))
        tilt = _crossing(lambda t: goal - guide.log_delta(t)[1], 1e-9, 1e9)
    tilt = min(max(tilt, 1e-9), 1e9)
    epsilon, log_delta = guide.log_delta(tilt)
    small = 1e-3 * accuracy
    ranges = [
        _range(guide, part, tilt, log_delta + math.log(small), small) for part in range(len(parts))
    ]
    low, high = _spread(guide, ranges, tilt, small)
    low, high = min(low, epsilon), max(high, epsilon)
    longest = max(high - low, *(b - a for a, b in ranges), 1e-12 * (1 + abs(high)))
    step = math.sqrt(8 * accuracy / (sum(guide.counts) * tilt * (tilt + 1)))
    size = 2 ** min(max(round(math.log2(longest / step)), 10), round(math.log2(points)))
    step = _short(longest / (size - 16), parts)
    size = 1 << math.ceil(math.log2((high - low) / step + 8))
    first = math.floor(low / step) - 1
    start = max(first, math.floor(epsilon / step - 300 / (tilt * step)))
    indices = tuple((math.floor(a / step) - 1, math.ceil(b / step) + 1) for a, b in ranges)
    return Plan(step, tilt, indices, Window(first, size), start)


def _short(step: float, parts: Parts) -> float:
    """A step with few bits, so that the grid points are exact; or a part of the lattice of the atoms."""
    lattices = [found for pair, _ in parts if (found := getattr(pair, "lattice", None))]
    if lattices and lattices[0] >= step:
        return float(lattices[0] / math.floor(lattices[0] / step))
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.ceil(mantissa * 2**16), exponent - 16)


def _range(guide: _Guide, part: int, tilt: float, log_goal: float, small: float) -> tuple[float, float]:
    """Losses beyond which the part matters less than ``small``."""
    losses, masses, count = guide.losses[part], guide.masses[part], guide.counts[part]
    above = np.cumsum(masses[::-1])[::-1] * count
    keep = np.flatnonzero(np.log(above) > log_goal)
    high = keep[-1] if len(keep) else len(losses) - 1
    logs = np.log(masses) + tilt * losses
    below = np.cumsum(np.exp(logs - logs.max()))
    low = np.flatnonzero(count * below > small * below[-1])[0]
    return float(guide.lows[part][low]), float(guide.highs[part][high])


def _spread(guide: _Guide, ranges: Sequence[tuple[float, float]], tilt: float, small: float) -> tuple[float, float]:
    """Ends beyond which the tilted sum has mass below ``small``, by Chernoff's bound."""
    kept = [
        (np.clip(losses, a, b), masses)
        for losses, masses, (a, b) in zip(guide.losses, guide.masses, ranges, strict=True)
    ]
    capped = _Guide([a for a, _ in kept], [b for _, b in kept], guide.lows, guide.highs, guide.counts, guide.infinite)
    here = capped.log_mgf(tilt)[0]
    slopes = tilt * np.array([0.03, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0])
    highs = [(capped.log_mgf(tilt + s)[0] - here - math.log(small)) / s for s in slopes]
    lows = [-(capped.log_mgf(tilt - s)[0] - here - math.log(small)) / s for s in slopes]
    return max(lows), min(highs)


def compose(parts: Parts, planned: Plan) -> Composed:
    """Both sides of the profile on a planned grid; sound for every plan."""
    tilt = planned.tilt * planned.step
    counts = [count for _, count in parts]
    above = [law_above(pair, planned.step, *ends) for (pair, _), ends in zip(parts, planned.ranges, strict=True)]
    below = [
        law_below(pair, planned.step, *ends, planned.tilt)
        for (pair, _), ends in zip(parts, planned.ranges, strict=True)
    ]
    sides = [
        sum_of_losses(list(zip(laws, counts, strict=True)), planned.step, tilt, planned.window, planned.start, sign)
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
