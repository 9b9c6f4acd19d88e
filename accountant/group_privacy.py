"""Group privacy: what a guarantee for one record says about k records of one user.

Neighbouring data that differ in k records are the ends of a chain of k steps. Each notion has its theorem;
any other guarantee is carried along the chain by its privacy profile, which loses nothing: the bound is the
trade-off function composed k times with itself (docs/notes/group_privacy.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import singledispatch
from itertools import accumulate

import flint

from accountant.bounds import Bound
from accountant.enclosures import Number, arb_of, exact, precision, round_down, round_up
from accountant.inversion import below, bracket
from accountant.notions import ZCDP, ApproxDP, GaussianDP, Guarantee, RenyiDP, ends_of
from accountant.orders import Orders, lowest
from accountant.trade_off import trade_off

__all__ = ["GroupProfile", "group_privacy"]

_BITS = 192


def group_privacy(guarantee: Guarantee, records: int) -> Guarantee:
    """The guarantee for ``records`` records, from the ``guarantee`` for one.

    Approximate privacy becomes (k epsilon, delta (e^(k epsilon) - 1)/(e^epsilon - 1)) (Vadhan 2017, Lemma
    2.2), zCDP k^2 rho (Bun and Steinke, arXiv:1605.02065v1, Proposition 1.9), Gaussian privacy k mu (Dong,
    Roth and Su, arXiv:1905.02383v3, Section 2.5), Renyi privacy the curve of ``docs/notes/group_privacy.md``,
    and every other guarantee a ``GroupProfile``.

    >>> group_privacy(GaussianDP(0.5), 4)
    GaussianDP(mu=Bound(lower=2.0, upper=2.0, of='guarantee', attained_by=None))
    >>> group_privacy(ApproxDP(1, 0), 3).epsilon(0).upper
    3.0

    Raises:
        ValueError: if ``records`` is no integer of at least 1, or a Renyi curve is known at no order that
            the group needs.
    """
    if isinstance(records, bool) or not isinstance(records, int) or records < 1:
        raise ValueError(f"records ({records!r}) must be an integer at least 1")
    return guarantee if records == 1 else _group(guarantee, records)


@singledispatch
def _group(guarantee: Guarantee, records: int) -> Guarantee:
    return GroupProfile(guarantee, records)


@_group.register
def _(guarantee: ApproxDP, records: int) -> Guarantee:
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
def _(guarantee: GaussianDP, records: int) -> Guarantee:
    return GaussianDP(_scaled(ends_of(guarantee.mu, "mu"), records))


@_group.register
def _(guarantee: ZCDP, records: int) -> Guarantee:
    return ZCDP(_scaled(ends_of(guarantee.rho, "rho"), records**2), guarantee.conversion)


_GRID = tuple(1 + Fraction(2 ** (k / 4)) for k in range(-32, 41))


@_group.register
def _(guarantee: RenyiDP, records: int) -> Guarantee:
    """D_a <= k a sum over j = 1..k of curve(x_j)/x_j, x_j = k (a - 1) + j: exact for a linear curve."""

    def curve(order: flint.arb) -> flint.arb:
        links = (records * (order - 1) + j for j in range(1, records + 1))
        return records * order * sum((guarantee.curve(link) / link for link in links), flint.arb(0))

    return RenyiDP(curve, Orders(listed=_orders(guarantee.orders, records)), guarantee.conversion)


def _orders(orders: Orders, records: int) -> tuple[Fraction, ...]:
    """The group's orders all of whose links are known: listed, for its curve need not be convex."""
    first = orders.listed or tuple(1 + records * (order - 1) for order in _GRID)
    if orders.listed is None and orders.below is not None:
        first = tuple(1 + (orders.below - records) * Fraction(k, 64) for k in range(1, 64))
    known = tuple(
        1 + (x - 1) / records for x in first if x > 1 and all(orders.admits(x + j) for j in range(records))
    )
    if not known:
        raise ValueError(f"records ({records}) asks for orders beyond those the curve is known at")
    return known


@dataclass(frozen=True)
class GroupProfile:
    """The privacy profile of ``records`` steps along the chain, each with the profile of ``guarantee``.

    For any split epsilon = e_1 + ... + e_k the sum of e^(e_1 + ... + e_(i-1)) delta(e_i) bounds delta, with
    delta(-e) = 1 - e^-e + e^-e delta(e); the best split attains 1 - f composed k times. The lower end
    composes the upper ends of the trade-off function at one point.

    Source: Dong, Roth and Su, arXiv:1905.02383v3, Section 2.5; the split is in docs/notes/group_privacy.md.

    >>> GroupProfile(GaussianDP("0.5"), 2).delta(1).upper
    0.126937
    """

    guarantee: Guarantee
    records: int
    _memo: dict[float, Bound] = field(default_factory=dict, repr=False, compare=False)

    def delta(self, epsilon: Number) -> Bound:
        """See ``Guarantee.delta``."""
        point = ends_of(exact(epsilon, "epsilon"), "epsilon")[0]
        with precision(_BITS):
            split = self._split(arb_of(point))
            high = min(round_up(self._sum(split, point)), 1.0)
            low = self._attained(split, point)
        return Bound(min(max(low, 0.0), high), high)

    def epsilon(self, delta: Number) -> Bound:
        """See ``Guarantee.epsilon``."""
        target = exact(delta, "delta")
        if not 0 <= target < 1:
            raise ValueError(f"delta ({delta!r}) must be in [0, 1)")
        if target == 0:
            return self._pure()
        _, high = bracket(lambda point: flint.arb(self.delta(point).upper), target)
        if math.isinf(high):
            return Bound(0.0, high)
        low = below(lambda point: flint.arb(self.delta(point).lower), high, target, high * 1e-8)
        return Bound(low, high)

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
        """The upper end of delta at an epsilon of either sign."""
        delta = flint.arb(self._at(abs(epsilon)).upper)
        return delta if epsilon >= 0 else -flint.arb(epsilon).expm1() + flint.arb(epsilon).exp() * delta

    def _sum(self, split: tuple[float, ...], point: Fraction) -> flint.arb:
        """The bound of a split whose last part is taken to the end that makes the sum at most ``point``."""
        before = [flint.arb(0), *accumulate(map(flint.arb, split))]
        last = round_down(arb_of(point) - before[-1])
        parts = zip(before, (*split, last), strict=True)
        return sum((start.exp() * self._link(part) for start, part in parts), flint.arb(0))

    def _split(self, epsilon: flint.arb) -> tuple[float, ...]:
        """All parts but the last of a good split: near an arithmetic progression, as for Gaussians."""
        mean, k = float(epsilon.mid()) / self.records, self.records
        point = Fraction(float(epsilon.mid()))

        def progression(step: float) -> tuple[float, ...]:
            return tuple(mean + step * (i - (k - 1) / 2) for i in range(k - 1))

        def height(split: tuple[float, ...]) -> float:
            value = self._sum(split, point).mid()
            return float(value.log()) if value > 0 else -1e6

        scale = max(mean, 0.125)
        found = progression(lowest(lambda step: height(progression(step)), 0.0, scale / 4, 1e-6 * scale))
        for _ in range(_PASSES):
            for i in range(k - 1):
                found = _improve(height, found, i, scale)
        return found

    def _attained(self, split: tuple[float, ...], point: Fraction) -> float:
        """P(E) - e^epsilon Q(E) of an event carried along the chain by lower ends of 1 - f."""
        last = float(arb_of(point).mid()) - math.fsum(split)
        width = 1e-4
        with precision(_BITS):
            left, right = self._link(last - width), self._link(last + width)
            t = flint.arb(last).exp()
            start = float(((left - right) / (t * 2 * flint.arb(width).sinh())).mid())
            chance = start = min(max(start, 0.0), 1.0)
            for _ in range(self.records):
                chance = round_down(1 - flint.arb(trade_off(self.guarantee, chance).upper))
            return round_down(flint.arb(chance) - arb_of(point).exp() * flint.arb(start))


_PASSES = 2


def _improve(
    height: Callable[[tuple[float, ...]], float], split: tuple[float, ...], index: int, scale: float
) -> tuple[float, ...]:
    """The split with the part at ``index`` moved, against the one after it, to where the bound is lowest."""

    def moved(by: float) -> tuple[float, ...]:
        return tuple(
            part + (by if i == index else -by if i == index + 1 else 0.0) for i, part in enumerate(split)
        )

    return moved(lowest(lambda by: height(moved(by)), 0.0, scale / 64, 1e-6 * scale))
