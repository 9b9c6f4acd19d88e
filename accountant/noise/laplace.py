"""The Laplace mechanism's accountant: numbers plus Laplace noise, composed any number of times.

Each answer is a number whose sensitivity is ``sensitivity``, plus Laplace noise of scale ``scale``. The
guarantee of ``compositions`` such answers, chosen adaptively, is that of as many pairs of shifted Laplace
distributions. A pair of inputs attains it. An answer with several coordinates counts as several answers, each
with its own sensitivity.

Source: Zhu, Dong and Wang, arXiv:2106.08567v4, Theorem 10. This project's statement classic.laplace.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import EXACT, Integers, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult, PublishedGuarantee
from dpproof.accountant.claims.sensitivity import L1, Measured, Sensitivity, queried, sensitivity_of
from dpproof.accountant.guarantees.notions import BoundedLoss, PureDP
from dpproof.accountant.guarantees.profile import Profile
from dpproof.accountant.noise.primitive import by_sensitivity
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.checks import below_one
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision
from dpproof.accountant.pairs.laplace import Laplace
from dpproof.accountant.privacy_loss.notion import composed
from dpproof.accountant.published import published


@dataclass(frozen=True)
class LaplaceParameters(Measured):
    """Parameters of the Laplace mechanism: the noise, the number of compositions, and the sensitivity.

    >>> LaplaceParameters(scale=-1.0)
    Traceback (most recent call last):
    ValueError: scale (-1.0) must be a number above 0
    """

    scale: float = parameter(
        Reals(0, lower_open=True), "1", "scale b of the noise, of density exp(-|x|/b)/2b", safer=EXACT
    )
    compositions: int = parameter(Integers(0), "answers", "how many answers are given", 1)
    sensitivity: float | None = parameter(
        Reals(0), "1", "sensitivity of each answer, a number", None, safer=EXACT
    )
    query: str | None = queried()


def pure_epsilon(parameters: LaplaceParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY) -> Fraction:
    """Return the largest privacy loss of all answers together: compositions * L1 sensitivity / scale.

    >>> pure_epsilon(LaplaceParameters(scale=10.0, compositions=100))
    Fraction(10, 1)
    """
    return _most(parameters, sensitivity_of(parameters, adjacency, L1))


def _most(parameters: LaplaceParameters, moved: Sensitivity) -> Fraction:
    return parameters.compositions * moved.coordinates * moved.moved / exact(parameters.scale)


def account(parameters: LaplaceParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY) -> PrivacyResult:
    """Return the exact guarantee of all answers together.

    Two inputs whose answers differ by exactly the sensitivity reach this guarantee.

    >>> account(LaplaceParameters(scale=10.0, compositions=100)).guarantee.epsilon(0).upper
    10.0
    """
    moved = sensitivity_of(parameters, adjacency, L1)
    pair = f"two inputs whose answers differ by {moved}, always in the same direction"
    found, printed = _guarantee(parameters, moved), _published(parameters, moved)
    return by_sensitivity(found, adjacency, "classic.laplace", pair, printed, sensitivity=moved)


def _guarantee(parameters: LaplaceParameters, moved: Sensitivity) -> Profile:
    """Return the guarantee; each coordinate that changes counts as one answer."""
    most = _most(parameters, moved)
    if most == 0:
        return PureDP(0)
    ratio, count = exact(parameters.scale) / moved.moved, parameters.compositions * moved.coordinates
    return BoundedLoss(most, composed(count, Laplace(ratio)))


def _published(parameters: LaplaceParameters, moved: Sensitivity) -> PublishedGuarantee:
    """The published guarantee: each answer is (sensitivity/scale)-differentially private, and the epsilons add up."""
    formula, most = published("classic.laplace_basic").formula, _most(parameters, moved)

    def epsilon(delta: Any) -> Bound:
        below_one(delta, "delta")
        if most == 0:
            return exactly(0.0)
        with precision(192):
            size, count = moved.coordinates * moved.moved, Fraction(parameters.compositions)
            sizes = {"s": size, "b": exact(parameters.scale), "T": count}
            return bound_of(formula.arb(**{name: arb_of(value) for name, value in sizes.items()}))

    return PublishedGuarantee("classic.laplace_basic", epsilon, PureDP(most), "classic.laplace_basic")


ACCOUNTANT = Accountant(
    "laplace",
    "Laplace mechanism",
    LaplaceParameters,
    account,
    "scale",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=LaplaceParameters(scale=5.0, sensitivity=1.0),
)
