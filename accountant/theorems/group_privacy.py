"""Group privacy: the guarantee for k records of one user that follows from a guarantee for one record.

Data sets that differ in k records are connected by a chain of k neighbouring steps. Some notions of privacy
have a theorem of their own. For any other guarantee the code computes the best bound that follows from the
privacy profile along the chain. In terms of the trade-off function f for one record, the bound is 1 - f
composed k times with itself (docs/notes/group_privacy.md).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import singledispatch
from itertools import accumulate, pairwise

import flint
from numpy.typing import NDArray

from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from dpproof.accountant.guarantees.orders import Orders
from dpproof.accountant.guarantees.profile import BestOf, Profile, ends_of
from dpproof.accountant.numbers.arithmetic import math, np
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import below, enclose, last_where, sign_change

_BITS = 192
Floats = NDArray[np.float64]


def group_privacy(guarantee: Profile, records: int) -> Profile:
    """Return the guarantee for k = ``records`` records of one user, from the ``guarantee`` for one record.

    Approximate privacy becomes (k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1)) (Vadhan 2017, Lemma
    2.2). zCDP becomes k^2 rho (Bun and Steinke, arXiv:1605.02065v1, Proposition 1.9). Gaussian privacy
    becomes k mu (Dong, Roth and Su, arXiv:1905.02383v3, Section 2.5). Renyi privacy gets the curve of
    ``docs/notes/group_privacy.md``, and every other guarantee becomes a ``GroupProfile``.

    >>> group_privacy(GaussianDP(0.5), 4)
    GaussianDP(mu=Bound(lower=2.0, upper=2.0, of='guarantee', attained_by=None))
    >>> group_privacy(ApproxDP(1, 0), 3).epsilon(0).upper
    3.0

    Raises:
        ValueError: if ``records`` is no integer of at least 1, or a Renyi curve is known at no order that
            the group needs.
    """
    whole(records, "records", 1)
    return guarantee if records == 1 else _group(guarantee, records)


@singledispatch
def _group(guarantee: Profile, records: int) -> Profile:
    return GroupProfile(guarantee, records)


@_group.register
def _(guarantee: ApproxDP, records: int) -> Profile:
    epsilons = ends_of(guarantee.epsilon_parameter, "epsilon")
    deltas = ends_of(guarantee.delta_parameter, "delta")
    with precision(_BITS):
        factors = (_geometric(arb_of(end), records) for end in epsilons)
        low, high = (arb_of(end) * factor for end, factor in zip(deltas, factors, strict=True))
        delta = Bound(min(round_down(low), 1.0), min(round_up(high), 1.0))
        return ApproxDP(_scaled(epsilons, records), delta)


def _geometric(epsilon: flint.arb, records: int) -> flint.arb:
    """1 + e^epsilon + ... + e^((records - 1) epsilon)."""
    return (records * epsilon).expm1() / epsilon.expm1() if epsilon != 0 else flint.arb(records)


def _scaled(ends: tuple[Fraction, Fraction], factor: int) -> Bound:
    with precision(_BITS):
        return Bound(round_down(arb_of(ends[0] * factor)), round_up(arb_of(ends[1] * factor)))


@_group.register
def _(guarantee: GaussianDP, records: int) -> Profile:
    if guarantee.square is not None:
        return GaussianDP.of_square(guarantee.square * records**2)
    return GaussianDP(_scaled(ends_of(guarantee.mu, "mu"), records))


@_group.register
def _(guarantee: ZCDP, records: int) -> Profile:
    return ZCDP(_scaled(ends_of(guarantee.rho, "rho"), records**2), guarantee.conversion)


_GRID = tuple(1 + Fraction(2 ** (k / 4)) for k in range(-32, 41))


@_group.register
def _(guarantee: RenyiDP, records: int) -> Profile:
    """Return the curve of the group. For a pure guarantee, ``records`` times its epsilon holds too."""
    pure = guarantee.epsilon(0)
    curve = _group_curve(guarantee, records)
    if math.isinf(pure.upper):
        return curve
    ends = exact(pure.lower), exact(pure.upper)
    return BestOf((curve, PureDP(_scaled(ends, records))))


def _group_curve(guarantee: RenyiDP, records: int) -> RenyiDP:
    """D_a <= k a sum over j = 1..k of curve(x_j)/x_j, x_j = k (a - 1) + j. It is exact for a linear curve."""

    def curve(order: flint.arb) -> flint.arb:
        links = (records * (order - 1) + j for j in range(1, records + 1))
        return records * order * sum((guarantee.curve(link) / link for link in links), flint.arb(0))

    return RenyiDP(curve, Orders(listed=_orders(guarantee.orders, records)), guarantee.conversion)


def _orders(orders: Orders, records: int) -> tuple[Fraction, ...]:
    """Return a list of the group's orders for which the curve is known along the whole chain.

    The group's curve need not be convex.
    """
    first = orders.listed or tuple(1 + records * (order - 1) for order in _GRID)
    if orders.listed is None and orders.below is not None:
        first = tuple(1 + (orders.below - records) * Fraction(k, 64) for k in range(1, 64))
    known = tuple(
        1 + (x - 1) / records for x in first if x > 1 and all(orders.admits(x + j) for j in range(records))
    )
    if not known:
        raise ValueError(
            f"records ({records}) is too large, because the Renyi curve is not known at the orders needed"
        )
    return known


@dataclass(frozen=True)
class GroupProfile(Profile):
    """The guarantee for data sets connected by a chain of ``records`` neighbouring steps, each with ``guarantee``.

    Let k be ``records``, and delta(e) the privacy profile of one step, with delta(-e) = 1 - e^-e + e^-e
    delta(e). Split epsilon in any way into e_1 + ... + e_k. Then the delta of the whole chain is at most the
    sum over i of e^(e_1 + ... + e_(i-1)) delta(e_i). The best split gives the same bound as composing 1 - f k
    times with itself, where f is the trade-off function of one step. For the lower bound on delta, upper
    bounds on f are composed, from a single starting probability on.

    Source: Dong, Roth and Su, arXiv:1905.02383v3, Section 2.5; the split is in docs/notes/group_privacy.md.

    >>> GroupProfile(GaussianDP("0.5"), 2).delta(1).upper
    0.126937
    """

    guarantee: Profile
    records: int
    _memo: dict[float, Bound] = field(default_factory=dict, repr=False, compare=False)
    _found: dict[Fraction, tuple[float, tuple[float, ...], float]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def _epsilon_at(self, target: Fraction) -> Bound:
        """Bounds on epsilon, accurate to about seven digits."""
        if target == 0:
            return self._pure()
        high = self._first_below(target)
        if high == 0 or math.isinf(high):
            return Bound(0.0, high)
        low = below(lambda point: flint.arb(self._delta_at(point).lower), high, target, high * 0.99e-6)
        return Bound(low, high)

    def _first_below(self, target: Fraction) -> float:
        """Return an epsilon near the smallest whose upper bound is at most ``target``; infinite if none is found."""

        def gap(point: float) -> float:
            found = self._upper(Fraction(point))[0]
            size = _log(Fraction(found)) - _log(target)
            return max(size, 1e-18) if found > target else min(size, -1e-18)

        if gap(0.0) <= 0:
            return 0.0
        low, high = enclose(gap, 1.0, 0.0, _LARGEST, math.inf)
        if math.isinf(high):
            return math.inf
        for close in (1e-6, 1e-9):  # the first search refines the splits that the second one's bounds rest on
            self._found.clear()
            found = sign_change(gap, low, high, close=close, apart=1e-18, at=(gap(low), gap(high)))[1]
            if found < _NEAR and gap(0.0) <= 0:  # with the refined splits
                return 0.0
        return found

    def _delta_at(self, point: Fraction) -> Bound:
        high, split, start = self._upper(point)
        low = self._attained(split, start, point)
        return Bound(min(max(low, 0.0), high), high)

    def _pure(self) -> Bound:
        one = self.guarantee.epsilon(0)
        if math.isinf(one.lower):
            return Bound(math.inf, math.inf)
        with precision(_BITS):
            high = math.inf if math.isinf(one.upper) else round_up(self.records * flint.arb(one.upper))
        return Bound(0.0, high)

    def _at(self, epsilon: float) -> Bound:
        if epsilon not in self._memo:
            self._memo[epsilon] = self.guarantee.delta(epsilon)
        return self._memo[epsilon]

    def _link(self, epsilon: float) -> flint.arb:
        """Return the upper bound on delta at an epsilon of either sign."""
        delta = flint.arb(self._at(abs(epsilon)).upper)
        return delta if epsilon >= 0 else -flint.arb(epsilon).expm1() + flint.arb(epsilon).exp() * delta

    def _sum(self, split: tuple[float, ...], point: Fraction) -> flint.arb:
        """Return the bound of a split, after its last part is changed so that the sum is at most ``point``."""
        parts = split[:-1]
        before = [flint.arb(0), *accumulate(map(flint.arb, parts))]
        last = round_down(arb_of(point) - before[-1])
        pairs = zip(before, (*parts, last), strict=True)
        return sum((start.exp() * self._link(part) for start, part in pairs), flint.arb(0))

    def _upper(self, point: Fraction) -> tuple[float, tuple[float, ...], float]:
        """Return the least bound found, its split, and the starting probability at which that split is best."""
        if point not in self._found:
            self._found[point] = min(reversed(list(self._splits(point))), key=lambda found: found[0])
        return self._found[point]

    def _splits(self, point: Fraction) -> Iterator[tuple[float, tuple[float, ...], float]]:
        """Yield splits among the epsilons evaluated so far. Each split adds epsilons around its parts."""
        for epsilon in _FIRST:
            self._at(epsilon)
        finest = max(float(point) / self.records, 0.125) * 2e-5
        for _ in range(_ROUNDS):
            split, start = best_split(self._tangents(), self.records, float(point))
            near = self._halved(split, finest)
            with precision(_BITS):
                yield min(round_up(self._sum(split, point)), 1.0), split, start
            if not near:
                return
            for epsilon in near:
                self._at(epsilon)

    def _tangents(self) -> tuple[Floats, Floats]:
        """Return (e, delta(e)) at all epsilons evaluated so far, of both signs."""
        known = np.array([(epsilon, bound.upper) for epsilon, bound in self._memo.items() if epsilon < 700])
        e, t = np.concatenate([known[:, 0], -known[:, 0]]), np.exp(-known[:, 0])
        return e, np.concatenate([known[:, 1], 1 - t + t * known[:, 1]])

    def _halved(self, split: tuple[float, ...], finest: float) -> set[float]:
        """Return the middles of the intervals between evaluated epsilons that contain or touch a part of the split."""
        asked, halves = sorted(self._memo), set()
        known = asked[:1] + [b for a, b in pairwise(asked) if b - a > finest / 8]  # not a place twice
        for part in {abs(part) for part in split}:
            place = bisect_left(known, part - finest / 8)
            around = known[max(place - 1, 0) : place + 2]
            halves |= {(a + b) / 2 for a, b in pairwise(around) if b - a > finest}
        return halves

    def _attained(self, split: tuple[float, ...], start: float, point: Fraction) -> float:
        """Return P(E) - e^epsilon Q(E) for an event E, followed along the chain by lower bounds on 1 - f."""
        chance = start
        with precision(_BITS):
            for part in reversed(split):
                chance = round_down(1 - flint.arb(self.guarantee.trade_off(chance, part).upper))
                chance = max(chance, 0.0)
            return round_down(flint.arb(chance) - arb_of(point).exp() * flint.arb(start))


def _log(value: Fraction) -> float:
    with precision(_BITS):
        return float(arb_of(value).log()) if value else -1e6


_ROUNDS, _LARGEST, _NEAR = 20, 1e6, 1e-6
_FIRST = (0.0, *(2 ** (j / 2) for j in range(-12, 19)))


def best_split(
    tangents: tuple[Floats, Floats], records: int, epsilon: float
) -> tuple[tuple[float, ...], float]:
    """Return the best split of ``epsilon`` over a chain of ``records`` steps, and a starting probability.

    ``tangents`` holds values e and delta(e) of the privacy profile of one step. G(x) is the least of the
    numbers exp(e) x + delta(e). Compose G ``records`` times with itself, and take the tangent to the result
    with the slope exp(epsilon). The split belongs to this tangent. The starting probability is the x at which
    the tangent touches. If no tangent has this slope, the function returns a mixture of the splits with the
    next larger and the next smaller slope.

    >>> best_split((np.array([0.0, 1.0, -1.0]), np.array([0.4, 0.0, 0.7])), 2, 2.0)[0]
    (1.0, 1.0)
    """
    slopes = np.exp(tangents[0])

    def parts(x: float) -> Floats:
        chosen = []
        for _ in range(records):
            values = slopes * x + tangents[1]
            best = int(np.argmin(values))
            chosen.append(tangents[0][best])
            x = min(float(values[best]), 1.0)
        return np.array(chosen[::-1])

    low, high = last_where(lambda x: bool(parts(math.exp(x)).sum() >= epsilon), -700.0, 0.0)
    left, right = parts(math.exp(low)), parts(math.exp(high))
    gap = left.sum() - right.sum()
    share = min(max((epsilon - right.sum()) / gap, 0.0), 1.0) if gap > 0 else 0.0
    return tuple(map(float, right + share * (left - right))), math.exp(low)
