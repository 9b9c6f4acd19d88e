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
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import flint

from dpproof.accountant.guarantees.gaussian import gaussian_mu, normal_quantile, normal_tail
from dpproof.accountant.numbers.arithmetic import cache
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up

Missed = Callable[[Fraction], tuple[flint.arb, flint.arb]]
"""Bounds on the trade-off function of a guarantee whose delta need not be convex in exp(e)."""

_PLACES, _CELLS, _MOST, _CLOSE = 32, 8, 300, 1e-4
_FARTHEST = 40.0
"""The largest epsilon that is evaluated for a lower bound if there is no finite upper bound."""
_WIDER = (1e-15, 1e-9, 1e-6, 1e-3)
"""The factors by which the last epsilon may grow until delta is certified to be small enough there."""


def gaussian_within(delta: Callable[[Number], Bound], kappa: Fraction, missed: Missed | None = None) -> Bound:
    """Return bounds on the least mu such that mu-Gaussian DP implies a guarantee, up to an error of ``kappa``.

    Let f be the trade-off function of the guarantee, and G the trade-off function of mu-Gaussian DP. The
    condition on mu is f(alpha) >= G(alpha + kappa) - kappa at every alpha. The upper bound is certified. Without
    ``missed``, the lower bound requires that delta is convex in exp(e).

    Args:
        delta: the privacy profile of the guarantee, which decreases in epsilon.
        kappa: the error that is allowed in each of the two error rates, in [0, 1). For 0 the upper bound is
            infinite.
        missed: bounds on f, for a delta that is not convex in exp(e).
    """
    odds = (1 - kappa) / kappa if kappa else Fraction(0)
    reach = math.log(odds.numerator) - math.log(odds.denominator) if odds > 1 else 0.0 if kappa else _FARTHEST
    reach = math.nextafter(max(reach, 0.0), math.inf) * (1 + 1e-12)
    return _searched(delta, _Paid(kappa, kappa), reach, finite=kappa > 0, missed=missed)


def gaussian_but_for(
    delta: Callable[[Number], Bound], kappa: Fraction, reach: float, missed: Missed | None = None
) -> Bound:
    """Return bounds on the least mu with delta(e) <= delta_mu(e) + ``kappa`` at every e >= 0.

    delta_mu is the privacy profile of mu-Gaussian DP. Every set of outputs then has at most the probability that
    mu-Gaussian DP allows, plus ``kappa``. The upper bound is certified. It is infinite if delta stays above
    ``kappa``, as for a mechanism that releases a record with a probability above ``kappa``. If delta is not convex
    in exp(e), its convex hull takes its place: the delta of a mechanism is convex, so it lies below the hull. The
    lower bound then needs ``missed``.

    Source: this project, docs/notes/label.md.

    >>> from dpproof.accountant.guarantees.notions import ApproxDP
    >>> gaussian_but_for(ApproxDP(1, "1e-7").delta, Fraction(1, 10**6), 1.0).upper < 5
    True

    Args:
        delta: the privacy profile of the guarantee, which decreases in epsilon.
        kappa: the error that is allowed in delta, in (0, 1).
        reach: an epsilon at which delta is at most ``kappa``, or infinity if there is none.
        missed: bounds on the trade-off function of the guarantee, for a delta that is not convex in exp(e).
    """
    places = [reach * (1 + wider) for wider in _WIDER] if math.isfinite(reach) else []
    last = next((place for place in places if exact(delta(place).upper) <= kappa), None)
    reach = _FARTHEST if last is None else last
    return _searched(delta, _Paid(kappa, Fraction(0)), reach, finite=last is not None, missed=missed)


@dataclass(frozen=True)
class _Paid:
    """The error that is allowed in delta: a linear function of exp(epsilon)."""

    constant: Fraction
    slope: Fraction


def _searched(
    delta: Callable[[Number], Bound], paid: _Paid, reach: float, *, finite: bool, missed: Missed | None
) -> Bound:
    """Return bounds on the least mu for which delta_mu + ``paid`` is above the convex hull of delta up to ``reach``."""
    found, place = _by_cells(delta, paid, reach, finite=finite)
    if missed is None or found.lower == 0:
        return found
    return Bound(min(_below_hull(missed, paid, place, found.lower), found.upper), found.upper)


def _below_hull(missed: Missed, paid: _Paid, epsilon: float, guess: float) -> float:
    """Return a lower bound on mu that holds whether or not delta is convex in t = exp(e).

    The convex hull of delta lies above 1 - f(alpha) - t alpha at every t and alpha, where f is the trade-off function.
    So delta_mu plus the allowed error must be at least this number, at every t >= 1. The bound uses t =
    exp(``epsilon``), and for alpha the slope of delta_mu plus the error at ``guess``: where two convex functions touch,
    their slopes agree.
    """
    with precision(128):
        t, mu = arb_of(exact(epsilon)).exp(), arb_of(exact(guess))
        alpha = exact(round_down(normal_tail(arb_of(exact(epsilon)) / mu + mu / 2))) - paid.slope
        if not 0 < alpha < 1:
            return 0.0
        low = round_down(1 - missed(alpha)[1] - t * arb_of(alpha + paid.slope) - arb_of(paid.constant))
    return gaussian_mu(exact(epsilon), exact(low))[0] if 0 < low < 1 else 0.0


def _by_cells(
    delta: Callable[[Number], Bound], paid: _Paid, reach: float, *, finite: bool
) -> tuple[Bound, float]:
    """Return bounds on the least mu with delta <= delta_mu + paid from 0 to ``reach``, and the lower one's epsilon.

    On an interval [a, b] of epsilons, every mu with delta_mu(b) >= delta(a) - paid(a) is large enough. So is every
    mu whose delta_mu lies above the secant of delta - paid as a function of exp(e): f is the conjugate of delta, so
    delta and its convex hull have the same f. Each step of the search halves the interval that needs the largest mu.
    The search ends when the upper bound on delta at a single epsilon needs a mu that is nearly as large. Without a
    ``finite`` upper bound, only the lower bound is computed.
    """
    ends = cache(lambda place: _Place(delta, paid, place))
    if not finite:
        least, at = max((ends(one).least, one) for one in (reach * i / _PLACES for i in range(_PLACES)))
        return Bound(least, math.inf), at
    (least, at), cells = (0.0, 0.0), list[tuple[float, float, float]]()
    for a, b in pairwise(reach * i / _CELLS for i in range(_CELLS + 1)):
        least, at = max((least, at), (ends(a).least, a))
        if ends(a).over <= 0:  # delta is at most the allowed error at a, and so at every larger epsilon
            break
        heapq.heappush(cells, (-_most(ends(a), ends(b), paid), a, b))
    if not cells:
        return Bound(0.0, 0.0), 0.0
    for _ in range(_MOST):
        most, start, end = cells[0]
        middle, needed = (start + end) / 2, max(ends(start).needed, ends(end).needed)
        if -most <= max(least, needed) * (1 + _CLOSE) or not start < middle < end:
            break
        heapq.heappop(cells)
        least, at = max((least, at), (ends(middle).least, middle))
        for one, other in ((start, middle), (middle, end)):
            heapq.heappush(cells, (-_most(ends(one), ends(other), paid), one, other))
    return Bound(least, max(-cells[0][0], least)), at


class _Place:
    """Bounds on delta less the allowed error at one epsilon, and bounds on the mu that it needs."""

    def __init__(self, delta: Callable[[Number], Bound], paid: _Paid, epsilon: float) -> None:
        found = delta(epsilon)
        with precision(128):
            error = arb_of(paid.constant) + arb_of(paid.slope) * arb_of(exact(epsilon)).exp()
            low = round_down(arb_of(exact(found.lower)) - error)
            self.over = round_up(arb_of(exact(found.upper)) - error)
        self.epsilon, self.upper = epsilon, float(found.upper)
        self.least = gaussian_mu(exact(epsilon), exact(low))[0] if 0 < low < 1 else 0.0
        self.needed = gaussian_mu(exact(epsilon), exact(self.over))[1] if 0 < self.over < 1 else 0.0
        if self.over >= 1:
            self.needed = math.inf


def _most(a: _Place, b: _Place, paid: _Paid) -> float:
    """Return a mu that is large enough for all epsilons from ``a`` to ``b``: the smaller one of two such numbers."""
    if a.over <= 0:
        return 0.0
    by_ends = gaussian_mu(exact(b.epsilon), exact(a.over))[1] if a.over < 1 else math.inf
    return min(by_ends, _by_secant(a, b, paid))


def _by_secant(a: _Place, b: _Place, paid: _Paid) -> float:
    """Return a mu whose privacy profile lies above the secant of delta minus the allowed error.

    All of them are functions of t = exp(epsilon).

    Let the secant be top - slope t. The profile of mu minus the secant is convex, with the derivative slope - P[Z >
    epsilon/mu + mu/2]. If its sign does not change in the interval, the mu that both ends need is large enough.
    Otherwise mu is Q(slope) - Q(top), where Q(x) is the number that a standard normal variable exceeds with
    probability x: the trade-off function of mu-Gaussian DP is 1 - top at slope.
    """
    with precision(128):
        start, end = (arb_of(exact(place.epsilon)).exp() for place in (a, b))
        steep = (arb_of(exact(a.upper)) - arb_of(exact(b.upper))) / (end - start)
        slope = steep + arb_of(paid.slope)
        top = arb_of(exact(a.upper)) + steep * start - arb_of(paid.constant)
        if 0 < (needed := max(a.needed, b.needed)) < math.inf:
            mu = flint.arb(needed)
            left, right = (normal_tail(arb_of(exact(place.epsilon)) / mu + mu / 2) for place in (a, b))
            if left <= slope or right >= slope:
                return needed
        least, most = round_down(slope), round_up(top)
        if not (0 < most < 1 and 0 < least < 1):
            return math.inf
        return round_up(normal_quantile(exact(least)) - normal_quantile(exact(most)))
