"""The least noise with which one batch of counters keeps a target, by the exact loss of all changed counters.

Below as many fair bits as one batch needs, users share these: more fair bits are processing, so that delta
falls in their number, which is found once for all batches of so few users. Larger batches have one rare bit a
user; there delta is not monotone in tau, and what is certified is the threshold returned, not all above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from accountant.enclosures import Number, exact
from accountant.gaussian import gaussian_mu
from accountant.notions import Guarantee
from accountant.rl.sdp_pe_batches import ReleaseShape, batch_loss
from accountant.targets import Judge, Target, UnreachableTargetError

__all__ = ["batch_threshold"]

_MOST = 1 << 40
"""Fair bits of one counter that are tried at most."""
_NEAR = 1e-3


@lru_cache(maxsize=4096)
def batch_threshold(shape: ReleaseShape, users: int, epsilon: Number, delta: Number) -> tuple[float, float]:
    """A tau at which a batch certainly keeps (epsilon, delta), and one below it that certainly does not.

    They are about 0.1% apart, or one fair bit of each user, or as near as the two ends of delta allow. Of
    tau between users and twice that many both are 2 users: the bits of each are whole.

    >>> meets, misses = batch_threshold(ReleaseShape(1, 4, 2, rewards=False), 65536, 1.0, 1e-6)
    >>> 0.99 * meets <= misses < meets
    True

    Raises:
        ValueError: for no users, an epsilon that is not positive, or a delta outside (0, 1).
        UnreachableTargetError: 2^40 fair bits are not enough.
    """
    target, failure = exact(epsilon, "epsilon"), exact(delta, "delta")
    if isinstance(users, bool) or not isinstance(users, int) or users < 1:
        raise ValueError(f"users ({users!r}) must be an integer at least 1")
    if target <= 0:
        raise ValueError(f"epsilon ({epsilon!r}) must be positive")
    if not 0 < failure < 1:
        raise ValueError(f"delta ({delta!r}) must be in (0, 1)")
    fair, fewer = _fair_bits(shape.changes, target, failure)
    if users <= fair:
        return float(users * -(-fair // users)), float(users * (fewer // users) or min(users, fewer))
    spread = _variance(shape.changes, target, failure)
    start = users * (1 - math.sqrt(max(1 - 4 * spread / users, 0.0)))
    judge = Judge(lambda tau: batch_loss(shape, users, tau), Target(target, failure))
    return _bracket(judge, start, float(users))


@lru_cache(maxsize=256)
def _fair_bits(changes: int, epsilon: Fraction, delta: Fraction) -> tuple[int, int]:
    """How many fair bits are enough for a counter in all, and a number that is not."""
    shape = ReleaseShape(changes, 1, 1, rewards=False, own_visits=False)

    def loss(bits: float) -> Guarantee:
        return batch_loss(shape, round(bits), float(round(bits)))

    judge = Judge(loss, Target(epsilon, delta))
    meets, misses = _bracket(judge, 4 * _variance(changes, epsilon, delta), _MOST, whole=True)
    return round(meets), round(misses)


def _bracket(judge: Judge, start: float, most: float, *, whole: bool = False) -> tuple[float, float]:
    """Amounts of noise near each other, the first certified to meet the target, the second to miss it."""

    def rounded(value: float) -> float:
        value = min(max(value, 1.0 if whole else 1e-9 * start), most)
        return float(round(value)) if whole else value

    middle = rounded(_crossing(judge, rounded(start), rounded))
    high = _first(judge.meets, middle, 1, rounded)
    return high, _first(judge.misses, high, -1, rounded)


def _crossing(judge: Judge, noise: float, rounded: Callable[[float], float]) -> float:
    """Where the gap is about 0: the secant rule over logarithms of the noise."""
    slope = -math.sqrt(-2 * math.log(float(judge.target.delta))) / 2
    for _ in range(8):
        gap = judge.gap(noise)[0]
        move = min(max(-gap / slope, -0.7), 0.7)
        if abs(move) < _NEAR / 4:
            break
        moved = rounded(noise * math.exp(move))
        if moved == noise:
            break
        change = judge.gap(moved)[0] - gap
        slope = min(change / math.log(moved / noise), slope / 4)
        noise = moved
    return noise


def _first(
    holds: Callable[[float], bool], start: float, sign: int, rounded: Callable[[float], float]
) -> float:
    """The first of ``start`` and points ever farther from it, up or down, where a judgement holds."""
    step, place = _NEAR / 2, start
    while step < 8:
        if (place != start or sign > 0) and holds(place):
            return place
        moved = rounded(start * math.exp(sign * step))
        place = rounded(start + sign) if moved == start else moved
        step *= 2
    raise UnreachableTargetError(f"no noise near {start:.3g} is certified on that side of the target")


def _variance(changes: int, epsilon: Fraction, delta: Fraction) -> float:
    """Of Gaussian noise on 2 ``changes`` counters: where the search begins."""
    return 2 * changes / gaussian_mu(epsilon, delta)[0] ** 2
