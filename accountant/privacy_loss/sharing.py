"""Answers of one composition that share work: one integral or one grid for a whole range of deltas.

The deltas from 1 to 1e-300 are divided into seven fixed ranges. All questions in one range are answered by the same
integral, or by the same grid of losses. The range depends on the question only. So an answer does not depend on the
questions before it. If an answer is wide, the caller computes it again for this question alone. Every integral and
every grid is valid at every epsilon, so the choice of the range affects only the accuracy.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

from dpproof.accountant.numbers.arithmetic import cached_property, np
from dpproof.accountant.numbers.enclosures import Number, exact
from dpproof.accountant.numbers.inversion import neighbours
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.privacy_loss.by_grid import Composed, compose
from dpproof.accountant.privacy_loss.by_inversion import (
    Ends,
    Integral,
    delta_of,
    epsilon_of,
    integral_between,
    parts_between,
)
from dpproof.accountant.privacy_loss.grid import StepTooSmallError
from dpproof.accountant.privacy_loss.planning import GridTooLargeError, Guide, epsilon_at, plan
from dpproof.accountant.privacy_loss.saddle import Inapplicable
from dpproof.accountant.privacy_loss.saddle import Parts as Characteristics

_DEVIATIONS = (0.0, 7.0, 12.0, 17.0, 22.0, 27.0, 32.0, 37.1)
"""The ends of the ranges. The log delta of an end is minus half of its square, as for a Gaussian loss."""
_LOGS = tuple(-(s**2) / 2 for s in _DEVIATIONS)
_MIDDLES = tuple(-((0.37 * a + 0.63 * b) ** 2) / 2 for a, b in pairwise(_DEVIATIONS))
_KEPT = 2
"""How many ranges of one composition keep their grids, which may need 100 megabytes each."""
_NARROW = 1e-6
"""The relative width of delta at which the answer of an integral is taken."""
_GRID_WIDTHS = 20.0
"""The relative width of delta at which the answer of a grid is taken, in units of the accuracy that it aims at."""
_OF_ROUGH = Fraction(1, 500)
"""If a caller does not need deltas below ``rough``, answers may be as wide as this share of ``rough``."""


class Shared:
    """Certified bounds on delta and epsilon of one composition, or None where this range has no narrow answer.

    >>> from dpproof.accountant.pairs.gaussian import SubsampledGaussian
    >>> from dpproof.accountant.pairs.laplace import Laplace
    >>> step = SubsampledGaussian(0.01, 1.0)
    >>> training = Shared([(step, 1000), (Laplace(10.0), 1)], None)
    >>> [round(training.delta(Fraction(e))[1], 7) for e in (1, 2)]
    [0.0030635, 3.6e-06]
    """

    def __init__(
        self, parts: Sequence[tuple[DominatingPair, int]], characteristics: Characteristics | None
    ) -> None:
        self._parts, self.characteristics = parts, characteristics
        self._ranges: dict[int, _Range] = {}

    def delta(self, epsilon: Fraction, rough: Number = 0) -> Ends | None:
        """Return bounds on delta at ``epsilon``. A delta below ``rough`` need not be known."""
        place = next((k for k, end in enumerate(self._ends) if epsilon < end), None)
        least = float(exact(rough) * _OF_ROUGH)
        return None if place is None else self._range(place).delta(epsilon, least)

    def epsilon(self, delta: Fraction, known: float = 0.0) -> Ends | None:
        """Return bounds on the smallest epsilon >= 0 whose delta is at most ``delta``, which is above 0.

        If ``known`` is above 0 and proved to be an upper bound, the bounds are 0 and ``known``.
        """
        log_delta = math.log(delta.numerator) - math.log(delta.denominator)
        place = next((k for k, end in enumerate(_LOGS[1:]) if log_delta > end), None)
        if place is None:
            return None
        there = self._range(place).delta(exact(known), 0.0) if known > 0 else None
        if there is not None and there[1] <= delta:
            return 0.0, known
        return self._range(place).epsilon(delta)

    @cached_property
    def _ends(self) -> list[float]:
        """Estimates of the largest epsilon of each range."""
        guide = Guide.of(self._parts)
        return [epsilon_at(guide, log_delta) for log_delta in _LOGS[1:]]

    def _range(self, place: int) -> _Range:
        found = self._ranges.pop(place, None) or _Range(self._parts, self.characteristics, place)
        self._ranges[place] = found
        for old in list(self._ranges)[:-_KEPT]:
            del self._ranges[old]
        return found


class _Range:
    """The integral and the grid for one range of deltas. Each is computed when it is first needed."""

    def __init__(
        self,
        parts: Sequence[tuple[DominatingPair, int]],
        characteristics: Characteristics | None,
        place: int,
    ) -> None:
        self._parts, self._characteristics, self._place = parts, characteristics, place

    @cached_property
    def _integral(self) -> _Route | None:
        """The integral; None if a moment-generating function is not known or the integral needs too many points."""
        if self._characteristics is None:
            return None
        middle, least = _MIDDLES[self._place], _LOGS[self._place + 1]
        with contextlib.suppress(Inapplicable):
            return _ByIntegral(integral_between(self._characteristics, middle, least))
        with contextlib.suppress(Inapplicable):
            return _ByIntegral(parts_between(self._characteristics, middle))
        return None

    @cached_property
    def _grid(self) -> tuple[_Route, float] | None:
        """The grid, and the relative width of the answers that are taken from it."""
        first, last = (math.exp(log) for log in _LOGS[self._place : self._place + 2])
        begin = (0.0, None) if self._place == 0 else (None, first)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                planned = plan(
                    self._parts, epsilon=begin[0], delta=begin[1], until=last, accuracy=1e-6, points=2**20
                )
                return _ByGrid(compose(self._parts, planned)), _GRID_WIDTHS * planned.accuracy
        except (GridTooLargeError, StepTooSmallError, ArithmeticError):
            return None

    def delta(self, epsilon: Fraction, enough: float) -> Ends | None:
        """Return bounds on delta at ``epsilon``, if they are narrow or at most ``enough`` apart."""
        if self._route is None:
            return None
        route, width = self._route
        try:
            found = route.delta(epsilon)
        except Inapplicable:
            return None
        return found if found[1] - found[0] <= enough or _narrow(found, width) else None

    def epsilon(self, delta: Fraction) -> Ends | None:
        """Return bounds on epsilon at ``delta``, if the bounds on delta are narrow there."""
        if self._route is None:
            return None
        route, width = self._route
        try:
            found = route.epsilon(delta)
            if found[1] == 0 or (math.isfinite(found[1]) and _narrow(route.delta(Fraction(found[1])), width)):
                return found
        except Inapplicable:
            return None
        return None

    @property
    def _route(self) -> tuple[_Route, float] | None:
        """The integral, or the grid if there is no integral, and the relative width at which its answers are taken."""
        return (self._integral, _NARROW) if self._integral is not None else self._grid


def _narrow(ends: Ends, width: float) -> bool:
    return ends[1] - ends[0] <= width * ends[1]


class _Route(Protocol):
    """An integral or a grid that bounds delta at every epsilon."""

    def delta(self, epsilon: Fraction) -> Ends:
        """Return bounds on delta at ``epsilon``."""
        ...

    def epsilon(self, delta: Fraction) -> Ends:
        """Return bounds on the smallest epsilon >= 0 whose delta is at most ``delta``."""
        ...


@dataclass(frozen=True)
class _ByIntegral:
    found: Integral

    def delta(self, epsilon: Fraction) -> Ends:
        return delta_of(self.found, epsilon)

    def epsilon(self, delta: Fraction) -> Ends:
        return epsilon_of(self.found, delta)


@dataclass(frozen=True)
class _ByGrid:
    found: Composed

    def delta(self, epsilon: Fraction) -> Ends:
        below, above = neighbours(epsilon)
        return float(self.found.lower(above)), min(float(self.found.upper(below)), 1.0)

    def epsilon(self, delta: Fraction) -> Ends:
        return self.found.epsilon(delta)
