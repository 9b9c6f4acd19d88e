"""Many counters with few noise bits together: what reveals the user for certain, and a bound on the rest.

A counter without a single noise bit (or, the other way round, with all of them) can only be the one user's.
Where epsilon is beyond the losses that are likely, that is nearly all of delta, and a grid of losses has
nothing to resolve. Above stands E (1 - exp(epsilon - L))_+ <= M(c) exp(-c epsilon) c^c/(1+c)^(1+c) for the
finite losses, the best c of many; below, the certain mass (docs/notes/sdp_batches.md, section 6).
"""

from __future__ import annotations

from fractions import Fraction

import flint
from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import lru_cache, math, np
from dpproof.accountant.numbers.binomial import log_masses
from dpproof.accountant.numbers.enclosures import arb_of, precision, round_down, round_up
from dpproof.accountant.shuffling.view import BinomialView

__all__ = ["certain_mass", "rare_counters"]

Floats = NDArray[np.float64]
_BITS, _MOST = 192, 1 << 21
_OUTSIDE = 8e-300
"""At least the mass of the outcomes left out of a window, by Bernstein's inequality."""
_CHARGE = 1e-13
_TILTS = 2.0 ** (np.arange(-24, 33) / 4)


def rare_counters(changes: int, trials: int, p: Fraction, epsilon: Fraction) -> tuple[float, float]:
    """Certified ends around delta(epsilon) of ``changes`` counters that fall by one and as many that rise.

    Next to each other where epsilon is beyond the likely losses, else far apart.

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
    """The chance that some counter reveals the user: 1 - (1 - (1-p)^N)^changes (1 - p^N)^changes, enclosed.

    >>> certain_mass(1, 1, Fraction(1, 2))
    (0.75, 0.75)
    """
    with precision(_BITS):
        kept = [-(trials * _log_complement(q)).expm1() for q in (p, 1 - p)]
        found = -(changes * (kept[0].log() + kept[1].log())).expm1()
        return max(round_down(found), 0.0), min(round_up(found), 1.0)


def _log_complement(p: Fraction) -> flint.arb:
    """log(1 - p), accurate also where p is tiny or nearly 1."""
    return arb_of(-p).log1p() if 2 * p < 1 else arb_of(1 - p).log()


@lru_cache(maxsize=16)
def _law(trials: int, p: Fraction) -> tuple[Floats, Floats] | None:
    """Logarithms of the masses, from above, and losses of the likely outcomes but 0; None if too many.

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
    """Log E exp(c L) of the finite losses for every c tried, but for rounding."""
    tops = [float(np.max(masses + c * losses)) for c in _TILTS]
    sums = [float(np.sum(np.exp(masses + c * losses - top))) for c, top in zip(_TILTS, tops, strict=True)]
    return np.array(tops) + np.log(sums)
