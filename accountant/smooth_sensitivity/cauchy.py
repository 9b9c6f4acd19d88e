"""Accountant of generalised Cauchy noise scaled by a smooth bound on local sensitivity.

The guarantee is pure privacy (classic.smooth_pure).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult, PublishedGuarantee
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.checks import below_one
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision
from dpproof.accountant.published.classic import conditions
from dpproof.accountant.smooth_sensitivity.heavy_tails import cauchy_epsilon
from dpproof.accountant.smooth_sensitivity.notion import unattained


@dataclass(frozen=True)
class SmoothCauchyParameters(Parameters):
    """Parameters of generalised Cauchy noise scaled by a smooth bound on local sensitivity, for one real answer.

    The density of the noise is proportional to 1/(1 + |z|^exponent).
    """

    noise: float = parameter(
        Reals(0, lower_open=True), "1", "scale of the noise over the smooth bound (1/alpha)", safer=1
    )
    smoothing: float = parameter(
        Reals(0), "1", "beta: the bound changes by a factor of at most exp(beta)", safer=-1
    )
    exponent: float = parameter(Reals(1, lower_open=True), "1", "exponent of the density's tail", 2.0)


def account(
    parameters: SmoothCauchyParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the guarantee, which is pure privacy. It is the worst case over all answers and all smooth bounds.

    Epsilon is exact for this worst case.

    >>> found = account(SmoothCauchyParameters(6.0, 0.125))
    >>> found.guarantee.epsilon(0).upper, found.published.epsilon(0).upper
    (0.200064, 1.000000)

    Source: this project's statement classic.smooth_pure.
    """
    found = PureDP(cauchy_epsilon(parameters.noise, parameters.smoothing, parameters.exponent))

    def epsilon(delta: Any) -> Bound:
        below_one(delta, "delta")
        names = {"noise": parameters.noise, "beta": parameters.smoothing, "g": parameters.exponent}
        with precision(192):
            values = {name: arb_of(exact(value)) for name, value in names.items()}
            return bound_of(conditions("classic.smooth_cauchy_published", **values))

    printed = PublishedGuarantee("classic.smooth_cauchy_published", epsilon, found, "classic.smooth_pure")
    return unattained(found, adjacency, "classic.smooth_pure", printed)


ACCOUNTANT = Accountant(
    "smooth-cauchy",
    "Generalised Cauchy noise scaled by a smooth bound on local sensitivity",
    SmoothCauchyParameters,
    account,
    "noise",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=SmoothCauchyParameters(noise=10.0, smoothing=0.01),
)
