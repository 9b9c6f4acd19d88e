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

from dpproof.accountant.numbers.arithmetic import cache, lru_cache
from dpproof.accountant.numbers.binomial import lower_tail
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape
from dpproof.accountant.rl.sdp_pe.shuffled_count import ShuffledCountParameters, view

__all__ = ["precision_level", "printed_level"]

_BITS = 128


@lru_cache(maxsize=4096)
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

    @cache
    def beyond(least: tuple[tuple[int, int], ...]) -> float:
        """From above, the chance that some counter's noise leaves its range, each range by its ends."""
        with precision(_BITS):
            each = zip(laws.items(), least, strict=True)
            return round_up(sum((count * _outside(n, p, *ends) for (n, count), ends in each), flint.arb(0)))

    def chance_at(quarters: int) -> float:
        """As a function of E; it falls in steps, where a range takes in a further whole number."""
        return beyond(tuple(_ends(n, p, Fraction(quarters, 4)) for n in laws))

    goal = round_down(arb_of(chance))
    spread = float(max(laws) * p * (1 - p))
    sides = 2.0 * shape.counters
    start = math.sqrt(-2 * spread * math.log(goal / sides))
    return float(_least(chance_at, goal, sides, math.ceil(4 * start), 4 * trials * shape.states))


def _ends(trials: int, p: Fraction, away: Fraction) -> tuple[int, int]:
    """How many low and how many high numbers of ones are more than ``away`` from the mean."""
    mean = trials * p
    return max(math.ceil(mean - away), 0), max(math.ceil(trials - mean - away), 0)


def _outside(trials: int, p: Fraction, low: int, high: int) -> flint.arb:
    """The chance of the ``low`` least and the ``high`` largest numbers of ones."""
    return lower_tail(trials, p, low - 1) + lower_tail(trials, 1 - p, high - 1)


def _least(chance_at: Callable[[int], float], goal: float, sides: float, start: int, most: int) -> int:
    """The least whole number in [1, most] with a chance of at most ``goal``; chances fall, to 0 at ``most``.

    The root of minus the logarithm of one side's chance is about linear: each place leads next to the one
    wanted.
    """
    low, high, place, step = 0, most, min(max(start, 1), most - 1), 1
    wanted = math.sqrt(-math.log(goal / sides))
    while high - low > 1:
        found = chance_at(place)
        low, high = (low, place) if found <= goal else (place, high)
        reached = math.sqrt(-math.log(found / sides)) if 0 < found < sides else math.inf
        near = round(place * wanted / reached)
        if not low < near < high:  # the guess says no more than the last one: steps that grow
            near = high - step if found <= goal else low + step
            step *= 4
        place = near if low < near < high else (low + high) // 2
    return high


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
