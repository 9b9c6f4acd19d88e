"""Accountant of the staircase mechanism: numbers plus noise whose density falls in steps.

Of all additive epsilon-differentially private noise on a number, a staircase with the right ``gamma`` has the
smallest mean size. If each answer changes by at most the width of one step, the guarantee of all answers is
that of as many pairs of shifted staircase distributions. A pair of inputs attains it.

Source: Geng and Viswanath, IEEE Transactions on Information Theory 62 (2016) 925, for the mechanism;
docs/notes/staircase.md for its privacy at delta above 0, and under composition. This project's statement
classic.staircase.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import EXACT, Integers, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.claims.sensitivity import L1, Measured, Sensitivity, queried, sensitivity_of
from dpproof.accountant.guarantees.notions import BoundedLoss, PureDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.noise.primitive import by_sensitivity
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.pairs.base import RAREST
from dpproof.accountant.pairs.staircase import MOST_EPSILON, Staircase
from dpproof.accountant.privacy_loss.notion import composed


@dataclass(frozen=True)
class StaircaseParameters(Measured):
    """Parameters of the staircase mechanism: the noise, the number of compositions, and the sensitivity."""

    scale: float = parameter(
        Reals(0, lower_open=True),
        "1",
        "scale b of the noise: its density falls by exp(step/b) at every step",
        safer=EXACT,
    )
    gamma: float = parameter(
        Reals(0, 1), "1", "half the width of the innermost step, in widths of a step", 0.5, safer=EXACT
    )
    step: float | None = parameter(
        Reals(0, lower_open=True),
        "1",
        "width of a step, the sensitivity unless given; with a query it has to be",
        None,
        safer=EXACT,
    )
    compositions: int = parameter(Integers(0), "answers", "how many answers are given", 1)
    sensitivity: float | None = parameter(
        Reals(0), "1", "sensitivity of each answer, a number", None, safer=EXACT
    )
    query: str | None = queried()


def width(parameters: StaircaseParameters) -> Fraction:
    """Return the width of a step of the noise: ``step`` if given, otherwise the sensitivity, otherwise 1.

    >>> width(StaircaseParameters(scale=10.0, sensitivity=3.0))
    Fraction(3, 1)

    Raises:
        ValueError: if a query is given without a step, because a sampler does not know the neighbouring
            relation.
    """
    if parameters.step is not None:
        return exact(parameters.step)
    if parameters.query is not None:
        raise ValueError("step is missing. Give the width of the steps of the noise if you give query.")
    return exact(parameters.sensitivity or 1)


def account(
    parameters: StaircaseParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the exact guarantee of all answers together.

    Two inputs whose answers differ by exactly the sensitivity reach this guarantee.

    >>> account(StaircaseParameters(scale=10.0, compositions=100)).guarantee.epsilon(0).upper
    10.0
    """
    moved = sensitivity_of(parameters, adjacency, L1)
    pair = f"two inputs whose answers differ by {moved}, always in the same direction"
    found = _guarantee(parameters, moved)
    return by_sensitivity(found, adjacency, "classic.staircase", pair, sensitivity=moved)


def _guarantee(parameters: StaircaseParameters, moved: Sensitivity) -> Profile:
    """Return the guarantee; each coordinate that changes counts as one answer."""
    step, count = width(parameters), parameters.compositions * moved.coordinates
    if moved.moved > step:
        rule = f"must be at least {float(moved.moved):g}, the largest change of an answer between neighbours."
        raise ValueError(f"step ({float(step):g}) {rule}")
    if moved.moved == 0 or count == 0:
        return PureDP(0)
    loss = step / exact(parameters.scale)
    if not RAREST <= loss <= MOST_EPSILON:
        rule = f"must be at least step/{MOST_EPSILON} and at most 1e300 * step, where step is {float(step):g}"
        raise ValueError(f"scale ({parameters.scale!r}) {rule}")
    if moved.moved < RAREST * step:
        rule = f"must be 0 or at least 1e-300 * step, where step is {float(step):g}"
        raise ValueError(f"sensitivity ({float(moved.moved):g}) {rule}")
    return BoundedLoss(
        count * loss, composed(count, Staircase(loss, exact(parameters.gamma), moved.moved / step))
    )


ACCOUNTANT = Accountant(
    "staircase",
    "Staircase mechanism",
    StaircaseParameters,
    account,
    "scale",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=StaircaseParameters(scale=5.0, sensitivity=1.0),
)
