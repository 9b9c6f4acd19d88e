"""Inversion of a composition in two parts: the losses without rare large ones (jumps), and the rest.

Let m be the moment-generating function of one step's loss. A soft cut divides the loss's distribution into a
bulk and jumps, so m = b + j with two positive measures. A composition of T steps has m^T = b^T + (m^T - b^T),
where the first summand belongs to outcomes without a jump, and the second to outcomes with at least one. Both
belong to positive measures, so delta is the sum of their deltas:

- Without a jump, delta is an inversion integral of b^T. If b^T hardly reaches epsilon, Chernoff's bound on it
  is enough.
- With a jump, delta is an inversion integral of m^T - b^T, which decays as fast as j does, however slowly m^T
  does. If jumps are rarer than delta, their probability T j(0) is enough.

Nothing certified depends on the choice of the cut. Derivation: docs/notes/rare_jumps.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.inversion import last_where
from dpproof.accountant.pairs.base import Characteristic, Floats
from dpproof.accountant.pairs.sampled_loss import SoftCut
from dpproof.accountant.privacy_loss.saddle import (
    MOST_NODES,
    QUIET,
    Contour,
    Inapplicable,
    Line,
    chernoff_factor,
    contour,
    line_at,
    others_of,
    period_of,
    short,
    values_of,
)


@runtime_checkable
class Jumping(Characteristic, Protocol):
    """A moment-generating function whose rare large losses can be separated by a soft cut."""

    @property
    def may_jump(self) -> bool:
        """Whether a cut is possible."""
        ...

    @property
    def cuts(self) -> tuple[SoftCut, ...]:
        """The cuts that were made."""
        ...

    def bulk(self, cut: SoftCut) -> Jumping:
        """Return the moment-generating function of the bulk."""
        ...

    def log_jump(self, cut: SoftCut, c: float, times: Floats) -> Floats:
        """Return logarithms of bounds on |j(c + i t)|/m(c) for all t beyond each of ``times``."""
        ...

    def log_jump_mass(self, cut: SoftCut) -> float:
        """Return an upper bound on the logarithm of the probability of a jump, j(0)."""
        ...


@dataclass(frozen=True)
class WithJumps:
    """The part of delta that belongs to outcomes with at least one jump, by an inversion integral."""

    whole: Contour
    """The trapezoidal sum for m^T. Its ``cut`` bounds the omitted terms of m^T - b^T."""
    bulk: Contour
    """The trapezoidal sum for b^T, at the same points."""

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return certified bounds on this part of delta at ``epsilon``."""
        value, error = self.whole.terms(epsilon)
        less, wrong = self.bulk.terms(epsilon)
        own, other = self.whole.line, self.bulk.line
        share = math.exp(other.log_mgf - own.log_mgf)
        inexact = 1.01 * (other.log_mgf_error + own.log_mgf_error) + 1e-15
        value -= share * less
        error += 1.01 * (share * wrong + share * abs(less) * inexact + self.whole.cut) + 1e-15 * abs(value)
        return self.whole.scaled(
            value - error - self.whole.alias(epsilon), max(value + error, 1e-300), epsilon
        )


@dataclass(frozen=True)
class Chernoff:
    """A bound on a part of delta that is too small to be computed: between 0 and exp(log_value - slope epsilon)."""

    lines: tuple[Line, ...]
    constant: float = 0.0

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return 0 and the smallest of the bounds at ``epsilon``."""
        return 0.0, self.constant + math.exp(min(chernoff(self.lines, epsilon), 0.0))


def chernoff(lines: Sequence[Line], epsilon: float) -> float:
    """Return the logarithm of the best Chernoff bound on delta at ``epsilon``; see ``saddle.coarse_delta``."""
    logs = [x.log_mgf + x.log_mgf_error + chernoff_factor(x.c) - x.c * epsilon for x in lines]
    best = min(logs, default=0.0)
    return best + 1e-9 * (1 + abs(best))


Cuttable = Sequence[tuple[Jumping, int]]
"""Moment-generating functions that can be cut, each with its count."""
_NEAR_WIDTH = 0.25
_FACTORS = (1.05, 1.1, 1.2, 1.4, 2.5)
_FAR_WIDTHS = (0.125, 0.02, 0.004)
_TRIES = 5
_FEW_NODES = 1 << 14


@dataclass(frozen=True)
class Parted:
    """The delta of a composition as a sum of parts, each with certified bounds."""

    line: Line
    parts: tuple[Contour | WithJumps | Chernoff, ...]
    rest: float
    """An upper bound on the probability of jumps that no part contains."""

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return certified bounds on delta at ``epsilon``, before they are clipped to [0, 1]."""
        lows, highs = zip(*(part.delta(epsilon) for part in self.parts), strict=True)
        return math.fsum(lows) * (1 - 1e-15), (math.fsum(highs) + self.rest) * (1 + 1e-15)


def parted(
    parts: Cuttable, saddle: Callable[[Cuttable], Line], log_delta: Callable[[Line], float], least: float
) -> Parted:
    """Return the delta of a composition as a sum of parts.

    ``saddle`` returns a line of moment-generating functions near the saddle point, and ``log_delta`` the
    logarithm of delta that is expected there, at least ``least``. Jumps that are much rarer
    than delta are dropped first. The weight of their cut is made steeper until it outweighs them on that line.

    Raises:
        Inapplicable: if this method has no answer.
    """
    for width in _FAR_WIDTHS:
        bulk, rest = _without_far_jumps(parts, least, width)
        try:
            line = saddle(bulk)
        except Inapplicable:
            continue
        if not _returns(bulk, line):
            return _on_line(bulk, line, log_delta(line), rest)
    raise Inapplicable("the rarest jumps cannot be separated")


def _on_line(parts: Cuttable, line: Line, log_delta: float, rest: float) -> Parted:
    """Return the integral for all losses if it decays soon, and the integrals with and without jumps otherwise."""
    try:
        return Parted(line, (contour(parts, line, log_delta, _FEW_NODES),), rest)
    except Inapplicable:
        return Parted(line, with_jumps(parts, line, log_delta), rest)


def _returns(parts: Cuttable, line: Line) -> bool:
    """Whether outputs far beyond the first cut still matter on the line, because large losses outweigh the cut."""
    for part, times in parts:
        first = part.cuts[0]
        far = SoftCut(first.place + 12 * first.width, first.width)
        if part.log_jump(far, line.c * 1.1, np.zeros(1))[0] + math.log(times) > -20:
            return True
    return False


def _without_far_jumps(parts: Cuttable, log_delta: float, width: float) -> tuple[Cuttable, float]:
    """Return the bulks of ``parts`` without jumps that are much rarer than delta, and those jumps' probability."""
    count = sum(times for _, times in parts)
    goal = log_delta - QUIET - 2 - math.log(count)
    found, rest = [], 0.0
    for part, times in parts:
        place = last_where(_frequent(part, width, goal), 0.0, 1e6, close=1e-3)[1]
        cut = SoftCut(_short_place(place), width)
        found.append((part.bulk(cut), times))
        rest += times * math.exp(part.log_jump_mass(cut)) * (1 + 1e-12)
    return found, rest


def _frequent(part: Jumping, width: float, goal: float) -> Callable[[float], bool]:
    return lambda place: part.log_jump_mass(SoftCut(place, width)) > goal


def _short_place(place: float) -> float:
    """Return a number near ``place`` with few bits."""
    return math.ceil(place * 64) / 64


def with_jumps(parts: Cuttable, line: Line, log_delta: float) -> tuple[WithJumps, Chernoff]:
    """Return the two parts of delta, with and without jumps, for the epsilons whose delta is about exp(``log_delta``).

    The cut is as far out as possible, such that the part without jumps is negligible.

    Raises:
        Inapplicable: if the integral needs more points than allowed.
    """
    others = others_of(parts, line, _FACTORS)
    if not others:
        raise Inapplicable("the moment-generating function cannot be computed beyond the saddle point")
    step = short(2 * math.pi / period_of(line, others, log_delta))
    share = log_delta - (line.log_mgf - line.c * line.saddle_epsilon()) - QUIET
    cut = _near_cut(parts, line, log_delta)
    count = _points(parts, line, cut, share, step) if cut else math.inf
    if cut is None or count > MOST_NODES:
        raise Inapplicable(f"the inversion integral with jumps needs {count} nodes, more than {MOST_NODES}")
    points = int(count)
    bulk = [(part.bulk(cut), times) for part, times in parts]
    own = line_at(bulk, line.c)
    last = math.exp(float(_log_decay(parts, line, cut, np.array([step * points]))[0]))
    omitted = 1.01 * last / (math.pi * step * (points - 1))
    whole = Contour(line, step, *values_of(parts, line.c, step, points), omitted, others)
    less = Contour(own, step, *values_of(bulk, line.c, step, points), 0.0, ())
    return WithJumps(whole, less), Chernoff(_steeper(bulk, line.c, line.saddle_epsilon()))


def _steeper(parts: Cuttable, c: float, epsilon: float) -> tuple[Line, ...]:
    """Return lines at c or larger, near the c where Chernoff's bound at ``epsilon`` is smallest.

    The bound falls in c as long as the tilted mean is below epsilon.
    """
    found: list[Line] = []
    low, high = c, math.inf
    for _ in range(_TRIES):
        try:
            line = line_at(parts, c)
        except (Inapplicable, OverflowError):
            high = c
        else:
            found.append(line)
            low, high = (c, high) if line.mean < epsilon else (low, c)
        c = 2 * low if math.isinf(high) else math.sqrt(low * high)
        if high < 1.05 * low:
            break
    return tuple(found)


def _near_cut(parts: Cuttable, line: Line, log_delta: float) -> SoftCut | None:
    """Return the cut that is farthest out while the part without jumps is negligible; None if there is none."""
    epsilon, goal = 0.99 * line.saddle_epsilon(), log_delta - QUIET

    def negligible(place: float) -> bool:
        bulk = [(part.bulk(SoftCut(_short_place(place), _NEAR_WIDTH)), times) for part, times in parts]
        return chernoff(_steeper(bulk, line.c, epsilon), epsilon) <= goal

    most = min(part.cuts[0].place for part, _ in parts)
    place = _short_place(last_where(negligible, 0.0, most, apart=0.25)[0])
    return SoftCut(place, _NEAR_WIDTH) if place > 0 else None


def _log_decay(parts: Cuttable, line: Line, cut: SoftCut, times: Floats) -> Floats:
    """Return the logarithm of a bound on |m^T - b^T| over m(c)^T beyond each of ``times``: the sum of the |j| T/m."""
    logs = np.stack([part.log_jump(cut, line.c, times) + math.log(count) for part, count in parts])
    top = logs.max(axis=0)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=0)) + 1e-9)


def _points(parts: Cuttable, line: Line, cut: SoftCut, log_share: float, step: float) -> float:
    """Return the number of points after which the rest is proved to be below exp(log_share); infinite if unknown."""
    times = np.geomspace(step, step * MOST_NODES, 40)
    enough = _log_decay(parts, line, cut, times) - np.log(times) <= log_share
    return math.ceil(float(times[int(np.argmax(enough))]) / step) + 2 if enough.any() else math.inf
