"""The trade-off function of a guarantee: how well the best attack does, at every false positive rate.

f(alpha) is the least false negative rate of a test between two neighbours that raises a false alarm with
probability alpha. It is the conjugate of the privacy profile: with Delta(t) = delta(log t) for t >= 1 and
Delta(t) = 1 - t + t delta(-log t) below, f(alpha) = sup over t > 0 of 1 - Delta(t) - t alpha. Every t gives a
lower end; where delta is convex in e^epsilon, secants through three values give the upper one
(docs/notes/trade_off.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce, singledispatch

import flint
import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.guarantees.conversion import OPTIMAL
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, GaussianDP, Guarantee, RenyiDP, ends_of
from dpproof.accountant.guarantees.orders import Orders, lowest
from dpproof.accountant.numbers.arithmetic import cache
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up

__all__ = ["advantage", "attack_success", "power", "trade_off", "trade_off_curve"]

_BITS = 192
_REACH = 1e5


def trade_off(guarantee: Guarantee, alpha: Number) -> Bound:
    """Ends around f(alpha), the false negative rate that the guarantee imposes at false positive rate alpha.

    A guarantee speaks of both directions of the neighbouring relation, so f is its own inverse: the same
    function gives the false positive rate at a false negative rate. The upper end supposes that delta is
    convex in e^epsilon, as every optimum over pairs of distributions is, or the least of such (``routes``).

    Source: Dong, Roth and Su, arXiv:1905.02383v3, Propositions 5 and 6 (the duality).

    >>> trade_off(GaussianDP(1), 0.05).lower
    0.740489
    >>> trade_off(ApproxDP(1, 0), "0.1").upper
    0.7281718

    Raises:
        ValueError: if alpha is not in [0, 1].
    """
    rate = _rate(alpha, "alpha")
    if rate == 1:
        return Bound(0.0, 0.0)
    with precision(_BITS):
        low, high = _ends(guarantee, rate)
        best = arb_of(1 - rate)
        return Bound(max(round_down(low), 0.0), min(max(round_up(high), 0.0), round_up(best)))


def trade_off_curve(
    guarantee: Guarantee, alphas: Iterable[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The lower and the upper ends of ``trade_off`` at each of ``alphas``, for a plot.

    >>> lower, upper = trade_off_curve(GaussianDP(1), [0.0, 0.05, 1.0])
    >>> lower.round(6).tolist()
    [1.0, 0.740489, 0.0]
    """
    found = [trade_off(guarantee, float(alpha)) for alpha in alphas]
    return np.array([bound.lower for bound in found]), np.array([bound.upper for bound in found])


def power(guarantee: Guarantee, alpha: Number) -> Bound:
    """The largest true positive rate of an attack with false positive rate alpha: 1 - f(alpha).

    >>> power(GaussianDP(1), 0.05).upper
    0.259511
    """
    rate = trade_off(guarantee, alpha)
    with precision(_BITS):
        return Bound(round_down(1 - flint.arb(rate.upper)), round_up(1 - flint.arb(rate.lower)))


def advantage(guarantee: Guarantee) -> Bound:
    """The largest true positive rate less false positive rate: the total variation, delta(0).

    >>> advantage(GaussianDP(1)).upper
    0.382925
    """
    return guarantee.delta(0)


def attack_success(guarantee: Guarantee, prior: Number = "1/2") -> Bound:
    """The largest chance to guess right whether a record took part, when it did with chance ``prior``.

    The best guess is right with chance max(prior, 1 - prior) + min(prior, 1 - prior) delta(|log odds|): the
    trade-off function's tangent with the slope of the odds.

    >>> attack_success(GaussianDP(1)).upper
    0.691463
    >>> attack_success(ApproxDP(1, 0), "0.9").upper
    0.9

    Raises:
        ValueError: if the prior is not in [0, 1].
    """
    chance = _rate(prior, "prior")
    small, large = sorted((chance, 1 - chance))
    if small == 0:
        return Bound(1.0, 1.0)
    with precision(_BITS):
        odds = (arb_of(large) / arb_of(small)).log() if small < large else flint.arb(0)
        near, far = max(round_down(odds), 0.0), max(round_up(odds), 0.0)
    low, high = guarantee.delta(far).lower, guarantee.delta(near).upper
    with precision(_BITS):
        sides = (arb_of(large) + arb_of(small) * flint.arb(end) for end in (low, high))
        return Bound(round_down(next(sides)), min(round_up(next(sides)), 1.0))


def _rate(value: Number, name: str) -> Fraction:
    rate = exact(value, name)
    if not 0 <= rate <= 1:
        raise ValueError(f"{name} ({value!r}) must be in [0, 1]")
    return rate


@singledispatch
def _ends(guarantee: Guarantee, alpha: Fraction) -> tuple[flint.arb, flint.arb]:
    """Ends of f(alpha) from the privacy profile; alpha is below 1.

    A guarantee that is the least of several, its ``routes``, has the greatest of their trade-off functions:
    its profile need not be convex, and a search over t would stop at one route's top.
    """
    routes = getattr(guarantee, "routes", None)
    return _by_profile(guarantee, alpha) if routes is None else _greatest(routes, alpha)


def _greatest(routes: Iterable[Guarantee], alpha: Fraction) -> tuple[flint.arb, flint.arb]:
    ends = [_ends(route, alpha) for route in routes]
    return tuple(reduce(lambda one, other: one.max(other), side) for side in zip(*ends, strict=True))


def upper_near(guarantee: Guarantee, alpha: float, position: float) -> float:
    """The upper end of ``trade_off``, in fewer evaluations for a top guessed to be at t = exp(position).

    >>> upper_near(GaussianDP(1), 0.05, 0.0) == trade_off(GaussianDP(1), 0.05).upper
    True
    """
    known = _ends.dispatch(type(guarantee)) is not _ends.dispatch(object) or hasattr(guarantee, "routes")
    rate = _rate(alpha, "alpha")
    if known or rate in {0, 1}:
        return trade_off(guarantee, rate).upper
    with precision(_BITS):
        return round_up(_by_profile(guarantee, rate, position)[1])


def _by_profile(
    guarantee: Guarantee, alpha: Fraction, guess: float | None = None
) -> tuple[flint.arb, flint.arb]:
    """The same where delta is convex in e^epsilon: the top on either side of t = 1."""
    if alpha == 0:
        return 1 - flint.arb(guarantee.delta(_REACH).upper), flint.arb(1)
    rate = arb_of(alpha)
    guesses = (None, None) if guess is None else (max(guess, 0.0), max(-guess, 0.0))
    above = _top(partial(_above_one, guarantee, rate), flint.arb(1), 1 / rate, guesses[0])
    below = _top(partial(_below_one, guarantee, rate), flint.arb(0), flint.arb(1), guesses[1])
    return above[0].max(below[0]), above[1].max(below[1]).min(arb_of(1 - alpha))


_Point = tuple[flint.arb, flint.arb, flint.arb]
"""Ends of h(t), and t."""


def _above_one(guarantee: Guarantee, alpha: flint.arb, distance: float) -> _Point:
    """h(t) = 1 - delta(log t) - t alpha at t = exp(distance)."""
    delta, t = guarantee.delta(distance), flint.arb(distance).exp()
    return 1 - flint.arb(delta.upper) - t * alpha, 1 - flint.arb(delta.lower) - t * alpha, t


def _below_one(guarantee: Guarantee, alpha: flint.arb, distance: float) -> _Point:
    """h(t) = t (1 - delta(-log t) - alpha) at t = exp(-distance)."""
    delta, t = guarantee.delta(distance), flint.arb(-distance).exp()
    return t * (1 - flint.arb(delta.upper) - alpha), t * (1 - flint.arb(delta.lower) - alpha), t


def _top(
    at: Callable[[float], _Point], first: flint.arb, last: flint.arb, guess: float | None
) -> tuple[flint.arb, flint.arb]:
    """Ends of the greatest h, concave between ``first`` and ``last``, which bound t on this side of 1."""
    at = cache(at)
    best = guess or 0.0
    if guess is None and not at(_BORDER)[1] < at(0.0)[0]:  # else it falls from t = 1 on
        best = abs(lowest(lambda distance: _height(at(abs(distance))[0]), 0.5, 1.0, _TOLERANCE, _REACH))
    low, high = at(best)[0], flint.arb(1)
    for offset in _OFFSETS if guess is None else _FEW_OFFSETS:
        middle = max(best, offset)
        points = sorted((at(middle + side * offset) for side in (-1, 0, 1)), key=lambda point: point[2].mid())
        high = high.min(_secants(points, first, last))
        if high - low < _CLOSE:
            break
    return low, high


_TOLERANCE, _BORDER, _CLOSE = 1e-6, 1e-5, 1e-10
_OFFSETS, _FEW_OFFSETS = (1e-5, 1e-6, 1e-4, 1e-2, 0.3, 3.0, 30.0), (1e-4, 1e-3, 1e-2, 0.3)


def _height(value: flint.arb) -> float:
    """Falling in the value, and steep where it is near 0 or near 1."""
    reached, missing = value.mid(), (1 - value).mid()
    if missing <= 0:
        return -1e6
    return float((missing / reached).log()) if reached > 0 else 1e4 + float(missing.log())


def _secants(points: Sequence[_Point], first: flint.arb, last: flint.arb) -> flint.arb:
    """A number above a concave function between ``first`` and ``last``, from its values at three points."""
    (low_left, left, start), (low, middle, t), (low_right, right, end) = points
    rise = (middle - low_left) / (t - start) * (end - t)
    fall = (middle - low_right) / (end - t) * (t - start)
    top = middle.max(middle + rise).max(middle + fall)
    if not left <= low:
        top = top.max(left + (left - low) / (t - start) * (start - first))
    if not right <= low:
        top = top.max(right + (right - low) / (end - t) * (last - end).max(flint.arb(0)))
    return top if top.is_finite() else flint.arb(1)


@_ends.register
def _(guarantee: RenyiDP, alpha: Fraction) -> tuple[flint.arb, flint.arb]:
    """Listed orders are routes; only the optimal conversion's delta is convex in e^epsilon."""
    listed = guarantee.orders.listed or ()
    if guarantee.conversion is OPTIMAL and len(listed) <= 1:
        return _by_profile(guarantee, alpha)
    if guarantee.conversion is OPTIMAL and len(listed) <= _MOST_ROUTES:
        return _greatest([replace(guarantee, orders=Orders(listed=(order,))) for order in listed], alpha)
    return _by_profile(guarantee, alpha)[0], arb_of(1 - alpha)


_MOST_ROUTES = 16


@_ends.register
def _(guarantee: ZCDP, alpha: Fraction) -> tuple[flint.arb, flint.arb]:
    low, high = _by_profile(guarantee, alpha)
    return low, high if guarantee.conversion is OPTIMAL else arb_of(1 - alpha)


@_ends.register
def _(guarantee: GaussianDP, alpha: Fraction) -> tuple[flint.arb, flint.arb]:
    """G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu) (Dong, Roth and Su, arXiv:1905.02383v3, Section 2.2)."""
    if alpha == 0:
        return flint.arb(1), flint.arb(1)
    low, high = (arb_of(end) for end in ends_of(guarantee.mu, "mu"))
    left, right = _quantile(alpha)
    return _normal_tail(high - left), _normal_tail(low - right)


@_ends.register
def _(guarantee: ApproxDP, alpha: Fraction) -> tuple[flint.arb, flint.arb]:
    """max(0, 1 - delta - e^epsilon alpha, e^-epsilon (1 - delta - alpha)) (the same, Section 2.1)."""
    corners = zip(
        ends_of(guarantee.epsilon_parameter, "epsilon"),
        ends_of(guarantee.delta_parameter, "delta"),
        strict=True,
    )
    high, low = (
        flint.arb(0)
        .max(1 - arb_of(d) - arb_of(e).exp() * arb_of(alpha))
        .max((-arb_of(e)).exp() * arb_of(1 - d - alpha))
        for e, d in corners
    )
    return low, high


def _normal_tail(value: flint.arb) -> flint.arb:
    """The chance of a standard normal above ``value``."""
    return (value / flint.arb(2).sqrt()).erfc() / 2


def _quantile(alpha: Fraction) -> tuple[flint.arb, flint.arb]:
    """Numbers around the z above which a standard normal is with chance ``alpha``, certified."""
    if 2 * alpha > 1:  # the mirrored tail, for 1 - tail cancels
        left, right = _quantile(1 - alpha)
        return -right, -left
    goal, point = arb_of(alpha), flint.arb(0)
    for _ in range(400):
        # Newton for log tail = log alpha: log tail is concave, so every step ends beyond the root or on it.
        tail, density = _normal_tail(point), (-point * point / 2).exp() / (2 * flint.arb.pi()).sqrt()
        step = ((tail.log() - goal.log()) * tail / density).mid()
        point = (point + step).mid()
        if abs(float(step)) < 1e-45:
            break
    width = flint.arb(2) ** -120
    while not (_normal_tail(point - width) >= goal and _normal_tail(point + width) <= goal):
        width *= 16
        if not (point.is_finite() and width < 1 + abs(point)):
            raise ArithmeticError(f"alpha ({float(alpha)!r}): no normal quantile could be certified")
    return point - width, point + width
