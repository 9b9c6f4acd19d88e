"""Counts of the points of a straight line that are no multiples of a number, although each point has an error."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

_BITS = 128
"""Lines are rounded to multiples of 2^-128 of the distance between multiples."""


@dataclass(frozen=True)
class Line:
    """Noise on consecutive words: on word i of ``count``, it is within ``error`` of start + i * slope.

    Attributes:
        count: the number of words, at most 2^60.
        start: the height on the first word.
        slope: the difference between consecutive words.
        error: the largest distance of the noise from the line.
        probability: a lower bound on the probability of each word.

    >>> Line(4, Fraction(1, 3), Fraction(1), Fraction(1, 4), Fraction(1, 8)).probability
    Fraction(1, 8)
    """

    count: int
    start: Fraction
    slope: Fraction
    error: Fraction
    probability: Fraction

    def off(self, step: Fraction) -> int:
        """Return a lower bound on the number of words on which the noise is no multiple of ``step``.

        >>> Line(8, Fraction(0), Fraction(1, 4), Fraction(0), Fraction(1, 8)).off(Fraction(1, 2))
        4
        """
        one = 1 << _BITS
        start, slope = (round(number / step * one) for number in (self.start, self.slope))
        slack = -(-self.error * one // step) + (self.count + 1 if self._rounded(step) else 0)
        if 2 * slack + 1 >= one:
            return 0
        return self.count - residues_below(start + slack, slope, one, 2 * slack + 1, self.count)

    def _rounded(self, step: Fraction) -> bool:
        return any((number / step * (1 << _BITS)).denominator > 1 for number in (self.start, self.slope))


def residues_below(start: int, slope: int, modulus: int, below: int, count: int) -> int:
    """Return for how many i in [0, count) the remainder of (start + i * slope) / modulus is less than ``below``.

    ``below`` is an integer in [0, modulus].

    >>> residues_below(3, 5, 7, 2, 10)
    3
    """
    return floor_sum(start, slope, modulus, count) - floor_sum(start - below, slope, modulus, count)


def floor_sum(start: int, slope: int, modulus: int, count: int) -> int:
    """Return the sum of floor((start + i * slope) / modulus) over i in [0, count), by Euclid's algorithm.

    >>> floor_sum(3, 5, 7, 10) == sum((3 + 5 * i) // 7 for i in range(10))
    True
    """
    total = 0
    while True:
        (whole, slope), (more, start) = divmod(slope, modulus), divmod(start, modulus)
        total += whole * (count * (count - 1) // 2) + more * count
        last = start + slope * count
        if last < modulus:
            return total
        (count, start), (modulus, slope) = divmod(last, modulus), (slope, modulus)
