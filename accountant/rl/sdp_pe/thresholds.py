"""The least noise at which a batch of SDP-PE's counters meets a target, and the error of its noisy counts.

The noise is found from the exact guarantee of all changed counters. A fair noise bit is 1 with probability
1/2. If a batch has fewer users than the fair bits that it needs, the users share these bits. More fair bits
are post-processing, so delta falls with their number. The sufficient number is the same for all batches with
so few users, so the code finds it only once. In larger batches every user has one noise bit that is rarely 1.
In larger batches delta may rise with the threshold tau, so the certificate holds for the returned threshold
only, not for larger ones.

With the precision level E, all noisy counts of a release are within E/4 of the true ones at once, except with
the failure probability. E comes from exact binomial tails with a union bound over the counters, or is the
paper's. A linear programme then returns counts within E of the true ones (docs/notes/sdp_privatizer.md,
section 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import flint

from dpproof.accountant.claims.calibration import NoNoiseNeededError, UnreachableTargetError
from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.numbers.arithmetic import cache, lru_cache
from dpproof.accountant.numbers.binomial import lower_tail
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import inside_unit, whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import enclose, first_step, sign_change
from dpproof.accountant.rl.sdp_pe.batches import BatchLoss, ReleaseShape, batch_loss
from dpproof.accountant.rl.sdp_pe.shuffled_count import ShuffledCountParameters, view

_MOST = 10**15
"""The largest number of fair bits of one counter that is tried."""
_NEAR = 1e-3
_STEPS = 60
"""The number of amounts of noise that are tried."""
_APART, _CLOSER = 1e-2, 5
"""If the two amounts are farther apart than the first number, the undecided range is halved on each side.

The second number is the number of halvings on each side.
"""
_NOTHING = 1 - Fraction(1, 10**9)
"""A delta above this number is met by noise that hides almost nothing."""


@lru_cache(maxsize=4096)
def batch_threshold(shape: ReleaseShape, users: int, epsilon: Number, delta: Number) -> tuple[float, float]:
    """Return two thresholds: one that is certified to meet (epsilon, delta), and one certified to miss it.

    The second is smaller. The target is for one batch of SDP-PE. A threshold is twice the expected number of
    noise bits of a counter. A fair bit is a noise bit that is 1 with probability 1/2. The two thresholds
    differ by about 0.1%, or by one fair bit of each user. They may differ by more if the bounds on delta are
    too far apart to decide. Every threshold above ``users`` and up to ``2 users`` gives each user 2 fair
    bits, so in that range the first result is ``2 users``.

    >>> meets, misses = batch_threshold(ReleaseShape(1, 4, 2, rewards=False), 65536, 1.0, 1e-6)
    >>> 0.99 * meets <= misses < meets
    True

    Raises:
        ValueError: for users outside 1 .. 10^12, an epsilon that is not positive, or a delta outside (0, 1).
        UnreachableTargetError: 10^15 fair bits are not enough.
        NoNoiseNeededError: for a delta so close to 1 that almost no noise is needed.
    """
    target, failure = exact(epsilon, "epsilon"), inside_unit(delta, "delta")
    whole(users, "users", 1, 10**12)
    if target <= 0:
        raise ValueError(f"epsilon ({epsilon!r}) must be positive")
    if failure > _NOTHING:
        raise NoNoiseNeededError(
            f"delta ({delta!r}) is so large that almost no noise is needed. Use a smaller delta."
        )
    fair, fewer = _fair_bits(shape.changes, target, failure)
    if users <= fewer:
        return float(users * -(-fair // users)), float(users * (fewer // users))

    def found(tau: float) -> Bound:
        return batch_loss(shape, users, tau).delta(target)

    if users < fair:  # a fair bit of each user is between what is enough and what is not
        return float(2 * users), _missing(found, failure, float(users))
    spread = _variance(shape.changes, target, failure)
    start = users * (1 - math.sqrt(max(1 - 4 * spread / users, 0.0)))
    return _bracket(found, failure, start, float(users))


def _missing(delta_at: Callable[[float], Bound], target: Fraction, start: float) -> float:
    """Return an amount of noise at or below ``start`` that certifiably misses the target."""
    return first_step(lambda noise: delta_at(noise).lower > target, start, -start * _NEAR / 4, math.ulp(0.0))


@lru_cache(maxsize=256)
def _fair_bits(changes: int, epsilon: Fraction, delta: Fraction) -> tuple[int, int]:
    """Return a number of fair bits that is sufficient for a counter in total, and one that is not."""

    def found(bits: float) -> Bound:
        return BatchLoss(changes, round(bits), Fraction(1, 2)).delta(epsilon)

    if found(1).upper <= delta:
        return 1, 0
    spread = _variance(changes, epsilon, delta)
    if 4 * spread > _MOST / 2 and not found(_MOST).upper <= delta:
        raise UnreachableTargetError(
            "The target cannot be met. Even 10^15 fair noise bits for a counter are not enough. "
            "Use a larger epsilon or delta."
        )
    meets, misses = _bracket(found, delta, 4 * spread, _MOST, whole=True)
    return round(meets), round(misses)


def _bracket(
    delta_at: Callable[[float], Bound], target: Fraction, start: float, most: float, *, whole: bool = False
) -> tuple[float, float]:
    """Return two close amounts of noise: the first is certified to meet the target, the second to miss it.

    One evaluation shows whether an amount meets, whether it misses, and how far it is off.
    """

    def rounded(value: float) -> float:
        value = min(max(value, 1.0 if whole else 1e-9 * start), most)
        return float(round(value)) if whole else value

    search = _Search(target)
    place = rounded(start)
    for _ in range(_STEPS):
        search.add(place, delta_at(place))
        if search.near(whole):
            break
        place = search.next(rounded)
    if 0 < search.misses < search.meets < math.inf:
        return _closer(delta_at, target, search, rounded)
    raise UnreachableTargetError(
        f"The bounds near threshold {start:.3g} are too wide to find the least noise for the target."
    )


def _closer(
    delta_at: Callable[[float], Bound], target: Fraction, search: _Search, rounded: Callable[[float], float]
) -> tuple[float, float]:
    """Return both amounts, moved closer if delta's bounds allow it and they are more than 1% apart."""
    meets, misses = search.meets, search.misses
    if meets <= misses * math.exp(_APART):
        return meets, misses
    low, high = misses, meets
    for _ in range(_CLOSER):
        middle = rounded(math.sqrt(low * meets))
        low, meets = (low, middle) if delta_at(middle).upper <= target else (middle, meets)
    for _ in range(_CLOSER):
        middle = rounded(math.sqrt(misses * high))
        misses, high = (middle, high) if delta_at(middle).lower > target else (misses, middle)
    return meets, misses


@dataclass
class _Search:
    """The amounts tried so far, and the next one, by the secant rule over logarithms of the noise.

    Distances are differences of sqrt(-2 log delta), which is about linear in the logarithm. The search aims
    slightly to the side that is still open, and farther if the bounds on delta are too wide to decide.
    """

    target: Fraction
    meets: float = math.inf
    misses: float = 0.0
    aside: float = _NEAR / 3
    tried: list[tuple[float, float]] = field(default_factory=list)

    def add(self, noise: float, found: Bound) -> None:
        """Record the result at an amount of noise."""
        self.tried.append((math.log(noise), self._gap(found)))
        if found.upper <= self.target:
            self.meets = min(self.meets, noise)
        elif found.lower > self.target:
            self.misses = max(self.misses, noise)
        elif abs(self.tried[-1][1] / self._slope()) < 2 * self.aside:
            self.aside *= 2

    def near(self, whole: bool) -> bool:
        """Whether the least amount that meets the target and the largest that misses it are close enough."""
        if whole and self.meets <= self.misses + 1:
            return True
        wide = max(_NEAR, 4 * self.aside) if self.aside > _NEAR else _NEAR
        return 0 < self.misses < self.meets <= self.misses * math.exp(wide)

    def next(self, rounded: Callable[[float], float]) -> float:
        """Return the amount to try next."""
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
        """Return the slope of the distance over the logarithm, below 0."""
        usual = -math.sqrt(-2 * _log(self.target)) / 2
        (x, low), (y, high) = ([*self.tried, *self.tried] if len(self.tried) == 1 else self.tried)[-2:]
        return min((high - low) / (y - x), usual / 4) if x != y else usual

    def _gap(self, found: Bound) -> float:
        middle = min(max((found.lower + found.upper) / 2, 1e-320), 1.0)
        return math.sqrt(-2 * _log(self.target)) - math.sqrt(-2 * math.log(middle))


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _variance(changes: int, epsilon: Fraction, delta: Fraction) -> float:
    """Return the variance of Gaussian noise on 2 ``changes`` counters, at which the search starts."""
    return 2 * changes / gaussian_mu(epsilon, delta)[0] ** 2


_BITS = 128


@lru_cache(maxsize=4096)
def precision_level(shape: ReleaseShape, users: int, threshold: float, failure: Number) -> float:
    """Return the least precision level E: all noisy counts of a release are within E/4 of the true ones.

    The counts are within E/4 except with probability ``failure``, which exact binomial tails certify. E is
    the least whole number for which this is certified. If visits are sums of transitions, the visits are
    within E/4, too. Their noise is the sum of the noise of as many counters as there are states.

    >>> precision_level(ReleaseShape(6, 4, 2), 5000, 900.0, "0.05") / 4
    76.0

    Raises:
        ValueError: for a failure outside (0, 1), or sizes that ``ShuffledCountParameters`` refuses.
    """
    chance = inside_unit(failure, "failure")
    noise = view(ShuffledCountParameters(users, threshold, "bits"))
    trials, p = noise.trials, exact(noise.probability)
    laws = {trials: shape.counters}
    if not shape.own_visits:
        summed = trials * shape.states
        laws[summed] = laws.get(summed, 0) + shape.cells

    @cache
    def beyond(least: tuple[tuple[int, int], ...]) -> float:
        """Return an upper bound on the probability that some counter's noise leaves its range, given by its ends."""
        with precision(_BITS):
            each = zip(laws.items(), least, strict=True)
            return round_up(sum((count * _outside(n, p, *ends) for (n, count), ends in each), flint.arb(0)))

    def chance_at(quarters: int) -> float:
        """Return an upper bound on the failure probability at E = ``quarters``."""
        return beyond(tuple(_ends(n, p, Fraction(quarters, 4)) for n in laws))

    goal = round_down(arb_of(chance))
    spread = float(max(laws) * p * (1 - p))
    sides = 2.0 * shape.counters
    start = math.sqrt(-2 * spread * math.log(goal / sides))
    return float(_least(chance_at, goal, sides, math.ceil(4 * start), 4 * trials * shape.states))


def _ends(trials: int, p: Fraction, away: Fraction) -> tuple[int, int]:
    """Return how many of the lowest and of the highest numbers of ones are more than ``away`` from the mean."""
    mean = trials * p
    return max(math.ceil(mean - away), 0), max(math.ceil(trials - mean - away), 0)


def _outside(trials: int, p: Fraction, low: int, high: int) -> flint.arb:
    """Return the probability of the ``low`` smallest and the ``high`` largest numbers of ones."""
    return lower_tail(trials, p, low - 1) + lower_tail(trials, 1 - p, high - 1)


def _least(chance_at: Callable[[int], float], goal: float, sides: float, start: int, most: int) -> int:
    """Return the least whole number in [1, most] with a probability of at most ``goal``.

    Probabilities fall, to 0 at ``most``. The root of minus the logarithm of one side's probability is about
    linear.
    """
    wanted = math.sqrt(-math.log(goal / sides))

    def gap(place: float) -> float:
        found = chance_at(int(place))
        reached = math.sqrt(-math.log(found / sides)) if 0 < found < sides else math.inf
        reached = 0.0 if found >= sides else reached
        return max(wanted - reached, 1e-18) if found > goal else min(wanted - reached, -1e-18)

    place = min(max(start, 1), most)
    low, high = (0, place) if gap(place) <= 0 else enclose(gap, place, place, most)
    ends = wanted if low == 0 else gap(low), gap(high) if high <= most else -math.inf
    return round(sign_change(gap, low, min(high, most), close=0.0, apart=1.0, whole=True, at=ends)[1])


def printed_level(shape: ReleaseShape, threshold: float, failure: Number) -> float:
    """Return the paper's precision level E: all noisy counts of a release are within E/4 of the true ones.

    The paper bounds the tail on each side of each counter by exp(-(E/4)^2/(3 tau)), where tau is
    ``threshold``. E is the number at which the sum of these bounds over both sides of all counters equals
    ``failure``. But this tail bound holds only for E/4 up to the mean of the noise (docs/findings.md).

    >>> round(printed_level(ReleaseShape(6, 4, 2), 900.0, "0.05") / 4)
    159

    Raises:
        ValueError: for a failure outside (0, 1), or a threshold that is not positive.
    """
    chance = inside_unit(failure, "failure")
    if not threshold > 0:
        raise ValueError(f"threshold ({threshold!r}) must be positive")
    with precision(_BITS):
        sides = (2 * shape.counters / arb_of(chance)).log()
        return round_up(4 * (3 * arb_of(exact(threshold)) * sides).sqrt())
