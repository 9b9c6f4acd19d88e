"""Noise distributions on the nodes of a tree, and tails of sums of independent copies.

The sum of m independent Laplace variables of scale 1 has the tail exp(-x) times a polynomial. Its
moment-generating function (1 - s^2)^(-m) splits into partial fractions with positive weights. So above 0 the
sum is a mixture of gamma distributions of shapes m - j with weights C(m - 1 + j, j) 2^(-m - j), j = 0 .. m -
1. All terms of the tail are positive, so it is relatively accurate at any probability
(docs/notes/counting.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Protocol

import flint

from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.checks import whole
from dpproof.accountant.numbers.enclosures import Number, arb_of, exact
from dpproof.accountant.numbers.inversion import refined


class NoiseLaw(StrEnum):
    """A distribution of a counter's noise. Its value is the name that parameters use."""

    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"
    DISCRETE_LAPLACE = "discrete-laplace"
    DISCRETE_GAUSSIAN = "discrete-gaussian"

    @property
    def gaussian(self) -> bool:
        """Whether this is a Gaussian distribution, over the reals or over the integers."""
        return self in (NoiseLaw.GAUSSIAN, NoiseLaw.DISCRETE_GAUSSIAN)


MOST_TERMS = 100_000
"""The largest number of Laplace variables whose sum ``laplace_sum_tail`` evaluates."""


@lru_cache(maxsize=256)
def _polynomial(terms: int, bits: int) -> flint.arb_poly:
    """Return the polynomial p with P(sum > x) = exp(-x) p(x) for x >= 0, with ``bits`` of precision.

    The gamma distribution of shape n has tail exp(-x) sum_{i < n} x^i/i!, so x^i/i! has the total weight of
    all j < m - i.
    """
    weight, total, sums = flint.arb(2) ** -terms, flint.arb(0), []
    for j in range(terms):
        total += weight
        sums.append(total)
        weight *= flint.arb(terms + j) / (2 * (j + 1))
    factorial, coefficients = flint.arb(1), []
    for i, total in enumerate(reversed(sums)):
        factorial *= max(i, 1)
        coefficients.append(total / factorial)
    return flint.arb_poly(coefficients)


def laplace_sum_tail(terms: int, point: Fraction) -> flint.arb:
    """Return an enclosure of P(sum of ``terms`` independent Laplace variables of scale 1 > ``point``).

    The point may be negative.

    >>> from fractions import Fraction
    >>> float(laplace_sum_tail(1, Fraction(2)).mid())
    0.067667
    >>> laplace_sum_tail(15, Fraction(800)).rel_accuracy_bits() >= 64
    True

    Raises:
        ValueError: for a number of terms outside 1..100,000.
    """
    _check(terms)
    if point < 0:
        return refined(lambda: 1 - _tail(terms, -point))
    return refined(lambda: _tail(terms, point))


def _tail(terms: int, point: Fraction) -> flint.arb:
    x = arb_of(point)
    return (-x).exp() * _polynomial(terms, flint.ctx.prec)(x)


def _check(terms: int) -> None:
    whole(terms, "terms", 1, MOST_TERMS)


class Noise(Protocol):
    """The noise on the nodes of a tree: a symmetric distribution with a log-concave density.

    Each node gets independent noise.
    """

    @property
    def variance(self) -> Fraction:
        """The variance of the noise on one node."""
        ...

    def tail(self, terms: int, point: Fraction) -> flint.arb:
        """Return bounds on the probability that ``terms`` noise values add up to more than ``point`` >= 0."""
        ...


def _positive(value: Number, name: str) -> Fraction:
    found = exact(value, name)
    if found <= 0:
        raise ValueError(f"{name} ({value!r}) must be above 0")
    return found


@dataclass(frozen=True)
class GaussianNoise:
    """Gaussian noise with standard deviation ``sigma``.

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
    """Laplace noise with density exp(-|x|/scale)/(2 scale).

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
