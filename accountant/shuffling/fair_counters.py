"""Many counters of fair bits together: delta from both sides by the sum of all of them, however many bits.

``changes`` counters of N fair bits each, every one shifted by one. The loss of a counter at y is
-2 artanh(v), v = (2y - N - 1)/(N + 1): next to linear where v is small, so that the composed loss is next to
a multiple of the counters' sum, which is one binomial. Any event of that sum is a lower end; the linear loss,
with the most that the cubes and the counters far out add, is an upper end
(docs/notes/sdp_batches.md, section 6).
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint

from dpproof.accountant.numbers.binomial import lower_tail
from dpproof.accountant.numbers.enclosures import arb_of, precision, round_down, round_up

__all__ = ["fair_counters"]

_BITS = 192
_HALF = Fraction(1, 2)


def fair_counters(changes: int, bits: int, epsilon: Fraction) -> tuple[float, float]:
    """Certified ends around delta(epsilon) of ``changes`` shifted counters of ``bits`` fair bits each.

    Next to each other where bits are many; far apart, up to 0 and 1, where they are few.

    >>> low, high = fair_counters(36, 10**8, Fraction(1, 200))
    >>> 0 < high - low < 1e-3 * high
    True
    """
    with precision(_BITS):
        low = max(round_down(_event(changes, bits, epsilon)), 0.0)
    # counters so far out that they have next to no mass beside delta; nothing rests on the choice
    width = math.sqrt(2 * math.log(2 * changes / max(1e-4 * low, 1e-300)) / bits)
    if width >= 1 or bits < 2:
        return low, 1.0
    with precision(_BITS):
        return low, min(round_up(_linear(changes, bits, epsilon, Fraction(width))), 1.0)


def _event(changes: int, bits: int, epsilon: Fraction) -> flint.arb:
    """P - exp(epsilon) Q of the event that the sum is so small that the linear loss exceeds epsilon."""
    trials, last = changes * bits, math.floor((bits + 1) * (Fraction(changes, 2) - epsilon / 4))
    return lower_tail(trials, _HALF, last) - arb_of(epsilon).exp() * lower_tail(trials, _HALF, last - changes)


def _linear(changes: int, bits: int, epsilon: Fraction, width: Fraction) -> flint.arb:
    """The chance of counters out of ``width``, and E (1 - exp(epsilon - loss))_+ of a loss that is linear.

    Its slope is the logarithm of rational odds, so that the tilted law is a binomial too.
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
