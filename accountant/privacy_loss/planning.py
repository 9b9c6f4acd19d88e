"""Choice of the grid of privacy losses that is used for an epsilon or a delta: its step, range and window.

The choice uses a coarse distribution of the losses. This choice affects only the accuracy of an answer. Every
grid gives valid bounds. For accuracy, the probability of each loss is multiplied by exp(tilt loss).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpproof.accountant.numbers.inversion import last_where
from dpproof.accountant.pairs.base import DominatingPair, Floats
from dpproof.accountant.privacy_loss.loss_sums import Window

_EDGES = 300


@dataclass(frozen=True)
class Guide:
    """Coarse distributions of the privacy losses of several mechanisms, which guide the choice of a grid.

    Each row belongs to one mechanism, and ``counts`` says how often the mechanism is composed. Cells are
    intervals of losses with geometrically growing widths. ``losses`` are the mean losses of the cells.
    """

    losses: Floats
    logs: Floats
    """Logarithms of the probabilities of the cells."""
    lows: Floats
    highs: Floats
    """Upper ends of the cells. ``lows`` are the lower ends."""
    counts: Floats
    infinite: float
    """The probability of an infinite loss after composition."""

    @classmethod
    def of(cls, parts: Sequence[tuple[DominatingPair, int]]) -> Guide:
        """Return the coarse distributions of ``parts``, which are dominating pairs with their counts."""
        positive = np.geomspace(1e-9, 1e5, _EDGES)
        edges = np.concatenate([-positive[::-1], positive])
        rows = [_row(pair, _with_ends(edges, pair.loss_range())) for pair, _ in parts]
        logs = [
            math.log1p(-min(row[4], 1 - 1e-16)) * count for row, (_, count) in zip(rows, parts, strict=True)
        ]
        losses, masses, lows, highs = (np.stack([row[i] for row in rows]) for i in range(4))
        used = np.isfinite(masses).any(axis=0)
        counts = np.array([float(count) for _, count in parts])
        return cls(
            losses[:, used],
            masses[:, used],
            lows[:, used],
            highs[:, used],
            counts,
            -math.expm1(math.fsum(logs)),
        )

    def log_mgf(self, tilt: float) -> tuple[float, float, float]:
        """Return log M(``tilt``) and its first two derivatives.

        M is the moment-generating function of the composed loss.
        """
        logs = self.logs + tilt * self.losses
        top = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - top)
        total = weights.sum(axis=1)
        means = (weights * self.losses).sum(axis=1) / total
        variances = (weights * (self.losses - means[:, None]) ** 2).sum(axis=1) / total
        values = top[:, 0] + np.log(total)
        return float(self.counts @ values), float(self.counts @ means), float(self.counts @ variances)

    def saddle(self, tilt: float) -> tuple[float, float]:
        """Return the epsilon for which the integral that gives delta has its saddle point at ``tilt``.

        Also return an estimate of log delta at this epsilon.
        """
        value, mean, variance = self.log_mgf(tilt)
        epsilon = mean - 1 / tilt - 1 / (tilt + 1)
        curvature = variance + 1 / tilt**2 + 1 / (tilt + 1) ** 2
        return epsilon, value - tilt * epsilon - math.log(
            tilt * (tilt + 1) * math.sqrt(2 * math.pi * curvature)
        )

    def ranges(self, tilt: float, log_goal: float, small: float) -> tuple[Floats, Floats]:
        """Return, for each mechanism, the lower and the upper end of the range of losses that matter.

        Losses above the range have a total probability of at most exp(log_goal). Losses below the range are
        raised to its lower end. Multiply all probabilities by exp(tilt loss). Then the raised losses have a
        share of at most ``small`` of the total.
        """
        rows, last = np.arange(len(self.losses)), self.losses.shape[1] - 1
        above = np.cumsum(np.exp(self.logs)[:, ::-1], axis=1)[:, ::-1] * self.counts[:, None]
        with np.errstate(divide="ignore"):
            high = last - np.argmax((np.log(above) > log_goal)[:, ::-1], axis=1)
        highs = self.highs[rows, high]
        tilted = self.logs + tilt * np.minimum(self.losses, highs[:, None])
        top = tilted.max(axis=1, keepdims=True)
        total = top + np.log(np.exp(tilted - top).sum(axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            under = np.log(np.cumsum(np.exp(self.logs), axis=1) - np.exp(self.logs))
            raised = under + tilt * self.lows + np.log(self.counts)[:, None]
        low = np.minimum(np.maximum(np.argmax(raised > total + math.log(small), axis=1) - 1, 0), high)
        return self.lows[rows, low], highs

    def cut(self, lows: Floats, highs: Floats) -> Guide:
        """Return the distributions with all losses clipped to the ranges from ``lows`` to ``highs``."""
        return replace(self, losses=np.clip(self.losses, lows[:, None], highs[:, None]))


def _with_ends(edges: Floats, ends: tuple[float, float]) -> Floats:
    """Return the edges, with additional ones that approach the ends of the range from within."""
    shares = np.geomspace(1e-9, 0.9, 100)
    low, high = np.clip(ends, -2e5, 2e5)
    return np.sort(np.concatenate([edges, low + abs(low) * shares, high - abs(high) * shares]))


def _row(pair: DominatingPair, edges: Floats) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Return the mean losses, log masses and range of one pair's cells, and its infinite mass."""
    cells = pair.cells(edges)
    p, q = cells.p, cells.q
    lows, highs = np.append(edges[:1], edges), np.append(edges, edges[-1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.log(p) - np.log(q)
        logs = np.where((p > 1e-280) & (np.asarray(cells.p_error) < 0.5), np.log(p), -np.inf)
    known = np.isfinite(loss) & (q > 1e-280)
    loss = np.clip(np.where(known, loss, (lows + highs) / 2), lows, highs)
    least, most = pair.loss_range()
    return loss, logs, np.maximum(lows, least), np.minimum(highs, most), cells.infinite[1]


Parts = Sequence[tuple[DominatingPair, int]]
"""Dominating pairs, each with the number of times it is composed."""


class GridTooLargeError(MemoryError):
    """Raised if the required grid would have more points than allowed."""


@dataclass(frozen=True)
class Plan:
    """A grid of privacy losses for a composition. The choice of the grid affects only the accuracy."""

    step: float
    tilt: float
    """Probabilities are multiplied by exp(tilt loss) before they are composed."""
    ranges: tuple[tuple[int, int], ...]
    """The first and the last grid point for each composed mechanism."""
    origins: tuple[float, ...]
    """The loss at grid point 0, for each composed mechanism."""
    window: Window
    start: int
    """The first grid point at which the privacy profile is needed."""
    slopes: tuple[float, float]
    """The exponents in Chernoff's bounds below and above the window, for one unit of loss."""
    accuracy: float = 0.0
    """The relative error of delta that the grid aims at."""


def plan(
    parts: Parts,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    until: float | None = None,
    accuracy: float,
    points: int,
) -> Plan:
    """Return a grid for the privacy profile near ``epsilon``, or near the epsilon with this ``delta``.

    If ``until`` is given, the grid is for all epsilons from there to the one whose delta is ``until``.

    ``accuracy`` is the relative error of delta that the grid aims at. If the grid would have more than
    ``points`` points, the function makes ``accuracy`` larger in steps.

    Raises:
        GridTooLargeError: if even an accuracy of 1e-3 needs more than 30 times ``points`` points.
    """
    guide, spacing = Guide.of(parts), _spacing(parts)
    steepest = _steepest(guide, parts)
    while True:
        small = 0.01 * accuracy
        aim = _aim(guide, steepest, epsilon, delta, small)
        if until is not None:
            near = _aim(guide, steepest, 0.0, None, small) if aim.epsilon < 0 else aim
            aim = _joined(guide, near, _aim(guide, steepest, None, until, small))
        tilt, low, high, slopes = best_tilt(aim, small)
        step = math.sqrt(8 * accuracy / (float(guide.counts.sum()) * aim.saddle * (aim.saddle + 1)))
        longest = max(high - low, float((aim.highs - aim.lows).sum()) / 2, 1e-12 * (1 + abs(high)))
        if aligned := longest <= points * spacing:
            step = max(step, spacing)
        excess = longest / (step * points)
        if excess <= 1.01 or accuracy >= 1e-3:
            break
        accuracy *= min(10.0, 1.1 * excess**2)
    if excess > 30:
        needed = 2 ** math.ceil(math.log2(longest / step))
        raise GridTooLargeError(
            f"A grid of {points} points is too small. An accuracy of {accuracy:.0e} needs about {needed} points."
        )
    size = 2 ** min(max(round(math.log2(longest / step)), 14), round(math.log2(points)))
    step, origins = _aligned(longest / (size - 16), parts, spacing if aligned else 0.0)
    size = 1 << math.ceil(math.log2((high - low) / step + 8))
    moved = float(np.dot(guide.counts, origins))
    first = math.floor((low - moved) / step) - 1
    start = max(first, math.floor((aim.epsilon - moved - 300 / tilt) / step))
    ranges = tuple(
        (math.floor((a - o) / step) - 1, math.ceil((b - o) / step) + 1)
        for a, b, o in zip(aim.lows, aim.highs, origins, strict=True)
    )
    return Plan(step, tilt, ranges, origins, Window(first, size), start, slopes, accuracy)


@dataclass(frozen=True)
class Aim:
    """The purpose of a grid: the epsilon at which delta is computed, and the losses that matter there.

    ``guide`` holds the coarse distributions, clipped to the ranges from ``lows`` to ``highs``. ``saddle`` is
    the saddle point of the integral for delta at ``epsilon``, and ``log_delta`` an estimate of log delta.
    """

    guide: Guide
    saddle: float
    epsilon: float
    log_delta: float
    lows: Floats
    highs: Floats
    last: tuple[float, float] | None = None
    """The largest epsilon of a grid for several epsilons, and an estimate of its log delta. None for one epsilon.

    Then ``epsilon`` and ``log_delta`` belong to the smallest one, and ``saddle`` to the largest one.
    """

    @property
    def places(self) -> tuple[tuple[float, float], ...]:
        """The smallest and the largest epsilon, each with its log delta; only one if they are equal."""
        own = (self.epsilon, self.log_delta)
        return (own,) if self.last is None else (own, self.last)

    @property
    def extremes(self) -> tuple[float, float]:
        """The smallest and the largest possible composed loss."""
        counts = self.guide.counts
        return float(counts @ self.lows), float(counts @ self.highs)


def _aim(guide: Guide, steepest: float, epsilon: float | None, delta: float | None, small: float) -> Aim:
    """Return the saddle point, computed again after the distribution is clipped to the relevant range."""
    cut = guide
    for _ in range(2):
        saddle = min(_saddle(cut, epsilon, delta), steepest)
        here, log_delta = cut.saddle(saddle)
        lows, highs = guide.ranges(saddle, log_delta + math.log(small), small)
        cut = guide.cut(lows, highs)
    return Aim(cut, saddle, here if epsilon is None else epsilon, log_delta, lows, highs)


def _joined(guide: Guide, first: Aim, last: Aim) -> Aim:
    """Return the ``Aim`` for all epsilons between those of two others."""
    lows, highs = np.minimum(first.lows, last.lows), np.maximum(first.highs, last.highs)
    place = max(last.epsilon, first.epsilon), min(last.log_delta, first.log_delta)
    return Aim(
        guide.cut(lows, highs),
        max(first.saddle, last.saddle),
        first.epsilon,
        first.log_delta,
        lows,
        highs,
        place,
    )


def _saddle(guide: Guide, epsilon: float | None, delta: float | None) -> float:
    if epsilon is not None:
        return _crossing(lambda tilt: guide.saddle(tilt)[0] - epsilon, 1e-9, 1e15)
    wanted = delta or 0.0
    goal = math.log(max(wanted - guide.infinite, 1e-3 * wanted, 1e-300))
    return _crossing(lambda tilt: goal - guide.saddle(tilt)[1], 1e-9, 1e15)


def epsilon_at(guide: Guide, log_delta: float) -> float:
    """Return an estimate of the epsilon at which the delta of a composition is exp(``log_delta``)."""
    return guide.saddle(_saddle(guide, None, math.exp(log_delta)))[0]


def aim_at(guide: Guide, epsilon: float) -> Aim:
    """Return the ``Aim`` for an epsilon, without clipping the distributions of ``guide``."""
    most = float(guide.counts @ guide.losses.max(axis=1))
    room = max(most - guide.log_mgf(0.0)[1], 1e-290)
    saddle = min(_saddle(guide, epsilon, None), 200 / room if most < 1.01 * epsilon else math.inf)
    return Aim(guide, saddle, epsilon, guide.saddle(saddle)[1], guide.lows[:, 0], guide.highs[:, -1])


_NOISY_SIGNAL = 1e-5
_FACTORS = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1)
_MORE_FACTORS = (1.0, 0.85, 0.7, 0.6, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1)
"""Candidates for the tilt, as shares of the saddle point: for one epsilon, and for several ones."""


def best_tilt(aim: Aim, small: float) -> tuple[float, float, float, tuple[float, float]]:
    """Return the tilt that is best for a short window of losses and for little rounding noise.

    The tilt is the number in the weights exp(tilt loss). It is at most the saddle point. The noise is the
    rounding error of the Fourier transform. Also return the lower and the upper end of the window, and the
    exponents of the Chernoff bounds that give these ends.
    """
    found = []
    factors, noisy = (_FACTORS, _NOISY_SIGNAL) if aim.last is None else (_MORE_FACTORS, 1.0)
    for factor in factors:
        tilt = factor * aim.saddle
        here = aim.guide.log_mgf(tilt)[0]
        log_signal = min(0.0, *(log_delta + tilt * epsilon - here for epsilon, log_delta in aim.places))
        goal = math.log(small) + log_signal
        (low, down), (high, up) = (_end(aim, tilt, here, goal, sign) for sign in (-1, 1))
        cost = (high - low) ** 2 * (1 + noisy * math.exp(min(-log_signal, 600.0)))
        found.append((cost, tilt, low, high, (down, up)))
    return min(found)[1:]


def _steepest(guide: Guide, parts: Parts) -> float:
    """Return the tilt from which on a bounded sum is concentrated at its largest value."""
    tops = np.array([pair.loss_range()[1] for pair, _ in parts])
    top = float(np.dot(guide.counts, tops))
    if math.isinf(top):
        return math.inf
    tilt = 200 / max(top - guide.log_mgf(0.0)[1], 1e-290)
    while tilt < 1e12 and tilt * (top - guide.log_mgf(tilt)[1]) > 1:
        tilt *= 2
    return tilt


def _end(aim: Aim, tilt: float, here: float, goal: float, sign: int) -> tuple[float, float]:
    """Return the window's end below or above, and the slope of the certified Chernoff bound beyond it.

    By Chernoff's bound on the coarse distribution, the tilted mass beyond the end is exp(goal). If that end
    is close to the extreme sum, the end is put beyond the extreme sum.
    """
    slopes = tilt * 2.0 ** np.arange(-6, 6, 0.5)
    ends = [(aim.guide.log_mgf(tilt + sign * s)[0] - here - goal) / s for s in slopes]
    best = int(np.argmin(ends))
    epsilon = aim.places[-1 if sign > 0 else 0][0]
    end, room = sign * epsilon, sign * (aim.extremes[sign > 0] - epsilon)
    if 0 < room < 2 * (float(ends[best]) - end):
        gap = 0.02 * room
        return sign * (end + room + gap), -1.2 * goal / gap
    return sign * max(end, float(ends[best])), float(slopes[best])


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where an increasing function changes sign, found in the logarithm; an end if it does not."""
    ends = math.log(low), math.log(high)
    return math.exp(last_where(lambda place: function(math.exp(place)) < 0, *ends, apart=6e-11)[1])


def _aligned(step: float, parts: Parts, spacing: float) -> tuple[float, tuple[float, ...]]:
    """Return a step, and each part's origin, for which atoms lie on the grid; else a step with few bits.

    If ``spacing`` is above 0, it is the common one of ``_spacing``. Otherwise a pair with atoms has them at origin +
    multiples of ``lattice``, and the part with the largest count decides.
    """
    atoms = [(count, found) for pair, count in parts if (found := getattr(pair, "lattice", None))]
    step, spacing = min(step, spacing or step), spacing or max(atoms, default=(0, 0.0))[1]
    if spacing >= step:
        step = spacing / math.floor(spacing / step)
    else:
        mantissa, exponent = math.frexp(step)
        step = math.ldexp(math.ceil(mantissa * 2**16), exponent - 16)
    return step, tuple(_remainder(getattr(pair, "origin", 0.0), step) for pair, _ in parts)


def _spacing(parts: Parts) -> float:
    """Return a step of a grid that contains every loss of every pair, up to one origin for each pair; 0 without one.

    On such a grid no loss is rounded, so a smaller step is no more accurate.
    """
    supports = [getattr(pair, "support", None) for pair, _ in parts]
    if not all(support is not None and support.spaced and support.size > 1 for support in supports):
        return 0.0
    spacings = [getattr(pair, "lattice", None) or 0.0 for pair, _ in parts]
    least = min(spacings)
    ratios = [spacing / least if least else math.inf for spacing in spacings]
    return least if all(abs(ratio - round(min(ratio, 1e15))) <= 1e-13 * ratio for ratio in ratios) else 0.0


def _remainder(origin: float, step: float) -> float:
    """Return the origin modulo the step; 0 if it is a multiple up to rounding."""
    rest = origin - step * round(origin / step)
    return 0.0 if abs(rest) <= 1e-9 * step else rest % step
