"""Composition of privacy losses on a grid, and the resulting privacy profile.

Probabilities are first multiplied by an exponential function of the loss, the tilt, for accuracy. The
composition is a convolution power of such sequences. It is computed by a fast Fourier transform (FFT) with a
bound on the rounding error of every entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from numpy.typing import NDArray

from dpproof.accountant.numbers import transform
from dpproof.accountant.numbers.arithmetic import cached_property, math, np
from dpproof.accountant.numbers.inversion import LEAST_DELTA
from dpproof.accountant.pairs.base import Floats
from dpproof.accountant.privacy_loss.grid import LossLaw

Complexes = transform.Complexes

_U = 2.0**-53


@dataclass(frozen=True)
class Noise:
    """Bounds on the rounding error of a convolution.

    ``entry`` bounds the error of each entry. ``norm`` bounds the Euclidean norm of the errors of all entries.
    """

    entry: float
    norm: float

    def of_geometric_sum(self, tilt: float, length: int) -> float:
        """Return a bound on the rounding error of a weighted sum of ``length`` entries.

        The weight c_m of entry m = 0, 1, ... must satisfy 0 <= c_m <= exp(-tilt m).
        """
        weights = min(1 / -math.expm1(-tilt), float(length)) * (1 + 1e-9)
        squares = min(1 / -math.expm1(-2 * tilt), float(length)) * (1 + 1e-9)
        return min(self.entry * weights, self.norm * math.sqrt(squares)) * (1 + 1e-9)


def circular_power(parts: Sequence[tuple[Floats, int]]) -> tuple[Floats, Noise]:
    """Return the circular convolution of several sequences, and bounds on its error.

    Args:
        parts: pairs of a nonnegative sequence and a count. A sequence with count n enters the convolution n
            times. All sequences have the same length, a power of two.

    >>> result, error = circular_power([(np.array([0.5, 0.5, 0.0, 0.0]), 2)])
    >>> [round(float(r), 12) for r in result], error.entry < 1e-13
    ([0.25, 0.5, 0.25, 0.0], True)

    Source: this project, docs/notes/loss_grid.md, section 5, and docs/notes/transform.md.
    """
    n = len(parts[0][0])
    product = np.ones(n // 2 + 1, dtype=np.complex128)
    entry, norm, moved = 0.0, 0.0, 0
    for x, count in parts:
        top = int(np.argmax(x))
        spectrum, off = _spectrum_less_one(np.roll(x, -top))
        moved = (moved + top * count) % n
        power, rounding = _power(spectrum, count)
        before, size = transform.sizes(product), transform.sizes(1 + spectrum) + off * math.sqrt(n)
        others = before * np.exp((count - 1) * np.log(size + 1e-300))
        growth = math.exp(count * math.log1p(max(0.0, float(x.sum()) * (1 + 1e-12) - 1)))
        rounding = before * (rounding + 4 * _U * transform.sizes(power))
        entry = entry * growth + count * _norm(others) * off / math.sqrt(n) + _sum(rounding) / n
        norm = norm * growth + count * float(others.max()) * off + _norm(rounding) / math.sqrt(n)
        product *= power
    last = transform.relative_error(n) * _norm(transform.sizes(product)) / math.sqrt(n) + transform.UNDERFLOW
    noise = Noise(float(entry + last) * (1 + 1e-6) + 1e-290, float(norm + last) * (1 + 1e-6) + 1e-290)
    return np.roll(transform.from_half_spectrum(product), moved), noise


def _spectrum_less_one(x: Floats) -> tuple[Complexes, float]:
    """Return the transform of x less 1, with the largest entry x_0 treated separately, and a bound on its error.

    The bound times sqrt(n) bounds the Euclidean norm of the error, so the bound times n bounds each entry.
    """
    rest = x.copy()
    rest[0] = 0.0
    result = transform.half_spectrum(rest)
    result += x[0] - 1
    rounding = 2 * _U * (abs(x[0] - 1) + float(transform.sizes(result).max()))
    return result, (transform.relative_error(len(x)) * float(np.linalg.norm(rest)) + rounding) * (
        1 + 1e-9
    ) + transform.UNDERFLOW


def _power(less_one: Complexes, count: int) -> tuple[Complexes, Floats]:
    """Return (1 + z)^count and its absolute error, by the logarithm if z is small, else by squaring."""
    if count > 64 and transform.sizes(less_one).max() < 0.5:
        return _power_by_logarithm(less_one, count)
    result = _power_by_squaring(1 + less_one, count)
    return result, 8 * count * _U * transform.sizes(result)


def _power_by_logarithm(z: Complexes, count: int) -> tuple[Complexes, Floats]:
    """Return exp(count log(1 + z)) and its error.

    log1p(a (2 + a) + b^2)/2 has an error of 35 u |z|, and the angle has an error of 24 u |z|.
    """
    a, b = z.real, z.imag
    logs = count * 0.5 * np.log1p(a * (2 + a) + b * b)
    angles = count * np.arctan2(b, 1 + a)
    size = np.exp(logs)
    error = size * _U * (count * 60 * transform.sizes(z) + 4 * np.abs(logs) + 4 * np.abs(angles) + 40)
    return size * (np.cos(angles) + 1j * np.sin(angles)), error


def _power_by_squaring(values: Complexes, count: int) -> Complexes:
    """Return the powers by repeated squaring.

    The relative error is 3 count u to first order, and 4 count u if 1 + z is rounded.
    """
    result, square = np.ones_like(values), values
    while True:
        if count & 1:
            result = result * square
        count >>= 1
        if not count:
            return result
        square = square * square


def _sum(half: Floats) -> float:
    return 2 * float(half.sum())


def _norm(half: Floats) -> float:
    """Return a number that is at least the Euclidean norm of a full spectrum, given one half of it."""
    return math.sqrt(2 * float(np.dot(half, half)))


_MOST_EXPONENT = 600.0


@dataclass(frozen=True)
class Window:
    """The range of grid points at which a composition is computed: ``first`` .. ``first + size - 1``.

    The size is a power of two.
    """

    first: int
    size: int

    @property
    def end(self) -> int:
        """The first grid point after the window."""
        return self.first + self.size


@dataclass(frozen=True)
class LossSum:
    """The distribution of a composed privacy loss on a grid, and a bound on the privacy profile.

    If ``sign`` is 1, the profile is an upper bound. If ``sign`` is -1, it is a lower bound.

    ``outer``, ``inner`` and ``rise`` have one entry for each grid point n of the window from ``start`` on.
    Let mass(m) be the probability of grid point m. Then ``outer`` is the sum of mass(m) over all m >= n of
    the window, and ``inner`` is the sum of mass(m) exp(-(m - n) step) over the same m. Both must be
    multiplied by exp(``log_scale``). ``rise`` is ``outer`` minus ``inner``. This difference is summed
    separately, so there is no cancellation even for small losses.
    """

    sign: int
    step: float
    start: int
    offset: float
    outer: Floats
    inner: Floats
    rise: Floats
    log_scale: float
    beyond: float
    outside: float
    noise: float
    tilt: float
    infinite: float

    def delta(self, epsilon: float) -> float:
        """Return the bound on delta at ``epsilon`` >= 0.

        Raises:
            ValueError: if epsilon is negative or NaN.
        """
        if not epsilon >= 0:
            raise ValueError(f"epsilon ({epsilon!r}) must be at least 0")
        if epsilon > self._farthest:
            return min(1.0, self.beyond + self.infinite) if self.sign > 0 else self.infinite
        rounding = (
            8 * _U * (abs(epsilon) + abs(self.offset) + self.step * (abs(self.start) + len(self.outer)))
        )
        at = epsilon - self.offset - self.sign * rounding
        index = math.floor(at / self.step) + 1 - self.start
        if index >= len(self.outer):
            return min(1.0, self.beyond + self.infinite) if self.sign > 0 else self.infinite
        if self.sign > 0:
            return 1.0 if index < 0 or self.log_scale > 700 else float(self._above(at, index, rounding))
        if not len(self.outer):
            return self.infinite
        here = 0.0 if index < 0 else float(self._below(at, np.array([index]), rounding)[0])
        return max(here, float(self.falling[max(index, 0)]))

    def _above(self, at: float, index: int, rounding: float) -> float:
        """Return rise + (1 - e^(at - point)) inner. The first summand may be missing by rounding."""
        # The point is just above: the exponent is between -step and rounding.
        gain = -math.expm1(at - (self.start + index) * self.step) + 2 * rounding + 16 * _U
        value = (self.rise[index] + max(gain, 0.0) * self.inner[index]) * (1 + self._slop)
        value += self.outer[max(index - 1, 0)] * 4 * rounding
        value += self.noise * max(math.exp(-self.tilt * index), 1e-260) * (1 + 1e-9)
        total = float(value * self._scale + self.beyond + self.infinite) * (1 + 8 * _U)
        return min(1.0, max(total, LEAST_DELTA))

    def _below(self, at: float | Floats, index: NDArray[np.intp], rounding: float) -> Floats:
        gain = -np.expm1(at - (self.start + index) * self.step) - 2 * rounding - 32 * _U
        value = self.rise[index] * (1 - self._slop) + gain * self.inner[index] * (
            1 - np.sign(gain) * self._slop
        )
        value -= (self.outside + self.noise) * np.exp(-self.tilt * index) * (1 + 1e-9)
        total = np.maximum(value, 0.0) * self._scale
        total = np.where(total >= LEAST_DELTA, total, 0.0) + self.infinite
        return np.asarray(np.clip(total * (1 - 8 * _U), 0.0, 1.0))

    @cached_property
    def falling(self) -> Floats:
        """For each grid point, the largest lower bound on delta at this or any larger grid point."""
        index = np.arange(len(self.outer))
        points = np.asarray((self.start + index) * self.step)
        rounding = 8 * _U * float(np.abs(points[[0, -1]]).max())
        values = self._below(points, index, rounding)
        return np.asarray(np.maximum.accumulate(values[::-1])[::-1])

    @property
    def _farthest(self) -> float:
        """An epsilon that lies beyond the window."""
        return abs(self.offset) + self.step * (abs(self.start) + 2 * len(self.outer))

    @property
    def _slop(self) -> float:
        """The rounding error of sums of n terms: 9 units for exp(-step), and two operations for each term."""
        return (24 * len(self.outer) + 64) * _U

    @property
    def _scale(self) -> float:
        scale = math.exp(min(self.log_scale, 700.0))
        return scale * (1 + self.sign * _U * (2000 + 2 * abs(self.log_scale)))


def sum_of_losses(
    laws: Sequence[tuple[LossLaw, int]],
    *,
    step: float,
    tilt: float,
    window: Window,
    start: int,
    slopes: tuple[float, float],
    sign: int,
) -> LossSum:
    """Return the composition of the loss distributions ``laws``, each repeated as often as its count says.

    Probabilities are multiplied by exp(tilt times grid point) before the composition, for accuracy.

    Args:
        laws: loss distributions on one grid with their counts, all from ``law_above`` or all from
            ``law_below``.
        step: the step of the grid.
        tilt: the number, above 0, in the weight exp(tilt m) of grid point m.
        window: the grid points of the result. The probability outside is bounded by Chernoff's bound.
        start: the first grid point at which the profile is needed.
        slopes: the exponents in Chernoff's bounds below and above the window, per grid point, above 0.
        sign: 1 for an upper bound (``law_above``), -1 for a lower bound (``law_below``).

    Source: this project, docs/notes/loss_grid.md, section 5.
    """
    tilted = [_tilted(law, tilt, sign) for law, _ in laws]
    counts = [count for _, count in laws]
    folded = [_folded(x, law.first, window.size, sign) for (x, _), (law, _) in zip(tilted, laws, strict=True)]
    sums, noise = circular_power(list(zip(folded, counts, strict=True)))
    kept = np.roll(sums, -(window.first % window.size))[start - window.first :]
    kept = np.maximum(kept, 0.0)
    steps = np.arange(len(kept))
    weight = np.exp(np.maximum(-tilt * steps, -_MOST_EXPONENT if sign > 0 else -np.inf))
    weight = np.where(-tilt * steps >= -_MOST_EXPONENT, weight, weight if sign > 0 else 0.0)
    backwards = (kept * weight)[::-1]
    outer = np.cumsum(backwards)[::-1]
    inner = _discounted(backwards, math.exp(-step))[::-1]
    # The sum of mass (1 - exp(-k step)) is exp(-step) times the one a point on, and (1 - exp(-step)) outer.
    gains = np.zeros_like(outer)
    gains[1:] = -math.expm1(-step) * outer[:0:-1]
    rise = _discounted(gains, math.exp(-step))[::-1]
    xs = [(x, law.first, count) for (x, _), (law, count) in zip(tilted, laws, strict=True)]
    below, above = _chernoff(xs, window.first - 1, -slopes[0]), _chernoff(xs, window.end, slopes[1])
    below = below if sum(count * first for _, first, count in xs) < window.first else 0.0
    above = above if sum(count * (first + len(x) - 1) for x, first, count in xs) >= window.end else 0.0
    log_scale = float(
        sum(Fraction(c) * n for (_, c), n in zip(tilted, counts, strict=True)) - Fraction(tilt) * start
    )
    offset = math.fsum(law.offset * count for law, count in laws)
    offset += sign * 8 * _U * math.fsum(abs(law.offset) * count for law, count in laws)
    log_beyond = log_scale - tilt * (window.end - start) + (math.log(above) if above else -math.inf)
    beyond = math.exp(min(log_beyond * (1 - 4 * _U) + 1e-9, 700.0)) if sign > 0 else 0.0
    infinite = _infinite(laws, sign)
    spacing = step + 32 * _U * (abs(offset) + step * (abs(start) + 3 * len(kept)))  # with ``rounding`` in it
    error = _noise(noise, tilt, spacing, len(kept))
    return LossSum(
        sign, step, start, offset, outer, inner, rise, log_scale, beyond, above + below, error, tilt, infinite
    )


def _discounted(values: Floats, ratio: float) -> Floats:
    """Return y_n = values_n + ratio y_(n-1), for nonnegative values, computed in rows of about sqrt(length) entries.

    ``carried`` holds y at the end of each row. A term that is d entries away has d factors ``ratio``.
    """
    width = math.isqrt(len(values)) + 1
    rows = len(values) // width + 1
    table = np.append(values, np.zeros(rows * width - len(values))).reshape(rows, width).T.copy()
    powers = np.full(width, ratio).cumprod()
    for place in range(1, width):
        table[place] += ratio * table[place - 1]
    carried = [0.0]
    for end in table[-1, :-1].tolist():
        carried.append(end + float(powers[-1]) * carried[-1])
    table += np.multiply.outer(powers, np.array(carried))
    return np.asarray(table.T.reshape(-1)[: len(values)])


def _noise(noise: Noise, tilt: float, step: float, length: int) -> float:
    """Bound the noise in the profile, where the k-th mass has weight 1 - exp(-x), x at most (k + 1) step.

    The weight is at most 1, and at most (k + 1) step. (k + 1) exp(-tilt k/2) is largest at k + 1 = 2/tilt.
    """
    largest = max(1.0, math.exp(tilt / 2 - 1) * 2 / tilt) if tilt < 2 else 1.0
    gained = step * largest * noise.of_geometric_sum(tilt / 2, length) * (1 + 1e-12)
    return min(noise.of_geometric_sum(tilt, length), gained)


_TINY = 1e-300
"""Smaller masses are raised to this one or dropped, so that exp(700) is larger than every factor below."""


def _tilted(law: LossLaw, tilt: float, sign: int) -> tuple[Floats, float]:
    """Return masses times exp(tilt point - c), rounded to the given side, and the c for which they sum to about 1."""
    tiny = (law.masses > 0) & (law.masses < _TINY)
    masses = np.where(tiny, _TINY if sign > 0 else 0.0, law.masses)
    exponents = (law.first + np.arange(len(masses))) * tilt
    with np.errstate(divide="ignore"):
        top = float((np.log(masses) + exponents).max())
    if math.isnan(top):
        raise ArithmeticError("A probability on the grid is NaN.")
    if math.isinf(top):
        return np.zeros_like(masses), 0.0
    scale = top + math.log(float((masses * np.exp(np.minimum(exponents - top, 700.0))).sum()))
    charge = _U * (2 * np.abs(exponents) + 2 * abs(scale) + 16)
    x = masses * np.exp(np.minimum(exponents - scale, 700.0)) * (1 + sign * charge)
    return np.maximum(x, 0.0), scale


def _folded(x: Floats, first: int, size: int, sign: int) -> Floats:
    """Return the sums of x over grid points that are equal modulo ``size``; point k is at index k mod size."""
    rows = -(-len(x) // size)
    padded = np.zeros(rows * size)
    padded[: len(x)] = x
    summed = padded.reshape(rows, size).sum(axis=0) * (1 + sign * rows * _U)
    return np.roll(summed, first % size)


def _chernoff(xs: Sequence[tuple[Floats, int, int]], point: int, slope: float) -> float:
    """Return an upper bound on the mass of the sums >= point (slope > 0) or <= point (slope < 0), for any slope."""
    best = math.inf
    for factor in (0.8, 1.0, 1.25):
        s = factor * slope
        total = math.fsum(count * (_log_sum(x, first, s) + 1e-12) for x, first, count in xs)
        best = min(best, total - s * point + 1e-9 + 1e-12 * abs(s * point))
    return math.exp(min(best, 700.0))


def _log_sum(x: Floats, first: int, slope: float) -> float:
    with np.errstate(divide="ignore"):
        logs = np.log(x) + slope * (first + np.arange(len(x)))
    top = float(logs.max())
    if not math.isfinite(top):
        return top
    return top + math.log(float(np.exp(logs - top).sum()))


def _infinite(laws: Sequence[tuple[LossLaw, int]], sign: int) -> float:
    """Return 1 - prod (1 - infinite)^count, rounded to the given side."""
    if any(law.infinite >= 1 for law, _ in laws):
        return 1.0
    logs = math.fsum(count * math.log1p(-law.infinite) for law, count in laws)
    return min(1.0, max(0.0, -math.expm1(logs) * (1 + sign * 32 * _U)))
