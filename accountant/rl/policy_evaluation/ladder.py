"""The public ladder to which psi is rounded up, so that the released noise has an exact rational variance.

The rungs are L_0 < L_1 < ..., about floor r^j with r^64 = e^beta. The least rung that is at least psi
replaces psi. If psi changes at most by the factor e^beta between neighbours, then its rung moves by at most
64 places, so that the rung changes at most by e^beta, too. Rounding up keeps the smoothness. Section 6 of
docs/notes/policy_evaluation.md has the proof for the numbers that are used, with all rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.rl.policy_evaluation.bounds import MOST_BETA

__all__ = ["STEPS", "Ladder"]

STEPS = 64
"""Rungs for a factor of e^beta: rounding up multiplies the noise by at most e^(beta/128)."""
_BITS = 128


@dataclass(frozen=True)
class Ladder:
    """Public rungs, each an exact rational.

    Attributes:
        floor: the lowest rung, above 0: a public number below which psi never is.
        beta: the smoothing, above 0.
        allowance: t, above 2^-45, such that the logarithm of the psi that is computed changes by at most
            beta - 3t/2 between neighbours.

    >>> Ladder(Fraction(1, 100), 0.5, 1e-12).at_least(0.5)
    (501, Fraction(...))
    """

    floor: Fraction
    beta: float
    allowance: float

    def at_least(self, bound: float) -> tuple[int, Fraction]:
        """The number of the least rung that is at least `bound`, and the rung; both are private."""
        wanted = Fraction(bound)
        ratio = max(wanted / self.floor, Fraction(1))
        guess = math.log(ratio.numerator) - math.log(ratio.denominator)
        place = max(0, math.ceil(guess * STEPS / float(self._rate)))
        while self.rung(place) < wanted:
            place += 1
        while place > 0 and self.rung(place - 1) >= wanted:
            place -= 1
        return place, self.rung(place)

    def rung(self, place: int) -> Fraction:
        """L_place, a number of 128 bits."""
        with precision(4 * _BITS):
            power = arb_of(self._rate * place / STEPS).exp() * arb_of(self.floor)
            assert power.rel_accuracy_bits() > 2 * _BITS, "Arb encloses it closely"
            return _cut(power.mid())

    @property
    def _rate(self) -> Fraction:
        """The logarithm of 64 steps: within `allowance` below beta, and above what psi can move."""
        return Fraction(min(self.beta, MOST_BETA)) - Fraction(self.allowance)


def _cut(value: flint.arb) -> Fraction:
    """The number of 128 bits at or below an exact one."""
    mantissa, exponent = value.man_exp()
    found = int(mantissa)
    spare = max(found.bit_length() - _BITS, 0)
    return (found >> spare) * Fraction(2) ** (int(exponent) + spare)
