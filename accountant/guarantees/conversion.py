"""Conversions from Renyi to approximate differential privacy, one theorem each.

Each theorem turns "D_order(P||Q) <= renyi" into an upper bound on log delta(epsilon). The first two
are closed forms; the third is the optimum for one order: no smaller delta follows from that hypothesis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import flint

from dpproof.accountant.guarantees.joint_range import best_order, common_pair, optimal_delta
from dpproof.accountant.guarantees.orders import Orders, lowest_position, minimise_convex
from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.published.sources import Source

__all__ = ["CANONNE_KAMATH_STEINKE", "MIRONOV", "OPTIMAL", "Conversion", "Curve", "bits_needed", "convert"]

Curve = Callable[[flint.arb], flint.arb]
"""A Renyi curve: order -> upper bound on D_order in both directions."""


@dataclass(frozen=True)
class Conversion:
    """A theorem that bounds delta at one order; ``convex`` if its log delta is convex in the order."""

    name: str
    source: Source
    log_delta: Callable[[flint.arb, flint.arb, flint.arb], tuple[flint.arb, flint.arb]]
    convex: bool = True


def _mironov(order: flint.arb, renyi: flint.arb, epsilon: flint.arb) -> tuple[flint.arb, flint.arb]:
    value = (order - 1) * (renyi - epsilon)
    return value, value


def _canonne_kamath_steinke(
    order: flint.arb, renyi: flint.arb, epsilon: flint.arb
) -> tuple[flint.arb, flint.arb]:
    gap = order - 1
    value = gap * (renyi - epsilon) + gap * gap.log() - order * order.log()
    return value, value


def _optimal(order: flint.arb, renyi: flint.arb, epsilon: flint.arb) -> tuple[flint.arb, flint.arb]:
    pair = optimal_delta(order, renyi, epsilon)
    return _log(pair.lower), _log_above(pair.upper)


MIRONOV = Conversion("Mironov", Source("arXiv:1702.07476", "v3", "Proposition 3", "rlsvi.lemma8"), _mironov)
CANONNE_KAMATH_STEINKE = Conversion(
    "Canonne-Kamath-Steinke",
    Source("arXiv:2004.00010", "v5", "Proposition 12"),
    _canonne_kamath_steinke,
)
OPTIMAL = Conversion("optimal", Source("arXiv:2001.05990", "v1", "Theorem 3"), _optimal, convex=False)


def convert(
    conversion: Conversion, curve: Curve, orders: Orders, epsilon: Fraction, two_sided: bool = True
) -> tuple[flint.arb, flint.arb]:
    """Certified ends around the smallest delta that ``conversion`` gives over all ``orders``.

    Both ends are at most 1. The lower end is 0 where the search cannot certify a better one, or where
    ``two_sided`` is off and the costly part of that search is left out.

    Args:
        curve: the Renyi curve, evaluated at the precision in force. On an interval of orders it is
            nondecreasing and (order - 1) * curve(order) convex, as for every Renyi divergence and every
            sum of them.
        epsilon: at least 0.
    """
    closed_form = CANONNE_KAMATH_STEINKE if conversion is OPTIMAL else conversion
    with precision(_BITS):
        rough = _at_precision(closed_form, curve, orders, epsilon, two_sided)
    if conversion is closed_form:
        return rough
    bits = bits_needed(float(min(epsilon, _MOST_EPSILON)), rough[1]) + _bits_to_resolve(curve, orders)
    if bits > _MOST_BITS:
        return rough[0] * 0, rough[1]  # so far out the closed form is as good an upper end
    with precision(bits):
        low, high = _at_precision(conversion, curve, orders, epsilon, two_sided)
    # Where the stationary point was missed, the closed form is still a theorem.
    return low, high if high <= rough[1] else rough[1]


_BITS, _MOST_BITS, _MOST_EPSILON = 192, 1024, Fraction(10**6)


def bits_needed(epsilon: float, delta: flint.arb) -> int:
    """Working precision: the Lagrangian multiplies its error by e^epsilon and compares it with delta."""
    size = epsilon - (float(delta.log().mid()) if delta > 0 else 0.0)
    return _BITS + int(3 * size / math.log(2))


def _bits_to_resolve(curve: Curve, orders: Orders) -> int:
    """How far below 1 the divergence is: what is left of coins that hardly differ, squared."""
    some = orders.listed[0] if orders.listed else (1 + orders.below) / 2 if orders.below else Fraction(2)
    size = curve(arb_of(some)).log().mid()
    return max(0, int(-2 * float(size) / math.log(2))) if size.is_finite() else 0


def _at_precision(
    conversion: Conversion, curve: Curve, orders: Orders, point: Fraction, two_sided: bool
) -> tuple[flint.arb, flint.arb]:
    epsilon = arb_of(point)

    def ends(order: flint.arb) -> tuple[flint.arb, flint.arb]:
        return conversion.log_delta(order, curve(order), epsilon)

    if orders.listed is not None:
        pairs = [ends(arb_of(order)) for order in orders.listed]
        low, high = _least([pair[0] for pair in pairs]), min((pair[1] for pair in pairs), key=_middle)
    elif conversion.convex:
        low, high = minimise_convex(lambda order: ends(order)[1], orders)
    else:
        start = lowest_position(lambda a: _canonne_kamath_steinke(a, curve(a), epsilon)[1], orders)
        order = best_order(curve, orders, epsilon, start)
        common = common_pair(order, curve, orders, epsilon) if two_sided else flint.arb(0)
        low, high = _log(common), ends(order)[1]
    return _delta_below(low), _delta_above(high)


def _middle(value: flint.arb) -> float:
    return float(value.mid()) if not value.is_nan() else math.inf


def _least(values: list[flint.arb]) -> flint.arb:
    """A number certified to be at most each of ``values``."""
    lowest = flint.arb("-inf")
    ends = [lowest if value.is_nan() else value.lower() for value in values]
    return reduce(lambda left, right: left if left <= right else right, ends)


def _log(value: flint.arb) -> flint.arb:
    """The logarithm of a lower end; -inf where it is not certain to be above 0."""
    return value.log() if value > 0 else flint.arb("-inf")


def _log_above(value: flint.arb) -> flint.arb:
    """The logarithm of an upper end; of the highest number it may be, if it is not certain to be above 0."""
    if value > 0:
        return value.log()
    top = flint.arb("inf") if value.is_nan() else value.upper()
    return top.log() if top > 0 else flint.arb("-inf")


def _delta_above(log_delta: flint.arb) -> flint.arb:
    """A number at most 1 and at least every delta with this logarithm or less; 1 if it is unknown."""
    if log_delta.is_nan() or not log_delta < 0:
        return flint.arb(1)
    return flint.arb(0) if log_delta == flint.arb("-inf") else log_delta.exp()


def _delta_below(log_delta: flint.arb) -> flint.arb:
    """A number at most 1 and at most every delta with this logarithm or more; 0 if it is unknown."""
    if log_delta >= 0:
        return flint.arb(1)
    if log_delta.is_nan() or not log_delta.is_finite():
        return flint.arb(0)
    return log_delta.exp() if log_delta < 0 else log_delta.lower().exp()
