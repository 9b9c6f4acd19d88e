"""The accountant of geometric (discrete Laplace) noise on whole numbers, composed any number of times.

Source: Ghosh, Roughgarden and Sundararajan, arXiv:0811.2841, Definition 2.1. This project's statement
classic.geometric.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import EXACT, Integers, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.claims.sensitivity import Measured, queried, whole_sensitivity
from dpproof.accountant.guarantees.notions import BoundedLoss
from dpproof.accountant.noise.primitive import by_sensitivity
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.pairs.geometric import Geometric
from dpproof.accountant.privacy_loss.notion import composed


@dataclass(frozen=True)
class GeometricParameters(Measured):
    """Parameters of the geometric mechanism: the noise, the number of compositions, and the sensitivity."""

    scale: float = parameter(
        Reals(0, lower_open=True), "1", "scale b of the noise, of mass ~ exp(-|x|/b)", safer=EXACT
    )
    compositions: int = parameter(Integers(0), "answers", "how many answers are given", 1)
    sensitivity: int | None = parameter(
        Integers(1, 10**5), "1", "sensitivity of each answer, a whole number", None
    )
    query: str | None = queried()


def account(
    parameters: GeometricParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the exact guarantee of all answers together.

    Two inputs whose answers differ by exactly the sensitivity reach this guarantee.

    >>> account(GeometricParameters(scale=10.0, compositions=100)).guarantee.epsilon(0).upper
    10.0
    """
    moved, shift = whole_sensitivity(parameters, adjacency)
    scale, count = exact(parameters.scale), parameters.compositions * moved.coordinates
    found = BoundedLoss(Fraction(count * shift) / scale, composed(count, Geometric(scale, shift)))
    pair = f"two inputs whose answers differ by {moved}, always in the same direction"
    sampler = "dpproof.mechanisms.noise.geometric.sample"
    return by_sensitivity(
        found, adjacency, "classic.geometric", pair, exact_sampler=sampler, sensitivity=moved
    )


ACCOUNTANT = Accountant(
    "geometric",
    "Geometric (discrete Laplace) mechanism",
    GeometricParameters,
    account,
    "scale",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=GeometricParameters(scale=5.0, sensitivity=1),
)
