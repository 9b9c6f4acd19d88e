"""The largest delta that a bound on one Renyi divergence allows: the optimal conversion.

An event has a probability p under one distribution and q under the other. So the event turns two
distributions into two coins that show heads with probability p and q. The Renyi divergence of order a between
the coins is not larger than between the distributions, so it is at most ``renyi``. So delta(epsilon) is the
maximum of p - e^epsilon q over coins with Phi(p, q) = p^a q^(1-a) + (1-p)^a (1-q)^(1-a) <= e^((a-1) renyi).
Phi is jointly convex, so the optimum has one stationary point. The Lagrangian gives a certified upper bound
on the maximum (docs/notes/optimal_conversion.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import flint

from dpproof.accountant.guarantees.orders import Function, Orders, lowest
from dpproof.accountant.numbers.enclosures import arb_of


@dataclass(frozen=True)
class CoinPair:
    """Two probabilities that nearly attain the optimal delta, and certified bounds on this delta.

    The optimal delta is the largest one that a bound on the Renyi divergence of two distributions allows. It
    lies between ``lower`` and ``upper``. ``first`` and ``second`` are the probabilities of one event under
    two such distributions.
    """

    first: flint.arb
    second: flint.arb
    lower: flint.arb
    upper: flint.arb


@dataclass(frozen=True)
class _Problem:
    """One order, one Renyi bound and one epsilon, as Arb numbers at the precision in force."""

    order: flint.arb
    renyi: flint.arb
    epsilon: flint.arb

    @property
    def budget(self) -> flint.arb:
        return ((self.order - 1) * self.renyi).exp()

    def phi(self, p: flint.arb, q: flint.arb) -> flint.arb:
        rest = (1 - p) ** self.order * (1 - q) ** (1 - self.order) if p != 1 else flint.arb(0)
        return p**self.order * q ** (1 - self.order) + rest

    def ratio(self, rest: flint.arb) -> flint.arb:
        """The ratio p/q at which the Lagrangian is stationary, given (1-p)/(1-q) = ``rest``."""
        a, scale = self.order.mid(), self.epsilon.exp()
        constant = rest ** (a - 1) * (a - (a - 1) * rest / scale)
        value = a / (a - 1)
        for _ in range(200):
            power = constant * (scale * value) ** (1 - a)
            change = ((a - 1) * value - a + power) / ((a - 1) * (1 - power / value))
            value = (value - change).mid()
            if abs(float(change.mid())) <= 2.0 ** (8 - flint.ctx.prec) * float(value):
                break
        return (value * scale).mid()

    def coins(self, log_u: flint.arb) -> tuple[flint.arb, flint.arb]:
        """The exact p and q at which the Lagrangian is stationary, given (1-p)/(1-q) = 1 - exp(log_u)."""
        u = log_u.exp()
        ratio = self.ratio((1 - u).mid())
        q = (u / (ratio - 1 + u)).mid()
        return (q * ratio).mid(), q

    def excess(self, log_u: flint.arb) -> flint.arb:
        """The number log((Phi - 1)/(budget - 1)), where Phi is that of the coins at ``log_u``.

        It increases in ``log_u``. It is 0 if Phi equals ``budget``, which is the largest Phi that is allowed.
        """
        return ((self.phi(*self.coins(log_u)) - 1) / (self.budget - 1)).log()


def optimal_delta(order: flint.arb, renyi: flint.arb, epsilon: flint.arb) -> CoinPair:
    """Return bounds on the largest delta at ``epsilon`` that D_order(P||Q) <= renyi allows.

    Also return the probabilities, under two such distributions P and Q, of an event that nearly attains this
    delta.

    Source: Asoodeh, Liao, Calmon, Kosut and Sankar, arXiv:2001.05990v1, Theorem 3; the derivation is in
    docs/notes/optimal_conversion.md. Call inside ``precision``.

    Args:
        order: above 1. renyi: at least 0. epsilon: at least 0.
    """
    problem = _Problem(order, renyi, epsilon)
    if renyi == 0:
        return CoinPair(flint.arb(1) / 2, flint.arb(1) / 2, flint.arb(0), flint.arb(0))
    if renyi > epsilon + (order / (order - 1)).log():
        return _boundary(problem)
    p, q = problem.coins(_binding(problem))
    return CoinPair(p, q, _feasible(problem, p, q), _lagrangian(problem, p, q))


def _boundary(problem: _Problem) -> CoinPair:
    """The optimum at p = 1, where the constraint is q >= e^-renyi."""
    q = (-problem.renyi).exp()
    value = 1 - problem.epsilon.exp() * q
    return CoinPair(flint.arb(1), q, value, value)


def _binding(problem: _Problem) -> flint.arb:
    """Estimate the log u at which the constraint binds, by secants with more bits than doubles have."""
    budget = problem.budget
    guess = ((budget - 1) / (budget * problem.epsilon.exp() + 1)).log().mid()
    left, right = guess, guess - flint.arb(1) / 8
    at_left = problem.excess(left).mid()
    for _ in range(60):
        at_right = problem.excess(right).mid()
        if at_right == at_left or abs(float(at_right)) < 2.0 ** (16 - flint.ctx.prec):
            break
        step = (at_right * (right - left) / (at_right - at_left)).mid()
        left, at_left = right, at_right
        right = right - step if right - step < 0 else right / 2
        right = right.mid()
    return right


def _feasible(problem: _Problem, p: flint.arb, q: flint.arb) -> flint.arb:
    """Return p - e^epsilon q for coins moved towards each other until they certainly satisfy the constraint."""
    for exponent in range(flint.ctx.prec - 24, 0, -8):
        nearer = q + min(q, p - q) * flint.arb(2) ** -exponent
        if problem.phi(p, nearer) <= problem.budget:
            value = p - problem.epsilon.exp() * nearer
            return value if value > 0 else flint.arb(0)
    return flint.arb(0)


def _lagrangian(problem: _Problem, p: flint.arb, q: flint.arb) -> flint.arb:
    """Return an upper bound on the maximum. The concave Lagrangian lies below its tangent plane at (p, q)."""
    a, scale = problem.order, problem.epsilon.exp()
    high, low = p / q, (1 - p) / (1 - q)
    by_p = a * (high ** (a - 1) - low ** (a - 1))
    by_q = (1 - a) * (high**a - low**a)
    multiplier = scale / -by_q
    if not (multiplier >= 0 and p >= 0 and p <= 1 and q >= 0 and q <= 1):
        return flint.arb(1)  # not the Lagrangian of this problem: nothing better than the trivial bound
    value = p - scale * q - multiplier * (problem.phi(p, q) - problem.budget)
    return value + abs(1 - multiplier * by_p) + abs(scale + multiplier * by_q)


def best_order(curve: Function, orders: Orders, epsilon: flint.arb, start: float) -> flint.arb:
    """Return an estimate of the Renyi order whose optimal delta is smallest. The estimate is not certified.

    The search begins at the order ``orders.at(start)``.
    """

    def height(position: float) -> float:
        order = orders.at(position)
        value = optimal_delta(order, curve(order), epsilon).upper.log()
        return float(value.mid()) if value.is_finite() else math.inf

    return orders.at(lowest(height, start, 0.125))


def common_pair(order: flint.arb, curve: Function, orders: Orders, epsilon: flint.arb) -> flint.arb:
    """Return a delta that two distributions attain although they satisfy the bound ``curve`` at every order.

    ``curve`` bounds their Renyi divergence. So no conversion of this curve gives a smaller delta. Each of the
    two distributions is the toss of a coin. The function begins with the two coins that attain the largest
    delta for the bound at ``order``, with the probabilities p > q of heads. Then it tries larger values of q:
    it adds 1e-9, then 1e-6, then 1e-3 times min(q, p - q), until the bound holds at every order. If this
    never happens, the result is 0. ``curve`` must be nondecreasing, and (order - 1) * curve must be convex.
    """
    curve = _remembered(curve)
    pair = optimal_delta(order, curve(order), epsilon)
    for shrink in ("1e-9", "1e-6", "1e-3"):
        q = (pair.second + min(pair.second, pair.first - pair.second) * flint.arb(shrink)).mid()
        if _within(pair.first, q, curve, orders):
            value = pair.first - epsilon.exp() * q
            return value if value > 0 else flint.arb(0)
    return flint.arb(0)


_MOST_STEPS = 300


def _remembered(curve: Function) -> Function:
    """Wrap a curve so that it is evaluated only once at each exact order."""
    memo: dict[object, flint.arb] = {}

    def look_up(order: flint.arb) -> flint.arb:
        if not order.is_exact() or not order.is_finite():
            return curve(order)
        key = order.man_exp()
        if key not in memo:
            memo[key] = curve(order)
        return memo[key]

    return look_up


@dataclass(frozen=True)
class _Line:
    """A line below a convex function, given by a point and a slope."""

    at: flint.arb
    value: flint.arb
    slope: flint.arb

    def __call__(self, order: flint.arb) -> flint.arb:
        return self.value + self.slope * (order - self.at)

    def meets(self, other: _Line) -> flint.arb:
        return (other.value - self.value + self.slope * self.at - other.slope * other.at) / (
            self.slope - other.slope
        )


def _within(p: flint.arb, q: flint.arb, curve: Function, orders: Orders) -> bool:
    """Whether D_a(p||q) <= curve(a) at all orders, checked in steps from ``here`` to ``there``.

    Both sides times (a - 1) are convex. So the left side lies below its chord, and the right side above its
    two tangents.
    """
    last = flint.arb("inf") if orders.below is None else arb_of(orders.below)
    here, tangent = _first_step(p, q, curve, last)
    step = here - 1
    for _ in range(_MOST_STEPS):
        if (p / q).log() <= curve(here):
            return True
        if tangent is None:
            return False
        there = (here + step).mid()
        inside = bool(there < last)
        there, ahead = (there, _tangent(curve, there, 1)) if inside else (last, None)
        if _below(_chord(p, q, here, there), tangent, ahead, here, there):
            if not inside:
                return True
            here, tangent, step = there, _tangent(curve, there, -1), (step * 2).mid()
        else:
            step = (step / 2).mid()
    return False


def _first_step(
    p: flint.arb, q: flint.arb, curve: Function, last: flint.arb
) -> tuple[flint.arb, _Line | None]:
    """Return an order up to which D_a(p||q) is at most the curve's value at 1, and the tangent at that order."""
    least = curve(flint.arb(1))
    for exponent in range(-1, 40):
        order = 1 + flint.arb(2) ** -exponent
        if order < last and _renyi(p, q, order) <= least:
            return order, _tangent(curve, order, -1)
    return flint.arb(1), None


def _tangent(curve: Function, order: flint.arb, side: int) -> _Line:
    """Return a line below (a - 1) curve(a) on the other ``side`` of ``order``, through the value there."""
    near = order + side * ((order - 1) * flint.arb(2) ** -40).mid()
    value, other = (order - 1) * curve(order), (near - 1) * curve(near)
    return _Line(order, value, (other - value) / (near - order))


def _chord(p: flint.arb, q: flint.arb, here: flint.arb, there: flint.arb) -> _Line:
    values = [_log_phi(p, q, order) for order in (here, there)]
    return _Line(here, values[0], (values[1] - values[0]) / (there - here))


def _below(chord: _Line, left: _Line, right: _Line | None, here: flint.arb, there: flint.arb) -> bool:
    """Whether the chord is below the larger of two lines.

    It is checked at ``here``, at ``there`` and at the point where the two lines meet.
    """
    if right is None or (chord(here) <= left(here) and chord(there) <= left(there)):
        return bool(chord(here) <= left(here) and chord(there) <= left(there))
    kink = left.meets(right)
    return bool(chord(here) <= left(here) and chord(there) <= right(there) and chord(kink) <= left(kink))


def _log_phi(p: flint.arb, q: flint.arb, order: flint.arb) -> flint.arb:
    return _Problem(order, flint.arb(0), flint.arb(0)).phi(p, q).log()


def _renyi(p: flint.arb, q: flint.arb, order: flint.arb) -> flint.arb:
    return _log_phi(p, q, order) / (order - 1)
