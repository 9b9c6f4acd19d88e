"""Inversion of the moment-generating function: delta(epsilon) as an integral along a line.

Let M be the moment-generating function of the composed privacy loss. For any c > 0,

    delta(epsilon) = (1/2 pi i) int_{c - i inf}^{c + i inf} exp(-z epsilon) M(z) / (z (z + 1)) dz.

Every c gives the same value. Near the saddle point there is no cancellation, and the integrand decays fast.
No error bound depends on the c that the search finds. The trapezoidal sum on the line differs from
delta(epsilon) by three terms. Aliasing terms are nonnegative and bounded by Chernoff's bound. The truncated
part is bounded by ``pairs.phases.decay``. Rounding errors are added up during the computation. The same
points on the line are used for all epsilons near the epsilon for which they were chosen. Derivation:
docs/notes/saddle_inversion.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.inversion import LEAST_DELTA, first_whole
from dpproof.accountant.pairs.base import Characteristic, Floats, Tilted
from dpproof.accountant.pairs.phases import EPS, decay
from dpproof.accountant.privacy_loss.sketch import is_sketched, rough_moments

Parts = Sequence[tuple[Characteristic, int]]
"""Moment-generating functions of the composed pairs, each with the number of times the pair occurs."""


class Inapplicable(ArithmeticError):  # noqa: N818 (a route that does not apply is no fault of the caller)
    """Raised if the inversion integral cannot be used.

    It would need too many points, or it is not proved to decay, or a moment-generating function is not known.
    """


@dataclass(frozen=True)
class Line:
    """The moment-generating function of a composed loss at one real c, and moments of the tilted loss.

    The tilted loss is the privacy loss after its probabilities are multiplied by exp(c loss).
    """

    c: float
    log_mgf: float
    log_mgf_error: float
    mean: float
    variance: float
    tilts: tuple[tuple[Tilted, int], ...]

    def saddle_epsilon(self) -> float:
        """Return the epsilon for which the integral that gives delta has its saddle point at ``c``."""
        return self.mean - 1 / self.c - 1 / (1 + self.c)

    def log_delta(self, epsilon: float) -> float:
        """Return an estimate of log delta at ``epsilon``, which is accurate near ``saddle_epsilon()``."""
        curvature = self.variance + self.c**-2 + (1 + self.c) ** -2
        poles = math.log(self.c) + math.log1p(self.c)
        return self.log_mgf - self.c * epsilon - poles - math.log(2 * math.pi * curvature) / 2

    def repeated(self, times: int) -> Line:
        """Return the ``Line`` at the same c for the composition repeated ``times`` times."""
        return Line(
            self.c, self.log_mgf * times, math.inf, self.mean * times, self.variance * times, self.tilts
        )

    def model(self, c: float) -> Line:
        """Return an approximate ``Line`` at another ``c``, as if the tilted loss were Gaussian."""
        moved = c - self.c
        log_mgf = self.log_mgf + self.mean * moved + self.variance * moved * moved / 2
        return Line(c, log_mgf, math.inf, self.mean + self.variance * moved, self.variance, ())


def line_at(parts: Parts, c: float) -> Line:
    """Return the ``Line`` of a composition at ``c``.

    Its error bound is the sum of the error bounds of all parts, plus rounding.

    Raises:
        Inapplicable: if a moment-generating function is not known at ``c``.
    """
    try:
        tilts = tuple((part.tilted(c), count) for part, count in parts)
    except OverflowError as refused:
        raise Inapplicable(str(refused)) from refused
    log_mgf = math.fsum(tilt.log_mgf * count for tilt, count in tilts)
    size = math.fsum(abs(tilt.log_mgf) * count for tilt, count in tilts)
    error = math.fsum(tilt.log_mgf_error * count for tilt, count in tilts)
    mean = math.fsum(tilt.mean * count for tilt, count in tilts)
    variance = math.fsum(tilt.variance * count for tilt, count in tilts)
    return Line(c, log_mgf, 1.01 * (error + 2.0**-52 * size), mean, variance, tilts)


def rough_line_at(parts: Parts, c: float) -> Line:
    """Return an estimate of ``line_at``. Its error is not known and counts as infinite.

    Raises:
        Inapplicable: if the outputs of a part are not listed.
    """
    if not is_sketched(parts):
        raise Inapplicable("the outputs are not listed")
    log_mgf, mean, variance = rough_moments(parts, c)
    return Line(c, log_mgf, math.inf, mean, variance, ())


QUIET = 30.0
"""Aliasing and truncation are made smaller than exp(-30) = 1e-13 of delta."""
MOST_NODES = 1 << 17
_FACTORS = (1.05, 1.1, 1.2, 1.4, 2.5)


@dataclass(frozen=True)
class Contour:
    """The integral that gives delta, with the characteristic function at points of one vertical line."""

    line: Line
    step: float
    log_phi: NDArray[np.complex128]
    """The log of the characteristic function of the tilted loss at n step, n = 0, 1, ..."""
    phi_error: Floats
    """Bounds on the absolute errors of the characteristic function at these points."""
    cut: float
    """A bound on the sum of the omitted terms of the trapezoidal sum, as a fraction of M(c) exp(-c epsilon)."""
    other: Line
    """The ``Line`` at a larger c. It gives a Chernoff bound on the aliasing error of the trapezoidal sum."""
    log_mass: float = 0.0
    """An upper bound on the logarithm of the measure's total mass."""

    @property
    def aim(self) -> tuple[float, float]:
        """The epsilon of the saddle point, and a guess of the slope of log delta there."""
        return self.line.saddle_epsilon(), -self.line.c

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return certified bounds on delta at ``epsilon``, before they are clipped to [0, 1].

        The upper one is at most Chernoff's bound.
        """
        value, error = self.terms(epsilon)
        error += 1.01 * self.cut
        most = math.exp(chernoff_factor(self.line.c)) * (1 + 1e-9)
        return self.scaled(value - error - self.alias(epsilon), min(value + error, most), epsilon)

    def terms(self, epsilon: float) -> tuple[float, float]:
        """Return the trapezoidal sum over the points, and its rounding error, as fractions of M(c) exp(-c epsilon)."""
        times = self.step * np.arange(len(self.log_phi))
        size = np.exp(self.log_phi.real)
        z = self.line.c + 1j * times
        poles = np.abs(z * (z + 1))
        phase = self.log_phi.imag - times * epsilon - np.angle(z) - np.angle(z + 1)
        terms = size * np.cos(phase) / poles
        terms[0] /= 2
        turned = EPS * (40 + 8 * times * abs(epsilon))
        wrong = (size * turned + self.phi_error) / poles
        value = self.step / math.pi * math.fsum(terms)
        return value, 1.01 * (self.step / math.pi * math.fsum(wrong) + 8 * EPS * abs(value))

    def scaled(self, low: float, high: float, epsilon: float) -> tuple[float, float]:
        """Return the bounds multiplied by M(c) exp(-c epsilon), rounded outward."""
        exponent = self.line.log_mgf - self.line.c * epsilon
        error = self.line.log_mgf_error + 4 * EPS * (abs(self.line.log_mgf) + self.line.c * abs(epsilon) + 4)
        if high <= 0 or not exponent + error < 700:
            raise Inapplicable("the upper bound on delta is not positive, or too large to compute")
        upper = high * math.exp(exponent + error) * (1 + 16 * EPS)
        lower = low * math.exp(exponent - error) * (1 - 16 * EPS) if low > 0 else 0.0
        return lower if lower >= LEAST_DELTA else 0.0, max(upper, LEAST_DELTA)

    def alias(self, epsilon: float) -> float:
        """Bound the aliasing terms, as a fraction of M(c) exp(-c epsilon).

        They are exp(c k R) delta(epsilon + k R) for k != 0, R = 2 pi/step. For k < 0 delta is at most the mass. For
        k > 0 it is at most M(c') exp(-c' (epsilon + k R)) for every c' > c.
        """
        period, own, other = 2 * math.pi / self.step, self.line, self.other
        below = self.log_mass - _log_expm1(own.c * period) - own.log_mgf + own.c * epsilon + own.log_mgf_error
        above = other.log_mgf - own.log_mgf - (other.c - own.c) * epsilon
        above += other.log_mgf_error + own.log_mgf_error - _log_expm1((other.c - own.c) * period)
        slack = 1e-9 * (1 + abs(below) + abs(above) + abs(own.log_mgf) + own.c * abs(epsilon))
        return _exp(below + slack) + _exp(above + slack)


def contour(
    parts: Parts,
    line: Line,
    log_delta: float,
    most: int = MOST_NODES,
    epsilon: float | None = None,
    factors: Sequence[float] = _FACTORS,
) -> Contour:
    """Return the inversion integral on ``line``, for the epsilons whose delta is about exp(``log_delta``).

    These are near ``epsilon``, or near the line's own if it is None. ``factors`` are tried for the line that bounds
    aliases.

    Raises:
        Inapplicable: if the integral needs more than ``most`` points.
    """
    here = line.saddle_epsilon() if epsilon is None else epsilon
    period = partial(period_of, log_delta=log_delta, epsilon=here)
    other = beyond(partial(line_at, parts), partial(rough_line_at, parts), line, factors, period)
    step = short(2 * math.pi / period(line, other))
    scale = line.log_mgf - line.c * here
    end, bound = _end(line, log_delta - scale - QUIET), _log_decay
    if end > _MANY_NODES * step:
        times = np.geomspace(1 / math.sqrt(line.variance), 1e6 / math.sqrt(line.variance), 128)
        other_end = first_quiet(partial(_log_beyond, line), times, log_delta - scale - QUIET)
        end, bound = min((end, bound), (other_end, _log_beyond), key=lambda found: found[0])
    if math.isinf(end):
        raise Inapplicable("the characteristic function is not proved to decay fast enough")
    count = math.ceil(end / step) + 1
    if count > most:
        raise Inapplicable(f"the inversion integral needs {count} nodes, more than {most}")
    log_phi, error = values_of(parts, line.c, step, count)
    last = float(bound(line, np.array([step * count]))[0])
    cut = 1.01 * math.exp(last) / (math.pi * step * (count - 1))
    return Contour(line, step, log_phi, error, cut, other)


def beyond(
    line_of: Callable[[float], Line],
    rough_of: Callable[[float], Line],
    line: Line,
    factors: Sequence[float],
    period: Callable[[Line, Line], float],
) -> Line:
    """Return a line at a larger c, for which ``period`` is short. Estimates choose among the factors.

    Without estimates, only the last two factors are tried.

    Raises:
        Inapplicable: if the moment-generating function is known at none of the larger c.
    """
    try:
        own = rough_of(line.c)
        guesses = [period(own, rough_of(line.c * factor)) for factor in factors]
        found = _known(line_of, line.c, [factors[guesses.index(min(guesses))]])
        if not found or period(line, found[0]) > 2 * min(guesses):
            found += _known(line_of, line.c, factors[:1])
    except Inapplicable:
        found = _known(line_of, line.c, factors[-2:])
    if not found:
        raise Inapplicable("the moment-generating function cannot be computed beyond the saddle point")
    return min(found, key=partial(period, line))


def _known(line_of: Callable[[float], Line], c: float, factors: Sequence[float]) -> list[Line]:
    """Return the lines at ``factors`` of c, up to the first one where the moment-generating function is not known."""
    found: list[Line] = []
    for factor in factors:
        try:
            found.append(line_of(c * factor))
        except Inapplicable:
            break
    return found


def period_of(line: Line, other: Line, log_delta: float, epsilon: float, log_mass: float = 0.0) -> float:
    """Estimate a distance R between aliases at which they are below exp(-QUIET) delta."""
    share, moved = log_delta - (line.log_mgf - line.c * epsilon), other.c - line.c
    above = (QUIET - share + max(other.log_mgf - line.log_mgf - moved * epsilon, 0)) / moved
    return max((QUIET + log_mass - log_delta) / line.c, above)


_MANY_NODES = 2000
"""If layers of uniform distributions do not prove a decay within this many points, the second bound is tried."""


def _end(line: Line, log_share: float) -> float:
    """Return the first t of a geometric grid beyond which the integral is proved to be below exp(log_share).

    The result is infinite if there is none.
    """
    times = np.geomspace(1 / math.sqrt(line.variance), 1e6 / math.sqrt(line.variance), 128)
    enough = _log_decay(line, times) - np.log(times) <= log_share
    return float(times[int(np.argmax(enough))]) if enough.any() else math.inf


def first_quiet(log_bound: Callable[[Floats], Floats], times: Floats, log_share: float) -> float:
    """Return the first of the times beyond which a decreasing bound, divided by t, is at most exp(log_share).

    The result is infinite if there is none.
    """

    def quiet(place: int) -> bool:
        here = times[place : place + 1]
        return float((log_bound(here) - np.log(here))[0]) <= log_share

    last = len(times) - 1
    return float(times[first_whole(quiet, -1, last)]) if quiet(last) else math.inf


def _log_decay(line: Line, times: Floats) -> Floats:
    """Return the log of a bound on the composed phi at every frequency beyond each of ``times``."""
    return sum((decay(*tilt.uniform(), times) * count for tilt, count in line.tilts), 0 * times)


def _log_beyond(line: Line, times: Floats) -> Floats:
    """Return the log of a second bound on the composed phi beyond each of ``times``; see ``Tilted.beyond``."""
    bounds = [(np.minimum(tilt.beyond(times), 0.0), count) for tilt, count in line.tilts if tilt.beyond]
    return sum((found * count for found, count in bounds), 0 * times)


def values_of(parts: Parts, c: float, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
    """Return the log of phi of the composition at the nodes, and absolute errors of phi."""
    log_phi, log_size = np.zeros(count, dtype=np.complex128), np.zeros(count)
    largest, relative = np.zeros(count), np.zeros(count)
    for part, times in parts:
        try:
            found, error = part.minus_one(c, step, count)
        except OverflowError as refused:
            raise Inapplicable(str(refused)) from refused
        error = 1.01 * (error + 80 * EPS * np.abs(found))
        own = log_of_one_plus(found)
        size = np.exp(own.real)
        log_phi += times * own
        log_size += times * np.abs(own)
        largest += times * (own.real + np.log1p(error / size))
        relative += times * error / (size + error)
    turned = EPS * (8 + len(parts)) * log_size
    return log_phi, 1.01 * (relative + turned) * np.exp(np.minimum(largest, 600.0))


def log_of_one_plus(found: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return the log of 1 + found. Its error is at most that of an error of 80 EPS |found| in ``found``."""
    size = np.abs(found)
    near = np.log1p(np.maximum(2 * found.real + np.minimum(size, 1.0) ** 2, -0.9)) / 2  # where size < 0.5
    far = np.log(np.maximum(np.hypot(1 + found.real, found.imag), 1e-300))
    log = np.empty_like(found)
    log.real = np.where(size < 0.5, near, far)
    log.imag = np.arctan2(found.imag, 1 + found.real)
    return log


def log_expm1(times: int, log_ratio: Floats) -> Floats:
    """Return log((1 + ratio)^times - 1), without a difference of nearly equal numbers."""
    exponent = times * np.logaddexp(0.0, log_ratio)
    with np.errstate(divide="ignore"):
        usual = exponent + np.log(-np.expm1(-exponent))
    return np.asarray(np.where(exponent < 1e-290, math.log(times) + log_ratio, usual))


def short(step: float) -> float:
    """Return a number just below ``step`` with so few bits that its multiples are exact."""
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.floor(mantissa * 1024), exponent - 10)


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x))


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def chernoff_factor(c: float) -> float:
    """Return the logarithm of the largest value of (1 - exp(-x))^+ exp(-c x), which is c^c/(1 + c)^(1 + c)."""
    return c * math.log(c / (1 + c)) - math.log1p(c)
