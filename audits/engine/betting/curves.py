"""The points of a claimed privacy curve that an audit bets against, and a curve as a table of its points."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpproof.accountant.numbers.bounds import Bound

SHARES = (0.04, 0.12, 0.3, 0.6)
"""Besides the stated point, points are taken at these shares of the stated epsilon."""


LIMIT = 700.0
"""Beyond it e^epsilon overflows, and no audit could see so rare an event."""


class PrivacyCurve(Protocol):
    """A claimed guarantee: delta as a function of epsilon, and back."""

    def delta(self, epsilon: float) -> Bound:
        """The claimed delta at ``epsilon``. The audit tests its upper bound."""
        ...

    def epsilon(self, delta: float) -> Bound:
        """The claimed epsilon at ``delta``; its upper end is what is audited."""
        ...


@dataclass(frozen=True, order=True)
class CurvePoint:
    """The claim is (``epsilon``, ``delta``)-DP; ``delta`` is rounded up."""

    epsilon: float
    delta: float


def curve_points(curve: PrivacyCurve, delta: float, stated: float) -> tuple[CurvePoint, ...]:
    """The points to audit: one for a pure claim, otherwise that at ``delta`` and those at `SHARES` of its epsilon.

    Each is a consequence of the claim, so the choice affects power only. A Gaussian claim is refuted with
    many times fewer samples at a small epsilon than at the stated one. Points that the stated one implies
    for every mechanism (Kairouz, Oh & Viswanath, arXiv:1311.0776v4, Theorem 3.3) are left out.

    Args:
        curve: the claim.
        delta: the stated delta.
        stated: the claimed epsilon at ``delta``.

    Raises:
        ValueError: the claim promises nothing at ``delta``, or no more than an epsilon beyond `LIMIT`.
    """
    pure = curve.epsilon(0.0).upper
    if LIMIT < pure < math.inf:
        raise ValueError(f"epsilon ({pure!r}) must be at most {LIMIT:g} for samples to refute it")
    if math.isfinite(pure):
        return (CurvePoint(pure, 0.0),)
    if not math.isfinite(stated):
        raise ValueError(f"delta ({delta!r}) must be one at which the claim promises a finite epsilon")
    reach = min(stated, LIMIT)
    last = CurvePoint(reach, curve.delta(reach).upper)
    others = (CurvePoint(share * reach, curve.delta(share * reach).upper) for share in SHARES)
    return (*(point for point in others if point.delta < 0.999 * _implied(last, point.epsilon)), last)


def _implied(point: CurvePoint, epsilon: float) -> float:
    """The delta that one point of a curve implies at a smaller epsilon."""
    share = (math.exp(-point.epsilon) + math.exp(epsilon - point.epsilon)) / (1 + math.exp(-point.epsilon))
    return 1 - (1 - point.delta) * share


NODES = 33
_ROOM = 1 + 1e-12
"""More than the rounding of a chord: a sum of two terms at least 0, each of few roundings and functions."""
_LEAST = 1e-323
"""More than what is lost where numbers are too small for full precision."""


@dataclass(frozen=True)
class Tabulated:
    """What points of a claim say of all others: nothing that the claim does not say.

    The delta of any pair of laws is convex in e^epsilon, so that between two points it is below the chord.

    Attributes:
        epsilons: rising, at least two.
        deltas: of the same length: upper ends.

    >>> table = Tabulated((0.0, 1.0), (0.5, 0.1))
    >>> table.delta(1.0).upper, table.epsilon(0.2).upper
    (0.1, 1.0)
    """

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]

    def delta(self, epsilon: float) -> Bound:
        """At most the chord's; beyond the last point as there, below the first one 1."""
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
        """The first point's with so small a delta; infinity if there is none."""
        found = (e for e, d in zip(self.epsilons, self.deltas, strict=True) if d <= delta)
        return Bound(0.0, next(found, math.inf))


def tabulated(curve: PrivacyCurve, delta: float) -> Tabulated:
    """A curve from epsilon 0 to where its delta is ``delta``; no point beyond is asked for.

    >>> from dpproof.accountant.guarantees.notions import GaussianDP
    >>> table = tabulated(GaussianDP(1.0), 1e-5)
    >>> table.epsilon(1e-5).upper == GaussianDP(1.0).epsilon(1e-5).upper
    True

    Raises:
        ValueError: the claim promises nothing at ``delta``, or no more than an epsilon beyond `LIMIT`.
    """
    reach = curve.epsilon(delta).upper
    if not reach <= LIMIT:
        raise ValueError(
            f"delta ({delta!r}) must be one where the claim's epsilon ({reach!r}) is at most {LIMIT:g}"
        )
    nodes = [float(node) for node in np.linspace(0.0, reach, NODES)[:-1]] if reach else []
    deltas = [curve.delta(node).upper for node in nodes]
    return Tabulated((*nodes, reach), (*deltas, delta))
