"""The Gaussian guarantee that is closest to a given guarantee, up to a given error ``kappa``.

Let G be the trade-off function of mu-Gaussian DP, and f the trade-off function of the guarantee. Let delta_mu and
delta be their privacy profiles. The error is allowed in one of two places:

- `gaussian_within`: in both error rates of a test. The condition is f(alpha) >= G(alpha + kappa) - kappa at every
  alpha. It is the same as delta(e) <= delta_mu(e) + kappa (1 + exp(e)) at every e >= 0 (docs/notes/trade_off.md).
- `gaussian_but_for`: in delta alone. The condition is delta(e) <= delta_mu(e) + kappa at every e >= 0. It is stronger,
  so it needs a larger mu (docs/notes/label.md).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import flint

from dpproof.accountant.guarantees.gaussian import gaussian_delta, gaussian_mu
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up

_CELLS, _CLOSE = 32, 1e-4
_MOST, _MOST_BUT_FOR = 300, 400
"""The largest number of intervals that a search halves."""
_FARTHEST = 40.0
"""The largest epsilon that is evaluated for a lower bound if there is no finite upper bound."""
_WIDER = (1e-15, 1e-9, 1e-6, 1e-3)
"""The factors by which the last epsilon may grow until delta is certified to be small enough there."""
_Paid = Callable[[flint.arb], flint.arb]
"""The error that is allowed in delta, as a function of exp(epsilon) that does not decrease."""


def gaussian_within(delta: Callable[[Number], Bound], kappa: Fraction) -> Bound:
    """Return bounds on the least mu such that mu-Gaussian DP implies a guarantee, up to an error of ``kappa``.

    Let f be the trade-off function of the guarantee, and G the trade-off function of mu-Gaussian DP. The
    condition on mu is f(alpha) >= G(alpha + kappa) - kappa at every alpha. The upper bound is certified.

    Args:
        delta: the privacy profile of the guarantee, which decreases in epsilon.
        kappa: the error that is allowed in each of the two error rates, in [0, 1). For 0 the upper bound is
            infinite.
    """
    odds = (1 - kappa) / kappa if kappa else Fraction(0)
    reach = math.log(odds.numerator) - math.log(odds.denominator) if odds > 1 else 0.0 if kappa else _FARTHEST
    reach = math.nextafter(max(reach, 0.0), math.inf) * (1 + 1e-12)
    return _searched(delta, lambda factor: arb_of(kappa) * (1 + factor), reach, _MOST if kappa else 0)


def gaussian_but_for(delta: Callable[[Number], Bound], kappa: Fraction, reach: float) -> Bound:
    """Return bounds on the least mu with delta(e) <= delta_mu(e) + ``kappa`` at every e >= 0.

    delta_mu is the privacy profile of mu-Gaussian DP. Every set of outputs then has at most the probability that
    mu-Gaussian DP allows, plus ``kappa``. The upper bound is certified. It is infinite if delta stays above
    ``kappa``, as for a mechanism that releases a record with a probability above ``kappa``.

    Source: this project, docs/notes/label.md.

    >>> from dpproof.accountant.guarantees.notions import ApproxDP
    >>> gaussian_but_for(ApproxDP(1, "1e-7").delta, Fraction(1, 10**6), 1.0).upper < 5
    True

    Args:
        delta: the privacy profile of the guarantee, which decreases in epsilon.
        kappa: the error that is allowed in delta, in (0, 1).
        reach: an epsilon at which delta is at most ``kappa``, or infinity if there is none.
    """
    places = [reach * (1 + wider) for wider in _WIDER] if math.isfinite(reach) else []
    last = next((place for place in places if exact(delta(place).upper) <= kappa), None)
    halvings = 0 if last is None else _MOST_BUT_FOR
    return _searched(delta, lambda _factor: arb_of(kappa), _FARTHEST if last is None else last, halvings)


def _searched(delta: Callable[[Number], Bound], paid: _Paid, reach: float, halvings: int) -> Bound:
    """Return bounds on the least mu with delta(e) <= delta_mu(e) + paid(exp(e)) at every e from 0 to ``reach``.

    On an interval [a, b] of epsilons, every mu with delta_mu(b) >= delta(a) - paid(exp(a)) is large enough. Each
    step of the search halves the interval that needs the largest mu. The search ends when some single epsilon needs
    a mu that is nearly as large, or after ``halvings`` steps. For 0 halvings, only the lower bound is computed.
    """
    places = [reach * i / _CELLS for i in range(_CELLS + 1)]
    least, cells = 0.0, list[tuple[float, float, float]]()
    for a, b in pairwise(places):
        found = _Cell(delta, paid, a, b, least)
        least = max(least, found.least)
        heapq.heappush(cells, (-found.most, a, b))
        if found.most == 0:  # delta is at most paid(exp(a)) at a, and so at every larger epsilon
            break
    for _ in range(halvings):
        most, a, b = cells[0]
        middle = (a + b) / 2
        if -most <= least * (1 + _CLOSE) or not a < middle < b:
            break
        heapq.heappop(cells)
        for one, other in ((a, middle), (middle, b)):
            found = _Cell(delta, paid, one, other, least)
            least = max(least, found.least)
            heapq.heappush(cells, (-found.most, one, other))
    return Bound(least, -cells[0][0] if halvings else math.inf)


class _Cell:
    """Bounds on the mu that the epsilons from ``a`` to ``b`` need: at least ``least``, at most ``most``.

    ``known`` is a lower bound of other cells. Where ``a`` needs no larger mu, ``least`` is ``known``.
    """

    def __init__(
        self, delta: Callable[[Number], Bound], paid: _Paid, a: float, b: float, known: float
    ) -> None:
        found, at = delta(a), exact(a)
        with precision(128):
            allowed = paid(arb_of(at).exp())
            low = round_down(arb_of(exact(found.lower)) - allowed)
            high = round_up(arb_of(exact(found.upper)) - allowed)
        enough = not 0 < low < 1 or gaussian_delta(exact(known), at) >= arb_of(exact(low))
        self.least = known if enough else gaussian_mu(at, exact(low))[0]
        self.most = gaussian_mu(exact(b), exact(high))[1] if 0 < high < 1 else 0.0 if high <= 0 else math.inf
