"""Upper tails of non-central chi-square laws, enclosed: the Bessel sums of ``spherical`` for one law."""

from __future__ import annotations

import flint

from dpproof.accountant.smooth_sensitivity.bessel_sums import Weights, endless_sum, finite_sum

__all__ = ["chi_square_tail"]


def chi_square_tail(point: flint.arb, noncentral: flint.arb, degrees: int) -> flint.arb:
    """P[X > point] for the non-central chi-square law, at the precision in force; all terms are positive.

    >>> from dpproof.accountant.numbers.enclosures import precision, round_up
    >>> with precision(128): round_up(chi_square_tail(flint.arb(3), flint.arb(1), 2))
    0.379357

    Args:
        point: positive.
        noncentral: at least 0.
        degrees: at least 1.

    Raises:
        TooManyTermsError: for even degrees and noncentralities of tens of millions.

    Source: this project, docs/notes/smooth_sensitivity.md, section 3.
    """
    if noncentral == 0:
        return (point / 2).gamma_upper(flint.arb(degrees) / 2, regularized=1)
    inner, outer = noncentral.sqrt(), point.sqrt()
    q, z, order = outer / inner, inner * outer, degrees / 2 - 1
    gap = outer - inner  # times itself: Arb's power of a ball around 0 is no number
    weight, lowest = (-(gap * gap) / 2).exp(), 0.5 if degrees % 2 else 1.0
    found = flint.arb(0)
    if order >= lowest:
        found = q ** flint.arb(lowest) * finite_sum(z, q, lowest, int(order - lowest) + 1, Weights())
    if degrees % 2:
        root = flint.arb(2).sqrt()
        return weight * found + ((gap / root).erfc() + ((outer + inner) / root).erfc()) / 2
    return weight * (found + endless_sum(z, 1 / q, 0, Weights()))
