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

from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up

_CELLS, _MOST, _CLOSE = 32, 300, 1e-4
_FARTHEST = 40.0
"""The largest epsilon that is evaluated for a lower bound if kappa is 0."""


def gaussian_within(delta: Callable[[Number], Bound], kappa: Fraction) -> Bound:
    """Return bounds on the least mu such that mu-Gaussian DP implies a guarantee, up to an error of ``kappa``.

    Let f be the trade-off function of the guarantee, and G the trade-off function of mu-Gaussian DP. The
    condition on mu is f(alpha) >= G(alpha + kappa) - kappa at every alpha. The upper bound is certified. Let
    delta_mu be the privacy profile of mu-Gaussian DP. On an interval [a, b] of epsilons, every mu with
    delta_mu(b) >= delta(a) - kappa (1 + exp(a)) is large enough. Each step of the search halves the interval
    that needs the largest mu. The search ends when some single epsilon needs a mu that is nearly as large.

    Args:
        delta: the privacy profile of the guarantee, which decreases in epsilon.
        kappa: the error that is allowed in each of the two error rates, in [0, 1). For 0 the upper bound is
            infinite.
    """
    odds = (1 - kappa) / kappa if kappa else Fraction(0)
    reach = math.log(odds.numerator) - math.log(odds.denominator) if odds > 1 else 0.0 if kappa else _FARTHEST
    reach = math.nextafter(max(reach, 0.0), math.inf) * (1 + 1e-12)
    places = [reach * i / _CELLS for i in range(_CELLS + 1)]
    least, cells = 0.0, list[tuple[float, float, float]]()
    for a, b in pairwise(places):
        found = _Cell(delta, kappa, a, b)
        least = max(least, found.least)
        heapq.heappush(cells, (-found.most, a, b))
        if found.most == 0:  # delta is at most kappa (1 + exp(a)) at a, and so at every larger epsilon
            break
    for _ in range(_MOST if kappa else 0):
        most, a, b = cells[0]
        middle = (a + b) / 2
        if -most <= least * (1 + _CLOSE) or not a < middle < b:
            break
        heapq.heappop(cells)
        for one, other in ((a, middle), (middle, b)):
            found = _Cell(delta, kappa, one, other)
            least = max(least, found.least)
            heapq.heappush(cells, (-found.most, one, other))
    return Bound(least, -cells[0][0] if kappa else math.inf)


class _Cell:
    """Bounds on the mu that the epsilons from ``a`` to ``b`` need: at least ``least``, at most ``most``."""

    def __init__(self, delta: Callable[[Number], Bound], kappa: Fraction, a: float, b: float) -> None:
        found = delta(a)
        with precision(128):
            paid = arb_of(kappa) * (1 + arb_of(exact(a)).exp())
            low = round_down(arb_of(exact(found.lower)) - paid)
            high = round_up(arb_of(exact(found.upper)) - paid)
        self.least = gaussian_mu(exact(a), exact(low))[0] if 0 < low < 1 else 0.0
        self.most = gaussian_mu(exact(b), exact(high))[1] if 0 < high < 1 else 0.0 if high <= 0 else math.inf
