"""The two laws of a planted violation, on cells of outputs: at most twice the claim, and certified so.

A planted pair draws a cell from one of two known laws and then a fresh output of the mechanism that lies in
that cell. So its divergence is exactly that of the two laws on the cells, whatever the mechanism is, and
however well the masses of the cells are known (docs/notes/audit_power.md, Theorem 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dpproof.audits.engine.betting.curves import CurvePoint, PrivacyCurve
from dpproof.audits.engine.betting.reference import gaussian_mu

Floats = NDArray[np.float64]

MULTIPLE = 2
"""A planted violation has at most this multiple of the claimed epsilon, at every delta of the claim."""
NODES = 96
"""A curve is looked at in so many places; between two of them the stricter bound is taken."""
ODDS_DOWN, DELTA_DOWN = 1 - 1e-12, 1 - 1e-6
"""Factors on e^(2 epsilon) and delta: they exceed every rounding, and that of coins of 53 bits."""
GRID = 1 << 53
"""The chances of an event are multiples of 1 / GRID, as the coins are; so the bound holds to the last bit."""
FARTHEST, PLACES = 12.0, 2001


@dataclass(frozen=True)
class Doubled:
    """Twice a claim: w(E) <= odds v(E) + delta for every event E, in both orders, for each row.

    Attributes:
        odds: e^(2 epsilon) for each point (epsilon, delta) of the claim, rounded down, rising.
        deltas: of the same points, rounded down.
        rank_shift: the distance of two unit Gaussians of exactly this strength; ``None`` unless the claim
            is a single point with a delta.

    >>> twice = Doubled((4.0,), (0.0,))
    >>> [round(chance, 12) for chance in twice.event(0.25)]
    [0.1, 0.4]
    """

    odds: tuple[float, ...]
    deltas: tuple[float, ...]
    rank_shift: float | None = None

    def event(self, mass: float) -> tuple[float, float]:
        """The chances of an event under the two laws whose mean is ``mass``, as far apart as is allowed.

        Args:
            mass: in (0, 1/2]. The complement is then no more telling than the event, but for rounding
                (Lemma 2).
        """
        rows = list(zip(self.odds, self.deltas, strict=True))
        least = max((2 * mass - delta) / (1 + odds) for odds, delta in rows)
        smaller = max(1, math.ceil(min(least, mass) * GRID))
        larger = min(
            round(2 * mass * GRID) - smaller,
            *(_most(smaller, Fraction(odds), Fraction(delta) * GRID) for odds, delta in rows),
        )
        return smaller / GRID, larger / GRID

    def admits(self, first: Floats, second: Floats) -> bool:
        """Whether two laws on cells are no further apart than twice the claim."""
        rows = list(zip(self.odds, self.deltas, strict=True))
        orders = ((first, second), (second, first))
        return all(float(np.maximum(w - x * v, 0).sum()) <= d for v, w in orders for x, d in rows)

    def ranks(self, masses: Floats) -> tuple[Floats, Floats]:
        """The laws of the cells of a score under a Gaussian shift of its rank (Lemma 3).

        Args:
            masses: of the cells, in the order of the score, with sum 1.
        """
        assert self.rank_shift is not None
        places = np.linspace(-FARTHEST, FARTHEST, PLACES)
        half = self.rank_shift / 2
        pooled = (ndtr(places - half) + ndtr(places + half)) / 2
        cuts = np.interp(np.cumsum(masses)[:-1], pooled, places)
        first, second = (np.diff(ndtr(cuts + shift), prepend=0.0, append=1.0) for shift in (half, -half))
        return first, second


def doubled(curve: PrivacyCurve, points: tuple[CurvePoint, ...]) -> Doubled:
    """Twice a claim, for the points that an audit bets against.

    Args:
        curve: the claim.
        points: of it, the stated one last; one point for a pure claim and for one that is no more.

    >>> from dpproof.accountant.guarantees.notions import PureDP
    >>> twice = doubled(PureDP(1.0), (CurvePoint(1.0, 0.0),))
    >>> 7.389 < twice.odds[0] < 7.39
    True
    """
    last = points[-1]
    if len(points) == 1:
        odds, delta = _odds(last.epsilon), last.delta * DELTA_DOWN
        return Doubled((odds,), (delta,), _shift(MULTIPLE * last.epsilon, delta))
    nodes = [float(node) for node in np.linspace(0.0, last.epsilon, NODES)]
    lower = [curve.delta(node).lower * DELTA_DOWN for node in nodes[1:]]
    return Doubled(tuple(map(_odds, nodes)), (*lower, 0.0))


def _most(smaller: int, odds: Fraction, delta: Fraction) -> int:
    """The largest chance of an event, in units of the grid, beside a smaller one: it and its complement."""
    rest = math.ceil((GRID - smaller - delta) / odds)
    return min(math.floor(odds * smaller + delta), GRID - max(0, rest))


def _odds(epsilon: float) -> float:
    return math.exp(min(MULTIPLE * epsilon, 700.0)) * ODDS_DOWN


def _shift(epsilon: float, delta: float) -> float | None:
    """Of two Gaussians, unless the claim is pure or says next to nothing."""
    return gaussian_mu(epsilon, delta) if 0 < delta < 0.5 and 0 < epsilon < 100 else None
