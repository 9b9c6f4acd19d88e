"""Notions of privacy that another notion implies, by one theorem each."""

from __future__ import annotations

from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, GaussianDP, RenyiDP
from dpproof.accountant.guarantees.profile import ends_of
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import Number, arb_of, precision, round_down, round_up


def gaussian_to_zcdp(guarantee: GaussianDP) -> ZCDP:
    """Return the zCDP guarantee that mu-Gaussian DP implies: (mu^2/2)-zCDP.

    Source: Dong, Roth and Su, arXiv:1905.02383v3, Corollary B.6.
    """
    low, high = guarantee.squares
    with precision(128):
        return ZCDP(Bound(round_down(arb_of(low / 2)), round_up(arb_of(high / 2))))


def pure_to_zcdp(guarantee: ApproxDP) -> ZCDP:
    """Return the zCDP guarantee that pure epsilon-DP implies: (epsilon^2/2)-zCDP.

    Source: Bun and Steinke, arXiv:1605.02065v1, Proposition 1.4.

    Raises:
        ValueError: if the guarantee has a delta above 0.
    """
    if ends_of(guarantee.delta_parameter, "delta")[1] > 0:
        raise ValueError(
            f"delta ({guarantee.delta_parameter!r}) must be 0, because only pure DP implies zCDP"
        )
    low, high = ends_of(guarantee.epsilon_parameter, "epsilon")
    with precision(128):
        return ZCDP(Bound(round_down(arb_of(low**2 / 2)), round_up(arb_of(high**2 / 2))))


def zcdp_to_renyi(guarantee: ZCDP) -> RenyiDP:
    """Return the Renyi DP guarantee of rho-zCDP, whose curve is rho * order.

    Source: Bun and Steinke, arXiv:1605.02065v1, Definition 1.1.
    """
    return guarantee.renyi()


def approx_to_gaussian(epsilon: Number, delta: Number) -> Bound:
    """Return bounds on the largest mu such that mu-Gaussian DP implies (epsilon, delta)-DP.

    >>> approx_to_gaussian(1, "1e-5").lower
    0.268051
    """
    point, failure = ends_of(epsilon, "epsilon")[0], ends_of(delta, "delta")[0]
    return Bound(*gaussian_mu(point, failure))
