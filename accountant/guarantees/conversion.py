"""Conversions from Renyi to approximate differential privacy, at one order and optimised over all orders.

A conversion is a theorem that turns a bound on the Renyi divergence, D_order(P||Q) <= renyi, into an upper
bound on log delta(epsilon). This module has three conversions. Two are closed forms. The third is optimal for
one order: no smaller delta follows from a bound on D_order(P||Q).

At a given delta, a conversion gives one epsilon for each order. As the order grows, this epsilon first falls
and then rises. The search for the best order is not certified. The upper bound is what the theorem gives at
the order that the search found. This bound is valid even if another order is better. The lower bound is
certified over all orders, by the convexity of (order - 1) * D_order as a function of the order
(docs/notes/renyi.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import flint

from dpproof.accountant.guarantees.joint_range import best_order, common_pair, optimal_delta
from dpproof.accountant.guarantees.orders import Orders, lowest, lowest_position, minimise_convex
from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.numbers.inversion import first_step
from dpproof.accountant.published.sources import Source

Curve = Callable[[flint.arb], flint.arb]
"""A Renyi curve: a function that returns an upper bound on the Renyi divergence of the given order.

The bound holds in both directions of the neighbouring relation.
"""


@dataclass(frozen=True)
class Conversion:
    """A theorem that turns a bound on the Renyi divergence of one order into a bound on delta.

    ``log_delta`` returns a lower and an upper bound on log delta, given the order, the bound on the Renyi
    divergence, and epsilon. ``convex`` is true if log delta is convex in the order.
    """

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
    """Return certified bounds on the smallest delta at ``epsilon`` that ``conversion`` gives over all ``orders``.

    Both bounds are at most 1. The lower bound is 0 if the search cannot certify a larger one. If
    ``two_sided`` is false, the function skips the costly part of this search, and the lower bound may be 0.

    Args:
        curve: the Renyi curve, evaluated at the current working precision. On an interval of orders the curve
            must be nondecreasing, and (order - 1) * curve(order) must be convex. Every Renyi divergence and
            every sum of them has these properties.
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
    """Return the working precision in bits that the optimal conversion needs.

    The precision grows with ``epsilon``, because the computation multiplies rounding errors by e^epsilon.
    """
    size = epsilon - (float(delta.log().mid()) if delta > 0 else 0.0)
    return _BITS + int(3 * size / math.log(2))


def _bits_to_resolve(curve: Curve, orders: Orders) -> int:
    """Return the extra working bits that resolve the square of a Renyi divergence far below 1."""
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
    """Return the logarithm of a lower bound, or -inf if the bound is not certainly above 0."""
    return value.log() if value > 0 else flint.arb("-inf")


def _log_above(value: flint.arb) -> flint.arb:
    """Return the logarithm of an upper bound. If it may be at most 0, use its largest possible value."""
    if value > 0:
        return value.log()
    top = flint.arb("inf") if value.is_nan() else value.upper()
    return top.log() if top > 0 else flint.arb("-inf")


def _delta_above(log_delta: flint.arb) -> flint.arb:
    """Return a number in [0, 1] that is at least every delta with at most this logarithm; 1 if it is unknown."""
    if log_delta.is_nan() or not log_delta < 0:
        return flint.arb(1)
    return flint.arb(0) if log_delta == flint.arb("-inf") else log_delta.exp()


def _delta_below(log_delta: flint.arb) -> flint.arb:
    """Return a number in [0, 1] that is at most every delta with at least this logarithm; 0 if it is unknown."""
    if log_delta >= 0:
        return flint.arb(1)
    if log_delta.is_nan() or not log_delta.is_finite():
        return flint.arb(0)
    return log_delta.exp() if log_delta < 0 else log_delta.lower().exp()


_ORDER_BITS, _ORDER_MOST_BITS, _MOST_BITS_BELOW = 192, 1024, 4096


def least_epsilon(
    conversion: Conversion, curve: Curve, orders: Orders, delta: Fraction
) -> tuple[float, float]:
    """Return bounds on the smallest epsilon >= 0 at which ``conversion`` gives at most ``delta`` for some order.

    >>> from dpproof.accountant.guarantees.conversion import OPTIMAL
    >>> low, high = least_epsilon(OPTIMAL, lambda order: order / 2, Orders(), Fraction(1, 10**6))
    >>> high, (high - low) / high < 1e-8
    (5.2215343, True)

    Args:
        conversion: the theorem. curve, orders: as in ``dpproof.accountant.guarantees.conversion.convert``.
        delta: above 0 and below 1.
    """
    if orders.listed is not None:
        return _listed(conversion, curve, orders, delta)
    with precision(_ORDER_BITS):
        position, guess = _closed_form(conversion, curve, orders, delta)
    if not conversion.convex and math.isfinite(guess):
        position, guess = _exact(curve, orders, delta, position, guess)
    with precision(_ORDER_BITS):
        order = Fraction(int((at := orders.at(position).mid().fmpq()).p), int(at.q))
    if math.isnan(guess) or guess == math.inf:
        return 0.0, math.inf
    if guess <= 0 and convert(conversion, curve, orders, Fraction(0), two_sided=False)[1] <= arb_of(delta):
        return 0.0, 0.0
    high = _above(conversion, curve, order, max(guess, _TINY), delta)
    return _below(conversion, curve, orders, order, position, high, delta), high


_TINY = 1e-12


def _listed(conversion: Conversion, curve: Curve, orders: Orders, delta: Fraction) -> tuple[float, float]:
    """Bounds over finitely many orders. One order certifies the upper bound, all orders the lower bound."""
    guess, best = _best_listed(conversion, curve, orders.listed or (), delta)
    if not guess < math.inf:
        return 0.0, math.inf
    if guess <= 0 and convert(conversion, curve, orders, Fraction(0), two_sided=False)[1] <= arb_of(delta):
        return 0.0, 0.0
    high = _above(conversion, curve, best, max(guess, _TINY), delta)
    points = (high * (1 - share) for share in (2.0**-50, 2.0**-44, *_SHARES))
    goal = arb_of(delta)
    low = (p for p in points if convert(conversion, curve, orders, Fraction(p))[0] > goal)
    return (0.0 if math.isinf(high) else next(low, 0.0)), high


def _best_listed(
    conversion: Conversion, curve: Curve, listed: tuple[Fraction, ...], delta: Fraction
) -> tuple[float, Fraction]:
    """Return the smallest epsilon over the listed orders, and its order.

    The optimal conversion is evaluated only at the orders that rank best by the closed form.
    """
    with precision(_ORDER_BITS):
        epsilon, goal = _by_closed_form(conversion, curve, delta), arb_of(delta).log()
        ranked = sorted((_number(epsilon(arb_of(order))), order) for order in listed)
        rough = ranked[0][0]
    if conversion.convex or not math.isfinite(rough):
        return ranked[0]
    with precision(_ORDER_BITS):
        bits = bits_needed(max(rough, 0.0), arb_of(delta))
    if bits > _ORDER_MOST_BITS:
        return ranked[0]
    with precision(bits):
        return min((_root(arb_of(order), curve, goal), order) for _, order in ranked[:_LIKELY])


_LIKELY = 16


def _number(value: flint.arb) -> float:
    return math.inf if value.is_nan() else float(value.mid())


def _by_closed_form(conversion: Conversion, curve: Curve, delta: Fraction) -> Curve:
    """Return the map from order to epsilon if log delta is (order - 1)(renyi - epsilon) plus a term in the order."""
    theorem = conversion if conversion.convex else CANONNE_KAMATH_STEINKE
    goal, zero = arb_of(delta).log(), flint.arb(0)
    return lambda a: curve(a) + (theorem.log_delta(a, zero, zero)[1] - goal) / (a - 1)


def _closed_form(
    conversion: Conversion, curve: Curve, orders: Orders, delta: Fraction
) -> tuple[float, float]:
    """Return the best position and epsilon of the closed form.

    For the optimal conversion this is the closed form that bounds it from above.
    """
    epsilon = _by_closed_form(conversion, curve, delta)
    position = lowest_position(epsilon, orders)
    return position, float(epsilon(orders.at(position)).mid())


def _exact(curve: Curve, orders: Orders, delta: Fraction, start: float, rough: float) -> tuple[float, float]:
    """Return the best position and epsilon of the optimal conversion, searched near those of the closed form."""
    with precision(_ORDER_BITS):
        bits = bits_needed(max(rough, 0.0), arb_of(delta))
    if bits > _ORDER_MOST_BITS:
        return start, rough
    with precision(bits):
        goal = arb_of(delta).log()
        position = lowest(lambda at: _root(orders.at(at), curve, goal), start, 0.125)
        found = _root(orders.at(position), curve, goal)
    return (position, found) if math.isfinite(found) else (start, rough)


def _root(order: flint.arb, curve: Curve, goal: flint.arb) -> float:
    """Estimate the epsilon at which the optimal delta of one order has the logarithm ``goal``.

    It uses secants in Arb.
    """
    renyi, gap, zero = curve(order).mid(), order - 1, flint.arb(0)
    rest = CANONNE_KAMATH_STEINKE.log_delta(order, zero, zero)[1]
    right = (renyi + (rest - goal) / gap).mid()
    if right <= 0:
        return float(right)  # beyond what the conversion is asked for; a guide only
    slope, left, at_left = -gap, right, flint.arb(0)
    for step in range(12):
        at_right = (optimal_delta(order, renyi, right).upper.log() - goal).mid()
        if not at_right.is_finite():
            return math.inf
        slope = ((at_right - at_left) / (right - left)).mid() if step else slope
        if slope >= 0 or abs(float(at_right)) < 1e-15:
            break
        left, at_left, right = right, at_right, (right - at_right / slope).mid()
        right = right if right > 0 else left / 2
    return float(right)


def _above(conversion: Conversion, curve: Curve, order: Fraction, guess: float, delta: Fraction) -> float:
    """Return the first epsilon from ``guess`` upwards, in doubling steps, that the theorem certifies at this order."""
    single = Orders(listed=(order,))
    with precision(_ORDER_BITS):
        goal = arb_of(delta)
    return first_step(
        lambda epsilon: bool(convert(conversion, curve, single, Fraction(epsilon))[1] <= goal),
        guess,
        math.ulp(guess),
        math.inf,
    )


def _below(
    conversion: Conversion,
    curve: Curve,
    orders: Orders,
    order: Fraction,
    position: float,
    high: float,
    delta: Fraction,
) -> float:
    """Return an epsilon below ``high`` at which no order gives ``delta``; 0 if none is found."""

    def closed_form(point: Fraction) -> flint.arb:
        with precision(_ORDER_BITS):
            epsilon = arb_of(point)
            low, _ = minimise_convex(
                lambda a: conversion.log_delta(a, curve(a), epsilon)[1], orders, position
            )
            return low.exp() if low.is_finite() else flint.arb(0)

    def attained(point: Fraction) -> flint.arb:
        bits = bits_needed(float(point), arb_of(delta))
        with precision(min(bits, _MOST_BITS_BELOW)):
            epsilon, best = arb_of(point), arb_of(order)
            if point < Fraction(high) * _NEAR:  # the best order is another one there
                best = best_order(curve, orders, epsilon, position)
            return common_pair(best, curve, orders, epsilon)

    if high == math.inf:
        return 0.0
    reach = closed_form if conversion.convex else attained
    costly = bits_needed(high, arb_of(delta)) > _MOST_BITS_BELOW
    points = (high * (1 - share) for share in _SHARES[: 3 if costly else None])
    return next((point for point in points if reach(Fraction(point)) > arb_of(delta)), 0.0)


_NEAR = 1 - Fraction(1, 10**6)
_SHARES = (1e-10, 3e-10, 3e-9, 1e-7, 1e-5, 1e-3, 1e-2, 0.1)
