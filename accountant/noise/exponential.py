"""The accountant of the exponential mechanism, which draws r with probability ~ exp(utility(r)/scale).

Source: McSherry and Talwar, FOCS 2007; Durfee and Rogers, arXiv:1905.04273, Section 3. This project's
statement classic.exponential.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Flag, Integers, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.claims.sensitivity import (
    LARGEST,
    Measured,
    Sensitivity,
    check_monotone,
    queried,
    sensitivity_of,
)
from dpproof.accountant.guarantees.notions import BoundedLoss, PureDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.noise.primitive import by_sensitivity
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.pairs.exponential_mechanism import BoundedRange
from dpproof.accountant.privacy_loss.notion import composed


@dataclass(frozen=True)
class SelectionParameters(Measured):
    """Parameters of the exponential mechanism: the scale, and how much utilities change between neighbours."""

    scale: float = parameter(
        Reals(0, lower_open=True), "utility", "chances go with exp(utility/scale)", safer=1
    )
    compositions: int = parameter(Integers(0), "choices", "how many choices are made", 1)
    sensitivity: float | None = parameter(
        Reals(0), "utility", "how far one utility moves between neighbours", None, safer=-1
    )
    monotone: bool = parameter(Flag(), "1", "all utilities move in one direction between neighbours", False)
    query: str | None = queried()


def loss_range(parameters: SelectionParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY) -> Fraction:
    """Return the length of the interval that contains all privacy losses of one choice.

    This length is 2 sensitivity/scale, or sensitivity/scale if ``monotone`` is true.

    >>> loss_range(SelectionParameters(scale=4.0)), loss_range(SelectionParameters(scale=4.0, monotone=True))
    (Fraction(1, 2), Fraction(1, 4))
    """
    return _range(parameters, sensitivity_of(parameters, adjacency, LARGEST))


def _range(parameters: SelectionParameters, moved: Sensitivity) -> Fraction:
    return (1 if parameters.monotone else 2) * moved.moved / exact(parameters.scale)


def account(
    parameters: SelectionParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the guarantee of all choices together.

    The guarantee is the tightest one that holds for all mechanisms whose privacy losses have the same range.

    >>> account(SelectionParameters(scale=20.0, compositions=100)).guarantee.epsilon(0).upper
    10.0
    """
    moved = sensitivity_of(parameters, adjacency, LARGEST)
    check_monotone(parameters, adjacency)
    found = _guarantee(parameters, _range(parameters, moved))
    return by_sensitivity(
        found, adjacency, "classic.exponential", None, released="every choice", sensitivity=moved
    )


def _guarantee(parameters: SelectionParameters, length: Fraction) -> Profile:

    if length == 0 or parameters.compositions == 0:
        return PureDP(0)
    return BoundedLoss(
        parameters.compositions * length, composed(parameters.compositions, BoundedRange(length))
    )


ACCOUNTANT = Accountant(
    "exponential",
    "Exponential mechanism",
    SelectionParameters,
    account,
    "scale",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=SelectionParameters(scale=5.0, sensitivity=1.0),
)
