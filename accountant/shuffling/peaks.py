"""Where more noise is not less delta: the peaks of a shuffled count's delta over the chance of a noise bit.

With n noise bits of chance p, the event "at most K" is the best one for p in one interval; there delta
first rises to its peak at p_K = K s/(n - K + K s), s = exp(epsilon), and then falls. So the target is met
from p on only if p lies on the falling side of the last peak above it (docs/notes/shuffling.md).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import flint

from accountant.enclosures import arb_of
from accountant.inversion import refined
from accountant.shuffling.view import BinomialView, hockey_stick

__all__ = ["last_crossing", "peak"]

_ONE = Fraction(1)


def peak(trials: int, epsilon: Fraction, last: int) -> tuple[Fraction, flint.arb]:
    """A chance p next to the peak of the event "at most ``last``", and delta there (one direction).

    >>> where, height = peak(100, Fraction(1), 5)
    >>> 0.12 < where < 0.13
    True
    """
    scale = math.exp(epsilon)
    chance = Fraction(last * scale / (trials - last + last * scale)) if last else Fraction(0)
    return chance, refined(partial(hockey_stick, trials, chance, 0 * _ONE, _ONE, epsilon))


def last_crossing(users: int, below: Fraction, above: Fraction, target: Fraction) -> tuple[float, float]:
    """Thresholds tau = 2 n p, 1e-9 apart or less: missed at the first, met at the second and behind it.

    The bisection over peaks takes them to fall (observed, not proved); the next 64 peaks behind the answer
    are looked at, and others up to the last one, each 1.5 times as far.

    Raises:
        ArithmeticError: if a peak behind the answer is found to miss the target.
    """
    goal = arb_of(target)
    most = _last_peak(users, below)
    low, high = -1, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if peak(users, below, middle)[1] > goal else (low, middle)
    for later in _behind(high, most):
        if not peak(users, below, later)[1] <= goal:
            raise ArithmeticError(f"delta rises above its target again behind threshold {high}")
    left = 2 * users * float(peak(users, below, max(low, 0))[0])
    right = 2 * users * float(peak(users, below, high)[0]) if high <= most else float(users)
    return _bisect(users, below, above, target, left, right)


def _behind(first: int, most: int) -> list[int]:
    reach, found = 64, list(range(first, min(first + 64, most + 1)))
    while first + reach <= most:
        found.append(first + reach)
        reach += reach // 2
    return found


def _last_peak(users: int, epsilon: Fraction) -> int:
    """The last event whose peak lies at p <= 1/2."""
    scale = math.exp(epsilon)
    return max(0, math.floor(users / (1 + scale)) - 1)


def _bisect(
    users: int, below: Fraction, above: Fraction, target: Fraction, left: float, right: float
) -> tuple[float, float]:
    """Between two peaks delta falls to its trough and rises again, staying below the later peak."""

    def view(tau: float) -> BinomialView:
        return BinomialView(users, Fraction(tau) / (2 * users))

    low, high = left, right
    for _ in range(200):
        middle = (low + high) / 2
        if high - low <= 1e-10 * high or not low < middle < high:
            break
        low, high = (low, middle) if view(middle).delta(below).upper <= target else (middle, high)
    step = high * 1e-11
    while low > 0 and not view(low).delta(above).lower > target:
        low, step = max(low - step, 0.0), 2 * step
    return max(low, 5e-324), high
