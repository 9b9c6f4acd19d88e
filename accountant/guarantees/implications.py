"""Which notion implies which, one theorem each."""

from __future__ import annotations

from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.guarantees.notions import ZCDP, ApproxDP, GaussianDP, RenyiDP
from dpproof.accountant.guarantees.profile import ends_of
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import (
    Number,
    arb_of,
    precision,
    round_down,
    round_up,
)


def gaussian_to_zcdp(guarantee: GaussianDP) -> ZCDP:
    """mu-GDP implies (mu^2/2)-zCDP (Dong, Roth and Su, arXiv:1905.02383v3, Corollary B.6)."""
    low, high = ends_of(guarantee.mu, "mu")
    with precision(128):
        return ZCDP(Bound(round_down(arb_of(low**2 / 2)), round_up(arb_of(high**2 / 2))))


def pure_to_zcdp(guarantee: ApproxDP) -> ZCDP:
    """epsilon-DP implies (epsilon^2/2)-zCDP (Bun and Steinke, arXiv:1605.02065v1, Proposition 1.4).

    Raises:
        ValueError: if the guarantee has a delta above 0.
    """
    if ends_of(guarantee.delta_parameter, "delta")[1] > 0:
        raise ValueError(f"delta ({guarantee.delta_parameter!r}) must be 0: only pure DP implies zCDP")
    low, high = ends_of(guarantee.epsilon_parameter, "epsilon")
    with precision(128):
        return ZCDP(Bound(round_down(arb_of(low**2 / 2)), round_up(arb_of(high**2 / 2))))


def zcdp_to_renyi(guarantee: ZCDP) -> RenyiDP:
    """rho-zCDP is the Renyi curve rho * order (Bun and Steinke, arXiv:1605.02065v1, Definition 1.1)."""
    return guarantee.renyi()


def approx_to_gaussian(epsilon: Number, delta: Number) -> Bound:
    """The largest mu such that mu-GDP implies (epsilon, delta)-DP, for calibration.

    >>> approx_to_gaussian(1, "1e-5").lower
    0.268051
    """
    point, failure = ends_of(epsilon, "epsilon")[0], ends_of(delta, "delta")[0]
    return Bound(*gaussian_mu(point, failure))
