"""The least noise with which one batch of counters keeps a target, by the exact loss of all changed counters.

Below as many fair bits as one batch needs, users share these: more fair bits are processing, so that delta
falls in their number, which is found once for all batches of so few users. Larger batches have one rare bit a
user; there delta is not monotone in tau, and what is certified is the threshold returned, not all above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from accountant.bounds import Bound
from accountant.enclosures import Number, exact
from accountant.gaussian import gaussian_mu
from accountant.rl.sdp_pe_batches import ReleaseShape, batch_loss
from accountant.targets import UnreachableTargetError

__all__ = ["batch_threshold"]

_MOST = 10**15
"""Fair bits of one counter that are tried at most."""
_NEAR = 1e-3
_STEPS = 60
"""Amounts of noise that are tried."""


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
        UnreachableTargetError: 10^15 fair bits are not enough.
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
    return _bracket(
        lambda tau: batch_loss(shape, users, tau).delta(target), float(failure), start, float(users)
    )


@lru_cache(maxsize=256)
def _fair_bits(changes: int, epsilon: Fraction, delta: Fraction) -> tuple[int, int]:
    """How many fair bits are enough for a counter in all, and a number that is not."""
    shape = ReleaseShape(changes, 1, 1, rewards=False, own_visits=False)

    def found(bits: float) -> Bound:
        return batch_loss(shape, round(bits), float(round(bits))).delta(epsilon)

    spread = _variance(changes, epsilon, delta)
    meets, misses = _bracket(found, float(delta), 4 * spread, _MOST, whole=True)
    return round(meets), round(misses)


def _bracket(
    delta_at: Callable[[float], Bound], target: float, start: float, most: float, *, whole: bool = False
) -> tuple[float, float]:
    """Amounts of noise near each other, the first certified to meet the target, the second to miss it.

    One evaluation says whether an amount meets, whether it misses, and how far it is off.
    """

    def rounded(value: float) -> float:
        value = min(max(value, 1.0 if whole else 1e-9 * start), most)
        return float(round(value)) if whole else value

    search = _Search(target)
    place = rounded(start)
    for _ in range(_STEPS):
        search.add(place, delta_at(place))
        if search.near(whole):
            return search.meets, search.misses
        place = search.next(rounded)
    if search.misses < search.meets < math.inf and search.misses > 0:
        return search.meets, search.misses
    raise UnreachableTargetError(f"no noise near {start:.3g} is certified on both sides of the target")


@dataclass
class _Search:
    """Amounts that were tried, and the next one: the secant rule over logarithms of the noise.

    Distances are differences of sqrt(-2 log delta), which is about linear in the logarithm. It aims a little
    to the side that is still open, farther where the two ends of delta are too wide to decide.
    """

    target: float
    meets: float = math.inf
    misses: float = 0.0
    aside: float = _NEAR / 3
    tried: list[tuple[float, float]] = field(default_factory=list)

    def add(self, noise: float, found: Bound) -> None:
        """Take in what is known at an amount of noise."""
        self.tried.append((math.log(noise), self._gap(found)))
        if found.upper <= self.target:
            self.meets = min(self.meets, noise)
        elif found.lower > self.target:
            self.misses = max(self.misses, noise)
        elif abs(self.tried[-1][1] / self._slope()) < 2 * self.aside:
            self.aside *= 2

    def near(self, whole: bool) -> bool:
        """Whether both amounts are as near as they have to be."""
        if whole and self.meets <= self.misses + 1:
            return True
        wide = max(_NEAR, 4 * self.aside) if self.aside > _NEAR else _NEAR
        return 0 < self.misses < self.meets <= self.misses * math.exp(wide)

    def next(self, rounded: Callable[[float], float]) -> float:
        """The amount to try next."""
        last, gap = self.tried[-1]
        crossing = last + min(max(-gap / self._slope(), -0.7), 0.7)
        up = self.meets > math.exp(min(crossing, 700) + 2 * self.aside)
        place = rounded(math.exp(crossing + (self.aside if up else -self.aside)))
        if self.misses < place < self.meets:
            return place
        if self.misses == 0 or self.meets == math.inf:
            return rounded(math.exp(last + (0.7 if self.meets == math.inf else -0.7)))
        return rounded(math.sqrt(self.misses * self.meets))

    def _slope(self) -> float:
        """Of the distance over the logarithm, below 0."""
        usual = -math.sqrt(-2 * math.log(self.target)) / 2
        (x, low), (y, high) = ([*self.tried, *self.tried] if len(self.tried) == 1 else self.tried)[-2:]
        return min((high - low) / (y - x), usual / 4) if x != y else usual

    def _gap(self, found: Bound) -> float:
        middle = min(max((found.lower + found.upper) / 2, 1e-320), 1.0)
        return math.sqrt(-2 * math.log(self.target)) - math.sqrt(-2 * math.log(middle))


def _variance(changes: int, epsilon: Fraction, delta: Fraction) -> float:
    """Of Gaussian noise on 2 ``changes`` counters: where the search begins."""
    return 2 * changes / gaussian_mu(epsilon, delta)[0] ** 2
