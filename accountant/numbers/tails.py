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


def normal_quantile(alpha: Fraction) -> tuple[flint.arb, flint.arb]:
    """Numbers around the z above which a standard normal is with chance ``alpha``, certified."""
    if 2 * alpha > 1:  # the mirrored tail, for 1 - tail cancels
        left, right = normal_quantile(1 - alpha)
        return -right, -left
    goal, point = arb_of(alpha), flint.arb(0)
    for _ in range(400):
        # Newton for log tail = log alpha: log tail is concave, so every step ends beyond the root or on it.
        tail, density = normal_tail(point), (-point * point / 2).exp() / (2 * flint.arb.pi()).sqrt()
        step = ((tail.log() - goal.log()) * tail / density).mid()
        point = (point + step).mid()
        if abs(float(step)) < 1e-45:
            break
    width = flint.arb(2) ** -120
    while not (normal_tail(point - width) >= goal and normal_tail(point + width) <= goal):
        width *= 16
        if not (point.is_finite() and width < 1 + abs(point)):
            raise ArithmeticError(f"alpha ({float(alpha)!r}): no normal quantile could be certified")
    return point - width, point + width
