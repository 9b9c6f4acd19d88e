"""Accountant of randomised response: with a given probability the answer is random instead of true.

Source: Warner (1965); Kairouz, Bonawitz and Ramage, arXiv:1602.07387, for more than two answers. This project's
statement classic.randomised_response.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.parameters import Integers, Parameters, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.claims.trust import TrustModel
from dpproof.accountant.noise.primitive import by_sensitivity
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.pairs.randomised_response import truthful_response
from dpproof.accountant.privacy_loss.notion import composed


@dataclass(frozen=True)
class RandomisedResponseParameters(Parameters):
    """Parameters of randomised response: the probability of a random answer, and numbers of answers and questions."""

    randomness: float = parameter(
        Reals(0, 1, lower_open=True), "1", "probability that the answer is drawn uniformly at random", safer=1
    )
    categories: int = parameter(Integers(2), "answers", "how many answers there are to choose from", 2)
    compositions: int = parameter(Integers(0), "answers", "how many questions one person answers", 1)


def truth(parameters: RandomisedResponseParameters) -> Fraction:
    """Return the probability of the true answer: 1 - randomness + randomness/categories.

    >>> truth(RandomisedResponseParameters(randomness=0.5))
    Fraction(3, 4)
    """
    random = exact(parameters.randomness)
    return 1 - random + random / parameters.categories


def account(
    parameters: RandomisedResponseParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY
) -> PrivacyResult:
    """Return the exact guarantee of all answers of one person.

    Two people with different true answers reach this guarantee.

    Raises:
        UnprovedAdjacencyError: for a relation under which a person may be absent.

    >>> account(RandomisedResponseParameters(randomness=0.5)).guarantee.epsilon(0).upper
    1.098612
    """
    if adjacency not in _COVERED:
        known = ", ".join(relation.value for relation in _COVERED)
        why = f"Everybody can see whether a person answers at all. Use one of: {known}"
        raise UnprovedAdjacencyError("randomised-response", adjacency, why)
    count = parameters.compositions if parameters.randomness < 1 else 0
    found = composed(count, *([truthful_response(truth(parameters), parameters.categories)] if count else []))
    pair = "two people whose true answers differ on every question"
    released = "every answer of one person"
    return by_sensitivity(
        found,
        adjacency,
        "classic.randomised_response",
        pair,
        released=released,
        trust=TrustModel.LOCAL,
        exact_sampler="dpproof.mechanisms.noise.randomised_response.sample",
    )


_COVERED = (Adjacency.BY_SENSITIVITY, Adjacency.REPLACE, Adjacency.REWARDS_ONLY)
"""Relations in which one person's true answer is replaced by another, and nobody is added or removed."""

ACCOUNTANT = Accountant(
    "randomised-response",
    "Randomised response, two answers or more",
    RandomisedResponseParameters,
    account,
    "randomness",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=RandomisedResponseParameters(randomness=0.5),
)
