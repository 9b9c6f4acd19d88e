"""The standard normal tail and its inverse in ball arithmetic, relatively accurate however far out."""

from __future__ import annotations

from fractions import Fraction

import flint

from dpproof.accountant.numbers.enclosures import arb_of

_FAR, _TERMS = 1000, 40


def normal_tail(x: flint.arb) -> flint.arb:
    """P[Z > x]; far out by its asymptotic series, each partial sum of which errs by less than the next term.

    Source: Laplace's series for the error function, phi(x) (1/x - 1/x^3 + 3/x^5 - ...), enveloping for x > 0
    (DLMF 7.12.1); complementary error functions lose their relative accuracy there.
    """
    if not x > _FAR:
        return (x / flint.arb(2).sqrt()).erfc() / 2
    square, total, term = x * x, flint.arb(0), 1 / x
    for k in range(1, _TERMS):
        total, term = total + term, -term * (2 * k - 1) / square
    return (-square / 2).exp() / (2 * flint.arb.pi()).sqrt() * (total + term.union(flint.arb(0)))


def normal_quantile(alpha: Fraction) -> flint.arb:
    """The z above which a standard normal is with chance ``alpha``, in (0, 1)."""
    if 2 * alpha > 1:
        return -normal_quantile(1 - alpha)
    return arb_of(2 * alpha).erfcinv() * flint.arb(2).sqrt()
