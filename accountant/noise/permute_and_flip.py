"""Accountant of permute-and-flip, which chooses better than the exponential mechanism at the same epsilon.

It is differentially private with epsilon 2 sensitivity/scale. No smaller bound is proved for its privacy
losses, so the accountant uses the dominating pair of randomised response at this epsilon.

Source: McKenna and Sheldon, arXiv:2010.12603, Theorem 1. This project's statement classic.permuted.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Integers, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.claims.sensitivity import LARGEST, Measured, Sensitivity, queried, sensitivity_of
from dpproof.accountant.guarantees.notions import BoundedLoss, PureDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.noise.primitive import by_sensitivity
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.pairs.exponential_mechanism import permute_and_flip
from dpproof.accountant.privacy_loss.notion import composed


@dataclass(frozen=True)
class PermuteAndFlipParameters(Measured):
    """Parameters of permute-and-flip: the scale, and how much utilities change between neighbours."""

    scale: float = parameter(
        Reals(0, lower_open=True), "utility", "coins go with exp((utility - best)/scale)", safer=1
    )
    compositions: int = parameter(Integers(0), "choices", "how many choices are made", 1)
    sensitivity: float | None = parameter(
        Reals(0), "utility", "how far one utility moves between neighbours", None, safer=-1
    )
    query: str | None = queried()


def account(
    parameters: PermuteAndFlipParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the guarantee of all choices together.

    >>> account(PermuteAndFlipParameters(scale=20.0, compositions=100)).guarantee.epsilon(0).upper
    10.0
    """
    moved = sensitivity_of(parameters, adjacency, LARGEST)
    found = _guarantee(parameters, moved)
    return by_sensitivity(
        found, adjacency, "classic.permuted", None, released="every choice", sensitivity=moved
    )


def _guarantee(parameters: PermuteAndFlipParameters, moved: Sensitivity) -> Profile:

    epsilon = 2 * moved.moved / exact(parameters.scale)
    if epsilon == 0 or parameters.compositions == 0:
        return PureDP(0)
    return BoundedLoss(
        parameters.compositions * epsilon, composed(parameters.compositions, permute_and_flip(epsilon))
    )


ACCOUNTANT = Accountant(
    "permute-and-flip",
    "Permute-and-flip",
    PermuteAndFlipParameters,
    account,
    "scale",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=PermuteAndFlipParameters(scale=5.0, sensitivity=1.0),
)
