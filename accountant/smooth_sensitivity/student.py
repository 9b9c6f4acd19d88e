"""Accountant of Student's t noise scaled by a smooth bound on local sensitivity.

The guarantee is pure privacy (classic.smooth_pure).
"""

from __future__ import annotations

from dataclasses import dataclass

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import Parameters, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.guarantees.notions import PureDP
from dpproof.accountant.smooth_sensitivity.heavy_tails import student_epsilon
from dpproof.accountant.smooth_sensitivity.notion import unattained


@dataclass(frozen=True)
class SmoothStudentParameters(Parameters):
    """Parameters of Student's t noise scaled by a smooth bound on the local sensitivity of one real answer."""

    noise: float = parameter(
        Reals(0, lower_open=True), "1", "scale of the noise over the smooth bound", safer=1
    )
    smoothing: float = parameter(
        Reals(0), "1", "beta: the bound changes by a factor of at most exp(beta)", safer=-1
    )
    degrees: float = parameter(Reals(0, lower_open=True), "1", "degrees of freedom of the t law", 3.0)


def account(
    parameters: SmoothStudentParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the guarantee, which is pure privacy. It is the worst case over all answers and all smooth bounds.

    Epsilon is exact for this worst case.

    >>> account(SmoothStudentParameters(3.0, 0.1)).guarantee.epsilon(0).upper
    0.516481

    Source: this project's statement classic.smooth_pure.
    """
    found = PureDP(student_epsilon(parameters.noise, parameters.smoothing, parameters.degrees))
    return unattained(found, adjacency, "classic.smooth_pure")


ACCOUNTANT = Accountant(
    "smooth-student",
    "Student's t noise scaled by a smooth bound on local sensitivity",
    SmoothStudentParameters,
    account,
    "noise",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=SmoothStudentParameters(noise=10.0, smoothing=0.01),
)
