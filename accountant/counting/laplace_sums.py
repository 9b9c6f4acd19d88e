"""The sum of m independent Laplace variables of scale 1: its tail is exp(-x) times a polynomial.

(1 - s^2)^(-m) splits into partial fractions with positive weights: above 0 the sum is a mixture of gamma
laws, of shape m - j with weight C(m - 1 + j, j) 2^(-m - j), j = 0 .. m - 1. Every term of the tail is
positive, so that nothing cancels and the relative accuracy holds down to any probability
(docs/notes/counting.md).
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint

from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.enclosures import arb_of
from dpproof.accountant.numbers.inversion import refined

__all__ = ["MOST_TERMS", "gamma_weights", "laplace_sum_tail"]

MOST_TERMS = 100_000
"""The longest sum that is evaluated."""


def gamma_weights(terms: int) -> tuple[Fraction, ...]:
    """The weights of gamma laws of shape m, m - 1, ..., 1 in the sum's positive half; they add up to 1/2.

    >>> [str(weight) for weight in gamma_weights(2)]
    ['1/4', '1/4']

    Raises:
        ValueError: for a number of terms outside 1..100,000.
    """
    _check(terms)
    return tuple(Fraction(math.comb(terms - 1 + j, j), 2 ** (terms + j)) for j in range(terms))


@lru_cache(maxsize=256)
def _polynomial(terms: int, bits: int) -> flint.arb_poly:
    """The polynomial p with P(sum > x) = exp(-x) p(x) for x >= 0, at ``bits`` of precision.

    The gamma law of shape n has tail exp(-x) sum_{i < n} x^i/i!, so x^i/i! meets the weights of j < m - i.
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
    """P(sum of ``terms`` independent Laplace variables of scale 1 > ``point``), enclosed; any real point.

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
    if isinstance(terms, bool) or not isinstance(terms, int) or not 1 <= terms <= MOST_TERMS:
        raise ValueError(f"terms ({terms!r}) must be an integer in [1, {MOST_TERMS}]")
