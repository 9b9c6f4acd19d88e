"""Peaks of a shuffled count's delta as a function of the noise probability: more noise can mean a larger delta.

X is the number of ones among n noise bits, each 1 with probability p, and s = exp(epsilon). If the true count
is raised by one, the event "the sum is at most K" contributes f_K(p) = P[X <= K] - s P[X <= K - 1] to delta.
It is the best event for p in one interval. There delta first rises to its peak at p_K = K s/(n - K + K s) and
then falls. The other direction has the mirror images of these peaks, at 1 - p_K. Beyond the last peak above a
target, each direction crosses the target at most once (docs/notes/shuffling.md).

The height of the peak is (docs/notes/shuffling_peaks.md)

    F(K) = m(K) * integral over r > s of (s - 1)/(r - 1)^2 exp(-n D_r(K/n)) dr,
    D_r(k) = log(1 + (r - 1) k) - k log r,   m(K) the mass of K among n bits of chance K/n.

D_r is concave in k and grows with r, and m falls up to n/2. So two peaks bound the heights of all peaks between them,
and a few evaluations bound any number of peaks.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import flint

from dpproof.accountant.numbers.arithmetic import math
from dpproof.accountant.numbers.binomial import mass, tail_ratio
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down
from dpproof.accountant.numbers.inversion import first_step, first_whole, last_where, refined
from dpproof.accountant.shuffling.view import BinomialView, hockey_stick

_BITS = 128
_MOST = 20_000
"""The largest number of ranges of peaks that are examined."""


class UndecidedError(ArithmeticError):
    """Raised if bounds cannot decide whether delta stays below a target for all larger thresholds."""


def height(users: int, epsilon: Fraction, last: int) -> flint.arb:
    """Return an upper bound on what one event contributes to delta, for any noise probability.

    The event is that the sum is at most K = ``last``, in 1..users - 1. It contributes P[X <= K] -
    exp(epsilon) P[X <= K - 1], where X is the number of ones among ``users`` noise bits of probability p. The
    bound is close: it is the exact maximum over p for a double just below exp(epsilon).

    >>> float(height(100, Fraction(1), 5)) < 0.13
    True
    """
    scale = _scale(epsilon)
    place = last * scale / (users - last + last * scale)

    def value() -> flint.arb:
        return mass(users, place, last) * (arb_of(scale) - arb_of(scale - 1) * tail_ratio(users, place, last))

    return refined(value)


def _scale(epsilon: Fraction) -> Fraction:
    """Return a double close to exp(epsilon) and at most equal to it; at least 1."""
    with precision(_BITS):
        return max(Fraction(round_down(arb_of(min(epsilon, Fraction(600))).exp())), Fraction(1))


def meets_from(users: int, epsilon: Fraction, target: Fraction, threshold: float) -> bool:
    """Return whether delta of a shuffled count is at most ``target`` for every threshold from ``threshold`` on.

    The threshold of SDP-PE is twice the expected number of noise bits. Every bit is a separate message. The
    answers True and False are both certified. For thresholds beyond ``users`` delta falls, because each user
    then has noise bits that are 1 with probability 1/2.

    >>> meets_from(278566, Fraction("0.1"), Fraction("1e-6"), 2829.68)
    True

    Raises:
        ValueError: for a threshold outside (0, users].
        UndecidedError: if too many peaks are too close to the target.
    """
    if not 0 < threshold <= users:
        raise ValueError(f"threshold ({threshold!r}) must be in (0, {users}]")
    place = Fraction(threshold) / (2 * users)
    for chance in (place, Fraction(1, 2)):
        if not BinomialView(users, chance).delta(epsilon).upper <= target:
            return False
    return first_peak_above(users, epsilon, target, place) is None


def first_peak_above(users: int, epsilon: Fraction, target: Fraction, place: Fraction) -> Fraction | None:
    """Return a noise probability in [``place``, 1/2] at which delta has a peak that may be above ``target``.

    A peak is a local maximum of delta as a function of the noise probability. Return None if all peaks in
    this range are certified to be at most the target.

    Raises:
        UndecidedError: if too many peaks are too close to the target.
    """
    scale = _scale(epsilon)
    behind = _first(users, place, scale), math.floor(users / (1 + scale))
    found = _search(partial(_falling, users, epsilon), *behind, target)
    if found is not None:
        return found * scale / (users - found + found * scale)
    other = _first(users, place, 1 / scale), math.floor(users * scale / (1 + scale))
    mirrored = _search(partial(_mirrored, users, epsilon), *other, target)
    return None if mirrored is None else mirrored / (mirrored + (users - mirrored) * scale)


def _first(users: int, place: Fraction, scale: Fraction) -> int:
    """Return the first K whose peak K scale/(n - K + K scale) is, or may be, beyond a place."""
    near = place * (1 - Fraction(1, 10**12))
    return max(1, math.ceil(users * near / (scale * (1 - near) + near)))


Heights = Callable[[int, int], flint.arb]
"""A function that returns an upper bound on the heights of all peaks in a range.

Its arguments are the first and the last peak. For a single peak it returns that peak's height.
"""


def _search(heights: Heights, first: int, last: int, target: Fraction) -> int | None:
    """Return the first peak in the range that is not below the target, by halving the undecided parts."""
    goal, ranges = arb_of(target), [(first, last)] if first <= last else []
    for _ in range(_MOST):
        if not ranges:
            return None
        low, high = ranges.pop()
        if heights(low, high) <= goal:
            continue
        if low == high:
            return low
        middle = (low + high) // 2
        ranges += [(middle + 1, high), (low, middle)]
    raise UndecidedError(
        f"{_MOST} steps do not decide whether a local maximum of delta is above the target ({float(target)!r})"
    )


def _falling(users: int, epsilon: Fraction, low: int, high: int) -> flint.arb:
    """Bound the heights of lower events, K at most n/2: the first height, plus a rest if D_r stops growing."""
    found = height(users, epsilon, low)
    return found if low == high else found + refined(partial(_rest, users, epsilon, low, high))


def _rest(users: int, epsilon: Fraction, low: int, high: int) -> flint.arb:
    """Return (s - 1)/(r - 1) exp(-n D_r(high)) for an r >= s at which D_r(high) is at least D_r(low)."""
    scale = _scale(epsilon)
    first, last = Fraction(low, users), Fraction(high, users)
    turn = _turn(float(scale), low / users, high / users)
    if turn < scale or not _divergence(turn, last) >= _divergence(turn, first):
        turn = scale
        if not _divergence(turn, last) >= _divergence(turn, first):
            return flint.arb(1)
    return arb_of((scale - 1) / (turn - 1)) * (-users * _divergence(turn, last)).exp()


def _turn(scale: float, first: float, last: float) -> Fraction:
    """Return slightly less than the largest r with D_r(last) >= D_r(first). The difference rises and then falls."""
    low, high = math.log(scale) if scale > 1 else 0.0, 700.0

    def gain(place: float) -> float:
        more = math.expm1(place)
        return math.log((1 + more * last) / (1 + more * first)) - (last - first) * place

    return exact(math.exp(last_where(lambda place: gain(place) >= 0, low, high)[0] * (1 - 1e-9)))


def _divergence(ratio: Fraction, share: Fraction) -> flint.arb:
    return arb_of(1 + (ratio - 1) * share).log() - arb_of(share) * arb_of(ratio).log()


def _mirrored(users: int, epsilon: Fraction, low: int, high: int) -> flint.arb:
    """Bound the heights of upper events, K = n - low, ...

    Heights fall up to the middle. Beyond it the two ends of the range bound them.
    """
    first = height(users, epsilon, users - low)
    if low == high or 2 * high <= users:
        return first
    if 2 * low < users:
        return flint.arb(1)
    last = height(users, epsilon, users - high)
    before, behind = (refined(partial(mass, users, Fraction(k, users), k)) for k in (low, high))
    rest = refined(partial(_rest, users, epsilon, users - high, users - low))
    bounds = first * behind / before + last, last + behind * rest
    return bounds[0] if bounds[0] <= bounds[1] else bounds[1]


def peak(trials: int, epsilon: Fraction, last: int, *, mirrored: bool = False) -> tuple[Fraction, flint.arb]:
    """Return a noise probability p close to a peak of delta, and delta at p in one direction.

    A peak is a local maximum of delta as a function of p. There are ``trials`` noise bits, each 1 with
    probability p. In the first direction the true count is raised by one, and the peak belongs to the event
    that the sum is at most ``last``. If ``mirrored``, the true count is lowered by one, and the peak belongs
    to the event that at most ``last`` bits are 0.

    >>> where, height = peak(100, Fraction(1), 5)
    >>> 0.12 < where < 0.13
    True
    """
    scale, rest = _peaks_scale(epsilon), trials - last
    weights = (last, rest * scale) if mirrored else (last * scale, rest)
    chance = Fraction(weights[0] / (weights[0] + weights[1])) if last else Fraction(0)
    moved = 1 - chance if mirrored else chance
    return chance, refined(partial(hockey_stick, trials, moved, Fraction(0), Fraction(1), epsilon))


def _peaks_scale(epsilon: Fraction) -> float:
    """Return exp(epsilon), capped for doubles. Beyond the cap all peaks but the first are next to 1."""
    return math.exp(min(epsilon, Fraction(600)))


def last_crossing(users: int, below: Fraction, above: Fraction, target: Fraction) -> tuple[float, float]:
    """Return two close thresholds: the first misses the target, the second and all larger ones meet it.

    A threshold is 2 n p for n = ``users`` noise bits of probability p. A peak is a local maximum of delta as
    a function of p. To meet the target means that delta is at most ``target`` at ``below``, a number at or
    just below epsilon. To miss it means that delta is above ``target`` at ``above``. The target must be below
    1 and be met at the threshold n. The function first searches over some peaks and proposes a threshold.
    Then it certifies that all peaks beyond the second threshold are at most the target. If a peak may be
    above the target, the search continues beyond this peak.

    Raises:
        UndecidedError: if too many peaks are too close to the target.
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
    """Return the place of the last of the peaks 0 .. ``most`` that is not below the target; peak 0 always counts."""
    goal = arb_of(target)

    def is_above(index: int) -> bool:
        return not peak_at(index)[1] <= goal

    low = most if is_above(most) else 0
    while low < most:
        high = first_whole(lambda index: not is_above(index), low, most)
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
    """Return the last event whose peak is at p <= 1/2. The event n itself, with p = 1, never counts."""
    scale = Fraction(_peaks_scale(epsilon))
    return math.floor(users * scale / (1 + scale) if mirrored else users / (1 + scale))


def _bisect(
    users: int, below: Fraction, above: Fraction, target: Fraction, left: float
) -> tuple[float, float]:
    """Return the crossing between the last peak above the target and tau = n, by bisection; there is at most one."""

    def view(tau: float) -> BinomialView:
        return BinomialView(users, Fraction(tau) / (2 * users))

    low, high = last_where(lambda tau: view(tau).delta(below).upper > target, left, float(users), close=1e-12)
    low = first_step(lambda tau: view(tau).delta(above).lower > target, low, -high * 1e-12, 0.0)
    return max(low, 5e-324), high
