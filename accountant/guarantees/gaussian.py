"""The normal tail and its inverse, and the privacy profile of the Gaussian pair N(0,1), N(mu,1).

All values are computed from complementary error functions in Arb. A delta of 1e-300 therefore has the same
relative accuracy as one of 0.1. The profile is the same in both directions of the pair.
"""

from __future__ import annotations

from fractions import Fraction

import flint

from dpproof.accountant.numbers.checks import at_least_zero, below_one
from dpproof.accountant.numbers.enclosures import arb_of, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import bracket, refined

_FAR, _TERMS = 1000, 40


def normal_tail(x: flint.arb) -> flint.arb:
    """Return P[Z > x] for a standard normal Z.

    For x above 1000 the function uses the asymptotic series, because complementary error functions lose their
    relative accuracy there. The error of each partial sum is below the next term.

    Source: Laplace's series for the error function, phi(x) (1/x - 1/x^3 + 3/x^5 - ...). For x > 0 its partial
    sums lie in turn above and below P[Z > x] (DLMF 7.12.1).
    """
    if not x > _FAR:
        return (x / flint.arb(2).sqrt()).erfc() / 2
    square, total, term = x * x, flint.arb(0), 1 / x
    for k in range(1, _TERMS):
        total, term = total + term, -term * (2 * k - 1) / square
    return (-square / 2).exp() / (2 * flint.arb.pi()).sqrt() * (total + term.union(flint.arb(0)))


def normal_quantile(alpha: Fraction) -> flint.arb:
    """Return the number that a standard normal variable exceeds with probability ``alpha``, which is in (0, 1)."""
    if 2 * alpha > 1:
        return -normal_quantile(1 - alpha)
    return arb_of(2 * alpha).erfcinv() * flint.arb(2).sqrt()


def gaussian_delta(mu: Fraction, epsilon: Fraction) -> flint.arb:
    """Return an interval around the delta at ``epsilon`` of the two distributions N(0,1) and N(mu,1).

    This delta is Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), where Phi is the standard normal
    distribution function.

    Source: Balle and Wang, arXiv:1805.06530v2, Theorem 8; Dong, Roth and Su, arXiv:1905.02383v3,
    Corollary 1.

    Args:
        mu: the distance of the two means in standard deviations, at least 0.
        epsilon: at least 0.
    """
    return gaussian_delta_of_square(mu**2, epsilon)


def gaussian_delta_of_square(square: Fraction, epsilon: Fraction) -> flint.arb:
    """Return ``gaussian_delta`` at the mu with this ``square``, which may be a root that no fraction equals.

    >>> float(gaussian_delta_of_square(Fraction(2), Fraction(1)))
    0.286208
    """
    return refined(lambda: _profile(arb_of(square).sqrt(), arb_of(epsilon))) if square else flint.arb(0)


def _profile(mu: flint.arb, epsilon: flint.arb) -> flint.arb:
    ratio, half = epsilon / mu, mu / 2
    first, second = (normal_tail(ratio + offset) for offset in (-half, half))
    value = first - epsilon.exp() * second
    crude = first.union(flint.arb(0))
    return value if value.rad() <= crude.upper() else crude


def gaussian_mu(epsilon: Fraction, delta: Fraction) -> tuple[float, float]:
    """Return bounds on the largest mu such that mu-Gaussian DP implies (epsilon, delta)-DP.

    If mu is the lower bound, mu-Gaussian DP certainly implies (epsilon, delta)-DP. If mu is the upper bound,
    it certainly does not.

    >>> from fractions import Fraction
    >>> low, high = gaussian_mu(Fraction(1), Fraction(1, 10**5))
    >>> low, (high - low) / high < 1e-14
    (0.268051, True)

    Raises:
        ValueError: if delta is 0: no mu above 0 gives pure differential privacy; if epsilon is
            negative or delta not below 1.
    """
    at_least_zero(epsilon, "epsilon")
    if below_one(delta, "delta") == 0:
        raise ValueError(
            "delta (0) must be above 0, because Gaussian noise never gives pure differential privacy."
        )
    # The profile increases in mu, so it decreases in 1/mu, which is what the bracket wants.
    low, high = bracket(lambda inverse: _at_inverse(inverse, epsilon), delta)
    with precision(128):
        return round_down(1 / flint.arb(high)), round_up(1 / flint.arb(low))


def _at_inverse(inverse: Fraction, epsilon: Fraction) -> flint.arb:
    return gaussian_delta(1 / inverse, epsilon) if inverse else flint.arb(1)
