"""The accountant of the exponential mechanism: it draws r with probability ~ exp(utility(r)/scale).

Source: McSherry and Talwar, FOCS 2007; Durfee and Rogers, arXiv:1905.04273, Section 3. This project's
statement classic.exponential.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from accountant.accounted import Accountant, Accounted
from accountant.adjacency import Adjacency
from accountant.enclosures import exact
from accountant.noise.bounded_loss import BoundedLoss
from accountant.noise.primitive import by_sensitivity, composed
from accountant.notions import Guarantee, PureDP
from accountant.parameters import Flag, Integers, Parameters, Reals, parameter

__all__ = ["ACCOUNTANT", "SelectionParameters", "guarantee", "loss_range"]


@dataclass(frozen=True)
class SelectionParameters(Parameters):
    """How flat the choice is, and how far utilities move."""

    scale: float = parameter(Reals(0, lower_open=True), "utility", "chances go with exp(utility/scale)")
    compositions: int = parameter(Integers(0), "choices", "how many choices are made", 1)
    sensitivity: float = parameter(Reals(0), "utility", "how far one utility moves between neighbours", 1.0)
    monotone: bool = parameter(Flag(), "1", "all utilities move in one direction between neighbours", False)


def loss_range(parameters: SelectionParameters) -> Fraction:
    """The length of the interval that holds all losses of one choice: 2 sensitivity/scale, or half of it.

    >>> loss_range(SelectionParameters(scale=4.0)), loss_range(SelectionParameters(scale=4.0, monotone=True))
    (Fraction(1, 2), Fraction(1, 4))
    """
    moved = exact(parameters.sensitivity) / exact(parameters.scale)
    return moved if parameters.monotone else 2 * moved


def guarantee(parameters: SelectionParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY) -> Accounted:
    """The guarantee of all choices together, the tightest for a mechanism of that range.

    >>> guarantee(SelectionParameters(scale=20.0, compositions=100)).guarantee.epsilon(0).upper
    10.0
    """
    released = "every choice"
    return by_sensitivity(_guarantee(parameters), adjacency, "classic.exponential", None, released=released)


def _guarantee(parameters: SelectionParameters) -> Guarantee:
    from accountant.pairs.exponential_mechanism import BoundedRange

    length = loss_range(parameters)
    if length == 0 or parameters.compositions == 0:
        return PureDP(0)
    return BoundedLoss(
        parameters.compositions * length, composed(parameters.compositions, BoundedRange(length))
    )


ACCOUNTANT = Accountant(
    "exponential",
    "Exponential mechanism",
    SelectionParameters,
    guarantee,
    "scale",
    adjacency=Adjacency.BY_SENSITIVITY,
)
