"""The points (epsilon, delta) of a claimed curve that an audit tests, and curves that are stored as a table."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpproof.accountant.numbers.bounds import Bound

SHARES = (0.04, 0.12, 0.3, 0.6)
"""The audit tests the stated point, and points at these shares of the stated epsilon."""


LIMIT = 700.0
"""The largest epsilon that an audit tests. A larger e^epsilon overflows, and events would be too rare to be seen."""


class PrivacyCurve(Protocol):
    """A claimed guarantee: delta as a function of epsilon, and epsilon as a function of delta."""

    def delta(self, epsilon: float) -> Bound:
        """Return the claimed delta at ``epsilon``. The audit tests its upper bound."""
        ...

    def epsilon(self, delta: float) -> Bound:
        """Return the claimed epsilon at ``delta``. The audit tests its upper bound."""
        ...


@dataclass(frozen=True, order=True)
class CurvePoint:
    """One point of a claimed curve: the claim implies (``epsilon``, ``delta``)-DP; ``delta`` is rounded up."""

    epsilon: float
    delta: float


def curve_points(curve: PrivacyCurve, delta: float, stated: float) -> tuple[CurvePoint, ...]:
    """Return the points of a claim that an audit tests.

    If the claimed epsilon at delta 0 is finite, the only point is this epsilon with delta 0. Otherwise there are the
    stated point and points at smaller epsilons: the `SHARES` of the stated epsilon. A stated epsilon above `LIMIT` is
    replaced by `LIMIT`. The claim implies each point, so the choice of points affects power only. Small epsilons
    increase the power: there a Gaussian claim is refuted with many times fewer samples than at the stated epsilon.
    Points that follow from the stated point for every mechanism (Kairouz, Oh & Viswanath, arXiv:1311.0776v4, Theorem
    3.3) are left out.

    Args:
        curve: the claimed guarantee.
        delta: the delta at which the claim is stated.
        stated: the claimed epsilon at ``delta``.

    Raises:
        ValueError: the claimed epsilon at ``delta`` is infinite, or the claimed epsilon at delta 0 is finite and
            exceeds `LIMIT`.
    """
    pure = curve.epsilon(0.0).upper
    if LIMIT < pure < math.inf:
        raise ValueError(f"epsilon ({pure!r}) must be at most {LIMIT:g} for an audit")
    if math.isfinite(pure):
        return (CurvePoint(pure, 0.0),)
    if not math.isfinite(stated):
        such = ", such as 1e-5" if delta < 1e-5 else ""
        raise ValueError(
            f"delta ({delta!r}) must be larger{such}. The claim has no finite epsilon at this delta."
        )
    reach = min(stated, LIMIT)
    last = CurvePoint(reach, curve.delta(reach).upper)
    others = (CurvePoint(share * reach, curve.delta(share * reach).upper) for share in SHARES)
    return (*(point for point in others if point.delta < 0.999 * _implied(last, point.epsilon)), last)


def _implied(point: CurvePoint, epsilon: float) -> float:
    """Return the delta that one point of a curve implies at a smaller epsilon."""
    share = (math.exp(-point.epsilon) + math.exp(epsilon - point.epsilon)) / (1 + math.exp(-point.epsilon))
    return 1 - (1 - point.delta) * share


NODES = 33
_ROOM = 1 + 1e-12
"""A factor that covers the rounding error of a linear interpolation."""
_LEAST = 1e-323
"""A bound on the rounding error of numbers that are too small for full precision."""


@dataclass(frozen=True)
class Tabulated:
    """A privacy curve that is stored as a table of points. Between two points the curve is interpolated.

    The interpolation is linear in e^epsilon. It is valid, because the delta of any pair of distributions is convex in
    e^epsilon, and so lies below the straight line between two points.

    Attributes:
        epsilons: the epsilon of each point, in increasing order; at least two points.
        deltas: for each point, an upper bound on the claimed delta at its epsilon.

    >>> table = Tabulated((0.0, 1.0), (0.5, 0.1))
    >>> table.delta(1.0).upper, table.epsilon(0.2).upper
    (0.1, 1.0)
    """

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]

    def delta(self, epsilon: float) -> Bound:
        """Return the interpolated delta: 1 below the first point, and the last delta beyond the last point."""
        at = bisect_right(self.epsilons, epsilon)
        if at == 0:
            return Bound(0.0, 1.0)
        low, left = self.epsilons[at - 1], self.deltas[at - 1]
        if at == len(self.epsilons) or epsilon == low:
            return Bound(0.0, left)
        high, right = self.epsilons[at], self.deltas[at]
        before = math.expm1(high - epsilon) * math.exp(epsilon - low) * left
        behind = math.expm1(epsilon - low) * right
        return Bound(0.0, min(1.0, (before + behind) / math.expm1(high - low) * _ROOM + _LEAST))

    def epsilon(self, delta: float) -> Bound:
        """Return the smallest epsilon of a point whose delta is at most ``delta``; infinity if there is none."""
        found = (e for e, d in zip(self.epsilons, self.deltas, strict=True) if d <= delta)
        return Bound(0.0, next(found, math.inf))


def tabulated(curve: PrivacyCurve, delta: float) -> Tabulated:
    """Return the table of a curve, from epsilon 0 to the epsilon of the curve at ``delta``.

    >>> from dpproof.accountant.guarantees.notions import GaussianDP
    >>> table = tabulated(GaussianDP(1.0), 1e-5)
    >>> table.epsilon(1e-5).upper == GaussianDP(1.0).epsilon(1e-5).upper
    True

    Raises:
        ValueError: the claimed epsilon at ``delta`` is infinite or exceeds `LIMIT`.
    """
    reach = curve.epsilon(delta).upper
    if not reach <= LIMIT:
        raise ValueError(
            f"delta ({delta!r}) must be larger. At this delta the claim's epsilon is {reach!r}, but an audit can test "
            f"at most {LIMIT:g}."
        )
    nodes = [float(node) for node in np.linspace(0.0, reach, NODES)[:-1]] if reach else []
    deltas = [curve.delta(node).upper for node in nodes]
    return Tabulated((*nodes, reach), (*deltas, delta))
