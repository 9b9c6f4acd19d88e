"""A dominating pair for whatever has a privacy profile, so that it composes with everything else.

A mechanism known only by a guarantee (zCDP, approximate DP, a Renyi curve) has no pair of its own; but every
upper bound on a privacy profile is the profile of a pair, which then dominates the mechanism.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import flint

from dpproof.accountant.guarantees.notions import Guarantee
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision
from dpproof.accountant.pairs.atoms import Atoms

__all__ = ["dominating_pair"]

_FAR = 1e6
"""What is left of the profile beyond this epsilon counts as an infinite loss."""
_Point = tuple[Fraction, Fraction]


def dominating_pair(guarantee: Guarantee, *, points: int = 512, smallest: float = 1e-40) -> Atoms:
    """A pair on ``points`` losses each side of 0 whose profile is at least the guarantee's, at every epsilon.

    With x = e^epsilon the profile H(x) of a mechanism is convex, and H(x) = 1 - x + x H(1/x) for the other
    direction. The upper ends of H at chosen points, joined by straight lines and made convex, stay above it;
    a piecewise linear profile belongs to atoms: the jump of its slope at x is a Q-mass, x times it a P-mass.

    Args:
        guarantee: in both directions of its neighbouring relation.
        points: losses on each side; the width of the result falls with the square of the number.
        smallest: the delta below which the remaining mass counts as an infinite loss.

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
    lost = guarantee.delta(_FAR).upper
    if lost >= 1 or guarantee.delta(0).upper == 0:
        return Atoms([1, 0], [0, 1]) if lost >= 1 else Atoms([1], [1])
    farthest = exact(guarantee.epsilon(max(smallest, lost)).upper)
    made = [_at(guarantee, farthest * k / (points - 1)) for k in range(points)]
    found = made[:1] + [point for before, point in pairwise(made) if point[0] > before[0]]
    mirrored = [(1 / x, 1 - 1 / x + value / x) for x, value in found[:0:-1]]
    return _atoms(_convex([(Fraction(0), Fraction(1)), *mirrored, *found]))


def _at(guarantee: Guarantee, epsilon: Fraction) -> _Point:
    """A point x at least e^epsilon, exact, with an upper end of the profile there."""
    with precision(128):
        top = arb_of(epsilon).exp().upper().fmpq() if epsilon else flint.fmpq(1)
    x = Fraction(int(top.p), int(top.q))
    return x, exact(min(guarantee.delta(epsilon).upper, 1.0))


def _convex(points: list[_Point]) -> list[_Point]:
    """The lower convex hull of points with increasing x, then of their values made decreasing."""
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
