"""Accountant of DP-SGD: Poisson-sampled sums of clipped vectors with Gaussian noise, any number of steps.

For ``add-remove`` neighbours delta(epsilon) is the larger of two numbers, one for a user who leaves and one
for a user who joins. For ``replace`` both directions are the same. A user whose vectors are all the same
reaches each of these values. Every noisy sum is released, so a step may also depend on earlier steps without
a loss of privacy.

Source: Abadi et al., arXiv:1607.00133v2 (the algorithm); Zhu, Dong and Wang, arXiv:2106.08567v4, Theorems 10
and 11. This project's statements classic.dp_sgd and classic.poisson_replaced_gaussian.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import Attained, PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.noise import gaussian
from dpproof.accountant.pairs.gaussian import SubsampledGaussian
from dpproof.accountant.pairs.gaussian_mixture import BinomialGaussianMixture
from dpproof.accountant.pairs.replaced_gaussian import ReplacedGaussian
from dpproof.accountant.privacy_loss.notion import composed


@dataclass(frozen=True)
class DPSGDParameters(Parameters):
    """Parameters of DP-SGD: the sampling rate of a user, the noise of each step, and the number of steps.

    >>> DPSGDParameters(sampling_rate=1.5, noise_multiplier=1.0, steps=10)
    Traceback (most recent call last):
    ValueError: sampling_rate (1.5) must be a number in [0, 1]
    """

    sampling_rate: float = parameter(
        Reals(0, 1), "1", "probability q of a user to be in a step's sample, by a coin of its own", safer=-1
    )
    noise_multiplier: float = parameter(
        Reals(1e-4, 1e12), "1", "standard deviation of the noise over the clipping norm", safer=1
    )
    steps: int = parameter(Integers(0), "steps", "number of steps")
    records: int = parameter(
        Integers(1, 256), "records", "records a user may have, each sampled by a coin of its own", 1
    )


def account(parameters: DPSGDParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the exact guarantee of all noisy sums together. A pair of neighbours reaches this guarantee.

    >>> training = DPSGDParameters(sampling_rate=0.01, noise_multiplier=1.0, steps=1000)
    >>> account(training, Adjacency.ADD_REMOVE).guarantee.epsilon("1e-6").upper
    2.124515

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    if adjacency not in _PROVED:
        known = ", ".join(relation.value for relation in _PROVED)
        raise UnprovedAdjacencyError("dp-sgd", adjacency, f"Use one of: {known}")
    distance, statement, pair = _PROVED[adjacency]
    if parameters.records > 1:
        if adjacency is not Adjacency.ADD_REMOVE:
            raise UnprovedAdjacencyError(
                "dp-sgd", adjacency, "Use add-remove for users with several records."
            )
        statement = "classic.group_sampled_gaussian"
    found = _guarantee(parameters, distance * parameters.records)
    return PrivacyResult(
        found,
        adjacency,
        TrustModel.CENTRAL,
        "every noisy sum, and with it the model after every step",
        statement,
        attained=Attained(found, pair),
    )


_PROVED = {
    Adjacency.ADD_REMOVE: (
        1,
        "classic.dp_sgd",
        "a user whose vectors all equal one of the clipping norm, all others' being zero, against none",
    ),
    Adjacency.REPLACE: (
        2,
        "classic.poisson_replaced_gaussian",
        "a user whose vectors all equal one of the clipping norm, or its opposite, all others' being zero",
    ),
}
"""For each relation: the change of a sum by a sampled user, in clipping norms; the statement; the worst pair."""


def _guarantee(parameters: DPSGDParameters, distance: int) -> Profile:
    rate, noise, steps = parameters.sampling_rate, parameters.noise_multiplier, parameters.steps
    if rate == 0 or steps == 0:
        return GaussianDP(0)
    if rate == 1:
        return gaussian.guarantee(gaussian.GaussianParameters(noise, steps, float(distance)))

    if parameters.records > 1:
        group = BinomialGaussianMixture(rate, noise, parameters.records)
        return composed(steps, group, group.reversed())
    removed = SubsampledGaussian(rate, noise)
    return composed(
        steps, *((removed, removed.reversed()) if distance == 1 else (ReplacedGaussian(rate, noise),))
    )


ACCOUNTANT = Accountant(
    "dp-sgd",
    "DP-SGD: Poisson-sampled Gaussian steps",
    DPSGDParameters,
    account,
    "noise_multiplier",
    by_records=True,
    example=DPSGDParameters(sampling_rate=0.1, noise_multiplier=1.0, steps=10),
)
