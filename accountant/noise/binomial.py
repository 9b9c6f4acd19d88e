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
from accountant.parameters import Integers, Parameters, Reals, parameter

__all__ = ["ACCOUNTANT", "BinomialParameters", "guarantee"]


@dataclass(frozen=True)
class BinomialParameters(Parameters):
    """The coins whose heads are added to a count of sensitivity 1, and how often."""

    trials: int = parameter(Integers(1, 10**12), "coins", "how many coins are thrown")
    probability: float = parameter(
        Reals(0, 1, lower_open=True, upper_open=True), "1", "probability of heads", 0.5
    )
    compositions: int = parameter(Integers(0), "answers", "how many counts are given", 1)


def guarantee(parameters: BinomialParameters, adjacency: Adjacency = Adjacency.BY_SENSITIVITY) -> Accounted:
    """The exact guarantee of all counts together, attained by two inputs whose counts differ by 1.

    >>> guarantee(BinomialParameters(trials=1000)).guarantee.epsilon("1e-6").upper < 0.4
    True
    """
    from accountant.pairs.binomial import ShiftedBinomial

    more = ShiftedBinomial(parameters.trials, parameters.probability)
    found = composed(parameters.compositions, more, more.reversed())
    pair = "two inputs whose counts differ by 1, always in the same direction"
    return by_sensitivity(found, adjacency, "classic.binomial", pair)


ACCOUNTANT = Accountant(
    "binomial",
    "Binomial mechanism",
    BinomialParameters,
    guarantee,
    "trials",
    adjacency=Adjacency.BY_SENSITIVITY,
)
