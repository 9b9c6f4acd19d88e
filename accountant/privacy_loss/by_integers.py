"""A second, slower route to the privacy profile of a composition: exact convolution of integers on a grid of losses.

The probabilities of the losses of one step are rounded to multiples of 2^-bits, up for upper bounds and down for lower
bounds. All further sums and products are exact integers, and each is rounded again to the safe side. The route
uses no Fourier transform in doubles, no tilt and no moment-generating function. It shares the probabilities of one
step's losses (``DominatingPair.cells``) with the grid of losses. Derivation: docs/notes/composition.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import flint

from dpproof.accountant.numbers.arithmetic import math
from dpproof.accountant.numbers.enclosures import arb_of, exact, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import LEAST_DELTA
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.privacy_loss.by_grid import Composed
from dpproof.accountant.privacy_loss.grid import LossLaw, law_above, law_below
from dpproof.accountant.privacy_loss.planning import plan

_POINTS = 2**15
_SPARE_BITS = 128
_Parts = Sequence[tuple[DominatingPair, int]]


@dataclass(frozen=True)
class IntegerLaw:
    """A measure of losses on a grid. The point ``first`` + k has the mass ``masses[k]``, in units of 2^-bits.

    If ``sign`` is 1, every rounding makes delta larger. If it is -1, every rounding makes delta smaller.
    """

    sign: int
    bits: int
    tiny: int
    """The mass that may be moved at each end of a law."""
    first: int
    masses: list[int]
    infinite: int
    """The mass of an infinite loss."""

    def times(self, other: IntegerLaw) -> IntegerLaw:
        """Return the law of the sum of two independent losses."""
        product = flint.fmpz_poly(self.masses) * flint.fmpz_poly(other.masses)
        masses = [self._short(int(mass)) for mass in product.coeffs()]
        finite, rest = sum(self.masses), sum(other.masses) + other.infinite
        infinite = self._short(self.infinite * rest + finite * other.infinite)
        return self._trimmed(self.first + other.first, masses, infinite)

    def power(self, count: int) -> IntegerLaw:
        """Return the law of the sum of ``count`` independent losses, by repeated squaring."""
        found = self
        for bit in f"{count:b}"[1:]:
            found = found.times(found)
            found = found.times(self) if bit == "1" else found
        return found

    def _short(self, product: int) -> int:
        """Return a number of 2^(-2 bits) in units of 2^-bits, rounded to the safe side."""
        return -(-product >> self.bits) if self.sign > 0 else product >> self.bits

    def _trimmed(self, first: int, masses: list[int], infinite: int) -> IntegerLaw:
        """Return the law without unlikely points at both ends. Their masses are moved to the safe side, or dropped."""
        low, below = _unlikely(masses, self.tiny)
        high, above = _unlikely(masses[:low:-1], self.tiny)
        kept = masses[low : len(masses) - high] or [0]
        if self.sign > 0:
            kept[0] += below
            infinite += above
        else:
            kept[-1] += above
        return IntegerLaw(self.sign, self.bits, self.tiny, first + low, kept, infinite)


def _unlikely(masses: Sequence[int], most: int) -> tuple[int, int]:
    """Return how many of the first masses are at most ``most`` together, and their sum. One mass is kept."""
    count, total = 0, 0
    while count < len(masses) - 1 and total + masses[count] <= most:
        total += masses[count]
        count += 1
    return count, total


def _integers(law: LossLaw, sign: int, bits: int, tiny: int) -> IntegerLaw:
    scale = 1 << bits

    def rounded(mass: float) -> int:
        exact_mass = exact(mass) * scale
        return math.ceil(exact_mass) if sign > 0 else math.floor(exact_mass)

    masses = [rounded(float(mass)) for mass in law.masses]
    return IntegerLaw(sign, bits, tiny, law.first, masses, rounded(law.infinite))


@dataclass(frozen=True)
class IntegerSum:
    """A bound on the privacy profile from the law of a composed loss."""

    law: IntegerLaw
    step: Fraction
    offset: Fraction
    """The loss of the grid point 0."""

    def delta(self, epsilon: float) -> float:
        """Return the bound on delta at ``epsilon``: the sum of mass (1 - exp(epsilon - loss)) over larger losses."""
        law, point = self.law, exact(epsilon)
        start = max(math.floor((point - self.offset) / self.step) + 1 - law.first, 0)
        with precision(law.bits + 64):
            masses = law.masses[start:]
            loss = (law.first + start) * self.step + self.offset
            inner = flint.arb_poly(masses)(arb_of(-self.step).exp()) if masses else flint.arb(0)
            found = sum(masses) + law.infinite - arb_of(point - loss).exp() * inner
            value = found / arb_of(Fraction(1 << law.bits))
            if law.sign > 0:
                return max(min(round_up(value), 1.0), LEAST_DELTA)
            return max(round_down(value), 0.0)


def composed_by_integers(parts: _Parts, epsilon: float, delta: float) -> Composed:
    """Return bounds on the privacy profile of a composition, which are most accurate near ``epsilon``.

    ``delta`` is about the delta there. It only decides how many bits are kept.

    >>> from dpproof.accountant.pairs.laplace import Laplace
    >>> found = composed_by_integers([(Laplace(2.0), 3)], 1.0, 0.1)
    >>> 0.0690 < found.lower(1.0) <= found.upper(1.0) < 0.0691
    True

    Raises:
        GridTooLargeError: if the grid needs many more than 2^15 points.
    """
    planned = plan(parts, epsilon=epsilon, accuracy=1e-5, points=_POINTS)
    total, size = sum(count for _, count in parts), max(delta, LEAST_DELTA)
    bits = _SPARE_BITS + math.ceil(-math.log2(size)) + total.bit_length()
    tiny = (1 << bits) * exact(size) / (10**8 * total)
    step, sides = planned.step, []
    for sign in (1, -1):
        laws = []
        for (pair, count), ends, origin in zip(parts, planned.ranges, planned.origins, strict=True):
            law = (
                law_above(pair, step, *ends, origin)
                if sign > 0
                else law_below(pair, step, *ends, planned.tilt, origin)
            )
            laws.append((law, count))
        found = reduce(IntegerLaw.times, (_integers(law, sign, bits, int(tiny)).power(n) for law, n in laws))
        offset = sum((exact(law.offset) * count for law, count in laws), Fraction(0))
        sides.append(IntegerSum(found, exact(step), offset))
    return Composed(sides[0], sides[1])
