"""The trade-off function of a guarantee: the error rates of the best attack.

f(alpha) is the smallest false negative rate among all tests between two neighbours that have the false
positive rate alpha. `dpproof.accountant.guarantees.profile` explains how f follows from the privacy profile
(docs/notes/trade_off.md).
"""

from __future__ import annotations

from collections.abc import Iterable

import flint
import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import probability
from dpproof.accountant.numbers.enclosures import Number, arb_of, precision, round_down, round_up

_BITS = 192
_REACH = 1e5


def trade_off(guarantee: Profile, alpha: Number) -> Bound:
    """Return bounds on the smallest false negative rate that a guarantee allows at the false positive rate ``alpha``.

    A guarantee holds in both directions of the neighbouring relation. So if ``alpha`` is a false negative
    rate, the same function returns the smallest false positive rate. The upper bound requires that delta, as
    a function of e^epsilon, is convex or a minimum of convex functions. Every delta that is a supremum over
    pairs of distributions is convex in e^epsilon.

    Source: Dong, Roth and Su, arXiv:1905.02383v3, Propositions 5 and 6 (the duality).

    >>> from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP
    >>> trade_off(GaussianDP(1), 0.05).lower
    0.740489
    >>> trade_off(ApproxDP(1, 0), "0.1").upper
    0.7281718

    Raises:
        ValueError: if alpha is not in [0, 1].
    """
    return guarantee.trade_off(alpha)


def trade_off_curve(
    guarantee: Profile, alphas: Iterable[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return lower and upper bounds on ``trade_off`` at each of ``alphas``, for a plot.

    >>> from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP
    >>> lower, upper = trade_off_curve(GaussianDP(1), [0.0, 0.05, 1.0])
    >>> lower.round(6).tolist()
    [1.0, 0.740489, 0.0]
    """
    found = [trade_off(guarantee, float(alpha)) for alpha in alphas]
    return np.array([bound.lower for bound in found]), np.array([bound.upper for bound in found])


def power(guarantee: Profile, alpha: Number) -> Bound:
    """Return bounds on the largest true positive rate of an attack with the false positive rate ``alpha``.

    This rate is 1 minus ``trade_off`` at ``alpha``.

    >>> from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP
    >>> power(GaussianDP(1), 0.05).upper
    0.259511
    """
    rate = trade_off(guarantee, alpha)
    with precision(_BITS):
        return Bound(round_down(1 - flint.arb(rate.upper)), round_up(1 - flint.arb(rate.lower)))


def advantage(guarantee: Profile) -> Bound:
    """Return bounds on the largest difference between the true and the false positive rate of an attack.

    This difference is the total variation distance between the outputs of two neighbours. It equals delta at
    epsilon 0.

    >>> from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP
    >>> advantage(GaussianDP(1)).upper
    0.382925
    """
    return guarantee.delta(0)


def attack_success(guarantee: Profile, prior: Number = "1/2") -> Bound:
    """Return bounds on the largest probability of guessing correctly whether a record took part.

    The record took part with probability ``prior``. The best guess is correct with probability max(prior, 1 -
    prior) + min(prior, 1 - prior) delta(|log odds|), where the odds are prior/(1 - prior). The formula
    follows from a tangent of the trade-off function. The odds give the slope of this tangent. For several guarantees
    (`BestOf`) the result is the smallest probability that one of them implies.

    >>> from dpproof.accountant.guarantees.notions import ApproxDP, GaussianDP
    >>> attack_success(GaussianDP(1)).upper
    0.691463
    >>> attack_success(ApproxDP(1, 0), "0.9").upper
    0.9

    Raises:
        ValueError: if the prior is not in [0, 1].
    """
    chance = probability(prior, "prior")
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
