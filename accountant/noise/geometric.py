"""The accountant of geometric (discrete Laplace) noise on whole numbers, composed any number of times.

Source: Ghosh, Roughgarden and Sundararajan, arXiv:0811.2841, Definition 2.1. This project's statement
classic.geometric.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from accountant.accounted import Accountant, Accounted
from accountant.adjacency import Adjacency
from accountant.enclosures import exact
from accountant.noise.bounded_loss import BoundedLoss
from accountant.noise.primitive import by_sensitivity, composed
from accountant.parameters import Integers, Parameters, Reals, parameter

__all__ = ["ACCOUNTANT", "GeometricParameters", "guarantee"]


@dataclass(frozen=True)
class GeometricParameters(Parameters):
    """Geometric noise, how often it is drawn, and what it hides."""

    scale: float = parameter(Reals(0, lower_open=True), "1", "scale b of the noise, of mass ~ exp(-|x|/b)")
    compositions: int = parameter(Integers(0), "answers", "how many answers are given", 1)
    sensitivity: int = parameter(Integers(1, 10**5), "1", "sensitivity of each answer, a whole number", 1)


def guarantee(parameters: GeometricParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY) -> Accounted:
    """The exact guarantee of all answers together, attained by two inputs at the sensitivity.

    >>> guarantee(GeometricParameters(scale=10.0, compositions=100)).guarantee.epsilon(0).upper
    10.0
    """
    from accountant.pairs.geometric import Geometric

    scale, shift = exact(parameters.scale), parameters.sensitivity
    most = Fraction(parameters.compositions * shift) / scale
    found = BoundedLoss(most, composed(parameters.compositions, Geometric(scale, shift)))
    pair = f"two inputs whose answers differ by {shift}, always in the same direction"
    return by_sensitivity(
        found, adjacency, "classic.geometric", pair, exact_sampler="mechanisms.noise.geometric"
    )


ACCOUNTANT = Accountant(
    "geometric",
    "Geometric (discrete Laplace) mechanism",
    GeometricParameters,
    guarantee,
    "scale",
    adjacency=Adjacency.BY_SENSITIVITY,
)
