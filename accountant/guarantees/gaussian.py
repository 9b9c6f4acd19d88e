"""The Gaussian pair N(0,1), N(mu,1): its privacy profile, exactly, in both directions.

Everything is computed from complementary error functions in Arb, so that the relative accuracy
holds for a delta of 1e-300 as for one of 0.1.
"""

from __future__ import annotations

from fractions import Fraction

import flint

from dpproof.accountant.numbers.checks import at_least_zero, below_one
from dpproof.accountant.numbers.enclosures import arb_of, precision, round_down, round_up
from dpproof.accountant.numbers.inversion import bracket, refined
from dpproof.accountant.numbers.tails import normal_tail


def gaussian_delta(mu: Fraction, epsilon: Fraction) -> flint.arb:
    """delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), enclosed.

    Source: Balle and Wang, arXiv:1805.06530v2, Theorem 8; Dong, Roth and Su, arXiv:1905.02383v3,
    Corollary 1.

    Args:
        mu: the distance of the two means in standard deviations, at least 0.
        epsilon: at least 0.
    """
    return refined(lambda: _profile(arb_of(mu), arb_of(epsilon))) if mu else flint.arb(0)


def _profile(mu: flint.arb, epsilon: flint.arb) -> flint.arb:
    ratio, half = epsilon / mu, mu / 2
    first, second = (normal_tail(ratio + offset) for offset in (-half, half))
    value = first - epsilon.exp() * second
    crude = first.union(flint.arb(0))
    return value if value.rad() <= crude.upper() else crude


def gaussian_mu(epsilon: Fraction, delta: Fraction) -> tuple[float, float]:
    """Ends around the largest mu whose profile satisfies delta(epsilon) <= delta.

    The lower end is certified to satisfy it, the upper end not to.

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
        raise ValueError("delta (0) must be above 0: no Gaussian noise gives pure differential privacy")
    # The profile increases in mu, so it decreases in 1/mu, which is what the bracket wants.
    low, high = bracket(lambda inverse: _at_inverse(inverse, epsilon), delta)
    with precision(128):
        return round_down(1 / flint.arb(high)), round_up(1 / flint.arb(low))


def _at_inverse(inverse: Fraction, epsilon: Fraction) -> flint.arb:
    return gaussian_delta(1 / inverse, epsilon) if inverse else flint.arb(1)
