"""Private selection: the guarantee of the best of a random number of runs, as in hyper-parameter tuning.

The runs are independent, and all have the same guarantee, called the base. A run may begin with a random choice
of hyper-parameters. The number K of runs is random. Let f(x) be the mean of x^K. Two neighbours have the
distributions P and Q of one run. An output whose rank among the outputs of P is u is the best of all runs with
f'(u) times its probability in one run. So selection multiplies the privacy loss of a run by a ratio f'(u)/f'(v),
where u and v are the probabilities under P and Q that a run is no better.

The trade-off function T of the base gives v >= T(1 - u). For each likelihood ratio of one run, the worst rank u
is then a maximum over one number, and the result is a sum of values of the base's privacy profile. A run whose best
outputs are arranged in three groups gives lower bounds. Proofs: docs/notes/selection.md.

Source: Papernot and Steinke, arXiv:2110.03620v2 (the laws of K, and bounds for Renyi DP); Koskela, Redberg and
Wang, arXiv:2402.06701v1 (a weaker bound from the privacy profile). This project's statement
classic.private_selection.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import flint

from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.arithmetic import cache, cached_property
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import enclose, sign_change
from dpproof.accountant.pairs.atoms import dominating_pair
from dpproof.accountant.theorems.runs import Runs

_BITS = 192


@dataclass(frozen=True)
class Unranked(Profile):
    """The guarantee of the best run if the score is a random number. Then the output is that of one run, or nothing.

    ``base`` is the guarantee of one run. The lower bounds use the probability that there is a run.
    """

    base: Profile
    runs: Runs

    def _delta_at(self, point: Fraction) -> Bound:
        found = self.base.delta(point)
        with precision(_BITS):
            least = round_down(arb_of(self._chance * exact(found.lower)))
        return Bound(max(least, 0.0), found.upper)

    def _epsilon_at(self, target: Fraction) -> Bound:
        low = self.base.epsilon(target / self._chance).lower if target < self._chance else 0.0
        return Bound(low, self.base.epsilon(target).upper)

    @cached_property
    def _chance(self) -> Fraction:
        """A lower bound on the probability that there is a run."""
        with precision(_BITS):
            return exact(round_down(1 - self.runs.none))


@dataclass(frozen=True)
class Selected(Profile):
    """The guarantee of the best of several independent runs, each of which has the guarantee ``base``.

    The bounds enclose the smallest delta and epsilon that hold for all runs with the guarantee ``base``, and for
    every way to order their outputs. The output must be all that is released about the runs, and the number of
    runs must have the distribution ``runs``. The guarantee ``base`` covers the whole output of a run, with the
    score by which it is chosen. Ties are broken without use of the data, for example for the earlier run.

    >>> from dpproof.accountant.guarantees.notions import GaussianDP, PureDP
    >>> Selected(GaussianDP("0.5"), Runs(10, 1)).epsilon("1e-6").upper < 3.30
    True
    >>> Selected(PureDP(1), Runs(10, 1)).epsilon(0).upper < 3
    True

    Source: statement classic.private_selection.
    """

    base: Profile
    runs: Runs

    @cached_property
    def _known(self) -> Profile:
        """The guarantee of one run, whose answers share work."""
        return self.base.sharing()

    def _delta_at(self, point: Fraction) -> Bound:
        high = self._most(point)
        return Bound(min(self._least(point), high), high)

    def _most(self, point: Fraction) -> float:
        """Return an upper bound on delta. A large one is compared with what an epsilon further out implies."""
        found = self._sum(point)
        if found < _LARGE:
            return found
        ends = [(exact(self._top), 0.0)] if math.isfinite(self._top) else []
        ends += [(point + step, self._sum(point + step)) for step in _STEPS]
        return min(found, *(ApproxDP(at, delta).delta(point).upper for at, delta in ends))

    def _sum(self, point: Fraction) -> float:
        """Return an upper bound on delta: a sum of values of the base's profile, one for each knot."""
        total, parts = flint.arb(0), self._envelope.parts
        with precision(_BITS):
            for k, (log, share) in enumerate(parts):
                value = _profile(self._known, point - exact(log))
                total += share * value
                rest = sum((later for _, later in parts[k + 1 :]), flint.arb(0)) * value
                if rest < total * _NEGLIGIBLE:  # the values fall from each knot to the next
                    return min(round_up(total + rest), 1.0)
        return min(round_up(total), 1.0)

    def _least(self, point: Fraction) -> float:
        """Return a lower bound on delta, from a run whose score says nothing, or from one with three outputs."""
        with precision(_BITS):
            return max(Unranked(self._known, self.runs).delta(point).lower, self._by_three_outputs(point))

    def _by_three_outputs(self, point: Fraction) -> float:
        """Return the largest delta of some runs with three outputs, or 0.

        The output in the middle has the smallest likelihood ratio Q/P, and the best one has the largest. They are
        the sets that are hardest to tell apart by the base's trade-off function, or harder.
        """
        loss = max(point - exact(self._envelope.parts[0][0]), Fraction(0))
        mass = _mass_beyond(self._known, loss)
        bounded = math.isfinite(self._top)  # then the largest loss has a probability
        shares = (1.0, 0.05, 1e-3) if bounded else (1.0,)
        some = [exact(mass * share) for share in shares if 0 < mass * share < 1]
        least = [exact(self._known.trade_off(1 - at, -float(loss)).upper) for at in some]
        firsts = [*self._nodes, *zip(some, least, strict=True)]
        grown = arb_of(point).exp()
        pairs = ((first, last) for first in firsts for last in self._nodes if _convex(*first, *last))
        return max((self._difference(*first, *last, grown) for first, last in pairs), default=0.0)

    def _difference(self, x1: Fraction, v1: Fraction, x2: Fraction, v2: Fraction, grown: flint.arb) -> float:
        """Return P(S) - e^epsilon Q(S) for the selection S of the output in the middle, rounded down."""
        reached = [self.runs.none_above(arb_of(1 - at)) for at in (x2, x2 - x1, v2, v2 - v1)]
        found = reached[0] - reached[1] - grown * (reached[2] - reached[3])
        return max(round_down(found), 0.0) if found.is_finite() else 0.0

    @cached_property
    def _nodes(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Some probabilities x under P, and upper bounds on the least probability under Q of such a set."""
        best = self._envelope.missing
        ranks = {at for at in (best, best / 3, min(3 * best, (1 + best) / 2)) if 0 < at < 1}
        return tuple((1 - exact(at), exact(self._known.trade_off(at).upper)) for at in sorted(ranks))

    def _epsilon_at(self, target: Fraction) -> Bound:
        if target == 0:
            return self._pure()
        start = self._known.epsilon(target / max(exact(self.runs.mean), Fraction(1))).upper
        if math.isinf(start):
            return Bound(self._epsilon_at_failure(target), math.inf)
        high = _root(self._most, target, start + self._envelope.parts[0][0])
        points = (min(high, float(_FAR)) * (1 - share) for share in _SHARES)
        low = next((at for at in points if exact(self._least(exact(at))) > target), 0.0)
        plain = Unranked(self._known, self.runs).epsilon(target).lower
        return Bound(min(max(low, plain), high), high)

    def _epsilon_at_failure(self, target: Fraction) -> float:
        """Return infinity if a run's outputs that are impossible under Q are selected too often, and otherwise 0."""
        failure = flint.arb(self._known.delta(_FAR).lower)
        with precision(_BITS):
            return math.inf if 1 - self.runs.none_above(failure) > arb_of(target) else 0.0

    def _pure(self) -> Bound:
        """Return bounds on epsilon at delta 0: the base's epsilon and the largest quotient of two weights."""
        own = self._known.epsilon(0)
        if math.isinf(own.lower) or math.isinf(own.upper):
            return Bound(own.lower, math.inf)
        with precision(_BITS):
            missing = exact(self._envelope.missing)
            other = 1 - exact(self._known.trade_off(missing).upper)
            ratio = self.runs.ratio(arb_of(missing), arb_of(other)).log()
            low = round_down(arb_of(exact(own.lower)) + ratio) if ratio > 0 else own.lower
            return Bound(min(max(low, 0.0), self._top), self._top)

    @cached_property
    def _top(self) -> float:
        """An upper bound on the largest privacy loss, which may be infinite."""
        with precision(_BITS):
            return round_up(flint.arb(self._known.epsilon(0).upper) + flint.arb(self._envelope.parts[0][0]))

    @cached_property
    def _envelope(self) -> _Envelope:
        with precision(_BITS):
            return _envelope(self._known, self.runs)


_FAR, _STEP = Fraction(2**20), Fraction(1, 64)
_LARGE, _STEPS = 0.01, tuple(Fraction(k, 4) for k in (1, 2, 4, 8, 16))
_CLOSE, _NEGLIGIBLE = 1e-9, 1e-4
_SHARES = (1e-6, 5e-3, 1e-2, 1.5e-2, 2e-2, 3e-2, 5e-2, 0.1, 0.15, 0.3, 0.5, 0.8)


def _root(delta: Callable[[Fraction], float], target: Fraction, start: float) -> float:
    """Return an epsilon, near the least one, at which ``delta`` is at most ``target``; or infinity beyond 2^20."""

    @cache
    def gap(epsilon: float) -> float:
        found = delta(exact(epsilon))
        size = math.log(max(found, 1e-320)) - math.log(target)
        return max(size, 1e-12) if exact(found) > target else min(size, -1e-12)

    low, high = enclose(gap, start if 0 < start < _FAR else 1.0, 1e-9, float(_FAR), 1.25)
    if math.isinf(high):
        return math.inf
    if gap(low) <= 0:
        return 0.0 if gap(0.0) <= 0 else low
    return sign_change(gap, max(low, 0.0), high, close=_CLOSE, at=(gap(low), gap(high)))[1]


def _convex(x1: Fraction, v1: Fraction, x2: Fraction, v2: Fraction) -> bool:
    """Whether the points (0, 0), (x1, v1), (x2, v2), (1, 1) follow each other on a convex curve."""
    inside = 0 < x1 < x2 < 1
    return inside and v1 * (x2 - x1) <= (v2 - v1) * x1 and (v2 - v1) * (1 - x2) <= (1 - v2) * (x2 - x1)


def _profile(base: Profile, log: Fraction) -> flint.arb:
    """Return an upper bound on H(t) at t = e^log, the largest P(S) - t Q(S), also for t below 1."""
    found = flint.arb(base.delta(abs(log)).upper)
    return found if log >= 0 else 1 + arb_of(log).exp() * (found - 1)


def _mass_beyond(base: Profile, loss: Fraction) -> float:
    """Return a guess of the probability of the losses beyond ``loss``: H(t) - t H'(t) at t = e^loss."""
    here, there = base.delta(loss).upper, base.delta(loss + _STEP).upper
    return here + max(here - there, 0.0) / math.expm1(_STEP)


@dataclass(frozen=True)
class _Envelope:
    """The base's profile values that bound the delta of a selection.

    delta(epsilon) is at most the sum of share H(exp(epsilon - log)) over ``parts``, where H is the base's profile.
    """

    parts: tuple[tuple[float, flint.arb], ...]
    """Pairs of a log and a share. The first log is an upper bound on the logarithm of all quotients of weights."""
    missing: float
    """The probability under P of a better run, at the rank where the quotient of the weights is largest."""


def _envelope(base: Profile, runs: Runs) -> _Envelope:
    """Bound g(y) = max over ranks of f'(u) - y f'(v) from above by a piecewise linear function of y.

    The knots of this function are the numbers exp(log) of the result. Its slope changes by share/exp(log) there.
    """
    pieces = list(_pieces(_corners(base, runs), runs))
    largest = max(pieces, key=lambda piece: piece.high.mid())
    top = max(
        max(round_up(piece.high.log()) for piece in pieces if piece.high.mid() > largest.high.mid() * 0.999),
        0.0,
    )
    knots = [top - drop for drop in _DROPS]
    points = [(flint.arb(knot).exp(), knot) for knot in knots]
    shares: list[tuple[float, flint.arb]] = []
    height, slope = flint.arb(0), 0.0
    for (y, log), after in pairwise([*points, (flint.arb(0), 0.0)]):
        reach = max(round_up(piece.weight * (1 - after[0] / piece.high)) for piece in pieces)
        steeper = max(slope, round_up((flint.arb(reach) - height) / (y - after[0])))
        shares.append((log, (flint.arb(steeper) - slope) * y))
        height, slope = height + steeper * (y - after[0]), steeper
    return _Envelope(tuple((log, share) for log, share in shares if share > 0), largest.missing)


_DROPS = (0.0, 0.1, 0.25, 0.5, 0.8, 1.2, 1.8, 3.0, 5.0)
"""The knots, as distances of their logarithms from the first one."""


@dataclass(frozen=True)
class _Piece:
    """A range of ranks: upper bounds on its weights, and on the quotients of weights."""

    weight: flint.arb
    high: flint.arb
    missing: float
    """The end of the range at which the quotient is largest, as the probability of a better run."""


def _corners(base: Profile, runs: Runs) -> list[tuple[float, float]]:
    """Return the corners (1 - u, 1 - v) of a polygon below the curve v = T(1 - u), from u = 0 to u = 1."""
    least = min(float(runs.stop.mid()), 1 / float(exact(runs.mean)))
    pair = dominating_pair(base, points=_POINTS, smallest=least * _SMALL)
    rows = sorted(zip(pair.p, pair.q, strict=True), key=lambda row: _odds(exact(row[0]), exact(row[1])))
    corners, missing, other = [(0.0, 0.0)], flint.arb(0), flint.arb(0)
    for p, q in rows:
        missing, other = missing + arb_of(exact(p)), other + arb_of(exact(q))
        corners.append((max(round_down(missing), 0.0), min(round_up(other), 1.0)))
    return [(1.0, 1.0), *corners[-2::-1]]


_POINTS, _SMALL = 48, 1e-4


def _odds(p: Fraction, q: Fraction) -> Fraction | float:
    """Return p/q, or infinity. The outcomes that Q makes likely come last in the order of ranks."""
    return p / q if q else math.inf


def _pieces(corners: list[tuple[float, float]], runs: Runs) -> Iterator[_Piece]:
    """Cut the sides of the polygon so that the weight grows by little on each piece.

    On a side, the quotient of the weights is monotone. So it is largest at an end of each piece.
    """
    for first, last in pairwise(corners):
        growth = float(runs.ratio(flint.arb(last[0]), flint.arb(first[0])).log().mid())
        count = min(max(math.ceil(growth / _GROWTH), 1), _MOST_PIECES)
        places = [_between(first, last, k, count) for k in range(count + 1)]
        ratios = [runs.ratio(*place) for place in places]
        for k in range(count):
            best = k if ratios[k].mid() > ratios[k + 1].mid() else k + 1
            high = ratios[k].max(ratios[k + 1])
            yield _Piece(runs.weight(places[k + 1][0]), high, float(places[best][0].mid()))


_GROWTH, _MOST_PIECES = 0.02, 200


def _between(
    first: tuple[float, float], last: tuple[float, float], k: int, count: int
) -> tuple[flint.arb, flint.arb]:
    """Return the point a share k/count of the way between two corners."""
    share = flint.arb(k) / count
    missing, other = (flint.arb(a) + share * (flint.arb(b) - a) for a, b in zip(first, last, strict=True))
    return missing, other
