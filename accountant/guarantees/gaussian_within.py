"""The Gaussian guarantee that is closest to a given guarantee, up to a given error ``kappa`` in the error rates.

Let G be the trade-off function of mu-Gaussian DP, and f the trade-off function of the guarantee. This module
finds the least mu such that f(alpha) >= G(alpha + kappa) - kappa at every alpha. Let delta and delta_mu be
the privacy profiles of the guarantee and of mu-Gaussian DP. Then the same condition is delta(e) <=
delta_mu(e) + kappa (1 + exp(e)) at every e >= 0 (docs/notes/trade_off.md). The condition always holds where
kappa (1 + exp(e)) is at least 1.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import flint

from dpproof.accountant.guarantees.gaussian import gaussian_mu, normal_quantile, normal_tail
from dpproof.accountant.numbers.arithmetic import cache
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up

_PLACES, _CELLS, _MOST, _CLOSE = 32, 8, 300, 1e-4
_FARTHEST = 40.0
"""The largest epsilon that is evaluated for a lower bound if kappa is 0."""


def gaussian_within(delta: Callable[[Number], Bound], kappa: Fraction) -> Bound:
    """Return bounds on the least mu such that mu-Gaussian DP implies a guarantee, up to an error of ``kappa``.

    Let f be the trade-off function of the guarantee, and G the trade-off function of mu-Gaussian DP. The
    condition on mu is f(alpha) >= G(alpha + kappa) - kappa at every alpha. The upper bound is certified. Let
    delta_mu be the privacy profile of mu-Gaussian DP. On an interval [a, b] of epsilons, every mu with
    delta_mu(b) >= delta(a) - kappa (1 + exp(a)) is large enough. So is every mu whose delta_mu lies above the
    secant of delta - kappa (1 + exp(e)) as a function of exp(e). This needs no convexity: f is the conjugate of
    delta, so delta and its convex hull have the same f. Each step of the search halves the interval that needs
    the largest mu. The search ends when the upper bound on delta at a single epsilon needs a mu that is nearly
    as large. The lower bound requires that delta is convex in exp(e).

    Args:
        delta: the privacy profile of the guarantee, which decreases in epsilon.
        kappa: the error that is allowed in each of the two error rates, in [0, 1). For 0 the upper bound is
            infinite.
    """
    odds = (1 - kappa) / kappa if kappa else Fraction(0)
    reach = math.log(odds.numerator) - math.log(odds.denominator) if odds > 1 else 0.0 if kappa else _FARTHEST
    reach = math.nextafter(max(reach, 0.0), math.inf) * (1 + 1e-12)
    ends = cache(lambda place: _Place(delta, kappa, place))
    if not kappa:
        return Bound(max(ends(reach * i / _PLACES).least for i in range(_PLACES)), math.inf)
    least, cells = 0.0, list[tuple[float, float, float]]()
    for a, b in pairwise(reach * i / _CELLS for i in range(_CELLS + 1)):
        least = max(least, ends(a).least)
        if ends(a).over <= 0:  # delta is at most kappa (1 + exp(a)) at a, and so at every larger epsilon
            break
        heapq.heappush(cells, (-_most(ends(a), ends(b), kappa), a, b))
    if not cells:
        return Bound(0.0, 0.0)
    for _ in range(_MOST):
        most, start, end = cells[0]
        middle, needed = (start + end) / 2, max(ends(start).needed, ends(end).needed)
        if -most <= max(least, needed) * (1 + _CLOSE) or not start < middle < end:
            break
        heapq.heappop(cells)
        least = max(least, ends(middle).least)
        for one, other in ((start, middle), (middle, end)):
            heapq.heappush(cells, (-_most(ends(one), ends(other), kappa), one, other))
    return Bound(least, max(-cells[0][0], least))


class _Place:
    """Bounds on delta - kappa (1 + exp(epsilon)) at one epsilon, and bounds on the mu that it needs."""

    def __init__(self, delta: Callable[[Number], Bound], kappa: Fraction, epsilon: float) -> None:
        found = delta(epsilon)
        with precision(128):
            paid = arb_of(kappa) * (1 + arb_of(exact(epsilon)).exp())
            low = round_down(arb_of(exact(found.lower)) - paid)
            self.over = round_up(arb_of(exact(found.upper)) - paid)
        self.epsilon, self.upper = epsilon, float(found.upper)
        self.least = gaussian_mu(exact(epsilon), exact(low))[0] if 0 < low < 1 else 0.0
        self.needed = gaussian_mu(exact(epsilon), exact(self.over))[1] if 0 < self.over < 1 else 0.0
        if self.over >= 1:
            self.needed = math.inf


def _most(a: _Place, b: _Place, kappa: Fraction) -> float:
    """Return a mu that is large enough for all epsilons from ``a`` to ``b``: the smaller one of two such numbers."""
    if a.over <= 0:
        return 0.0
    by_ends = gaussian_mu(exact(b.epsilon), exact(a.over))[1] if a.over < 1 else math.inf
    return min(by_ends, _by_secant(a, b, kappa))


def _by_secant(a: _Place, b: _Place, kappa: Fraction) -> float:
    """Return a mu whose profile lies above the secant of delta - kappa (1 + t), t = exp(epsilon), in the interval.

    Let the secant be top - slope t. The profile of mu minus the secant is convex, with the derivative slope - P[Z >
    epsilon/mu + mu/2]. If its sign does not change in the interval, the mu that both ends need is large enough.
    Otherwise mu is Q(slope) - Q(top), where Q(x) is the number that a standard normal variable exceeds with
    probability x: the trade-off function of mu-Gaussian DP is 1 - top at slope.
    """
    with precision(128):
        start, end = (arb_of(exact(place.epsilon)).exp() for place in (a, b))
        steep = (arb_of(exact(a.upper)) - arb_of(exact(b.upper))) / (end - start)
        slope, top = steep + arb_of(kappa), arb_of(exact(a.upper)) + steep * start - arb_of(kappa)
        if 0 < (needed := max(a.needed, b.needed)) < math.inf:
            mu = flint.arb(needed)
            left, right = (normal_tail(arb_of(exact(place.epsilon)) / mu + mu / 2) for place in (a, b))
            if left <= slope or right >= slope:
                return needed
        least, most = round_down(slope), round_up(top)
        if not (0 < most < 1 and 0 < least < 1):
            return math.inf
        return round_up(normal_quantile(exact(least)) - normal_quantile(exact(most)))
