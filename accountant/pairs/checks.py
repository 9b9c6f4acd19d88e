"""What pairs ask of the numbers and pairs they are built from."""

from __future__ import annotations

from fractions import Fraction

from dpproof.accountant.numbers.enclosures import Number, exact
from dpproof.accountant.pairs.base import DominatingPair

__all__ = ["RAREST", "check_chance", "double", "pair_of", "sampling_rate", "within"]

RAREST = Fraction(1, 10**300)
"""The smallest rate or loss that is served: products with it are still told apart from 0 in doubles."""
_RAREST_CHANCE = Fraction(1, 10**270)


def double(value: Number, name: str) -> float:
    """The double that ``value`` is.

    >>> double("0.5", "scale"), double(2, "scale")
    (0.5, 2.0)
    >>> double("0.1", "scale")
    Traceback (most recent call last):
    ValueError: scale ('0.1') must be a number in double precision: give a float

    Raises:
        ValueError: for what is no finite number, or none in double precision.
    """
    number = exact(value, name)
    if abs(number) < Fraction(2) ** 1023 and Fraction(float(number)) == number:
        return float(number)
    raise ValueError(f"{name} ({value!r}) must be a number in double precision: give a float")


def within(value: Number, name: str, least: float, most: float) -> float:
    """The double that ``value`` is, between two ends.

    >>> within(1, "noise_multiplier", 1e-4, 1e12)
    1.0

    Raises:
        ValueError: see ``double``; for what is outside.
    """
    number = double(value, name)
    if not least <= number <= most:
        raise ValueError(f"{name} ({value!r}) must be from {least:g} to {most:g}")
    return number


def sampling_rate(value: Number, name: str = "rate") -> Fraction:
    """The rational that ``value`` denotes, a rate of sampling.

    >>> sampling_rate("1/3")
    Fraction(1, 3)

    Raises:
        ValueError: unless 0 < value <= 1, and for a value below 1e-300.
    """
    rate = exact(value, name)
    if not 0 < rate <= 1:
        raise ValueError(f"{name} ({value!r}) must be above 0 and at most 1")
    if rate < RAREST:
        raise ValueError(f"{name} (10^{_magnitude(rate)}) must be at least 1e-300")
    return rate


def check_chance(value: Fraction, name: str = "probability") -> None:
    """Refuse a chance whose logarithms, or those of its complement, are not served in doubles.

    Raises:
        ValueError: unless 1e-270 <= value <= 1 - 1e-270.
    """
    if not 0 < value < 1:
        raise ValueError(f"{name} ({float(value)!r}) must be strictly between 0 and 1")
    if min(value, 1 - value) < _RAREST_CHANCE:
        raise ValueError(f"{name} ({float(value)!r}) must be in [1e-270, 1 - 1e-270]")


def pair_of(value: DominatingPair) -> DominatingPair:
    """``value``, a pair.

    Raises:
        ValueError: for what has no cells, loss range, reverse and characteristic.
    """
    if not isinstance(value, DominatingPair):
        raise ValueError(f"pair ({value!r}) must be a dominating pair")
    return value


def _magnitude(rate: Fraction) -> int:
    """Roughly the logarithm to base 10; the numbers themselves may be too long to print."""
    return round((rate.numerator.bit_length() - rate.denominator.bit_length()) * 0.30103)
