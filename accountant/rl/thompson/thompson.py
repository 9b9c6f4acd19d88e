"""Gaussian Thompson sampling for bandits with rewards in [0, 1], which is private without any change.

Before every round each arm i gets a draw from N(S_i/(n_i + 1), c/(n_i + 1)), where S_i is the sum of its n_i
rewards so far. The arm with the largest draw is pulled. Every arm may be pulled b times in advance. Each user
is one of T rounds. The release is every draw. The pulled arms follow by post-processing.

A changed reward of one round moves the mean of one arm by at most 1/(n_i + 1) in every later round, where
n_i >= max(b, 1). So a changed reward moves the draws of each later round by at most mu of Gaussian
differential privacy, with mu^2 <= 1/(c (max(b, 1) + 1)). A run is mu-GDP with

    mu^2 = T / (c (b + 1)),  or (T - 1) / (2 c) for b = 0

(docs/notes/thompson.md). Ou, Avella Medina and Cummings showed that the algorithm is private without a change
("Thompson sampling itself is differentially private", AISTATS 2024, arXiv:2407.14879v1). b and c are
parameters of their paper. The formula for mu here is this project's own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any

import flint

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.guarantees.gaussian import gaussian_mu
from dpproof.accountant.guarantees.notions import GaussianDP
from dpproof.accountant.numbers.bounds import Bound
from dpproof.accountant.numbers.enclosures import arb_of, bound_of, exact, precision, round_down, round_up

_BITS = 192


@dataclass(frozen=True)
class ThompsonParameters(Parameters):
    """Parameters of Thompson sampling: the numbers of arms and rounds, and the variance of the draws.

    >>> ThompsonParameters(arms=2, rounds=0)
    Traceback (most recent call last):
    ValueError: rounds (0) must be an integer at least 1
    """

    arms: int = parameter(Integers(1), "arms", "number of arms N")
    rounds: int = parameter(Integers(1), "rounds", "number of rounds T, one user each")
    pulls: int = parameter(Integers(0), "pulls", "how often every arm is pulled before, b", 0)
    variance: float = parameter(
        Reals(0, lower_open=True), "1", "factor c on the variance of the draws", 1.0, safer=1
    )

    @property
    def square(self) -> Fraction:
        """The exact square of the Gaussian differential privacy parameter mu of a run."""
        rounds, fewest = (self.rounds - 1, 1) if self.pulls == 0 else (self.rounds, self.pulls)
        return Fraction(rounds) / (exact(self.variance) * (fewest + 1))


def mu_of_run(parameters: ThompsonParameters) -> Bound:
    """Return the Gaussian differential privacy parameter mu of a whole run under ``rewards-only``.

    >>> mu_of_run(ThompsonParameters(arms=5, rounds=1000, pulls=99, variance=10.0)).upper
    1.0

    Source: this project's statement classic.thompson.
    """
    with precision(_BITS):
        return bound_of(arb_of(parameters.square).sqrt())


def account(parameters: ThompsonParameters, adjacency: Adjacency) -> PrivacyResult:
    """Return the proved guarantee of all draws of a run, in the central model.

    >>> found = account(ThompsonParameters(5, 1000, 99, 10.0), Adjacency.REWARDS_ONLY)
    >>> found.guarantee.epsilon("1e-6").upper
    4.886555

    Raises:
        UnprovedAdjacencyError: for a relation other than ``rewards-only``.
    """
    if adjacency is not Adjacency.REWARDS_ONLY:
        raise UnprovedAdjacencyError("thompson", adjacency, f"Use {Adjacency.REWARDS_ONLY.value}.")
    return PrivacyResult(
        GaussianDP.of_square(parameters.square),
        adjacency,
        TrustModel.CENTRAL,
        "every draw of every round",
        "classic.thompson",
        exact_sampler="dpproof.Thompson.publish",
    )


def _calibrate(
    parameters: ThompsonParameters, adjacency: Adjacency, epsilon: Any, delta: Any
) -> tuple[ThompsonParameters, ThompsonParameters]:
    """Return the smallest variance factor that meets (epsilon, delta), and one just below it that does not."""
    account(parameters, adjacency)
    unit = replace(parameters, variance=1.0).square
    if unit == 0:
        raise ValueError("rounds (1) must be at least 2, because the first draws depend on no user's reward")
    meets, misses = gaussian_mu(exact(epsilon, "epsilon"), exact(delta, "delta"))
    if not 0 < meets < inf:
        raise ValueError(
            f"epsilon ({epsilon!r}) needs a variance outside double precision. Use a less extreme epsilon."
        )
    with precision(_BITS):
        enough, short = (arb_of(unit / exact(mu) ** 2) for mu in (meets, misses))
        margin = 1 + flint.arb(2) ** -50  # what rounding mu to a double takes back
        chosen = (round_up(enough * margin), round_down(short / margin))
    if not (chosen[1] > 0 and chosen[0] < inf):
        raise ValueError(
            f"epsilon ({epsilon!r}) needs a variance outside double precision. Use a less extreme epsilon."
        )
    least, below = (replace(parameters, variance=value) for value in chosen)
    return least, below


ACCOUNTANT = Accountant(
    "thompson",
    "Gaussian Thompson sampling for bandits",
    ThompsonParameters,
    account,
    "variance",
    _calibrate,
    unit="user",
    example=ThompsonParameters(arms=2, rounds=10),
)
