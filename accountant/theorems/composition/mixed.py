"""Coins of several kinds: the exact privacy profile where the losses take few different values.

All kinds but the most numerous are convolved outright, losses being exact rationals that merge where they
agree; the most numerous kind enters through its binomial tails. The optimum for arbitrary parts is
#P-complete (Murtagh and Vadhan, arXiv:1507.03113), so this is for what ``affordable`` admits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint

from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.enclosures import arb_of
from dpproof.accountant.theorems.composition.coins import Coins, mass

__all__ = ["MixedCoins", "affordable"]

_MOST_STEPS = 1 << 19
_Law = dict[Fraction, flint.arb]
_Table = tuple[tuple[flint.arb, flint.arb], ...]


@dataclass(frozen=True)
class MixedCoins:
    """Independent ``kinds`` of coins, of different epsilons; the last kind is the most numerous."""

    kinds: tuple[Coins, ...]

    @property
    def largest(self) -> Fraction:
        """The largest loss, heads on every coin."""
        return sum((kind.largest for kind in self.kinds), Fraction(0))

    def hockey_stick(self, loss: Fraction) -> flint.arb:
        """The smallest delta of all coins together at epsilon = ``loss``."""
        last, tails = self.kinds[-1], _tails(self.kinds[-1], flint.ctx.prec)
        scale, total = arb_of(loss).exp(), flint.arb(0)
        for other, p_mass, q_mass in _law(self.kinds[:-1], flint.ctx.prec):
            p, q = tails[last.heads_above(loss - other)]
            total += p_mass * p - scale * q_mass * q
        return total


def affordable(kinds: Sequence[Coins]) -> bool:
    """Whether the convolution and the table of tails are short; the losses lie on a lattice, unless few.

    >>> affordable([Coins(Fraction(1, 7), 50), Coins(Fraction(1, 3), 5000)])
    True
    """
    shared = math.lcm(*(kind.epsilon.denominator for kind in kinds))
    lattice = Fraction(math.gcd(*(int(kind.epsilon * shared) for kind in kinds)), shared)
    steps, values, reach = kinds[-1].times, 1, Fraction(0)
    for kind in kinds[:-1]:
        steps += values * (kind.times + 1)
        reach += kind.largest
        values = min(values * (kind.times + 1), math.floor(reach / lattice) + 1)
    return steps + values <= _MOST_STEPS


@lru_cache(maxsize=8)
def _tails(coins: Coins, bits: int) -> _Table:
    """P(J >= j) and Q(J >= j) for j = 0 .. times + 1."""
    odds = arb_of(coins.epsilon).exp()
    columns = []
    for ratio in (odds, 1 / odds):
        term, masses = mass(coins.times, ratio, coins.times), []
        for heads in range(coins.times, -1, -1):
            masses.append(term)
            term *= heads / (ratio * (coins.times - heads + 1))
        tails = [flint.arb(0)]
        for term in masses:
            tails.append(tails[-1] + term)
        columns.append(tails[::-1])
    return tuple(zip(*columns, strict=True))


@lru_cache(maxsize=8)
def _law(kinds: tuple[Coins, ...], bits: int) -> tuple[tuple[Fraction, flint.arb, flint.arb], ...]:
    """(loss, P-mass, Q-mass) of each value of the kinds' joint loss."""
    law: _Law = {Fraction(0): flint.arb(1)}
    for kind in kinds:
        law = _convolved(law, kind)
    return tuple((loss, p, p * arb_of(-loss).exp()) for loss, p in law.items())


def _convolved(law: _Law, kind: Coins) -> _Law:
    odds, total = arb_of(kind.epsilon).exp(), _Law()
    term = mass(kind.times, odds, 0)
    for heads in range(kind.times + 1):
        step = (2 * heads - kind.times) * kind.epsilon
        for loss, p in law.items():
            total[loss + step] = total.get(loss + step, flint.arb(0)) + p * term
        term *= odds * (kind.times - heads) / (heads + 1)
    return total
