"""Where more noise is not less delta: the peaks of a shuffled count's delta over the chance of a noise bit.

With n noise bits of chance p, the event "at most K" is the best one for p in one interval; there delta
first rises to its peak at p_K = K s/(n - K + K s), s = exp(epsilon), and then falls. The other direction has
the mirror image of these peaks, at 1 - p_K. Behind the last peak above a target, in either direction, each
direction crosses the target once at most (docs/notes/shuffling.md).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import flint

from dpproof.accountant.numbers.arithmetic import math
from dpproof.accountant.numbers.enclosures import arb_of
from dpproof.accountant.numbers.inversion import refined
from dpproof.accountant.shuffling.peak_heights import first_peak_above
from dpproof.accountant.shuffling.view import BinomialView, hockey_stick

__all__ = ["last_crossing", "peak"]


def peak(trials: int, epsilon: Fraction, last: int, *, mirrored: bool = False) -> tuple[Fraction, flint.arb]:
    """A chance p next to a peak of one direction, and that direction's delta there.

    The event is that the sum is at most ``last``; mirrored, that all but ``last`` or fewer are 1.

    >>> where, height = peak(100, Fraction(1), 5)
    >>> 0.12 < where < 0.13
    True
    """
    scale, rest = _scale(epsilon), trials - last
    weights = (last, rest * scale) if mirrored else (last * scale, rest)
    chance = Fraction(weights[0] / (weights[0] + weights[1])) if last else Fraction(0)
    moved = 1 - chance if mirrored else chance
    return chance, refined(partial(hockey_stick, trials, moved, Fraction(0), Fraction(1), epsilon))


def _scale(epsilon: Fraction) -> float:
    """exp(epsilon), as far as doubles go: beyond, all peaks but the first are next to 1."""
    return math.exp(min(epsilon, Fraction(600)))


def last_crossing(users: int, below: Fraction, above: Fraction, target: Fraction) -> tuple[float, float]:
    """Thresholds tau = 2 n p next to each other: missed at the first, met at the second and from there on.

    For a target below 1 that tau = n meets. A search over some peaks proposes; then all peaks behind the
    second threshold are certified to be below the target, or the first that is not moves it.

    Raises:
        UndecidedError: too many peaks are too near the target.
    """
    counts = (_last_peak(users, below), _last_peak(users, below, mirrored=True))
    lefts = [
        _last_above(partial(peak, users, below, mirrored=mirrored), count, target)
        for mirrored, count in zip((False, True), counts, strict=True)
    ]
    left = max(lefts)
    while True:
        missed, met = _bisect(users, below, above, target, min(2 * users * float(left), float(users)))
        later = first_peak_above(users, below, target, Fraction(met) / (2 * users))
        if later is None or later <= left:
            return missed, met
        left = later


def _last_above(
    peak_at: Callable[[int], tuple[Fraction, flint.arb]], most: int, target: Fraction
) -> Fraction:
    """Where the last of the peaks 0 .. ``most`` is that is not below the target; the first one always is."""
    goal = arb_of(target)

    def is_above(index: int) -> bool:
        return not peak_at(index)[1] <= goal

    low = most if is_above(most) else 0
    while low < most:
        high = most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if is_above(middle) else (low, middle)
        later = next((index for index in reversed(_behind(high, most)) if is_above(index)), None)
        if later is None:
            break
        low = later
    return peak_at(low)[0]


def _behind(first: int, most: int) -> list[int]:
    reach, found = 64, list(range(first, min(first + 64, most + 1)))
    while first + reach <= most:
        found.append(first + reach)
        reach += reach // 2
    return found


def _last_peak(users: int, epsilon: Fraction, *, mirrored: bool = False) -> int:
    """The last event whose peak lies at p <= 1/2; exactly: n itself, at p = 1, is none at any epsilon."""
    scale = Fraction(_scale(epsilon))
    return math.floor(users * scale / (1 + scale) if mirrored else users / (1 + scale))


def _bisect(
    users: int, below: Fraction, above: Fraction, target: Fraction, left: float
) -> tuple[float, float]:
    """Between the last peak above the target and tau = n: each direction crosses it once at most."""

    def view(tau: float) -> BinomialView:
        return BinomialView(users, Fraction(tau) / (2 * users))

    low, high = left, float(users)
    for _ in range(200):
        middle = (low + high) / 2
        if high - low <= 1e-10 * high or not low < middle < high:
            break
        low, high = (low, middle) if view(middle).delta(below).upper <= target else (middle, high)
    step = high * 1e-11
    while low > 0 and not view(low).delta(above).lower > target:
        low, step = max(low - step, 0.0), 2 * step
    return max(low, 5e-324), high
