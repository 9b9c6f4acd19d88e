"""Dominating pairs with finitely many outcomes, also for mechanisms of which only a privacy guarantee is known.

A mechanism that is known only by a guarantee (zCDP, approximate DP, a Renyi curve) has no pair of its own.
But there is a pair whose privacy profile is at least the mechanism's profile at every epsilon, and this pair
dominates the mechanism. So the mechanism can be composed with any other mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import flint
import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import cached_property
from dpproof.accountant.numbers.enclosures import (
    Number,
    arb_of,
    exact,
    log_of,
    precision,
    round_down,
    round_up,
)
from dpproof.accountant.pairs.base import Cells, Characteristic, Floats
from dpproof.accountant.pairs.lattice import floored
from dpproof.accountant.pairs.outcomes import Listed, Outcomes, Spaced, Support

_U = 2.0**-53
_BITS = 256
_MOST_POWER = 64
"""The largest power of one ratio that is looked for among the ratios p/q."""


@dataclass(frozen=True)
class Atoms:
    """A dominating pair of two distributions P and Q with finitely many outcomes.

    ``p`` holds the probability of each outcome under P, and ``q`` under Q, as exact numbers.

    >>> pair = Atoms(["3/4", "1/4"], ["1/4", "3/4"])  # randomised response at epsilon ln 3
    >>> round(pair.loss_range()[1], 6)
    1.098612

    Raises:
        ValueError: for lists of different lengths, a negative probability, or probabilities whose sum differs
            from 1 by more than 1e-12. Smaller differences are not corrected.
    """

    p: Sequence[Number]
    q: Sequence[Number]

    def __post_init__(self) -> None:
        if len(self.p) != len(self.q):
            raise ValueError(f"p and q must have the same length, not {len(self.p)} and {len(self.q)}")
        for name in ("p", "q"):
            masses = [exact(mass, name) for mass in getattr(self, name)]
            if any(mass < 0 for mass in masses):
                raise ValueError(f"{name} ({float(min(masses))!r}) must be at least 0 at every outcome")
            if abs(sum(masses, Fraction(0)) - 1) > Fraction(1, 10**12):
                raise ValueError(f"{name} (sum {float(sum(masses))!r}) must add up to 1 within 1e-12")
            object.__setattr__(self, name, tuple(masses))

    @cached_property
    def _rows(self) -> list[tuple[Fraction, Fraction]]:
        """The outcomes with positive mass under P or Q."""
        return [(exact(p), exact(q)) for p, q in zip(self.p, self.q, strict=True) if p or q]

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats, Floats]:
        """Losses in increasing order (infinite ones included), and P- and Q-masses, each within an ulp.

        A mass that underflows is off by up to 5e-324.
        """
        rows = sorted((_loss(p, q), float(p), float(q)) for p, q in self._rows)
        losses, p, q = (np.array(column) for column in zip(*rows, strict=True))
        return losses, p, q

    @cached_property
    def lattice(self) -> float | None:
        """The smallest nonzero privacy loss, if all losses are multiples of it; otherwise None."""
        losses, _, _ = self._arrays
        sizes = np.abs(losses[np.isfinite(losses) & (losses != 0)])
        if not len(sizes):
            return None
        ratios = sizes / sizes.min()
        return float(sizes.min()) if np.all(np.abs(ratios - np.rint(ratios)) <= 1e-13 * ratios) else None

    def cells(self, edges: Floats) -> Cells:
        """Return the probabilities of the privacy losses between ``edges``; see ``DominatingPair.cells``."""
        losses, p, q = self._arrays
        finite, both = losses < np.inf, np.isfinite(losses)
        error = (len(p) + 4) * _U
        (cells_p, p_error), (cells_q, q_error) = (
            floored(_added(losses, mass, edges, here), error, _added(losses, None, edges, here) > 0)
            for mass, here in ((p, both), (q, finite))
        )
        slack = 4 * _U * float(np.abs(losses[both]).max(initial=0.0))
        infinite = float(p[~finite].sum())
        ends = infinite * (1 - error), infinite * (1 + error) + (2e-280 if not finite.all() else 0.0)
        return Cells(cells_p, cells_q, p_error, q_error, slack, ends)

    @property
    def support(self) -> Support | None:
        """The number of listed outcomes, and whether their losses are equally spaced.

        The result is None if no loss is finite, or if all probability belongs to infinite losses.
        """
        if not self._finite or self._lost >= 1:
            return None
        return Support(len(self._powers or self._finite), spaced=self._powers is not None)

    def outcomes(self) -> Outcomes:
        """Return the outcomes with a finite loss at the current precision, sorted by loss."""
        infinite = arb_of(self._lost)
        masses = [arb_of(mass) for mass in (self._powers or self._finite).values()]
        if self._powers is None:
            return Listed([log_of(ratio) for ratio in self._finite], masses, infinite)
        first, second = (*self._powers, 0)[:2]
        return Spaced(log_of(self._base), first, second - first, masses, infinite)

    @property
    def _lost(self) -> Fraction:
        """The probability of the infinite loss under P."""
        return sum((p for p, q in self._rows if not q), Fraction(0))

    @cached_property
    def _finite(self) -> dict[Fraction, Fraction]:
        """The P-mass of each finite and positive ratio p/q, in increasing order of the ratios."""
        masses: dict[Fraction, Fraction] = {}
        for p, q in self._rows:
            if p and q:
                masses[p / q] = masses.get(p / q, Fraction(0)) + p
        return dict(sorted(masses.items()))

    @property
    def _base(self) -> Fraction:
        """The ratio above 1, or its inverse, that is closest to 1; 1 if every finite loss is 0."""
        return min((max(ratio, 1 / ratio) for ratio in self._finite if ratio != 1), default=Fraction(1))

    @cached_property
    def _powers(self) -> dict[int, Fraction] | None:
        """The P-masses of equally spaced powers of ``_base``. Their keys are the powers, in increasing order.

        The result is None if a ratio is no power of ``_base``.
        """
        masses: dict[int, Fraction] = {}
        base = self._base
        for ratio, mass in self._finite.items():
            if (power := _power_of(base, ratio)) is None:
                return None
            masses[power] = mass
        first, *others = masses
        stride = math.gcd(*(power - first for power in others)) if others else 1
        return {k: masses.get(k, Fraction(0)) for k in range(first, max(masses) + 1, stride)}

    def reversed(self) -> Atoms:
        """Return the pair (Q, P), for the other direction of the neighbouring relation.

        If exchanging P and Q only reorders the outcomes, return the pair itself.
        """
        if sorted(self._rows) == sorted((q, p) for p, q in self._rows):
            return self
        return Atoms(self.q, self.p)

    def loss_range(self) -> tuple[float, float]:
        """Return lower and upper bounds on the finite privacy losses.

        If no privacy loss is finite, return (0, 0).
        """
        return self._range

    @cached_property
    def _range(self) -> tuple[float, float]:
        with precision(_BITS):
            losses = [log_of(p / q) for p, q in self._rows if p and q]
            return (
                min((round_down(loss) for loss in losses), default=0.0),
                max((round_up(loss) for loss in losses), default=0.0),
            )

    def characteristic(self) -> Characteristic | None:
        """Return None: the moment-generating function does not decay, so composition uses a grid of losses."""
        return None


def _loss(p: Fraction, q: Fraction) -> float:
    """Return log(p/q) within an ulp."""
    if p == 0 or q == 0:
        return float("-inf") if p == 0 else float("inf")
    if p == q:
        return 0.0
    with precision(_BITS):
        return float(log_of(p / q))


def _power_of(base: Fraction, ratio: Fraction) -> int | None:
    """Return the k from -_MOST_POWER to _MOST_POWER with ratio = base^k; None if there is none."""
    if ratio == 1:
        return 0
    unit, whole = _loss(base, Fraction(1)), _loss(ratio, Fraction(1))
    if unit == 0 or not abs(whole) <= _MOST_POWER * unit:
        return None
    power = round(whole / unit)
    return power if base**power == ratio else None


def _added(losses: Floats, masses: Floats | None, edges: Floats, here: NDArray[np.bool_]) -> Floats:
    """Return the masses, or the numbers, of the atoms selected by ``here`` in each cell between ``edges``."""
    places = np.searchsorted(edges, losses[here], side="right")
    added = np.bincount(places, None if masses is None else masses[here], len(edges) + 1)
    return np.asarray(added, dtype=np.float64)


_FAR = 1e6
"""The mass that remains in the profile beyond this epsilon counts as an infinite loss."""
_Point = tuple[Fraction, Fraction]


def dominating_pair(
    guarantee: Profile, opposite: Profile | None = None, *, points: int = 512, smallest: float = 1e-40
) -> Atoms:
    """Return a pair that dominates every mechanism with a given guarantee.

    The pair has finitely many privacy losses, about ``points`` on each side of 0. Its privacy profile is at
    least that of ``guarantee`` at every epsilon. Let H(x) be the delta of a mechanism at epsilon = log(x). H
    is convex, and for the other direction of the neighbours it is 1 - x + x H(1/x). The function takes upper
    bounds on H at chosen points, joins them by straight lines and makes the result convex. The result stays
    above H. A piecewise linear profile belongs to a pair with finitely many outcomes, one for each jump of
    the slope. The jump at x is the probability of the outcome under Q, and x times the jump is its
    probability under P.

    Args:
        guarantee: a guarantee that holds in both directions of its neighbouring relation, or in one direction if
            ``opposite`` is given.
        opposite: the guarantee in the other direction. The result is then the pair for the direction of ``guarantee``.
        points: the number of losses on each side of 0. Twice as many points make the error about four times
            smaller.
        smallest: a delta. The chosen points end where the profile has fallen to this delta, and at epsilon 32768 at
            the latest. The delta at the last point counts as the probability of an infinite loss.

    Source: Zhu, Dong and Wang, arXiv:2106.08567v4, Propositions 8 and 9 (profiles and pairs); Doroshenko et
    al., arXiv:2207.04380v1 (joining the points); docs/notes/loss_grid.md, section 3.

    >>> from dpproof.accountant.guarantees.notions import PureDP
    >>> pair = dominating_pair(PureDP(1.0), points=8)
    >>> round(pair.loss_range()[1], 6)
    1.0

    Raises:
        ValueError: for fewer than 2 points.
    """
    if points < 2:
        raise ValueError(f"points ({points!r}) must be at least 2")
    if guarantee.delta(0).upper == 0:
        return Atoms([1], [1])
    if _end(guarantee, smallest) is None:
        return Atoms([1, 0], [0, 1])
    found = _points(guarantee, points, smallest)
    other = found if opposite is None else _points(opposite, points, smallest)
    mirrored = [(1 / x, 1 - 1 / x + value / x) for x, value in other[:0:-1]]
    return _atoms(_convex([(Fraction(0), Fraction(1)), *mirrored, *found]))


def _end(guarantee: Profile, smallest: float) -> Fraction | None:
    """Return the epsilon at which the profile has fallen to ``smallest``, or to the probability of an infinite loss.

    The result is None if this probability is 1.
    """
    found = guarantee.epsilon(smallest).upper
    if math.isfinite(found):
        return exact(found)
    lost = guarantee.delta(_FAR).upper
    return exact(guarantee.epsilon(max(smallest, lost)).upper) if lost < 1 else None


_LARGEST = Fraction(2**15)
"""The largest epsilon of a point. The exact powers of e at larger ones are too long to compute with."""


def _points(guarantee: Profile, points: int, smallest: float) -> list[_Point]:
    """Return points on or above the profile, with increasing x from 1 on."""
    farthest = min(_end(guarantee, smallest) or Fraction(1), _LARGEST)
    made = [_at(guarantee, farthest * k / (points - 1)) for k in range(points)]
    return made[:1] + [point for before, point in pairwise(made) if point[0] > before[0]]


def _at(guarantee: Profile, epsilon: Fraction) -> _Point:
    """Return an exact point x that is at least e^epsilon, with an upper bound on the profile there."""
    with precision(128):
        top = arb_of(epsilon).exp().upper().fmpq() if epsilon else flint.fmpq(1)
    x = Fraction(int(top.p), int(top.q))
    return x, exact(min(guarantee.delta(epsilon).upper, 1.0))


def _convex(points: list[_Point]) -> list[_Point]:
    """Return the lower convex hull of points with increasing x, without the points where the values rise again."""
    hull: list[_Point] = []
    for point in points:
        while len(hull) >= 2 and _slope(hull[-2], hull[-1]) >= _slope(hull[-1], point):
            hull.pop()
        hull.append(point)
    while len(hull) >= 2 and hull[-1][1] >= hull[-2][1]:
        hull.pop()
    return hull


def _slope(one: _Point, other: _Point) -> Fraction:
    return (other[1] - one[1]) / (other[0] - one[0])


def _atoms(hull: list[_Point]) -> Atoms:
    slopes = [Fraction(-1), *(_slope(a, b) for a, b in pairwise(hull)), Fraction(0)]
    q = [after - before for before, after in pairwise(slopes)]
    p = [x * mass for (x, _), mass in zip(hull, q, strict=True)]
    return Atoms([*p, hull[-1][1]], [*q, Fraction(0)])
