"""Inversion of a composition in two parts: the losses without rare large ones (jumps), and the rest.

Let m be the moment-generating function of one step's loss. A soft cut divides the loss's distribution into a
bulk and jumps, so m = b + j with two positive measures. A composition of T steps has m^T = b^T + (m^T - b^T),
where the first summand belongs to outcomes without a jump, and the second to outcomes with at least one. Both
belong to positive measures, so delta is the sum of their deltas. Each is an inversion integral on a line of
its own, or Chernoff's bound if it is negligible. The second one is b^T expm1(T log1p(j/b)), which is accurate
relative to itself however rare jumps are. Jumps much rarer than delta are dropped before, and their
probability is added to the upper bound.

Coarse sums over outputs propose the cut and the lines. Nothing certified depends on this proposal. Derivation:
docs/notes/rare_jumps.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import lru_cache, math, np
from dpproof.accountant.numbers.elementary import exp_of_complex
from dpproof.accountant.numbers.inversion import LEAST_DELTA, last_where
from dpproof.accountant.pairs.base import Floats, Tilted
from dpproof.accountant.pairs.phases import EPS
from dpproof.accountant.pairs.sampled_loss import SoftCut
from dpproof.accountant.privacy_loss.chernoff import chernoff
from dpproof.accountant.privacy_loss.jump_outlook import Jumping, Outlook, Plan
from dpproof.accountant.privacy_loss.saddle import (
    MOST_NODES,
    QUIET,
    Contour,
    Inapplicable,
    Line,
    beyond,
    contour,
    line_at,
    log_expm1,
    log_of_one_plus,
    period_of,
    rough_line_at,
    short,
)
from dpproof.accountant.privacy_loss.saddle_search import log_chernoff, near_saddle, refined


@dataclass(frozen=True)
class Chernoff:
    """A part of delta that is too small to matter: it is between 0 and Chernoff's bound on one of the lines."""

    lines: tuple[Line, ...]

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return 0 and the smallest of the bounds at ``epsilon``."""
        return 0.0, math.exp(min(chernoff(self.lines, epsilon), 0.0))


@dataclass(frozen=True)
class Parted:
    """The delta of a composition as a sum of parts, each with certified bounds."""

    aim: tuple[float, float]
    """The epsilon for which the parts were made, and a guess of the slope of log delta there."""
    parts: tuple[Contour | Chernoff, ...]
    rest: float
    """An upper bound on the probability of jumps that no part contains."""

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return certified bounds on delta at ``epsilon``, before they are clipped to [0, 1]."""
        lows, highs = zip(*(part.delta(epsilon) for part in self.parts), strict=True)
        high = (math.fsum(highs) + self.rest) * (1 + 1e-15)
        return math.fsum(lows) * (1 - 1e-15), max(high, LEAST_DELTA)


_FACTORS = (1.05, 1.1, 1.2, 1.35, 1.5)
_FAR_WIDTH, _FURTHER, _FARTHEST = 0.125, 1.1 * _FACTORS[-1], 1e6


def parted(part: Jumping, times: int, *, log_delta: float, epsilon: float | None = None) -> Parted:
    """Return the delta of ``times`` compositions as a sum of parts, near an epsilon.

    Args:
        part: the moment-generating function of one step.
        times: the number of steps.
        log_delta: the logarithm of delta. If epsilon is given, it is a lower bound.
        epsilon: where delta is asked; None for where it is exp(log_delta).

    Raises:
        Inapplicable: if this method has no answer.
    """
    outlook = _outlook(part, times, log_delta)
    if epsilon is not None:
        return _near(part, times, outlook, epsilon)
    found = _near(part, times, outlook, _place(part, times, outlook, log_delta))
    low, high = found.delta(found.aim[0])
    off = math.log(low / 2 + high / 2) - log_delta if low > 0 else 0.0
    better = found.aim[0] - off / found.aim[1]
    return found if abs(off) < _FAR_OFF or better <= 0 else _near(part, times, outlook, better)


@lru_cache(8)
def _outlook(part: Jumping, times: int, log_delta: float) -> Outlook:
    return Outlook(part, times, _far_place(part, log_delta - QUIET - 2 - math.log(times)))


_USUAL, _NEARLY, _FAR_OFF, _NARROW = 2.5, 0.5, 5.0, 1e-5
"""By how much Chernoff's bound usually exceeds log delta, how far an estimate of log delta may be off, how far is too
far, and a narrow width of delta."""


def _place(part: Jumping, times: int, outlook: Outlook, log_delta: float) -> float:
    """Return an estimate of the epsilon whose delta is exp(log_delta)."""
    epsilon = first = outlook.at(log_delta + _USUAL)
    for _ in range(4):
        found, c = _estimate(part, times, outlook, epsilon)
        if abs(found - log_delta) < _NEARLY:
            return epsilon
        epsilon += (found - log_delta) / c
        if not 0 < epsilon < 2 * first:
            break
    return first


def _estimate(part: Jumping, times: int, outlook: Outlook, epsilon: float) -> tuple[float, float]:
    """Return an estimate of log delta at an epsilon, and the c of the line of the larger part."""
    c, single = outlook.whole(epsilon)
    if single:
        whole = _without_far_jumps(part, times, outlook, c)[0]
        lines = [refined(partial(rough_line_at, [(whole, times)]), c, epsilon)]
    else:
        plan = outlook.plans(epsilon)[0]
        bulk, steps, _ = _divided(part, times, outlook, plan)
        lines = [refined(partial(rough_line_at, bulk), plan.bulk, epsilon)]
        lines.append(refined(steps.rough_line, plan.jumps, epsilon))
    logs = [min(line.log_delta(epsilon), log_chernoff(line, epsilon), 0.0) for line in lines]
    top = max(logs)
    return top + math.log(math.fsum(math.exp(log - top) for log in logs)), lines[logs.index(top)].c


def _near(part: Jumping, times: int, outlook: Outlook, epsilon: float) -> Parted:
    """Return the first parts with narrow bounds at an epsilon, or those with the narrowest."""
    c, single = outlook.whole(epsilon)
    least = _estimate(part, times, outlook, epsilon)[0]
    plans = [replace(plan, log_delta=min(plan.log_delta, least)) for plan in outlook.plans(epsilon)]
    methods = [partial(_on_one_line, part, times, outlook, c, epsilon)] if single else []
    methods += [partial(_on_two_lines, part, times, outlook, plan) for plan in plans]
    best, least, refused = None, math.inf, Inapplicable("no cut was tried")
    for method in methods:
        try:
            found = method()
            low, high = found.delta(epsilon)
        except Inapplicable as error:
            refused = error
            continue
        if 1 - low / high < least:
            best, least = found, 1 - low / high
        if least < _NARROW:
            break
    if best is None:
        raise refused
    return best


def _without_far_jumps(
    part: Jumping, times: int, outlook: Outlook, c: float, near: tuple[float, SoftCut] | None = None
) -> tuple[Jumping, float]:
    """Return the bulk without jumps beyond the last output of the outlook, and a bound on their probability.

    The cuts are so steep that they outweigh these jumps on all lines that the integral at ``c`` needs. If the c of a bulk
    and its cut are given, both cuts outweigh the jumps on the lines that the integral at that c needs.
    """
    lines: list[tuple[float, SoftCut | None]] = [(_FURTHER * c, None)]
    if near is not None:
        lines.append((_FURTHER * near[0], near[1]))
    whole, rest = part, 0.0
    for place, width in outlook.far_cuts(_FAR_WIDTH, *lines):
        for far in part.far_cuts(place, width):
            whole, rest = whole.bulk(far), rest + math.exp(part.log_jump_mass(far) + math.log(times) + 1e-9)
    return whole, rest * (1 + 1e-15)


def _on_one_line(part: Jumping, times: int, outlook: Outlook, c: float, epsilon: float) -> Parted:
    """Return one integral for all losses but the rarest jumps."""
    whole, rest = _without_far_jumps(part, times, outlook, c)
    one = [(whole, times)]
    line = near_saddle(partial(line_at, one), partial(rough_line_at, one), c, epsilon)
    log_delta = min(line.log_delta(epsilon), -1e-9)
    found = contour(one, line, log_delta, epsilon=epsilon, factors=_FACTORS)
    return Parted((epsilon, -line.c), (found,), rest)


def _on_two_lines(part: Jumping, times: int, outlook: Outlook, plan: Plan) -> Parted:
    """Return two integrals, for outcomes without and with a jump."""
    bulk, steps, rest = _divided(part, times, outlook, plan)
    without = _negligible(partial(line_at, bulk), partial(rough_line_at, bulk), plan.bulk, plan)
    jumps = _negligible(steps.line, steps.rough_line, plan.jumps, plan)
    found = (without or _bulk_integral(bulk, plan), jumps or _jump_integral(steps, plan))
    return Parted((plan.epsilon, -plan.slope), found, rest)


def _divided(
    part: Jumping, times: int, outlook: Outlook, plan: Plan
) -> tuple[list[tuple[Jumping, int]], _Steps, float]:
    """Return the outcomes without and with a jump, and a bound on the probability of dropped jumps."""
    near = SoftCut(plan.place, plan.width)
    whole, rest = _without_far_jumps(part, times, outlook, plan.jumps, (plan.bulk, near))
    log_mass = min(0.0, part.log_jump_mass(near) + math.log(times) + 1e-9)
    bulk = whole.bulk(near)
    return [(bulk, times)], _Steps(bulk, whole.jumps(near), times, log_mass), rest


def _negligible(
    line_of: Callable[[float], Line], rough_of: Callable[[float], Line], c: float, plan: Plan
) -> Chernoff | None:
    """Return Chernoff's bound on a part of delta if it is too small to matter, and None where estimates deny this."""
    goal = plan.log_delta - QUIET - 1
    if log_chernoff(rough_of(c), plan.epsilon) > goal + 1:
        return None
    line = line_of(c)
    return Chernoff((line,)) if chernoff((line,), plan.epsilon) < goal else None


def _far_place(part: Jumping, goal: float) -> float:
    """Return a place beyond which a jump is rarer than exp(goal)."""

    def frequent(place: float) -> bool:
        return part.log_jump_mass(SoftCut(place, _FAR_WIDTH)) > goal

    high = 64.0
    while frequent(high) and high < _FARTHEST:
        high *= 2
    return math.ceil(last_where(frequent, 0.0, high, close=1e-3)[1] * 64) / 64


def _bulk_integral(bulk: Sequence[tuple[Jumping, int]], plan: Plan) -> Contour:
    line = near_saddle(partial(line_at, bulk), partial(rough_line_at, bulk), plan.bulk, plan.epsilon)
    return contour(bulk, line, plan.log_delta, _MOST_BULK_NODES, plan.epsilon, _FACTORS)


_MOST_BULK_NODES, _MOST_JUMP_NODES = MOST_NODES // 2, MOST_NODES // 4


@dataclass(frozen=True)
class _Steps:
    """The outcomes of several steps with at least one jump: m^T - b^T, with m = b + j."""

    bulk: Jumping
    jumps: Jumping
    times: int
    log_mass: float
    """An upper bound on the logarithm of their probability."""
    known: dict[float, tuple[Tilted, Tilted]] = field(default_factory=dict, repr=False, compare=False)
    """The tilted distributions of bulk and jumps, stored by line, because each line needs them several times."""

    def ratio(self, c: float) -> tuple[float, float]:
        """Return j(c)/b(c), and a bound on its relative error.

        Raises:
            Inapplicable: if a moment-generating function is not known at ``c``.
        """
        b, j = self._tilts(c)
        error = b.log_mgf_error + j.log_mgf_error + 4 * EPS * (abs(b.log_mgf) + abs(j.log_mgf) + 1)
        if error > 0.01:
            raise Inapplicable("the probability of jumps is not known accurately enough")
        return math.exp(min(j.log_mgf - b.log_mgf, 600.0)), 1.02 * error

    def _tilts(self, c: float) -> tuple[Tilted, Tilted]:
        if c not in self.known:
            try:
                self.known[c] = self.bulk.tilted(c), self.jumps.tilted(c)
            except OverflowError as refused:
                raise Inapplicable(str(refused)) from refused
        return self.known[c]

    def line(self, c: float) -> Line:
        """Return the logarithm of m(c)^T - b(c)^T and its error, and moments of the tilted loss."""
        (b, j), (ratio, error), n = self._tilts(c), self.ratio(c), self.times
        found = self._line(c, b, j)
        size = n * abs(b.log_mgf) + n * math.log1p(ratio) + abs(found.log_mgf - n * b.log_mgf)
        wrong = n * b.log_mgf_error + self._slope(c) * error + 8 * EPS * (size + 2)
        return replace(found, log_mgf_error=1.01 * wrong)

    def rough_line(self, c: float) -> Line:
        """Return an estimate of ``line``. Its error is not known and counts as infinite."""
        return self._line(c, *(rough_line_at([(part, 1)], c) for part in (self.bulk, self.jumps)))

    def _line(self, c: float, b: Tilted | Line, j: Tilted | Line) -> Line:
        """Return the line from those of bulk and jumps for one step, with an infinite error.

        The number of jumps is binomial, but not 0. Its mean and variance enter those of the loss.
        """
        n, rise = self.times, max(j.log_mgf - b.log_mgf, -600.0)
        exponent = n * float(np.logaddexp(0.0, rise))
        share = math.exp(rise - exponent / n)
        number = n * share / -math.expm1(-exponent)
        spread = max(number * (1 - share) - number * number * math.exp(-exponent), 0.0)
        mean = n * b.mean + number * (j.mean - b.mean)
        variance = (n - number) * b.variance + number * j.variance + spread * (j.mean - b.mean) ** 2
        return Line(
            c,
            n * b.log_mgf + float(log_expm1(n, np.array(j.log_mgf - b.log_mgf))),
            math.inf,
            mean,
            variance,
            (),
        )

    def _slope(self, c: float) -> float:
        """Return a bound on the slope of log((1 + x)^T - 1) in log x, at x = j(c)/b(c), within the error of x."""
        return min(1 + 1.02 * self.times * self.ratio(c)[0], self.times)

    def log_beyond(self, c: float, times: Floats) -> Floats:
        """Return logs of bounds on |m^T - b^T| beyond each of ``times``, over its value at c.

        On the line it is at most T |j| m(c)^(T-1), and its value at c is T j(c) m(c)^(T-1) over the slope.
        """
        tilt = self._tilts(c)[1]
        if tilt.beyond is None:
            raise Inapplicable("the decay of the jumps is not known")
        return np.asarray(np.minimum(tilt.beyond(times), 0.0) + math.log(1.0001 * self._slope(c)))

    def values(self, c: float, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
        """Return the log of (m^T - b^T) at c + i n step over its value at c, and absolute errors of this quotient.

        With u = b(c + it)/b(c), v = j(c + it)/j(c) and r = j(c)/b(c), it is ((u + r v)^T - u^T)/((1 + r)^T - 1).
        """
        n, (r, error) = self.times, self.ratio(c)
        (u, u_error), (v, v_error) = (_with_error(part, c, step, count) for part in (self.bulk, self.jumps))
        log_u = log_of_one_plus(u)
        exponent = n * log_of_one_plus(r * (1 + v) * exp_of_complex(-log_u))
        log_scale = float(log_expm1(n, np.array(math.log(r)))) if r > 0 else 0.0
        found = n * log_u + _log_of_expm1(exponent) - log_scale
        size = np.exp(np.minimum(found.real, 600.0))
        v_error = v_error + 2 * EPS
        largest_v = np.abs(1 + v) + v_error
        largest = log_u.real + np.log1p((u_error + 1.02 * r * largest_v) * np.exp(-log_u.real))
        lead = math.log(n * r) - log_scale if r > 0 else 0.0
        wrong = _exp(lead + (n - 1) * largest) * (
            v_error + largest_v * (error + EPS * (120 + 2 * np.abs(log_u)))
        )
        if n > 1:
            wrong = wrong + _exp(lead + (n - 2) * largest) * (n - 1) * largest_v * u_error
        scale = n * log_u.real - log_scale
        rounding = 24 * EPS * np.abs(exponent) * _exp(np.maximum(exponent.real, 0) + scale)
        rounding = rounding + _exp(scale + math.log(2.02 * _LEAST))
        turned = EPS * (12 * n * np.abs(log_u) + 8 * np.abs(found) + 8 * abs(log_scale) + 8) * size
        return found, 1.02 * (wrong + rounding + turned)


def _exp(exponent: Floats) -> Floats:
    return np.asarray(np.exp(np.minimum(exponent, 600.0)))


def _with_error(part: Jumping, c: float, step: float, count: int) -> tuple[NDArray[np.complex128], Floats]:
    try:
        found, error = part.minus_one(c, step, count)
    except OverflowError as refused:
        raise Inapplicable(str(refused)) from refused
    return found, 1.01 * (error + 80 * EPS * np.abs(found))


_LEAST = 1e-300
"""The smallest size whose logarithm is taken."""


def _log_of_expm1(exponent: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return a logarithm of exp(exponent) - 1.

    The latter errs by at most 24 EPS |exponent| exp(max(real part, 0)), and by 2 times ``_LEAST`` where it is smaller.
    """
    a, b = np.minimum(exponent.real, 40.0), exponent.imag
    grown = np.empty_like(exponent)
    grown.real = np.expm1(a) * np.cos(b) - 2 * np.sin(b / 2) ** 2
    grown.imag = np.exp(a) * np.sin(b)
    size = np.maximum(np.abs(grown), _LEAST)
    near = np.log(size) + 1j * np.angle(grown)
    return np.asarray(np.where(exponent.real > 40, exponent, near))


def _jump_integral(steps: _Steps, plan: Plan) -> Contour:
    """Return the inversion integral of m^T - b^T.

    Raises:
        Inapplicable: if it needs more points than allowed.
    """
    line = near_saddle(steps.line, steps.rough_line, plan.jumps, plan.epsilon)
    period = partial(period_of, log_delta=plan.log_delta, epsilon=plan.epsilon, log_mass=steps.log_mass)
    other = beyond(steps.line, steps.rough_line, line, _FACTORS, period)
    step = short(2 * math.pi / period(line, other))
    share = plan.log_delta - (line.log_mgf - line.c * plan.epsilon) - QUIET
    times = np.geomspace(step, step * _MOST_JUMP_NODES, 60)
    enough = steps.log_beyond(line.c, times) - np.log(times) <= share
    if not enough.any():
        raise Inapplicable(f"the inversion integral of the jumps needs more than {_MOST_JUMP_NODES} nodes")
    count = math.ceil(float(times[int(np.argmax(enough))]) / step) + 2
    last = math.exp(float(steps.log_beyond(line.c, np.array([step * count]))[0]))
    omitted = 1.01 * last / (math.pi * step * (count - 1))
    return Contour(line, step, *steps.values(line.c, step, count), omitted, other, steps.log_mass)
