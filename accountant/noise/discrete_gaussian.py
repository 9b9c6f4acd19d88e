"""The accountant of discrete Gaussian noise on whole numbers, composed any number of times.

Source: Canonne, Kamath and Steinke, arXiv:2004.00010, Definition 1 and Theorem 7. This project's statement
classic.discrete_gaussian.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import EXACT, Integers, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.claims.sensitivity import L2, Measured, queried, whole_sensitivity
from dpproof.accountant.noise.primitive import by_sensitivity
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.pairs.discrete_gaussian import DiscreteGaussian
from dpproof.accountant.privacy_loss.notion import composed


@dataclass(frozen=True)
class DiscreteGaussianParameters(Measured):
    """Parameters of the discrete Gaussian mechanism: the noise, the number of compositions, and the sensitivity."""

    sigma: float = parameter(
        Reals(0, lower_open=True),
        "1",
        "the noise has mass ~ exp(-x^2/(2 sigma^2)) on the whole numbers",
        safer=EXACT,
    )
    compositions: int = parameter(Integers(0), "answers", "how many numbers are given", 1)
    sensitivity: int | None = parameter(Integers(1), "1", "sensitivity of each number, a whole number", None)
    query: str | None = queried()


def account(
    parameters: DiscreteGaussianParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the exact guarantee of all answers together.

    Two inputs whose answers differ by exactly the sensitivity reach this guarantee.

    >>> account(DiscreteGaussianParameters(sigma=5.0)).guarantee.epsilon("1e-6").upper
    0.834976
    """
    moved, shift = whole_sensitivity(parameters, adjacency, L2)
    count = parameters.compositions * moved.coordinates
    found = composed(count, DiscreteGaussian(exact(parameters.sigma) ** 2, shift))
    pair = f"two inputs whose answers differ by {moved}, always in the same direction"
    sampler = "dpproof.mechanisms.noise.discrete_gaussian.sample"
    return by_sensitivity(
        found, adjacency, "classic.discrete_gaussian", pair, exact_sampler=sampler, sensitivity=moved
    )


ACCOUNTANT = Accountant(
    "discrete-gaussian",
    "Discrete Gaussian mechanism",
    DiscreteGaussianParameters,
    account,
    "sigma",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=DiscreteGaussianParameters(sigma=5.0, sensitivity=1),
)
