"""A proposal of how to separate rare large privacy losses: where to cut, and on which lines to integrate.

Coarse sums over outputs give estimates of Chernoff's bounds on the two parts of delta, without and with a
jump, for many cuts. The cut with the least sum is proposed. Nothing certified depends on these estimates. The
integrals themselves are those of ``rare_jumps``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dpproof.accountant.numbers.inversion import last_where
from dpproof.accountant.pairs.base import Characteristic, Floats, distinct
from dpproof.accountant.pairs.sampled_loss import SoftCut
from dpproof.accountant.privacy_loss.saddle import QUIET, chernoff_factor, log_expm1


@runtime_checkable
class Jumping(Characteristic, Protocol):
    """A moment-generating function whose rare large losses can be separated by a soft cut."""

    @property
    def rate(self) -> float:
        """The probability that a record is sampled."""
        ...

    @property
    def may_jump(self) -> bool:
        """Whether a cut is possible."""
        ...

    def __hash__(self) -> int: ...

    def outputs(self, high: float) -> tuple[Floats, Floats]:
        """Return outputs up to ``high`` in equal steps, and logarithms of their probabilities."""
        ...

    def losses(self, y: Floats) -> Floats:
        """Return the privacy losses of outputs."""
        ...

    def far_cuts(self, place: float, width: float) -> tuple[SoftCut, ...]:
        """Return cuts of all outputs with losses that are large in size."""
        ...

    def bulk(self, cut: SoftCut) -> Jumping:
        """Return the moment-generating function of the bulk."""
        ...

    def jumps(self, cut: SoftCut) -> Jumping:
        """Return the moment-generating function of the jumps."""
        ...

    def log_jump_mass(self, cut: SoftCut) -> float:
        """Return an upper bound on the logarithm of the probability of a jump, j(0)."""
        ...


@dataclass(frozen=True)
class Plan:
    """A proposal of a cut and of the lines of the two integrals.

    Attributes:
        place, width: where the cut is, and how soft.
        bulk, jumps: the real parts c of the lines of the integrals without and with a jump.
        epsilon: where delta is wanted.
        log_delta: an estimate of the logarithm of delta there, by Chernoff's bounds.
        slope: c of the part that is larger there. Log delta falls about so fast.
    """

    place: float
    width: float
    bulk: float
    jumps: float
    epsilon: float
    log_delta: float
    slope: float


_WIDEST, _SPARE, _SPARES, _MOST_SPARE = 0.25, 3.0, (0.7, 0.0, 3.0), 12.0
_LINES, _LARGEST = 128, 1e18
_CUTS = 160
_DEEP = 1e3
"""A soft cut is accepted if somewhere it leaves less than exp(-1000) of the density."""
_STEEPEST = 2.0**-40
"""The smallest width of a cut."""


class Outlook:
    """Coarse logarithms of b(c)^T and of m(c)^T - b(c)^T, for many hard cuts and many c."""

    def __init__(self, part: Jumping, times: int, high: float) -> None:
        self.part = part
        self.y, masses = part.outputs(high)
        self.loss = part.losses(self.y)
        usual = self.y < 6
        weights = np.exp(masses[usual])
        mean = weights @ self.loss[usual]
        spread = math.sqrt(float(weights @ (self.loss[usual] - mean) ** 2) * times) + 1e-300
        self.c = np.geomspace(1e-4, min(max(60 / spread, 200.0), _LARGEST), _LINES)
        grown = masses + self.c[:, None] * self.loss
        first = int(np.argmax(self.y > 0))
        self.places = distinct(np.linspace(first, len(self.y) - 2, _CUTS).astype(int))
        bulk = np.logaddexp.accumulate(grown, axis=1)[:, self.places]
        above = np.logaddexp.accumulate(grown[:, ::-1], axis=1)[:, ::-1][:, self.places + 1]
        with_jump = log_expm1(times, above - bulk)
        factors = np.array([chernoff_factor(c) for c in self.c])[:, None]
        self.bulk, self.jumps = times * bulk + factors, times * bulk + with_jump + factors

    def at(self, log_delta: float) -> float:
        """Return an estimate of the epsilon whose delta is exp(log_delta)."""
        every = np.logaddexp(self.bulk[:, -1], self.jumps[:, -1])
        most = max(float(((every - log_delta) / self.c).min()), 0.0)
        return last_where(lambda epsilon: self.best(epsilon) > log_delta, 0.0, most, close=1e-6)[1]

    def whole(self, epsilon: float) -> tuple[float, bool]:
        """Return the c of the best line for all losses, and whether it is nearly as good as two lines."""
        bounds = self.bulk[:, -1] - self.c * epsilon
        place = int(np.argmin(bounds))
        return float(self.c[place]), bool(bounds[place] < self.best(epsilon) + _SPARE)

    def plans(self, epsilon: float) -> list[Plan]:
        """Return cuts for which the sum of Chernoff's bounds on the two parts of delta is nearly the least.

        The earlier the cut, the fewer large losses has the bulk, and the more of the jumps are too small to matter.
        """
        moved = (self.c * epsilon)[:, None]
        bulk, jumps = (self.bulk - moved).min(axis=0), (self.jumps - moved).min(axis=0)
        sums, least = np.logaddexp(bulk, jumps), self.best(epsilon)
        cuts = [int(np.argmax(sums <= least + spare)) for spare in _SPARES]
        found = [self._plan(epsilon, cut) for cut in dict.fromkeys(cuts)]
        quiet = np.flatnonzero((bulk < least - QUIET - 8) & (sums <= least + _MOST_SPARE))
        if quiet.size:  # the bulk needs no integral, so the cut may be softer
            enough = (self.bulk - moved)[:, quiet] <= least - QUIET - 8
            steep = self.c[np.argmax(enough, axis=0)] * np.gradient(self.loss, self.y)[self.places[quiet]]
            gentle = np.append(True, steep[1:] <= 2 * steep[:-1])  # no cut before is much less steep
            cut = int(quiet[np.flatnonzero(gentle)[-1]])
            found = [self._plan(epsilon, cut, least - QUIET - 8, 2.0), self._plan(epsilon, cut), *found]
        return found

    def _plan(self, epsilon: float, cut: int, enough: float = -math.inf, soft: float = 1.0) -> Plan:
        """Return a plan with this cut. The bulk's c is the least one whose bound is at most ``enough``, or the best."""
        ends = [rows[:, cut] - self.c * epsilon for rows in (self.bulk, self.jumps)]
        bulk = float(self.c[int(np.argmax(ends[0] <= max(enough, ends[0].min())))])
        jumps = float(self.c[int(np.argmin(ends[1]))])
        place = int(self.places[cut])
        rise = float(np.gradient(self.loss, self.y)[place])
        width = power_of_two(min(_WIDEST, soft / max(bulk * rise, 1e-300)))
        slope = bulk if ends[0].min() > ends[1].min() else jumps
        where = math.ceil(float(self.y[place]) * 64) / 64
        return Plan(where, width, bulk, jumps, epsilon, self.best(epsilon), slope)

    def far_cuts(self, widest: float, *lines: tuple[float, SoftCut | None]) -> list[tuple[float, float]]:
        """Return places and widths of cuts at the last output and beyond, which outweigh all larger losses on lines.

        Each line is given by its c, and by another cut of the same part. A soft cut may leave losses that rise again
        much further up. Then a second, steeper cut is where the first one leaves least of them.
        """
        last, further = float(self.y[-1]), np.geomspace(1e-3, 1e9, 800)
        losses = self.part.losses(last + further) - self.loss[-1]
        grown = np.max([_grown(last, further, (1 + c) * losses, near) for c, near in lines], axis=0)
        width = widest
        while True:
            left = grown - (further / width) ** 2 / 2
            rising = left > 1
            if not rising.any():
                return [(last, width)]
            valley = int(np.argmin(left[: max(int(np.argmax(rising)), 1)]))
            if left[valley] < -_DEEP or width <= _STEEPEST:
                break
            width /= 2
        beyond, rest = further[valley + 1 :] - further[valley], np.maximum(left[valley + 1 :] - 1, 1e-300)
        steep = power_of_two(min(width, float((beyond / np.sqrt(2 * rest)).min())))
        return [(last, width), (last + float(further[valley]), steep)]

    def best(self, epsilon: float) -> float:
        """Return the logarithm of the least sum of Chernoff's bounds at an epsilon."""
        moved = (self.c * epsilon)[:, None]
        return float(np.logaddexp((self.bulk - moved).min(axis=0), (self.jumps - moved).min(axis=0)).min())


def _grown(last: float, further: Floats, losses: Floats, near: SoftCut | None) -> Floats:
    """Return by how much the logarithm of a tilted density grows beyond the last output, without the far cut."""
    grown = losses - further * (further / 2 + last)
    return grown if near is None else grown - further * (further / 2 + last - near.place) / near.width**2


def power_of_two(number: float) -> float:
    """Return the largest power of two that is at most ``number``, and at least 2^-40."""
    return max(math.ldexp(0.5, math.frexp(number)[1]), _STEEPEST)
