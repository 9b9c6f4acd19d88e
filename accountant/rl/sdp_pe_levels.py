"""How far a batch's raw counts may be off: the precision level E, by exact binomial tails or as printed.

Raw counts are within E/4 of the true ones, all counters of a release at once, but for the failure chance
(the union over counters); the linear programme then makes counts within E (docs/notes/sdp_privatizer.md,
section 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import flint

from accountant.binomial import lower_tail
from accountant.enclosures import Number, arb_of, exact, precision, round_up
from accountant.rl.sdp_pe import ShuffledCountParameters, view
from accountant.rl.sdp_pe_batches import ReleaseShape

__all__ = ["precision_level", "printed_level"]

_BITS = 128


def precision_level(shape: ReleaseShape, users: int, threshold: float, failure: Number) -> float:
    """The least E, up to rounding, for which exact tails certify one release but for chance ``failure``.

    Where visits are sums of transitions their noise is that of S counters together, and stays within E/4 too.

    >>> precision_level(ReleaseShape(6, 4, 2), 5000, 900.0, "0.05") / 4
    76.0

    Raises:
        ValueError: for a failure outside (0, 1), or see ``ShuffledCountParameters``.
    """
    chance = _checked(failure)
    noise = view(ShuffledCountParameters(users, threshold, "bits"))
    trials, p = noise.trials, exact(noise.probability)
    laws = {trials: shape.counters}
    if not shape.own_visits:
        summed = trials * shape.states
        laws[summed] = laws.get(summed, 0) + shape.cells

    def misses(away: Fraction) -> bool:
        with precision(_BITS):
            total = sum((count * _outside(n, p, away) for n, count in laws.items()), flint.arb(0))
            return not total <= arb_of(chance)

    return 4 * float(_least(misses, trials * shape.states))


def _outside(trials: int, p: Fraction, away: Fraction) -> flint.arb:
    """The chance that a binomial sum is more than ``away`` from its mean."""
    mean = trials * p
    below = lower_tail(trials, p, math.ceil(mean - away) - 1)
    return below + lower_tail(trials, 1 - p, math.ceil(trials - mean - away) - 1)


def _least(misses: Callable[[Fraction], bool], most: int) -> Fraction:
    """The least quarter of a whole number at which nothing is missed; misses get fewer as it grows."""
    low, high = 0, 4
    while misses(Fraction(high, 4)) and high < 4 * most:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if misses(Fraction(middle, 4)) else (low, middle)
    return Fraction(high, 4)


def printed_level(shape: ReleaseShape, threshold: float, failure: Number) -> float:
    """The paper's: E/4 with exp(-(E/4)^2/(3 tau)) a side, at ``failure`` over two sides of all counters.

    The printed tail holds for E/4 up to the noise's mean only (docs/findings.md).

    >>> round(printed_level(ReleaseShape(6, 4, 2), 900.0, "0.05") / 4)
    159

    Raises:
        ValueError: for a failure outside (0, 1), or a threshold that is not positive.
    """
    chance = _checked(failure)
    if not threshold > 0:
        raise ValueError(f"threshold ({threshold!r}) must be positive")
    with precision(_BITS):
        sides = (2 * shape.counters / arb_of(chance)).log()
        return round_up(4 * (3 * arb_of(exact(threshold)) * sides).sqrt())


def _checked(failure: Number) -> Fraction:
    chance = exact(failure, "failure")
    if not 0 < chance < 1:
        raise ValueError(f"failure ({failure!r}) must be in (0, 1)")
    return chance
