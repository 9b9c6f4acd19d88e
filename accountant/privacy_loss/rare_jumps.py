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
from dataclasses import dataclass, replace
from functools import partial

from dpproof.accountant.numbers.arithmetic import lru_cache, math, np
from dpproof.accountant.numbers.inversion import LEAST_DELTA, last_where
from dpproof.accountant.pairs.sampled_loss import SoftCut
from dpproof.accountant.privacy_loss.chernoff import chernoff
from dpproof.accountant.privacy_loss.jump_outlook import Jumping, Outlook, Plan
from dpproof.accountant.privacy_loss.jumping_steps import JumpingSteps
from dpproof.accountant.privacy_loss.saddle import (
    MOST_NODES,
    QUIET,
    Contour,
    Inapplicable,
    Line,
    beyond,
    contour,
    first_quiet,
    line_at,
    period_of,
    rough_line_at,
    short,
)
from dpproof.accountant.privacy_loss.saddle_search import log_chernoff, rough_saddle


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
        least = math.floor(_estimate(part, times, outlook, epsilon)[0]) - _MARGIN
        return _near(part, times, _outlook(part, times, max(log_delta, least)), epsilon)
    found = _near(part, times, outlook, _place(part, times, outlook, log_delta), _ENOUGH)
    low, high = found.delta(found.aim[0])
    off = math.log(low / 2 + high / 2) - log_delta if low > 0 else 0.0
    better = found.aim[0] - off / found.aim[1]
    return found if abs(off) < _FAR_OFF or better <= 0 else _near(part, times, outlook, better, _ENOUGH)


@lru_cache(8)
def _outlook(part: Jumping, times: int, log_delta: float) -> Outlook:
    return Outlook(part, times, _far_place(part, log_delta - QUIET - 2 - math.log(times)))


_MARGIN = 8
"""The true log delta is assumed to be at most this much below its estimate."""
_ENOUGH = 3e-8
"""A narrow relative width of an epsilon."""
_USUAL, _MOST_OFF, _NEARLY, _FAR_OFF, _NARROW = 2.5, 40.0, 0.5, 5.0, 1e-5
"""By how much Chernoff's bound usually exceeds log delta, and by how much at most; how far an estimate of log delta may
be off, and how far is too far; and a narrow width of delta."""


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
        return _log_sum([_rough_single(part, times, outlook, c, epsilon)], epsilon)
    found = []
    for plan in outlook.plans(epsilon):
        aimed = _aimed(part, times, outlook, plan)
        bulk, steps, _ = _divided(part, times, outlook, aimed)
        lines = [rough_line_at(bulk, aimed.bulk), steps.rough_line(aimed.jumps)]
        found.append((max(log_chernoff(line, epsilon) for line in lines), _log_sum(lines, epsilon)))
        if found[-1][0] < plan.log_delta + _USUAL:
            break
    return min(found)[1]


def _log_sum(lines: Sequence[Line], epsilon: float) -> tuple[float, float]:
    """Return an estimate of the logarithm of the sum of two deltas, and the c of the line of the larger one."""
    logs = [min(line.log_delta(epsilon), log_chernoff(line, epsilon), 0.0) for line in lines]
    top = max(logs)
    return top + math.log(math.fsum(math.exp(log - top) for log in logs)), lines[logs.index(top)].c


def _near(part: Jumping, times: int, outlook: Outlook, epsilon: float, enough: float = 0.0) -> Parted:
    """Return the first parts with narrow bounds at an epsilon, or those with the narrowest.

    Bounds are also narrow if the relative width of the epsilons at a delta is about ``enough``.
    """
    c, single = outlook.whole(epsilon)
    least = max(_estimate(part, times, outlook, epsilon)[0], outlook.best(epsilon) - _MOST_OFF)
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
        if least < max(_NARROW, enough * epsilon * abs(found.aim[1])):
            break
    if best is None:
        raise refused
    return best


def _without_far_jumps(
    part: Jumping, times: int, outlook: Outlook, *lines: tuple[float, SoftCut | None]
) -> tuple[Jumping, float]:
    """Return a part without jumps beyond the last output of the outlook, and a bound on their probability.

    The cuts are so steep that they outweigh these jumps on all lines that integrals need. Each of the given lines has
    the c of an integral, and another cut of the same part that helps.
    """
    further = [(_FURTHER * c, near) for c, near in lines]
    rest = 0.0
    for place, width in outlook.far_cuts(_FAR_WIDTH, *further):
        for far in outlook.part.far_cuts(place, width):
            mass = outlook.part.log_jump_mass(far)
            part, rest = part.bulk(far), rest + math.exp(mass + math.log(times) + 1e-9)
    return part, rest * (1 + 1e-15)


def _on_one_line(part: Jumping, times: int, outlook: Outlook, c: float, epsilon: float) -> Parted:
    """Return one integral for all losses but the rarest jumps."""
    c = _rough_single(part, times, outlook, c, epsilon).c
    whole, rest = _without_far_jumps(part, times, outlook, (c, None))
    one = [(whole, times)]
    line = line_at(one, c)
    log_delta = min(line.log_delta(epsilon), -1e-9)
    found = contour(one, line, log_delta, epsilon=epsilon, factors=_FACTORS)
    return Parted((epsilon, -line.c), (found,), rest)


def _rough_single(part: Jumping, times: int, outlook: Outlook, c: float, epsilon: float) -> Line:
    """Return an estimate of the best line for all losses but the rarest jumps."""
    whole = _without_far_jumps(part, times, outlook, (c, None))[0]
    return rough_saddle(partial(rough_line_at, [(whole, times)]), c, epsilon)


def _on_two_lines(part: Jumping, times: int, outlook: Outlook, plan: Plan) -> Parted:
    """Return two integrals, for outcomes without and with a jump."""
    plan = _aimed(part, times, outlook, plan)
    bulk, steps, rest = _divided(part, times, outlook, plan)
    without = _part(
        partial(line_at, bulk),
        partial(rough_line_at, bulk),
        plan.bulk,
        plan,
        lambda: _bulk_integral(bulk, plan),
    )
    jumps = _part(steps.line, steps.rough_line, plan.jumps, plan, lambda: _jump_integral(steps, plan))
    return Parted((plan.epsilon, -plan.slope), (without, jumps), rest)


def _divided(
    part: Jumping, times: int, outlook: Outlook, plan: Plan
) -> tuple[list[tuple[Jumping, int]], JumpingSteps, float]:
    """Return the outcomes without and with a jump, and a bound on the probability of dropped jumps."""
    near = SoftCut(plan.place, plan.width)
    lines = (plan.bulk, near), (plan.jumps, near)
    bulk, rest = _without_far_jumps(part.bulk(near), times, outlook, *lines)
    jumps, more = _without_far_jumps(part.jumps(near), times, outlook, (plan.jumps, None))
    log_mass = min(0.0, part.log_jump_mass(near) + math.log(times) + 1e-9)
    return [(bulk, times)], JumpingSteps(bulk, jumps, times, log_mass), (rest + more) * (1 + 1e-15)


def _aimed(part: Jumping, times: int, outlook: Outlook, plan: Plan) -> Plan:
    """Return the plan with its lines moved to the saddle points of parts that matter, by estimates."""
    bulk, steps, _ = _divided(part, times, outlook, plan)

    def place(rough_of: Callable[[float], Line], c: float) -> float:
        quiet = log_chernoff(rough_of(c), plan.epsilon) < plan.log_delta - QUIET - 1
        return c if quiet else rough_saddle(rough_of, c, plan.epsilon).c

    return replace(
        plan,
        bulk=place(partial(rough_line_at, bulk), plan.bulk),
        jumps=place(steps.rough_line, plan.jumps),
    )


def _part(
    line_of: Callable[[float], Line],
    rough_of: Callable[[float], Line],
    c: float,
    plan: Plan,
    integral: Callable[[], Contour],
) -> Contour | Chernoff:
    """Return an integral for a part of delta, or Chernoff's bound if that is negligible or there is no integral."""
    if log_chernoff(rough_of(c), plan.epsilon) < plan.log_delta - QUIET:
        return Chernoff((line_of(c),))
    try:
        return integral()
    except Inapplicable:
        return Chernoff((line_of(c),))


def _far_place(part: Jumping, goal: float) -> float:
    """Return a place beyond which a jump is rarer than exp(goal)."""

    def frequent(place: float) -> bool:
        return part.log_jump_mass(SoftCut(place, _FAR_WIDTH)) > goal

    high = 64.0
    while frequent(high) and high < _FARTHEST:
        high *= 2
    return math.ceil(last_where(frequent, 0.0, high, close=1e-3)[1] * 64) / 64


def _bulk_integral(bulk: Sequence[tuple[Jumping, int]], plan: Plan) -> Contour:
    return contour(bulk, line_at(bulk, plan.bulk), plan.log_delta, _MOST_BULK_NODES, plan.epsilon, _FACTORS)


_MOST_BULK_NODES, _MOST_JUMP_NODES = MOST_NODES // 2, MOST_NODES // 4


def _jump_integral(steps: JumpingSteps, plan: Plan) -> Contour:
    """Return the inversion integral of m^T - b^T.

    Raises:
        Inapplicable: if it needs more points than allowed.
    """
    line = steps.line(plan.jumps)
    period = partial(period_of, log_delta=plan.log_delta, epsilon=plan.epsilon, log_mass=steps.log_mass)
    other = beyond(steps.line, steps.rough_line, line, _FACTORS, period)
    step = short(2 * math.pi / period(line, other))
    share = plan.log_delta - (line.log_mgf - line.c * plan.epsilon) - QUIET
    times = np.geomspace(step, step * _MOST_JUMP_NODES, 200)
    end = first_quiet(partial(steps.log_beyond, line.c), times, share)
    if math.isinf(end):
        raise Inapplicable(f"the inversion integral of the jumps needs more than {_MOST_JUMP_NODES} nodes")
    count = math.ceil(end / step) + 2
    last = math.exp(float(steps.log_beyond(line.c, np.array([step * count]))[0]))
    omitted = 1.01 * last / (math.pi * step * (count - 1))
    return Contour(line, step, *steps.values(line.c, step, count), omitted, other, steps.log_mass)
