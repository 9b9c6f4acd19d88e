"""The noise on the nodes of a tree: tails of sums of independent copies."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import flint

from dpproof.accountant.counting.laplace_sums import laplace_sum_tail
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact
from dpproof.accountant.numbers.inversion import refined

__all__ = ["GaussianNoise", "LaplaceNoise", "Noise"]


class Noise(Protocol):
    """Independent, symmetric, log-concave noise on each node."""

    @property
    def variance(self) -> Fraction:
        """The variance of one copy."""
        ...

    def tail(self, terms: int, point: Fraction) -> flint.arb:
        """P(sum of ``terms`` >= 1 independent copies > ``point``) for a point at least 0, enclosed."""
        ...


def _positive(value: Number, name: str) -> Fraction:
    found = exact(value, name)
    if found <= 0:
        raise ValueError(f"{name} ({value!r}) must be above 0")
    return found


@dataclass(frozen=True)
class GaussianNoise:
    """Normal noise of standard deviation ``sigma``.

    >>> GaussianNoise("0.5").variance
    Fraction(1, 4)

    Raises:
        ValueError: unless ``sigma`` is a finite number above 0.
    """

    sigma: Number

    def __post_init__(self) -> None:
        _positive(self.sigma, "sigma")

    @property
    def variance(self) -> Fraction:
        """See ``Noise.variance``."""
        return exact(self.sigma) ** 2

    def tail(self, terms: int, point: Fraction) -> flint.arb:
        """See ``Noise.tail``."""
        square = point * point / (2 * terms * self.variance)
        return refined(lambda: arb_of(square).sqrt().erfc() / 2)


@dataclass(frozen=True)
class LaplaceNoise:
    """Laplace noise, of density exp(-|x|/scale)/(2 scale).

    >>> LaplaceNoise(3).variance
    Fraction(18, 1)

    Raises:
        ValueError: unless ``scale`` is a finite number above 0.
    """

    scale: Number

    def __post_init__(self) -> None:
        _positive(self.scale, "scale")

    @property
    def variance(self) -> Fraction:
        """See ``Noise.variance``."""
        return 2 * exact(self.scale) ** 2

    def tail(self, terms: int, point: Fraction) -> flint.arb:
        """See ``Noise.tail``."""
        return laplace_sum_tail(terms, point / exact(self.scale))
