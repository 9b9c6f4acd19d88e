"""The Gaussian mechanism's accountant: answers plus N(0, sigma^2), composed any number of times.

The L2 sensitivity of each answer is ``sensitivity``, and its noise has standard deviation ``sigma`` in each coordinate.
Together, ``compositions`` such answers, chosen adaptively, are mu-Gaussian DP with mu = sensitivity *
sqrt(compositions) / sigma. A pair of inputs attains this guarantee.

Source: Dong, Roth and Su, arXiv:1905.02383v3, Theorem 1 and Corollary 2; Balle and Wang,
arXiv:1805.06530v2, Theorem 8. This project's statement classic.gaussian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.calibration import NoNoiseNeededError, Target
from dpproof.accountant.claims.parameters import EXACT, Integers, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult, PublishedGuarantee, at_positive_delta
from dpproof.accountant.claims.sensitivity import L2, Measured, Sensitivity, queried, sensitivity_of
from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.noise.primitive import by_sensitivity
from dpproof.accountant.numbers.bounds import Bound, exactly
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision, round_down, round_up
from dpproof.accountant.published import published

_BITS = 192


@dataclass(frozen=True)
class GaussianParameters(Measured):
    """Parameters of the Gaussian mechanism: the noise, the number of compositions, and the sensitivity.

    >>> GaussianParameters(sigma=0.0)
    Traceback (most recent call last):
    ValueError: sigma (0.0) must be a number above 0
    """

    sigma: float = parameter(Reals(0, lower_open=True), "1", "standard deviation of the noise", safer=EXACT)
    compositions: int = parameter(Integers(0), "answers", "how many answers are given", 1)
    sensitivity: float | None = parameter(Reals(0), "1", "L2 sensitivity of each answer", None, safer=EXACT)
    query: str | None = queried()


def mu(parameters: GaussianParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY) -> Bound:
    """Return the mu of Gaussian differential privacy: sensitivity * sqrt(compositions) / sigma.

    This mu is the largest distance between the mean outputs of two neighbours, in standard deviations.

    >>> mu(GaussianParameters(sigma=5.0, compositions=1000)).upper
    6.324555

    Raises:
        ArithmeticError: if mu is beyond double precision.
        ValueError: if the sensitivity is not known; see `dpproof.accountant.claims.sensitivity`.

    Source: statement classic.gaussian.
    """
    moved = sensitivity_of(parameters, adjacency, L2)
    with precision(_BITS):
        found = bound_of(_unit(parameters, moved) / arb_of(exact(parameters.sigma)))
    if math.isinf(found.upper):
        raise ArithmeticError(
            "sensitivity * sqrt(compositions) / sigma is beyond double precision. Use a larger sigma."
        )
    return found


def guarantee(parameters: GaussianParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY) -> GaussianDP:
    """Return the Gaussian differential privacy of all answers together. The square of mu is exact.

    >>> guarantee(GaussianParameters(sigma=5.0, compositions=1000)).square
    Fraction(40, 1)

    Raises:
        ArithmeticError, ValueError: see ``mu``.
    """
    moved = sensitivity_of(parameters, adjacency, L2)
    count = moved.coordinates * parameters.compositions
    return GaussianDP(mu(parameters, adjacency), moved.moved**2 * count / exact(parameters.sigma) ** 2)


def _unit(parameters: GaussianParameters, moved: Sensitivity) -> flint.arb:
    """Return mu at sigma 1, at the precision in force."""
    return arb_of(moved.moved) * flint.arb(moved.coordinates * parameters.compositions).sqrt()


def account(parameters: GaussianParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY) -> PrivacyResult:
    """Return the exact guarantee of all answers together.

    Two inputs whose answers differ by exactly the sensitivity reach this guarantee.

    >>> account(GaussianParameters(5.0, 1000)).guarantee.epsilon("1e-30").upper
    91.934790
    """
    moved, found = sensitivity_of(parameters, adjacency, L2), guarantee(parameters, adjacency)
    pair = f"two inputs whose answers differ by {moved}, always in the same direction"
    printed = _published(parameters, moved, found)
    return by_sensitivity(found, adjacency, "classic.gaussian", pair, printed, (_NOTE,), sensitivity=moved)


_NOTE = "the published formula is proved for epsilon below 1: it promises nothing beyond"


def _published(
    parameters: GaussianParameters, moved: Sensitivity, exactly_composed: GaussianDP
) -> PublishedGuarantee:
    """The classical guarantee. All answers together are one answer with sqrt(compositions) times the sensitivity."""
    silent = not (parameters.compositions and moved.moved)

    def epsilon(failure: Fraction) -> Bound:
        if silent:
            return exactly(0.0)
        with precision(_BITS):
            values = {"delta": arb_of(failure), "sigma": arb_of(exact(parameters.sigma))}
            found = bound_of(_CLASSICAL.formula.arb(s=_unit(parameters, moved), **values))
        return found if found.upper < 1 else exactly(math.inf)

    return PublishedGuarantee(
        "classic.gaussian_classical",
        at_positive_delta(epsilon, at_zero=0.0 if silent else math.inf),
        exactly_composed,
        "classic.gaussian",
    )


_CLASSICAL = published("classic.gaussian_classical")


def _calibrate(
    parameters: GaussianParameters, adjacency: Adjacency, epsilon: Any, delta: Any
) -> tuple[GaussianParameters, GaussianParameters]:
    """Return the least sigma, from the largest mu that meets (epsilon, delta)."""
    target = Target(exact(epsilon, "epsilon"), exact(delta, "delta"))
    moved = sensitivity_of(parameters, adjacency, L2)
    if not (parameters.compositions and moved.moved):
        raise NoNoiseNeededError("sigma is not needed, because nothing that depends on the data is released.")
    meets = gaussian_mu(exact(target.below), target.delta)[0]
    misses = gaussian_mu(exact(target.above), target.delta)[1]
    with precision(_BITS):
        margin = 1 + flint.arb(2) ** -50
        enough = round_up(_unit(parameters, moved) / arb_of(exact(meets)) * margin) if meets else math.inf
        short = round_down(_unit(parameters, moved) / arb_of(exact(misses)) / margin)
    if not (short > 0 and enough < math.inf):
        told = f"epsilon ({epsilon!r}) at delta ({delta!r}) needs a sigma outside double precision"
        raise ValueError(f"{told}. Use a less extreme epsilon or delta.")
    return replace(parameters, sigma=enough), replace(parameters, sigma=short)


ACCOUNTANT = Accountant(
    "gaussian",
    "Gaussian mechanism",
    GaussianParameters,
    account,
    "sigma",
    _calibrate,
    Adjacency.BY_SENSITIVITY,
    example=GaussianParameters(sigma=5.0, sensitivity=1.0),
)
