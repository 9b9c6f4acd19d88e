"""The audit of binomial noise, on counts that one record changes."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.sensitivity import L1, sensitivity_of
from dpproof.accountant.noise.binomial import BinomialParameters
from dpproof.audits.data.neighbours import Distance, VectorRelation
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats, Numbers, flat, heads
from dpproof.audits.targets.primitive import Setting


def _counts(parameters: BinomialParameters, adjacency: Adjacency) -> Neighbours:
    """All counts 0, or all 1; if a second cell moves, one record is in the one cell or in the other."""
    none = np.zeros(parameters.compositions, np.int64)
    if sensitivity_of(parameters, adjacency, L1).coordinates == 1:
        return Neighbours(none, none + 1, adjacency, "counts all 0, or all 1", VectorRelation(Distance.ALL))
    first, second = np.concatenate([none + 1, none]), np.concatenate([none, none + 1])
    described = "one record in the first cell, or in the second"
    return Neighbours(first, second, adjacency, described, VectorRelation(Distance.ALL))


def _ratio(outputs: Numbers, parameters: BinomialParameters, first: Numbers, second: Numbers) -> Floats:
    """Of counts plus heads of coins; an output that one input cannot have counts as far."""
    coins = parameters.trials, parameters.probability
    return flat(heads(outputs - second, *coins) - heads(outputs - first, *coins))


TARGET = Setting(_counts, _ratio)
