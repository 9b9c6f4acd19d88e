"""The audit of private selection: one run has three outputs, and the one in the middle is selected."""

from __future__ import annotations

import math

import flint
import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.selection.private_selection import PrivateSelectionParameters, runs_of
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats, flat
from dpproof.audits.targets.primitive import Setting

SHARE = 0.2
"""The share of the likely outputs that are in the middle, and not the worst."""


def _pair(parameters: PrivateSelectionParameters, adjacency: Adjacency) -> Neighbours:
    """Return the probabilities of one run's outputs, from the worst to the best, for two neighbours."""
    likely, failure = 1 / (1 + math.exp(-parameters.base_epsilon)), parameters.base_delta
    first, second = (
        np.array([share * (1 - SHARE), share * SHARE, 1 - share, 0.0, 0.0]) * (1 - failure)
        for share in (1 - likely, likely)
    )
    first[3] = second[4] = failure
    described = "runs whose worst outputs are likely, or unlikely"
    return Neighbours(first, second, adjacency, described, _Close(parameters))


class _Close:
    """A validator of two laws of one run: they must be as close as the parameters say."""

    def __init__(self, parameters: PrivateSelectionParameters) -> None:
        self.grown = math.exp(parameters.base_epsilon) * (1 + 1e-9)
        self.failure = parameters.base_delta + 1e-12

    def __call__(self, first: Floats, second: Floats) -> None:
        """Raise ValueError if the laws differ by more."""
        for one, other in ((first, second), (second, first)):
            if np.maximum(one - self.grown * other, 0).sum() > self.failure:
                raise ValueError(f"{one.tolist()} and {other.tolist()} differ by more than one run may")


def _law(parameters: PrivateSelectionParameters, chances: Floats) -> Floats:
    """Return the probabilities of no run and of each selected output."""
    runs, above = runs_of(parameters), 1 - np.minimum(np.cumsum(chances), 1)
    upto = [float(runs.none), *(float(runs.none_above(flint.arb(missing))) for missing in above)]
    return np.diff(np.maximum.accumulate(upto), prepend=0.0)


def _ratio(
    outputs: NDArray[np.int64], parameters: PrivateSelectionParameters, first: Floats, second: Floats
) -> Floats:
    """Return the log-likelihood ratio of the selected outputs."""
    one, other = (_law(parameters, chances) for chances in (first, second))
    logs = np.log(np.maximum(other, 1e-12)) - np.log(np.maximum(one, 1e-12))
    return flat(logs[outputs + 1])


TARGET = Setting(_pair, _ratio)
