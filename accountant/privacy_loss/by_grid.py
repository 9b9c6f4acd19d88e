"""Route (b): epsilon and delta of a composition on a grid of losses.

The certified privacy profile of a composition, on a grid: the two-sided answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from dpproof.accountant.numbers.inversion import neighbours
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.privacy_loss.crossing import crossing
from dpproof.accountant.privacy_loss.grid import law_above, law_below
from dpproof.accountant.privacy_loss.jumps import sums_by_jumps
from dpproof.accountant.privacy_loss.largest import infinite_mass
from dpproof.accountant.privacy_loss.loss_sums import sum_of_losses
from dpproof.accountant.privacy_loss.planning import Parts, Plan, plan

__all__ = ["compose", "delta_by_grid", "epsilon_by_grid", "profile"]


class Side(Protocol):
    """One side of a privacy profile."""

    def delta(self, epsilon: float) -> float:
        """A bound on delta at ``epsilon`` >= 0."""
        ...


@dataclass(frozen=True)
class Composed:
    """The privacy profile of a composition, from both sides, certified at every epsilon >= 0."""

    above: Side
    below: Side

    def upper(self, epsilon: float) -> float:
        """At least delta(epsilon)."""
        return self.above.delta(epsilon)

    def lower(self, epsilon: float) -> float:
        """At most delta(epsilon)."""
        return min(self.below.delta(epsilon), self.above.delta(epsilon))

    def epsilon(self, delta: float | Fraction) -> tuple[float, float]:
        """Ends around the smallest epsilon >= 0 whose delta is at most ``delta``.

        Raises:
            ValueError: unless 0 <= delta < 1.
        """
        if not 0 <= delta < 1:
            raise ValueError(f"delta ({delta!r}) must be in [0, 1)")
        if delta == 0:
            return 0.0, math.inf
        return crossing(self.lower, self.upper, Fraction(delta))


@dataclass(frozen=True)
class _Better:
    """The tighter of two bounds from the same side."""

    sides: tuple[Side, Side]
    tighter: Callable[[float, float], float]

    def delta(self, epsilon: float) -> float:
        first, second = (side.delta(epsilon) for side in self.sides)
        return self.tighter(first, second)


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

    >>> from dpproof.accountant.pairs.laplace import Laplace
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
        GridTooLargeError: where ``points`` points give nothing of use.
        ValueError: for no parts, a count that is no positive whole number, or an epsilon or delta outside its
            range.

    Source: this project, docs/notes/loss_grid.md.
    """
    _check(parts, epsilon, delta, points)
    composed = compose(parts, plan(parts, epsilon=epsilon, delta=delta, accuracy=accuracy, points=points))
    return _with_jumps(composed, parts, epsilon, delta, points)


_WIDE = 3e-3


def _with_jumps(
    composed: Composed, parts: Parts, epsilon: float | None, delta: float | None, points: int
) -> Composed:
    """Where the plain grid's answer is wide, the same by numbers of jumps, and the better of the two."""
    at = epsilon or sum(composed.epsilon(delta or 0.0)) / 2
    (pair, count), *others = parts
    high, low = composed.upper(at), composed.lower(at)
    if others or not 0 < at < math.inf or high - low <= _WIDE * high or pair.cells(np.array([at])).p[1] <= 0:
        return composed
    found = sums_by_jumps(pair, count, epsilon=at, delta=delta or high, small=1e-3, points=points)
    return (
        composed
        if found is None
        else Composed(_Better((composed.above, found[0]), min), _Better((composed.below, found[1]), max))
    )


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


_BEYOND = 1e300
"""Beyond all finite losses on any grid."""


def delta_by_grid(parts: Sequence[tuple[DominatingPair, int]], epsilon: Fraction) -> tuple[float, float]:
    """Certified ends around delta(epsilon).

    Raises:
        GridTooLargeError: if no grid of the size allowed covers the losses.
    """
    if _reveals_all(parts):
        return 1.0, 1.0
    below, above = neighbours(epsilon)
    found = profile(parts, epsilon=below)
    return found.lower(above), min(found.upper(below), 1.0)


def epsilon_by_grid(parts: Sequence[tuple[DominatingPair, int]], delta: Fraction) -> tuple[float, float]:
    """Certified ends around the smallest epsilon >= 0 with delta(epsilon) <= delta, for delta in (0, 1).

    Raises:
        GridTooLargeError: if no grid of the size allowed covers the losses.
    """
    if _reveals_all(parts):
        return math.inf, math.inf
    found = profile(parts, delta=min(float(delta), 1 - 2.0**-53))
    if found.lower(_BEYOND) > delta:  # more than delta of the mass has an infinite loss
        return math.inf, math.inf
    return found.epsilon(delta)


def _reveals_all(parts: Sequence[tuple[DominatingPair, int]]) -> bool:
    """Whether some pair's loss is infinite for certain."""
    return infinite_mass(parts)[0] >= 1
