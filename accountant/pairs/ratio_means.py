"""Laws of sums of independent likelihood ratios, rounded outward and inward in the convex order.

Let (P, Q) be a pair and X = dP/dQ under Q, so that X >= 0 has mean 1. The delta of (P, Q) at epsilon is the mean of
(X - e^epsilon)+, and that of (Q, P) is the mean of (1 - e^epsilon X)+. Both functions are convex. So a law that is
larger in the convex order bounds delta from above in both directions, and a smaller law bounds it from below. Sums
and products of independent positive numbers keep these orders.

``Spread`` is a larger law: each value is split between the two nearest points of a geometric grid, and the mean stays
the same. ``Merged`` is a smaller law: values that are close to each other are replaced by their mean. Both errors are
of second order in the grid's step. Derivations: docs/notes/sampling_schemes.md, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.pairs.base import DominatingPair, Floats

_U = 2.0**-53
_CONVOLUTION = 32 * _U
"""A bound on the relative error of the mean of two grid points whose weights are rounded."""
_RARE = 1e-46
"""The largest mass, or share of the mean, that is moved to an end of the grid."""


@dataclass(frozen=True)
class Spread:
    """A law of a sum of ratios on a geometric grid that is at least the true law in the convex order.

    ``masses[i]`` is the probability of exp((first + i) step), within the relative ``error``. The order holds for
    increasing convex functions if all values are multiplied by exp(``slack``), and for decreasing ones if they are
    multiplied by exp(-``slack``).
    """

    step: float
    first: int
    masses: Floats
    zero: float
    """The probability of the value 0."""
    infinite: float
    """The part of the mean that belongs to values beyond the grid. Their probability under Q counts as 0."""
    error: float
    slack: float

    def plus(self, other: Spread) -> Spread:
        """Return the law of the sum of two independent numbers with the laws ``self`` and ``other``."""
        step = min(self.step, other.step)
        one = self.on(step)
        two = one if other is self else other.on(step)
        sums = _sums(one, two, True)
        masses = sums.of(one.masses, two.masses)
        least = min(sums.start, one.first if two.zero else sums.start, two.first if one.zero else sums.start)
        masses = np.pad(masses, (sums.start - least, 0))
        for here, there in ((one, two), (two, one)):
            if there.zero:
                start = here.first - least
                masses[start : start + len(here.masses)] += there.zero * here.masses
        slack = max(one.slack, two.slack) + _CONVOLUTION
        error = _grown(one.error, two.error, len(masses))
        infinite = (one.infinite + two.infinite) * (1 + error)
        return Spread(step, least, masses, one.zero * two.zero, infinite, error, slack)

    def on(self, step: float) -> Spread:
        """Return the same law on a finer grid. The current step must be a multiple of ``step``."""
        times = round(self.step / step)
        if times == 1:
            return self
        masses = np.zeros((len(self.masses) - 1) * times + 1)
        masses[::times] = self.masses
        return Spread(step, self.first * times, masses, self.zero, self.infinite, self.error, self.slack)

    def trimmed(self, points: int) -> Spread:
        """Return a law without rare values, on a grid whose step is halved while it has at most ``points`` points.

        A small value is split between 0 and the first point that is kept. A large one is moved to the last point,
        and its mean counts as infinite.
        """
        m, k = self.masses, np.arange(len(self.masses))
        mean = m * np.exp(np.minimum((self.first + k) * self.step, 700.0))
        low = int(np.searchsorted(np.cumsum(m), _RARE))
        high = len(m) - int(np.searchsorted(np.cumsum(mean[::-1]), _RARE * mean.sum()))
        kept = m[low:high].copy()
        kept[0] += float((m[:low] * np.exp((k[:low] - low) * self.step)).sum())
        kept[-1] += float(m[high:].sum())
        zero = (self.zero + float(m[:low].sum())) * (1 + len(m) * _U)
        infinite = (self.infinite + float(mean[high:].sum()) * (1 + 1e-9)) * (1 + 4 * _U)
        error = _grown(self.error, 0.0, len(m))
        found = Spread(self.step, self.first + low, kept, zero, infinite, error, self.slack + 8 * _U)
        times = 1
        while 2 * times * len(kept) <= points:
            times *= 2
        return found.on(self.step / times)


@dataclass(frozen=True)
class Merged:
    """A law of a sum of ratios with few values that is at most the true law in the convex order.

    ``masses[i]`` is a probability, and ``means[i]`` is this probability times the value; both are within the relative
    ``error``. The value is near exp((first + i) step), but no result depends on how near it is.
    """

    step: float
    first: int
    masses: Floats
    means: Floats
    error: float

    def plus(self, other: Merged) -> Merged:
        """Return the law of the sum of two independent numbers with the laws ``self`` and ``other``."""
        step = min(self.step, other.step)
        one = self.on(step)
        two = one if other is self else other.on(step)
        sums = _sums(one, two, False)
        masses, means = sums.of(one.masses, two.masses), sums.of(one.means, two.masses)
        means = 2 * means if one is two else means + sums.of(one.masses, two.means)
        return Merged(step, sums.start, masses, means, _grown(one.error, two.error, len(masses)))

    def on(self, step: float) -> Merged:
        """Return the same law with values that are merged on a finer grid."""
        if step == self.step:
            return self
        some = self.masses > 0
        labels = np.rint(np.log(self.means[some] / self.masses[some]) / step).astype(np.int64)
        first = int(labels.min())
        masses, means = (
            np.asarray(np.bincount(labels - first, x[some]), dtype=np.float64)
            for x in (self.masses, self.means)
        )
        return Merged(step, first, masses, means, _grown(self.error, 0.0, len(labels)))

    def trimmed(self, points: int) -> Merged:
        """Return a law in which rare values are merged, on a finer grid if it has at most ``points`` points."""
        m, v = self.masses, self.means
        low = int(np.searchsorted(np.cumsum(m), _RARE))
        high = len(m) - int(np.searchsorted(np.cumsum(v[::-1]), _RARE * v.sum()))
        masses, means = m[low:high].copy(), v[low:high].copy()
        for whole, kept in ((m, masses), (v, means)):
            kept[0] += float(whole[:low].sum())
            kept[-1] += float(whole[high:].sum())
        found = Merged(self.step, self.first + low, masses, means, _grown(self.error, 0.0, len(m)))
        times = 1
        while 2 * times * len(masses) <= points:
            times *= 2
        return found.on(self.step / times)


def _grown(one: float, other: float, terms: int) -> float:
    """Return the relative error of a sum of up to 2 ``terms`` products of two rounded factors."""
    return ((1 + one) * (1 + other) * (1 + (2 * terms + 16) * _U) - 1) * (1 + 1e-9)


def _sums(one: Spread | Merged, two: Spread | Merged, shared: bool) -> _Sums:
    """Return the way in which the masses of two laws on one grid are multiplied and added."""
    firsts, sizes = (one.first, two.first), (len(one.masses), len(two.masses))
    ends = firsts[0] + sizes[0], firsts[1] + sizes[1]
    farthest = min(max(ends) - min(firsts), math.ceil(_FAR / one.step)) + 1
    places, shares = _doubled(one.step, farthest)
    return _Sums(
        one.step, firsts, sizes, places if shared else places + (shares > 0.5), shares if shared else None
    )


def _doubled(step: float, size: int) -> tuple[NDArray[np.int64], Floats]:
    """Return for d = 0 .. size - 1 the grid point below 1 + exp(-d step), and the share of the next point.

    The share w makes the mean (1 - w) exp(k step) + w exp((k + 1) step) equal to 1 + exp(-d step).
    """
    small = np.exp(np.maximum(-step * np.arange(size), -700.0))
    places = np.floor(np.log1p(small) / step)
    share = (small - np.expm1(places * step)) * np.exp(-places * step) / math.expm1(step)
    return places.astype(np.int64), np.clip(share, 0.0, 1.0)


_FAR = 40.0
"""Where the logarithms of two numbers differ by this, the smaller one is below one ulp of the larger one."""


@dataclass(frozen=True)
class _Sums:
    """Sums of products of two arrays on a grid, each product at the sum of the two grid points.

    ``first`` holds the index of each array's first entry. ``places`` and ``shares`` are those of ``_doubled``. A
    product of the entries i and j is added at the index max(i, j) + places[|i - j|], and ``shares[|i - j|]`` of it at
    the next index, if ``shares`` is given. Indices beyond ``_FAR`` in the logarithm are treated alike.
    """

    step: float
    first: tuple[int, int]
    sizes: tuple[int, int]
    places: NDArray[np.int64]
    shares: Floats | None

    @property
    def start(self) -> int:
        """The index of the first entry of the sums."""
        return max(self.first)

    def of(self, a: Floats, b: Floats) -> Floats:
        """Return the sums of the products of the entries of ``a`` and ``b``."""
        end = max(f + n for f, n in zip(self.first, self.sizes, strict=True))
        found = np.zeros(end - self.start + int(self.places.max(initial=0)) + 2)
        self._larger(found, a, b, self.first[1] - self.first[0], self.first[1] - self.start, a is b)
        if a is not b:
            self._larger(found, b, a, self.first[0] - self.first[1], self.first[0] - self.start, None)
        return found

    def _larger(self, found: Floats, a: Floats, b: Floats, gap: int, start: int, same: bool | None) -> None:
        """Add the products in which the index of ``b`` is larger, and equal indices unless ``same`` is None."""
        near = math.ceil(_FAR / self.step)
        least = max(gap - len(a) + 1, 1 if same is None else 0)
        for d in range(least, min(near, gap + len(b))):
            low = max(gap - d, 0) - gap + d  # the first entry of b with a partner
            high = min(len(b), len(a) - gap + d)
            part = a[low + gap - d : high + gap - d] * b[low:high]
            self._put(found, start + low, 2 * part if same and d else part, d)
        if near < gap + len(b):
            low, sums = max(near - gap, 0), np.append(0.0, np.cumsum(a))
            part = b[low:] * sums[np.clip(np.arange(low, len(b)) + gap - near + 1, 0, len(a))]
            self._put(found, start + low, 2 * part if same else part, near)

    def _put(self, found: Floats, start: int, part: Floats, d: int) -> None:
        start += int(self.places[d])
        if self.shares is None:
            found[start : start + len(part)] += part
            return
        share = float(self.shares[d])
        found[start : start + len(part)] += part * (1 - share)
        found[start + 1 : start + 1 + len(part)] += part * share


def sum_above(pair: DominatingPair, count: int, ends: tuple[float, float], points: int) -> Spread:
    """Return a larger law of the sum of ``count`` independent ratios dP/dQ of ``pair``; see ``Spread``.

    ``ends`` are two privacy losses of the pair. Losses outside are rare. ``points`` limits the number of values.
    """
    return _summed(_first_above(pair, *_grid(ends, points)), count, points)


def sum_below(pair: DominatingPair, count: int, ends: tuple[float, float], points: int) -> Merged:
    """Return a smaller law of the sum of ``count`` independent ratios dP/dQ of ``pair``; see ``sum_above``."""
    return _summed(_first_below(pair, *_grid(ends, points)), count, points)


_Law = TypeVar("_Law", Spread, Merged)


def _summed(one: _Law, count: int, points: int) -> _Law:
    """Return the law of the sum of ``count`` independent numbers, by doubling."""
    power, found = one, None
    for place, bit in enumerate(reversed(bin(count)[2:])):
        power = power.plus(power).trimmed(points) if place else one
        if bit == "1":
            found = power if found is None else found.plus(power).trimmed(points)
    assert found is not None
    return found


def _grid(ends: tuple[float, float], points: int) -> tuple[float, int, int]:
    """Return a step with few bits, and the first and the last index of a grid that covers the losses ``ends``."""
    mantissa, exponent = math.frexp((ends[1] - ends[0]) / (points - 2))
    step = math.ldexp(math.ceil(mantissa * 2**16), exponent - 16)
    return step, math.floor(ends[0] / step), math.ceil(ends[1] / step)


def _first_above(pair: DominatingPair, step: float, first: int, last: int) -> Spread:
    """Return ``Spread`` of one ratio. A cell of losses is split between its ends so that its mean stays the same.

    Raises:
        ArithmeticError: if the losses within a cell are far from evenly distributed, because the bound on the
            error of a share does not hold then.
    """
    points = np.asarray(np.arange(first, last + 1) * step, dtype=np.float64)
    cells = pair.cells(points)
    p, q, width = cells.p, cells.q, math.expm1(step)
    with np.errstate(over="ignore"):
        share = (p[1:-1] / q[1:-1] * np.exp(-points[:-1]) - 1) / width
    if not (np.all(share > 0.25) and np.all(share < 0.75)):
        raise ArithmeticError(
            f"step ({step!r}) must be smaller, because the privacy losses are uneven in a cell"
        )
    size = np.abs(points[[0, -1]]).max()
    wrong = [float(np.max(x)) for x in (cells.p_error, cells.q_error)]
    error = max(wrong) + 16 * _U
    slack = 5 * (sum(wrong) + (16 + 4 * size) * _U) + cells.slack
    masses = np.zeros(len(points))
    masses[:-1] += q[1:-1] * (1 - share)
    masses[1:] += q[1:-1] * share
    masses[0] += p[0] * math.exp(-points[0])
    masses[-1] += q[-1]
    zero = q[0] * (1 + error)
    infinite = (p[-1] * (1 + error) + cells.infinite[1]) * (1 + 4 * _U)
    return Spread(step, first, masses, float(zero), float(infinite), error, slack)


def _first_below(pair: DominatingPair, step: float, first: int, last: int) -> Merged:
    """Return ``Merged`` of one ratio: the mean of each cell of losses."""
    cells = pair.cells(np.asarray((np.arange(first, last + 2) - 0.5) * step, dtype=np.float64))
    error = max(float(np.max(x)) for x in (cells.p_error, cells.q_error))
    return Merged(step, first - 1, cells.q, cells.p, error)
