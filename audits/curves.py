"""The points of a claimed privacy curve that an audit bets against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from accountant.bounds import Bound

__all__ = ["CurvePoint", "PrivacyCurve", "curve_points"]

SHARES = (0.7, 0.4, 0.15, 0.03, 0.003)
"""Points are taken where the claimed delta is this share of delta(0), the total variation distance."""


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


def curve_points(curve: PrivacyCurve, delta: float) -> tuple[CurvePoint, ...]:
    """The points to audit: one for a pure claim, else those at `SHARES` and the one at ``delta``.

    Each is a consequence of the claim, so the choice affects power only.

    Raises:
        ValueError: the claim promises nothing at ``delta``.
    """
    pure = curve.epsilon(0.0).upper
    if math.isfinite(pure):
        return (CurvePoint(pure, 0.0),)
    stated = curve.epsilon(delta).upper
    if not math.isfinite(stated):
        raise ValueError(f"delta ({delta!r}) must be one at which the claim promises a finite epsilon")
    top = curve.delta(0.0).upper
    chosen = {stated}
    for share in SHARES:
        epsilon = curve.epsilon(share * top).upper if share * top < 1 else math.inf
        if math.isfinite(epsilon) and not any(math.isclose(epsilon, c, rel_tol=1e-6) for c in chosen):
            chosen.add(epsilon)
    return tuple(CurvePoint(e, curve.delta(e).upper) for e in sorted(chosen))
