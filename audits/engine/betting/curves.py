"""The points of a claimed privacy curve that an audit bets against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from dpproof.accountant.numbers.bounds import Bound

SHARES = (0.04, 0.12, 0.3, 0.6)
"""Besides the stated point, points are taken at these shares of the stated epsilon."""


LIMIT = 700.0
"""Beyond it e^epsilon overflows, and no audit could see so rare an event."""


class PrivacyCurve(Protocol):
    """A claimed guarantee: delta as a function of epsilon, and back."""

    def delta(self, epsilon: float) -> Bound:
        """The claimed delta at ``epsilon``; its upper end is what is audited."""
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
    """The points to audit: one for a pure claim, else that at ``delta`` and those at `SHARES` of its epsilon.

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
