"""Noise constants of private policy evaluation: the paper's, the least for a given smoothing, and the best choice.

psi is a smooth bound on the squared sensitivity: log psi changes by at most ``beta`` between neighbours. The
standard deviation of the noise is ``alpha`` times sqrt(psi), in the unit of sqrt(psi). alpha and beta are the
paper's parameters. The accountant of smooth Gaussian noise uses beta/2, the smoothing of sqrt(psi).

The two searches use ordinary floating-point numbers. ``last_place`` searches the place where a rising
function changes its sign, and the caller certifies each value. ``descent`` searches the place of the smallest
value, and only proposes a place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np

from dpproof.accountant.claims.calibration import Target, UnreachableTargetError, calibrate_noise
from dpproof.accountant.claims.parameters import Reals
from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import last_where, sign_change
from dpproof.accountant.published import published
from dpproof.accountant.rl.policy_evaluation.bounds import SmoothBound, WeightedBound
from dpproof.accountant.smooth_sensitivity.gaussian import SmoothGaussian, SmoothGaussianParameters


def last_place(gap: Callable[[float], float], start: float, least: float, close: float) -> float | None:
    """Return a number x close to the largest one at which the increasing function ``gap`` is at most 0.

    The function has computed that gap(x) is at most 0, and that ``gap`` is above 0 at some number between x
    and x + ``close``. The result is None if ``gap`` is still above 0 at a number below ``least``. The search
    begins at ``start``.

    >>> round(last_place(lambda x: x**3 - 8, 0.0, -9.0, 1e-9), 6)
    2.0
    """
    low = high = start
    below = above = gap(start)
    step = math.log(2)
    while below > 0:
        if low < least:
            return None
        high, above, low = low, below, low - step
        below, step = gap(low), 2 * step
    while above <= 0:
        low, below, high = high, above, high + step
        above, step = gap(high), 2 * step
    return sign_change(lambda place: -gap(place), low, high, apart=close, at=(-below, -above))[0]


def descent(at: Callable[[int], float], begin: Sequence[int], ends: tuple[int, int]) -> tuple[int, float]:
    """Return a whole number at which the function ``at`` has a local minimum, and the minimum.

    The search starts at the number in ``begin`` with the smallest value. It stays between the two numbers
    ``ends``. Its steps are 8, 4, 2 and 1.

    >>> descent(lambda x: (x - 5) ** 2, (12, -4, -20), (-28, 20))
    (5, 0)
    """
    known: dict[int, float] = {}

    def value(place: int) -> float:
        if place not in known:
            known[place] = at(place)
        return known[place]

    best, step = min(begin, key=value), 8
    while step:
        before, near = best, (best, max(best - step, ends[0]), min(best + step, ends[1]))
        best = min(near, key=value)
        step = step // 2 if best == before else step
    return best, value(best)


ROOM = 1.1
"""The default factor ``room`` of ``with_room``. Noise above that for a constant scale allows smoothing."""
_LEAST_BETA, _MOST_DATA = 1e-9, 2.0**30
_CLOSE, _ROUGHLY = 1e-12, 1e-3
_MANY = 10_000
"""Above this number of features, an even number of them counts as one more, since odd numbers are far cheaper."""


_ABOVE = Reals(0, lower_open=True)


@dataclass(frozen=True)
class Noise:
    """The two constants that determine the noise of private policy evaluation.

    psi is the smooth bound on the squared sensitivity.

    Attributes:
        alpha: standard deviation of the noise divided by sqrt(psi), above 0.
        beta: the largest change of the logarithm of psi between neighbours, above 0.

    >>> Noise(0.0, 0.1)
    Traceback (most recent call last):
    ValueError: alpha (0.0) must be a number above 0
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not _ABOVE.admits(value):
                raise ValueError(f"{name} ({value!r}) must be {_ABOVE}")

    def deviation(self, bound: SmoothBound) -> float:
        """Return the standard deviation of the noise for a given smooth ``bound`` psi: alpha sqrt(psi).

        The unit is that of sqrt(psi).
        """
        return self.alpha * math.sqrt(bound.squared(self.beta))


def _counted(dimension: int) -> int:
    """Return the number of features to use. Noise that is private with one more feature is private without it."""
    return dimension | 1 if dimension > _MANY else dimension


def guarantee_of(noise: Noise, dimension: int) -> SmoothGaussian:
    """Return the guarantee of Gaussian noise with these constants, in the worst case over all data.

    ``dimension`` is the number of features. The guarantee is exact, except for an even number above 10,000.
    Then it is the guarantee for one feature more, which also holds.

    >>> guarantee_of(printed(1, "1e-6", 40), 40).delta(1).upper < 2e-45
    True

    Source: this project's statement classic.smooth_gaussian.
    """
    return SmoothGaussian(noise.alpha, exact(noise.beta) / 2, _counted(dimension))


def _target(epsilon: Number, delta: Number) -> Target:
    target = Target(exact(epsilon, "epsilon"), exact(delta, "delta"))
    if target.epsilon == 0 or target.delta == 0:
        raise UnreachableTargetError(
            f"{target} cannot be met. Smooth-sensitivity Gaussian noise needs epsilon and delta above 0."
        )
    return target


def printed(epsilon: Number, delta: Number, dimension: int) -> Noise:
    """Return the noise constants that Lemma 1 of Balle, Gomrokchi and Precup prints.

    alpha is 5 sqrt(2 log(2/delta))/epsilon, rounded up. beta is epsilon/(4(d + log(2/delta))), rounded down.
    d is ``dimension``. Noise with these constants meets the target for epsilon up to 15
    (eval.lemma1.corrected), and up to 50 if beta is at most 3/2 (eval.lemma1.small_beta) or if neighbours have
    scales within a factor of 2, as in DP-LSW (eval.lemma1.ratio_4). Under the assumptions of eval.lemma1.to_49
    it does so for every epsilon up to 49.17. From 49.172 on it fails for some delta in dimension 1 (eval.lemma1
    is refuted).

    >>> printed("0.1", "0.1", 40)
    Noise(alpha=122.387..., beta=0.0005814...)

    Raises:
        ValueError: for an epsilon not above 0, or a delta outside (0, 1).
    """
    target = _target(epsilon, delta)
    with precision(128):
        values = {"epsilon": arb_of(target.epsilon), "delta": arb_of(target.delta)}
        alpha = published("eval.lemma1.alpha").formula.arb(**values)
        beta = published("eval.lemma1.beta").formula.arb(d=flint.arb(dimension), **values)
        return Noise(round_up(alpha), round_down(beta))


def least(
    epsilon: Number, delta: Number, dimension: int, beta: float, begin: float | None = None
) -> tuple[Noise, Noise]:
    """Return the least noise certified to meet (``epsilon``, ``delta``), and slightly less noise that does not.

    Both use the smoothing ``beta``. ``begin`` is the value of alpha, the constant of the noise, at which the search
    begins. By default it is the alpha that would meet the target if the scale of the noise were the same for all data.

    >>> least(1, "1e-6", 40, printed(1, "1e-6", 40).beta)[0].alpha
    4.417...

    Raises:
        ValueError: for a bad target, or a smoothing at which no noise meets it.
    """
    target = _target(epsilon, delta)

    def exactly(parameters: SmoothGaussianParameters) -> SmoothGaussian:
        return guarantee_of(Noise(parameters.noise, beta), dimension)

    first = _constant(target.epsilon, target.delta) if begin is None else begin
    start = SmoothGaussianParameters(first, beta / 2, dimension)
    meets, misses = calibrate_noise(start, "noise", exactly, target.epsilon, target.delta)
    return Noise(meets.noise, beta), Noise(misses.noise, beta)


@lru_cache(maxsize=64)
def _constant(epsilon: Fraction, delta: Fraction) -> float:
    """Return the noise that meets a target if the scale never changes."""
    return math.nextafter(1 / gaussian_mu(epsilon, delta)[0], math.inf)


@lru_cache(maxsize=1024)
def _roomy(
    epsilon: Fraction, delta: Fraction, dimension: int, room: float, start: float, close: float
) -> Noise:
    """Return ``room`` times the constant noise, with the largest smoothing that meets the target, up to ``close``.

    The search begins at the smoothing ``start``.
    """
    alpha, limit = room * _constant(epsilon, delta), Target(epsilon, delta).below

    def gap(place: float) -> float:
        """Return a number that is below 0 exactly if exp(place) is certified to meet the target."""
        upper = guarantee_of(Noise(alpha, math.exp(place)), dimension).delta(limit).upper
        far = _score(upper) - _score(float(delta))
        return min(far, -(2.0**-60)) if upper <= delta else max(far, 2.0**-60)

    place = last_place(gap, math.log(start), math.log(_LEAST_BETA), close)
    if place is None:
        raise UnreachableTargetError(
            f"room ({room!r}) is too small. With room times the least noise for a constant scale, no smoothing "
            "meets the target. Use a larger room."
        )
    return Noise(alpha, math.exp(place))


def _score(delta: float) -> float:
    """Return a function of delta that is about linear in the noise of a Gaussian, for the secant search."""
    return -math.sqrt(-2 * math.log(delta)) if delta > 0 else -40.0


def with_room(epsilon: Number, delta: Number, dimension: int, room: float = ROOM) -> Noise:
    """Return noise with room for smoothing, and about the largest smoothing that is certified to be private.

    The noise is ``room`` times the least noise that meets the target if the sensitivity is the same for all
    data. The result does not depend on any data.

    >>> found = with_room("0.1", "0.1", 40)
    >>> found.alpha, found.beta
    (3.131..., 0.0318...)

    Raises:
        ValueError: for a bad target, or a ``room`` not above 1.
    """
    if not 1 < room < math.inf:
        raise ValueError(f"room ({room!r}) must be a number above 1")
    target, size = _target(epsilon, delta), _counted(dimension)
    start = printed(epsilon, delta, size).beta
    return _roomy(target.epsilon, target.delta, size, room, start, _CLOSE)


def jointly(epsilon: Number, delta: Number, dimension: int, bound: SmoothBound) -> Noise:
    """Return noise and smoothing that are certified to meet the target, with about the least noise for ``bound``.

    ``bound`` comes from numbers of visits that must not be private: use a plan, an expectation or public
    data. The noise meets the target for any visits. Another choice may have less noise.

    >>> from dpproof.accountant.rl.policy_evaluation.bounds import WeightedBound
    >>> visits = WeightedBound([5000] * 40, [1 / 40] * 40)
    >>> ours, theirs = jointly("0.1", "0.1", 40, visits), printed("0.1", "0.1", 40)
    >>> theirs.deviation(visits) / ours.deviation(visits) > 1000
    True
    """
    target = _target(epsilon, delta)
    tried: dict[int, Noise] = {}

    def found(place: int, size: int, close: float) -> Noise:
        near = min(tried, key=lambda other: abs(other - place), default=None)
        start = printed(epsilon, delta, size).beta if near is None else tried[near].beta
        return _roomy(target.epsilon, target.delta, size, 1 + 2.0 ** (place / 4), start, close)

    def at(place: int) -> float:
        """Return the rough deviation of the noise for one place, which is only compared with other places."""
        try:
            tried[place] = found(place, dimension | 1, _ROUGHLY)
            return tried[place].deviation(bound)
        except ValueError:  # too little smoothing to compute with
            return math.inf

    best, least_found = descent(at, (12, -4, -20), (-40, 20))
    if math.isinf(least_found):
        raise UnreachableTargetError(
            f"{target} cannot be met by any smoothing that dpproof tries. Use a larger epsilon or delta."
        )
    return found(best, _counted(dimension), _CLOSE)


def data_needed(noise: Noise, bound: WeightedBound, deviation: float) -> float:
    """Return the factor by which the data must grow until the noise is at most ``deviation``.

    The factor multiplies the visits of every state. It is rounded up by at most 0.1%. The result is infinite
    if 2^30 times the data are not enough, for example if nobody visits some state.

    >>> from dpproof.accountant.rl.policy_evaluation.bounds import WeightedBound
    >>> visits, theirs = WeightedBound([5000] * 40, [1 / 40] * 40), printed("0.1", "0.1", 40)
    >>> data_needed(theirs, visits, with_room("0.1", "0.1", 40).deviation(visits))
    39.0...
    """

    def meets(factor: float) -> bool:
        more = np.rint(bound.visits * factor).astype(np.int64)
        return noise.deviation(WeightedBound(more, bound.weights)) <= deviation

    most = min(_MOST_DATA, 2.0**52 / max(int(bound.visits.max()), 1))
    low, high = 1.0, 2.0
    if meets(low):
        return low
    while not meets(high):
        low, high = high, 2 * high
        if high > most:
            return math.inf
    ends = math.log2(low), math.log2(high)
    return math.exp2(last_where(lambda place: not meets(math.exp2(place)), *ends, apart=math.log2(1.001))[1])
