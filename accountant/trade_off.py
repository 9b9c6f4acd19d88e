"""The trade-off function of a guarantee: how well the best attack does, at every false positive rate.

f(alpha) is the least false negative rate of a test between two neighbours that raises a false alarm with
probability alpha. It is the conjugate of the privacy profile: with Delta(t) = delta(log t) for t >= 1 and
Delta(t) = 1 - t + t delta(-log t) below, f(alpha) = sup over t > 0 of 1 - Delta(t) - t alpha. Every t gives a
lower end; Delta is convex, so secants through three values give the upper one (docs/notes/trade_off.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import partial, singledispatch

import flint
import numpy as np
from numpy.typing import NDArray

from accountant.bounds import Bound
from accountant.enclosures import Number, arb_of, exact, precision, round_down, round_up
from accountant.notions import ApproxDP, GaussianDP, Guarantee, ends_of
from accountant.orders import lowest

__all__ = ["advantage", "attack_success", "power", "trade_off", "trade_off_curve"]

_BITS = 192
_REACH = 1e5


def trade_off(guarantee: Guarantee, alpha: Number) -> Bound:
    """Ends around f(alpha), the false negative rate that the guarantee imposes at false positive rate alpha.

    A guarantee speaks of both directions of the neighbouring relation, so f is its own inverse: the same
    function gives the false positive rate at a false negative rate.

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
    """Ends of f(alpha) from the privacy profile; alpha is below 1."""
    if alpha == 0:
        return 1 - flint.arb(guarantee.delta(_REACH).upper), flint.arb(1)
    at = partial(_line, guarantee, arb_of(alpha))

    def height(position: float) -> float:
        reached, missing = (value.mid() for value in (at(position)[0], 1 - at(position)[0]))
        if missing <= 0:
            return -1e6
        return float((missing / reached).log()) if reached > 0 else 1e4 + float(missing.log())

    best = lowest(height, 0.5, 1.0, 1e-9, _REACH)
    uppers = [_secants(at, best, offset) for offset in (1e-6, 1e-4, 1e-2, 0.3, 3.0, 30.0)]
    return at(best)[0], min((arb_of(1 - alpha), *uppers), key=lambda end: float(end.upper()))


def _line(guarantee: Guarantee, alpha: flint.arb, position: float) -> tuple[flint.arb, flint.arb, flint.arb]:
    """Ends of 1 - Delta(t) - t alpha at t = exp(position), and t."""
    delta, t = guarantee.delta(abs(position)), flint.arb(position).exp()
    low, high = 1 - flint.arb(delta.upper), 1 - flint.arb(delta.lower)
    if position >= 0:
        return low - t * alpha, high - t * alpha, t
    return t * (low - alpha), t * (high - alpha), t


def _secants(at: partial[tuple[flint.arb, flint.arb, flint.arb]], best: float, offset: float) -> flint.arb:
    """The least number certified to be above a concave function, from its values around its top."""
    left, middle, right = (at(best + side * offset) for side in (-1, 0, 1))
    if not right[1] <= middle[0]:
        return flint.arb(1)
    rise = (middle[1] - left[0]) / (middle[2] - left[2]) * (right[2] - middle[2])
    fall = (middle[1] - right[0]) / (right[2] - middle[2]) * (middle[2] - left[2])
    top = middle[1] + rise.max(fall)
    if left[1] <= middle[0]:
        return top
    before = left[1] + (left[1] - middle[0]) / (middle[2] - left[2]) * left[2]  # at the most, down to t = 0
    return top.max(before)


@_ends.register
def _(guarantee: GaussianDP, alpha: Fraction) -> tuple[flint.arb, flint.arb]:
    """G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu) (Dong, Roth and Su, arXiv:1905.02383v3, Section 2.2)."""
    if alpha == 0:
        return flint.arb(1), flint.arb(1)
    low, high = (arb_of(end) for end in ends_of(guarantee.mu, "mu"))
    left, right = _quantile(arb_of(alpha))
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


def _quantile(alpha: flint.arb) -> tuple[flint.arb, flint.arb]:
    """Numbers around the z above which a standard normal is with chance ``alpha``, certified."""
    point = flint.arb(0)
    for _ in range(400):
        density = (-point * point / 2).exp() / (2 * flint.arb.pi()).sqrt()
        tail = _normal_tail(point)
        # Newton for log tail = log alpha where the tail is small, mirrored where it is large.
        mirrored = tail > flint.arb(1) / 2
        part, goal = (1 - tail, 1 - alpha) if mirrored else (tail, alpha)
        change = (part.log() - goal.log()) * part / density
        step = (-change if mirrored else change).mid()
        point = (point + step).mid()
        if abs(float(step)) < 1e-45:
            break
    width = flint.arb(2) ** -120
    while not (_normal_tail(point - width) >= alpha and _normal_tail(point + width) <= alpha):
        width *= 16
    return point - width, point + width
