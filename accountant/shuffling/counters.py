"""Bounds on delta for many counters with noise bits, each of which one user shifts by one.

Few noise bits (``rare_counters``). If a falling counter has no noise bit that is 1, or a rising counter only
such bits, it reveals the user for certain. If epsilon is beyond all likely privacy losses L, this event is
nearly all of delta, and a grid of losses cannot resolve it. The probability of the event is the lower bound.
For the finite losses, the upper bound adds E (1 - exp(epsilon - L))_+ <= M(c) exp(-c epsilon) c^c/(1+c)^(1+c)
with the best c of many. E is the mean over L, and M is the moment-generating function of L.

Fair bits (``fair_counters``). ``changes`` counters of N noise bits each are shifted by one. A fair bit is 1
with probability 1/2. The privacy loss of a counter at y is -2 artanh(v), v = (2y - N - 1)/(N + 1). This loss
is nearly linear for small v. So the composed loss is nearly a multiple of the sum of all counters, and this
sum is one binomial variable. Every event of that sum gives a lower bound. The upper bound is the linear loss
plus the most that the cubic terms and the counters far from the mean can add.

Proofs: docs/notes/sdp_batches.md, section 6.
"""

from __future__ import annotations

from fractions import Fraction
from math import log as plain_log

import flint
from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import lru_cache, math, np
from dpproof.accountant.numbers.binomial import log_masses, lower_tail
from dpproof.accountant.numbers.enclosures import arb_of, precision, round_down, round_up
from dpproof.accountant.shuffling.view import BinomialView

Floats = NDArray[np.float64]
_BITS, _MOST = 192, 1 << 21
_OUTSIDE = 8e-300
"""Upper bound on the mass of the outcomes outside a window, by Bernstein's inequality."""
_CHARGE = 1e-13
_TILTS = 2.0 ** (np.arange(-24, 33) / 4)


def rare_counters(changes: int, trials: int, p: Fraction, epsilon: Fraction) -> tuple[float, float]:
    """Return certified bounds on delta at ``epsilon`` if ``changes`` counters fall by one and as many rise.

    Each counter has ``trials`` noise bits, which are 1 with probability ``p``. The bounds are close to each
    other if epsilon is larger than all likely privacy losses, and far apart otherwise.

    >>> low, high = rare_counters(1, 10**6, Fraction(15, 10**6), Fraction(10))
    >>> 0 < high - low < 1e-3 * high
    True
    """
    certain = certain_mass(changes, trials, p)
    low = max(certain[0], BinomialView(trials, p).delta(epsilon).lower)
    laws = [law for law in (_law(trials, p), _law(trials, 1 - p)) if law is not None]
    if len(laws) < 2:
        return low, 1.0
    far = float(epsilon) * (1 - 2.0**-52)
    logs = sum(changes * (_log_moments(*law) + _CHARGE) for law in laws)
    factor = _TILTS * np.log(_TILTS / (1 + _TILTS)) - np.log1p(_TILTS)
    values = logs - _TILTS * far + factor
    best = float(np.min(values + _CHARGE * (np.abs(logs) + _TILTS * far + 4)))
    high = certain[1] + 2 * changes * _OUTSIDE + math.exp(min(best, 0.0)) * (1 + _CHARGE)
    return low, min(high * (1 + _CHARGE), 1.0)


def certain_mass(changes: int, trials: int, p: Fraction) -> tuple[float, float]:
    """Return bounds on the probability that some counter reveals the user for certain.

    ``changes`` counters fall by one, and as many rise. Each has N = ``trials`` noise bits, which are 1 with
    probability ``p``. The probability is 1 - (1 - (1-p)^N)^changes (1 - p^N)^changes.

    >>> certain_mass(1, 1, Fraction(1, 2))
    (0.75, 0.75)
    """
    with precision(_BITS):
        kept = [-(trials * _log_complement(q)).expm1() for q in (p, 1 - p)]
        found = -(changes * (kept[0].log() + kept[1].log())).expm1()
        return max(round_down(found), 0.0), min(round_up(found), 1.0)


def _log_complement(p: Fraction) -> flint.arb:
    """Return log(1 - p), accurate also if p is tiny or nearly 1."""
    return arb_of(-p).log1p() if 2 * p < 1 else arb_of(1 - p).log()


@lru_cache(maxsize=16)
def _law(trials: int, p: Fraction) -> tuple[Floats, Floats] | None:
    """Return upper bounds on log masses, and losses, of the likely outcomes; None if there are too many.

    The loss at x is log((N + 1 - x) p/(x (1 - p))).
    """
    spread = float(trials * p * (1 - p))
    reach = math.ceil(232 + math.sqrt(52900 + 1380 * spread) * (1 + 1e-9))
    middle = math.floor(trials * p)
    low, high = max(1, middle - reach), min(trials, middle + reach)
    if high - low > _MOST:
        return None
    counts = np.arange(low, high + 1)
    masses = log_masses(trials, p, counts)
    with precision(_BITS):
        odds = round_up(arb_of(p / (1 - p)).log())
    losses = np.log((trials + 1 - counts) / counts) + odds
    charge = 1e-14 * (2 + abs(odds) + float(np.abs(losses).max()))
    return masses.values + masses.errors, losses + charge


def _log_moments(masses: Floats, losses: Floats) -> Floats:
    """Return log E exp(c L) of the finite losses for every c tried, before rounding errors."""
    tops = [float(np.max(masses + c * losses)) for c in _TILTS]
    sums = [float(np.sum(np.exp(masses + c * losses - top))) for c, top in zip(_TILTS, tops, strict=True)]
    return np.array(tops) + np.log(sums)


_FAIR_BITS = 192
_HALF = Fraction(1, 2)


def fair_counters(changes: int, bits: int, epsilon: Fraction) -> tuple[float, float]:
    """Return certified bounds on delta at ``epsilon`` if one user shifts each of ``changes`` counters by one.

    Each counter has ``bits`` noise bits, which are 1 with probability 1/2. The bounds are close to each other
    if there are many bits. For few bits they may be as far apart as 0 and 1.

    >>> low, high = fair_counters(36, 10**8, Fraction(1, 200))
    >>> 0 < high - low < 1e-3 * high
    True
    """
    with precision(_FAIR_BITS):
        low = max(round_down(_event(changes, bits, epsilon)), 0.0)
    # counters so far out that they have next to no mass beside delta; nothing rests on the choice
    width = math.sqrt(2 * plain_log(2 * changes / max(1e-4 * low, 1e-300)) / bits)
    if width >= 1 or bits < 2:
        return low, 1.0
    with precision(_FAIR_BITS):
        return low, min(round_up(_linear(changes, bits, epsilon, Fraction(width))), 1.0)


def _event(changes: int, bits: int, epsilon: Fraction) -> flint.arb:
    """Return P - exp(epsilon) Q of the event that the sum is so small that the linear loss exceeds epsilon."""
    trials, last = changes * bits, math.floor((bits + 1) * (Fraction(changes, 2) - epsilon / 4))
    return lower_tail(trials, _HALF, last) - arb_of(epsilon).exp() * lower_tail(trials, _HALF, last - changes)


def _linear(changes: int, bits: int, epsilon: Fraction, width: Fraction) -> flint.arb:
    """Return the probability of counters outside ``width``, plus E (1 - exp(epsilon - loss))_+ of a linear loss.

    The slope of the loss is the logarithm of rational odds, so the tilted distribution is a binomial too.
    """
    trials, whole = changes * bits, bits + 1
    tilted = Fraction(whole + 2, 2 * whole)  # its log odds are 2 artanh(2/(N + 1)), next to 4/(N + 1)
    slope = arb_of(tilted / (1 - tilted)).log()
    out = 2 * changes * lower_tail(bits, _HALF, math.floor(whole * (1 - width) / 2))
    cubes = arb_of(changes * 2 * width**3 / (3 * (1 - width**2)))
    turned = (slope - arb_of(Fraction(4, whole))) * arb_of(changes * width * whole / 2)
    near = arb_of(epsilon) - cubes - turned
    place = arb_of(Fraction(changes * whole, 2)) - near / slope
    last = place.floor().unique_fmpz()
    if last is None:
        return flint.arb(1)
    odds = arb_of(1 / (1 - tilted))  # 1 + exp(slope)
    weight = near - slope * arb_of(Fraction(changes * whole, 2)) + trials * (odds / 2).log()
    kept = lower_tail(trials, _HALF, int(last)) - weight.exp() * lower_tail(trials, tilted, int(last))
    return out + kept
