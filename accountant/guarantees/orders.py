"""Search for the best Renyi order, with certified bounds on the minimum of a convex function of the order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import flint

Function = Callable[[flint.arb], flint.arb]


@dataclass(frozen=True)
class Orders:
    """The orders at which a Renyi curve is known: finitely many orders, or all orders between 1 and ``below``.

    >>> Orders(listed=(Fraction(2), Fraction(4))).meet(Orders()).listed
    (Fraction(2, 1), Fraction(4, 1))
    """

    below: Fraction | None = None
    """The curve is known at the orders above 1 and below this number; ``None`` means at all orders above 1."""
    listed: tuple[Fraction, ...] | None = None
    """If given, the curve is known at these orders only."""

    def __post_init__(self) -> None:
        for order in (*(self.listed or ()), *((self.below,) if self.below is not None else ())):
            if order <= 1:
                raise ValueError(f"order ({order}) must be above 1")
        if self.listed == ():
            raise ValueError("listed (()) must hold at least one order")

    def admits(self, order: Fraction) -> bool:
        """Return whether the Renyi curve is known at ``order``."""
        inside = order > 1 and (self.below is None or order < self.below)
        return inside and (self.listed is None or order in self.listed)

    def meet(self, other: Orders) -> Orders:
        """Return the orders that are both in this object and in ``other``."""
        ends = [end for end in (self.below, other.below) if end is not None]
        lists = [orders.listed for orders in (self, other) if orders.listed is not None]
        below = min(ends, default=None)
        both = Orders(below)
        if not lists:
            return both
        kept = tuple(
            order for order in lists[0] if both.admits(order) and all(order in listed for listed in lists)
        )
        return Orders(below, kept)

    def at(self, position: float) -> flint.arb:
        """Return the order that belongs to a real number ``position``.

        Searches use the position instead of the order.

        The order grows with the position, from 1 at -inf to ``below``, or infinity, at +inf.
        """
        step = flint.arb(position).exp()
        reach = step if self.below is None else (flint.arb(1) / (1 / step + 1 / _above_one(self.below)))
        return 1 + reach.mid()


def _above_one(below: Fraction) -> flint.arb:
    gap = below - 1
    return flint.arb(flint.fmpq(gap.numerator, gap.denominator))


_REACH = 60.0


def lowest(
    height: Callable[[float], float],
    start: float,
    step: float,
    tolerance: float = 1e-7,
    reach: float = _REACH,
) -> float:
    """Return an estimate of the argument at which ``height`` is lowest. The estimate is not certified.

    ``height`` is a function that first falls and then rises. The search goes downhill from ``start`` with
    growing steps. Then it uses the vertices of parabolas, or golden section if the parabolas do not narrow
    the interval.

    >>> round(lowest(lambda x: (x - 3) ** 4 + x, 0.0, 1.0), 4)
    2.3700
    """
    memo: dict[float, float] = {}

    def at(position: float) -> float:
        if position not in memo:
            memo[position] = height(position)
        return memo[position]

    left, middle, right = _downhill(at, start, step, reach)
    widths = [math.inf, math.inf]
    while right - left > tolerance:
        point = _vertex(at, left, middle, right)
        slow = right - left > widths[-2] / 2  # two steps did not halve it
        if slow or not left < point < right or abs(point - middle) < tolerance / 4:
            wide = right - middle > middle - left
            share = _SMALL if slow else tolerance / (2 * (right - left))
            point = middle + share * ((right - middle) if wide else (left - middle))
            if not slow:
                point = middle + math.copysign(tolerance / 3, point - middle)
        widths.append(right - left)
        if not left < point < right or point == middle:
            break
        if at(point) <= at(middle):
            left, middle, right = (left, point, middle) if point < middle else (middle, point, right)
        else:
            left, right = (point, right) if point < middle else (left, point)
    return middle


_SMALL = 1 - 0.6180339887498949


def _downhill(
    at: Callable[[float], float], start: float, step: float, reach: float
) -> tuple[float, float, float]:
    """Return three positions of which the middle one is lowest, unless it stopped at an end of the reach."""
    left, middle, right = start - step, start, start + step
    while left > -reach and at(left) < at(middle):
        left, middle, right = max(middle - 3 * (middle - left), -reach), left, middle
    while right < reach and at(right) < at(middle):
        left, middle, right = middle, right, min(middle + 3 * (right - middle), reach)
    return left, middle, right


def _vertex(at: Callable[[float], float], left: float, middle: float, right: float) -> float:
    """The vertex of the parabola through three points; NaN if there is none."""
    fall = (middle - left) * (at(middle) - at(right))
    rise = (middle - right) * (at(middle) - at(left))
    if not math.isfinite(fall - rise) or fall == rise:
        return math.nan
    return middle - ((middle - left) * fall - (middle - right) * rise) / (2 * (fall - rise))


def lowest_position(function: Function, orders: Orders, start: float = 0.0) -> float:
    """Return an estimate of where a convex ``function`` of the order is lowest.

    The result is a position: ``Orders.at`` turns the result into an order.
    """
    return lowest(lambda position: _height(function, orders, position), start, 2.0)


def minimise_convex(function: Function, orders: Orders, start: float = 0.0) -> tuple[flint.arb, flint.arb]:
    """Return certified bounds on the minimum of ``function`` over an interval of ``orders``.

    ``function`` must be convex in the order, and tend to 0 as the order tends to 1. The function is evaluated
    at three orders. If the middle one has the lowest value, the secants through the three points bound the
    minimum from below.
    """
    return certified_minimum(function, orders, lowest_position(function, orders, start))


def _height(function: Function, orders: Orders, position: float) -> float:
    value = function(orders.at(position))
    return float(value.mid()) if value.is_finite() else float("inf")


def certified_minimum(function: Function, orders: Orders, position: float) -> tuple[flint.arb, flint.arb]:
    """Return certified bounds on the minimum of a convex ``function``, searched around a guessed ``position``.

    ``Orders.at`` turns the position into an order. The upper bound is a value of the function, so this bound
    holds for every guess. The lower bound is -inf if the guess was bad.
    """
    tries = (_by_secants(function, orders, position, offset) for offset in _OFFSETS)
    found = (pair for pair in tries if pair[0].is_finite())
    return next(found, (flint.arb("-inf"), function(orders.at(position))))


_OFFSETS = (1e-6, 1e-4, 1e-2)


def _by_secants(
    function: Function, orders: Orders, position: float, offset: float
) -> tuple[flint.arb, flint.arb]:
    left, order, right = (orders.at(position + side * offset) for side in (-1, 0, 1))
    below, value, above = function(left), function(order), function(right)
    if position + _REACH < 1e-3:  # the minimum is at the order 1, where the function tends to 0
        left, below = flint.arb(1), flint.arb(0)
    if not below >= value:
        return flint.arb("-inf"), value
    fall = (below - value) / (order - left) * (right - order)
    if above >= value:
        rise = (above - value) / (right - order) * (order - left)
        return value - fall - rise, value  # both are at least 0, so this is below either alone
    if orders.below is None:
        return flint.arb("-inf"), value
    last = 1 + _above_one(orders.below)  # falling to the very end: by the last secant, prolonged
    return above + (above - value) / (right - order) * (last - right) - fall, above
