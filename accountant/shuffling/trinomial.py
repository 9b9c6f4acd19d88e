"""Excesses of two rare messages among many: the sums behind shuffled k-ary randomised response.

N0 and N1 count two messages of equal chance. Given s = N0 + N1, the excess of one law over the other is
proportional to N0 - place, place = (s + tilt)/2, so that the best event is N0 >= I, I the integer behind
place (docs/notes/shuffling.md, section 5).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import flint
from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import lru_cache, np
from dpproof.accountant.numbers.binomial import UNIT, log_masses, lower_tail, tail_ratios
from dpproof.accountant.numbers.enclosures import arb_of, precision, round_up

__all__ = ["blanket", "excess"]

_BITS, _BLOCKS = 192, 40


def excess(
    messages: int, chance: Fraction, tilt: tuple[float, float], reach: float = 14.0
) -> tuple[float, float]:
    """Ends around E max over events of E[(N0 - place) of the event | s], s ~ Binomial(messages, chance).

    ``tilt`` = slope s + rest (messages - s), slope and rest given within 4 units in the last place. The sums
    left out below and above are not in the upper end: see ``left_out``.

    With U = P[Binomial(s-1, 1/2) >= I-1] and b the mass of I-1 the excess is place b/2 - tilt U/2.
    """
    sums = _likely(messages, chance, reach)
    slant = tilt[0] * sums + tilt[1] * (messages - sums)
    heads = np.floor((sums + slant) / 2).astype(np.int64) + 1
    possible = heads <= sums
    edge = sums[~possible & (sums - slant >= -32 * UNIT * (sums + slant))]
    sums, slant, heads = sums[possible], slant[possible], heads[possible]
    missed = _rounded_away(messages, chance, edge)
    if not len(sums):
        return 0.0, missed
    weights = log_masses(messages, chance, sums)
    masses = log_masses(sums - 1, Fraction(1, 2), heads - 1)
    ratios, errors = tail_ratios(sums - 1, sums - heads)
    plain, loose = (sums + slant) / 4, slant / 2 * ratios
    gain = plain - loose
    doubt = plain * 32 * UNIT + loose * (errors + 32 * UNIT)
    logs, blur = weights.values + masses.values, weights.errors + masses.errors
    scale = 1 + (len(sums) + 64) * UNIT
    low = float(np.sum(np.exp(logs - blur) * np.maximum(gain - doubt, 0.0))) / scale
    high = float(np.sum(np.exp(logs + blur) * np.maximum(gain + doubt, 0.0))) * scale
    return low, high + missed


def _rounded_away(messages: int, chance: Fraction, sums: NDArray[np.int64]) -> float:
    """From above, what sums add whose place is below s but by so little that doubles may not see it.

    The one event is N0 = s, of mass 2^-s, and s - place is at most 32 units of place.
    """
    weights = log_masses(messages, chance, sums)
    each = np.exp(weights.values + weights.errors) * np.exp2(-sums.astype(np.float64)) * sums
    return float(np.sum(each)) * 40 * UNIT + 1e-300


def _likely(messages: int, chance: Fraction, reach: float) -> NDArray[np.int64]:
    mean, spread = float(messages * chance), math.sqrt(float(messages * chance * (1 - chance)))
    first = max(1, math.floor(mean - reach * spread))
    return np.arange(first, min(messages, math.ceil(mean + reach * spread + 60)) + 1, dtype=np.int64)


def left_out(messages: int, chance: Fraction, reach: float) -> float:
    """The chance that ``excess`` left its sum out, one message being the user's: an upper end.

    A sum of 0 has no excess.
    """
    sums = _likely(messages, chance, reach)
    with precision(_BITS):
        below = lower_tail(messages - 1, chance, int(sums[0]) - 1) if sums[0] > 1 else flint.arb(0)
        above = lower_tail(messages - 1, 1 - chance, messages - 1 - int(sums[-1]))
        return round_up(below + above)


@lru_cache(maxsize=256)
def blanket(users: int, categories: int, rare: Fraction, epsilon: Fraction) -> float:
    """An upper end of delta: how many of the others send a uniform message is told, their own values too.

    Delta falls with that number, so that blocks of numbers take the value at their first one.

    Source: Balle, Bell, Gascon and Nissim, arXiv:1903.02837v2, Section 5 (the privacy blanket).
    """
    share, others = categories * rare, users - 1
    if share >= 1:
        return 0.0
    total = 1.0
    for reach in (10.0, 18.0, 30.0, 45.0):
        rest, total = _blocks(others, categories, share, epsilon, reach)
        if rest <= 1e-4 * total:
            break
    return min(total, 1.0)


def _blocks(
    others: int, categories: int, share: Fraction, epsilon: Fraction, reach: float
) -> tuple[float, float]:
    """What fewer uniform messages than the first block's may add, and the whole upper end."""
    spread = math.sqrt(float(others * share * (1 - share)))
    first = max(0, math.floor(others * share - reach * spread - reach))
    step = max(1, math.ceil((reach + 6) * spread / _BLOCKS))
    starts = [m for m in range(first, first + _BLOCKS * step + 1, step) if m <= others]
    with precision(_BITS):
        tails = [lower_tail(others, share, m - 1) for m in starts] + [flint.arb(1)]
        rest = round_up(tails[0])
        chances = [round_up(y - x) for x, y in itertools.pairwise(tails)]
    values = (_given(m + 1, categories, share, epsilon, reach + 4) for m in starts)
    total = rest + sum(chance * value for chance, value in zip(chances, values, strict=True))
    return rest, total * (1 + (len(starts) + 8) * UNIT)


def _given(messages: int, categories: int, share: Fraction, epsilon: Fraction, reach: float) -> float:
    """Delta given the number of uniform messages, the user's own among them, from above."""
    part = Fraction(2, categories)
    with precision(_BITS):
        scale = arb_of(epsilon).exp()
        lean = (scale - 1) / (scale + 1)
        flat = 2 * arb_of(share / ((1 - share) * categories)) * lean  # for each message, in s or not
        tilt = float((lean + flat).mid()), float(flat.mid())
        unit = round_up(arb_of((1 - share) * categories) * (1 + scale) / messages)
    found = unit * excess(messages, part, tilt, reach)[1] * (1 + 4 * UNIT) + left_out(messages, part, reach)
    return min(found * (1 + 2 * UNIT), 1.0)
