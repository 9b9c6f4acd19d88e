"""The audit of randomised response: the two inputs are different true answers."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.noise.randomised_response import RandomisedResponseParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats, Numbers, flat
from dpproof.audits.targets.primitive import Setting


def _responses(parameters: RandomisedResponseParameters, adjacency: Adjacency) -> Neighbours:
    """Return one person's true answers, all 0 or all 1. Any two persons are neighbours."""
    none = np.zeros(parameters.compositions, np.int64)
    return Neighbours(none, none + 1, adjacency, "true answers all 0, or all 1", _any_two)


def _any_two(_first: object, _second: object) -> None:
    """Accept any two inputs, because all inputs are neighbours in local privacy."""


def _ratio(
    outputs: Numbers, parameters: RandomisedResponseParameters, first: Numbers, second: Numbers
) -> Floats:
    """Return the sum of 1 for each answer equal to the second true answer, and -1 for each equal to the first."""
    return flat((outputs == second).astype(np.float64) - (outputs == first))


TARGET = Setting(_responses, _ratio)
