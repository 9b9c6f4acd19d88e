"""Accountant of binomial noise on a count: the number of heads among fair or unfair coins is added.

An outcome without any heads reveals the user, so delta is never below its probability.

With unfair coins the noise is skewed. A count that rises and a count that falls then have different privacy
losses. One count that rises and one that falls may together reveal more than two that rise or two that fall.
So the accountant treats each direction separately only if the counts are known to move in one direction.

Source: Dwork, Kenthapadi, McSherry, Mironov and Naor, EUROCRYPT 2006, Section 4. This project's statement
classic.binomial.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpproof.accountant.claims.accountant import Accountant
from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.parameters import EXACT, Integers, Reals, parameter
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.accountant.claims.sensitivity import Measured, Query, queried, whole_sensitivity
from dpproof.accountant.guarantees.profile import Enclosed, Profile
from dpproof.accountant.noise.primitive import by_sensitivity
from dpproof.accountant.numbers.arithmetic import lru_cache
from dpproof.accountant.numbers.enclosures import exact
from dpproof.accountant.pairs.atoms import dominating_pair
from dpproof.accountant.pairs.base import DominatingPair
from dpproof.accountant.pairs.binomial import ShiftedBinomial
from dpproof.accountant.privacy_loss.notion import PrivacyLoss, composed


@dataclass(frozen=True)
class BinomialParameters(Measured):
    """Parameters of the binomial mechanism: the distribution of the noise, and the number of counts.

    The noise on a count is the number of heads in ``trials`` coin throws. The sensitivity of each count is 1.
    """

    trials: int = parameter(Integers(1, 10**12), "coins", "how many coins are thrown")
    probability: float = parameter(
        Reals(0, 1, lower_open=True, upper_open=True), "1", "probability of heads", 0.5, safer=EXACT
    )
    compositions: int = parameter(Integers(0), "answers", "how many counts are given", 1)
    sensitivity: int | None = parameter(Integers(1, 1), "1", "sensitivity of each count, which is 1", None)
    query: str | None = queried()


def account(parameters: BinomialParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY) -> PrivacyResult:
    """Return the guarantee of all counts together.

    The guarantee is exact if the coins are fair, or if all counts are known to move in the same direction.

    >>> account(BinomialParameters(trials=1000)).guarantee.epsilon("1e-6").upper < 0.4
    True
    """
    moved, _ = whole_sensitivity(parameters, adjacency)
    notes: tuple[str, ...] = ()
    if moved.coordinates > 1 and parameters.compositions:
        found = _in_both(parameters)
        pair = "two inputs of which one has 1 more in a cell, and 1 less in another, always the same cells"
    elif _one_direction(parameters, adjacency):
        found, pair = _in_each(parameters), f"{_DIFFER}, always in the same direction"
    else:
        found = Enclosed(_in_some(parameters), _in_any(parameters))
        pair, notes = f"{_DIFFER}, in the same direction or half of them in the other", (_EITHER,)
    return by_sensitivity(found, adjacency, "classic.binomial", pair, notes=notes, sensitivity=moved)


_DIFFER = "two inputs whose counts differ by 1"
_EITHER = (
    "each count may rise or fall, which with unfair coins reveals more than one direction does; "
    "query count under add-remove fixes the direction"
)


def _one_direction(parameters: BinomialParameters, adjacency: Adjacency) -> bool:
    """Whether all counts have one privacy loss: a single count, fair coins, or a query that moves in one direction."""
    if parameters.compositions < 2 or 2 * exact(parameters.probability) == 1:
        return True
    return parameters.query is not None and Query.of(parameters.query).monotone(adjacency)


def _pairs(parameters: BinomialParameters) -> tuple[DominatingPair, DominatingPair]:

    rises = ShiftedBinomial(parameters.trials, parameters.probability)
    return rises, rises.reversed()


def _in_each(parameters: BinomialParameters) -> Profile:
    """Return the larger of two guarantees: all counts rise, or all fall."""
    return composed(parameters.compositions, *_pairs(parameters))


def _in_both(parameters: BinomialParameters) -> Profile:
    """Return the guarantee if one cell rises and another one falls in every composition."""
    return _loss([[(pair, parameters.compositions) for pair in _pairs(parameters)]])


def _in_some(parameters: BinomialParameters) -> Profile:
    """Return the largest of three guarantees: all counts rise, all fall, or half rise and half fall."""
    (rises, falls), count = _pairs(parameters), parameters.compositions
    return _loss([[(rises, count)], [(falls, count)], [(rises, count // 2), (falls, count - count // 2)]])


def _in_any(parameters: BinomialParameters) -> Profile:
    """Return the guarantee if each count may rise or fall, by one pair that dominates both directions."""
    return composed(parameters.compositions, _above_both(parameters.trials, parameters.probability))


@lru_cache(maxsize=16)
def _above_both(trials: int, probability: float) -> DominatingPair:

    return dominating_pair(composed(1, *_pairs(BinomialParameters(trials, probability))))


def _loss(alternatives: list[list[tuple[DominatingPair, int]]]) -> Profile:

    return PrivacyLoss(alternatives)


ACCOUNTANT = Accountant(
    "binomial",
    "Binomial mechanism",
    BinomialParameters,
    account,
    "trials",
    adjacency=Adjacency.BY_SENSITIVITY,
    example=BinomialParameters(trials=1000, sensitivity=1),
)
