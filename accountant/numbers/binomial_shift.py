"""A binomial tail next to the mean, from the same tail at a larger chance: one smooth integral between them.

As a function of the chance t, P[X <= k] has the derivative -(N - k) C(N, k) t^k (1 - t)^(N - k - 1). Divided
by the mass of k at p, with w = other - p and S the ratio of the tail to that mass,

    S(p) = S(other) m(other)/m(p) + (N - k) w/(1 - p) * integral over x in (0, 1) of exp(g(x)),
    g(x) = k log(1 + w x/p) + (N - k - 1) log(1 - w x/(1 - p)).

In g the two first-order terms nearly cancel: they are taken together, exactly, and the rest by its series, so
that balls of x stay narrow in g (docs/notes/binomial.md, section 1).
"""

from __future__ import annotations

from fractions import Fraction

import flint

from dpproof.accountant.numbers.enclosures import arb_of

__all__ = ["shifted_ratio"]


def shifted_ratio(
    trials: int, probability: Fraction, count: int, other: Fraction, ratio: flint.arb
) -> flint.arb:
    """P[X <= count] / P[X = count] at ``probability``, from the same ``ratio`` at a larger chance ``other``.

    At the precision in force. An enclosure always; a narrow one where ``other`` is next to ``probability``,
    so that w/p and w/(1 - p) are far below 1.

    >>> round(float(shifted_ratio(4, Fraction(1, 2), 1, Fraction(33, 64), 1 + flint.arb(31) / 132)), 12)
    1.25
    """
    rest, width = trials - count, other - probability
    steps = width / probability, -width / (1 - probability)
    powers = count, rest - 1
    slope = arb_of(powers[0] * steps[0] + powers[1] * steps[1])
    bends = [arb_of(power * step**2) for power, step in zip(powers, steps, strict=True)]
    arbs = [arb_of(step) for step in steps]

    def density(x: flint.acb, _: bool) -> flint.acb:
        curved = sum((b * _curve(s * x) for b, s in zip(bends, arbs, strict=True)), flint.acb(0))
        return (slope * x - curved * x * x).exp()

    logs = count * arb_of(other / probability).log() + rest * arb_of((1 - other) / (1 - probability)).log()
    area = flint.acb.integral(density, 0, 1).real
    return ratio * logs.exp() + arb_of(rest * width / (1 - probability)) * area


def _curve(z: flint.acb) -> flint.acb:
    """(z - log(1 + z))/z^2 = 1/2 - z/3 + z^2/4 - ..., by its series with a bound on what is cut off."""
    size = z.abs_upper()
    if not size < _NEAR:
        return flint.acb("nan")
    total, terms = flint.acb(0), 2
    while size**terms > flint.arb(2) ** -flint.ctx.prec and terms < _TERMS:
        terms += 1
    for j in range(terms - 1, -1, -1):
        total = flint.acb(1) / (j + 2) - z * total
    cut = (size**terms).upper()
    error = flint.arb(0, cut)
    return total + flint.acb(error, error)


_NEAR, _TERMS = 0.25, 128
