"""DP-SGD's accountant: Poisson-sampled sums of clipped vectors with Gaussian noise, any number of steps.

For ``add-remove`` neighbours delta(epsilon) is the larger of two numbers, one for a user who leaves and one
for a user who joins; both are attained by a user whose vectors are all the same. What is released is every
noisy sum, so that choosing each step by the earlier ones costs nothing.

Source: Abadi et al., arXiv:1607.00133v2 (the algorithm); Zhu, Dong and Wang, arXiv:2106.08567v4, Theorems
10 and 11. This project's statement classic.dp_sgd.
"""

from __future__ import annotations

from dataclasses import dataclass

from accountant.accounted import Accountant, Accounted, Attained
from accountant.adjacency import Adjacency, UnprovedAdjacencyError
from accountant.noise.gaussian import GaussianParameters, mu
from accountant.notions import GaussianDP, Guarantee
from accountant.parameters import Integers, Parameters, Reals, parameter
from accountant.trust import TrustModel

__all__ = ["ACCOUNTANT", "DPSGDParameters", "guarantee"]


@dataclass(frozen=True)
class DPSGDParameters(Parameters):
    """How often a user is in a step's sample, and the noise of each step.

    >>> DPSGDParameters(sampling_rate=1.5, noise_multiplier=1.0, steps=10)
    Traceback (most recent call last):
    ValueError: sampling_rate (1.5) must be a number in [0, 1]
    """

    sampling_rate: float = parameter(
        Reals(0, 1), "1", "probability q of a user to be in a step's sample, by a coin of its own"
    )
    noise_multiplier: float = parameter(
        Reals(1e-4, 1e12), "1", "standard deviation of the noise over the clipping norm"
    )
    steps: int = parameter(Integers(0), "steps", "number of steps")


def guarantee(parameters: DPSGDParameters, adjacency: Adjacency) -> Accounted:
    """The exact guarantee of all noisy sums together, attained.

    >>> training = DPSGDParameters(sampling_rate=0.01, noise_multiplier=1.0, steps=1000)
    >>> guarantee(training, Adjacency.ADD_REMOVE).guarantee.epsilon("1e-6").upper
    2.124515

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    if adjacency is not Adjacency.ADD_REMOVE:
        raise UnprovedAdjacencyError("dp-sgd", adjacency, "proved relations: add-remove")
    found = _guarantee(parameters)
    pair = "one user whose vectors all equal one of the clipping norm, all others' being zero, against none"
    return Accounted(
        found,
        adjacency,
        TrustModel.CENTRAL,
        "every noisy sum, and with it the model after every step",
        "classic.dp_sgd",
        attained=Attained(found, pair),
    )


def _guarantee(parameters: DPSGDParameters) -> Guarantee:
    if parameters.sampling_rate == 0 or parameters.steps == 0:
        return GaussianDP(0)
    if parameters.sampling_rate == 1:
        return GaussianDP(mu(GaussianParameters(parameters.noise_multiplier, parameters.steps)))
    from accountant.pairs.gaussian import SubsampledGaussian
    from accountant.privacy_loss.notion import PrivacyLoss

    left = SubsampledGaussian(parameters.sampling_rate, parameters.noise_multiplier)
    return PrivacyLoss((((left, parameters.steps),), ((left.reversed(), parameters.steps),)))


ACCOUNTANT = Accountant(
    "dp-sgd", "DP-SGD: Poisson-sampled Gaussian steps", DPSGDParameters, guarantee, "noise_multiplier"
)
