"""The audit of binomial noise: the inputs are counts that one record changes."""

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
    """Return counts that are all 0 or all 1; if two cells change, one record in the first or the second cell."""
    none = np.zeros(parameters.compositions, np.int64)
    if sensitivity_of(parameters, adjacency, L1).coordinates == 1:
        return Neighbours(none, none + 1, adjacency, "counts all 0, or all 1", VectorRelation(Distance.ALL))
    first, second = np.concatenate([none + 1, none]), np.concatenate([none, none + 1])
    described = "one record in the first cell, or in the second"
    return Neighbours(first, second, adjacency, described, VectorRelation(Distance.ALL))


def _ratio(outputs: Numbers, parameters: BinomialParameters, first: Numbers, second: Numbers) -> Floats:
    """Return the log-likelihood ratio of counts plus heads of coins; an impossible output counts as `FAR`."""
    coins = parameters.trials, parameters.probability
    return flat(heads(outputs - second, *coins) - heads(outputs - first, *coins))


TARGET = Setting(_counts, _ratio)
