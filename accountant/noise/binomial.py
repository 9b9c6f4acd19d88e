"""The accountant of binomial noise on a count: some fair (or unfair) coins more.

The outcome that no coin produced gives a user away, so that delta is never below its probability.

Source: Dwork, Kenthapadi, McSherry, Mironov and Naor, EUROCRYPT 2006, Section 4. This project's statement
classic.binomial.
"""

from __future__ import annotations

from dataclasses import dataclass

from accountant.accounted import Accountant, Accounted
from accountant.adjacency import Adjacency
from accountant.noise.primitive import by_sensitivity, composed
from accountant.parameters import Integers, Reals, parameter
from accountant.sensitivity import Measured, queried, whole_sensitivity

__all__ = ["ACCOUNTANT", "BinomialParameters", "guarantee"]


@dataclass(frozen=True)
class BinomialParameters(Measured):
    """The coins whose heads are added to a count of sensitivity 1, and how often."""

    trials: int = parameter(Integers(1, 10**12), "coins", "how many coins are thrown")
    probability: float = parameter(
        Reals(0, 1, lower_open=True, upper_open=True), "1", "probability of heads", 0.5
    )
    compositions: int = parameter(Integers(0), "answers", "how many counts are given", 1)
    sensitivity: int | None = parameter(Integers(1, 1), "1", "sensitivity of each count, which is 1", None)
    query: str | None = queried()


def guarantee(parameters: BinomialParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY) -> Accounted:
    """The exact guarantee of all counts together, attained by two inputs whose counts differ by 1.

    >>> guarantee(BinomialParameters(trials=1000)).guarantee.epsilon("1e-6").upper < 0.4
    True
    """
    from accountant.pairs.binomial import ShiftedBinomial

    moved, _ = whole_sensitivity(parameters, adjacency)
    more, count = ShiftedBinomial(parameters.trials, parameters.probability), parameters.compositions
    if moved.coordinates == 1 or count == 0:
        found = composed(count, more, more.reversed())
        pair = "two inputs whose counts differ by 1, always in the same direction"
    else:
        from accountant.privacy_loss.notion import PrivacyLoss

        found = PrivacyLoss((((more, count), (more.reversed(), count)),))
        pair = "two inputs of which one has 1 more in a cell, and 1 less in another, always the same cells"
    return by_sensitivity(found, adjacency, "classic.binomial", pair, sensitivity=moved)


ACCOUNTANT = Accountant(
    "binomial",
    "Binomial mechanism",
    BinomialParameters,
    guarantee,
    "trials",
    adjacency=Adjacency.BY_SENSITIVITY,
)
