"""The audit of cyclic Poisson sampling: one record of group 0 has vectors of the clipping norm."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.sampling.cyclic import CyclicSGDParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats
from dpproof.audits.targets.primitive import Setting
from dpproof.audits.targets.sampling.ratios import one_record, sampled_ratio


def _training(parameters: CyclicSGDParameters, adjacency: Adjacency) -> Neighbours:
    return one_record(adjacency, -1.0 if adjacency is Adjacency.REPLACE else 0.0, 1.0)


def _ratio(outputs: Floats, parameters: CyclicSGDParameters, first: float, second: float) -> Floats:
    turn = np.arange(parameters.steps) % parameters.groups == 0
    rates = np.where(turn, parameters.sampling_rate, 0.0)
    return sampled_ratio(outputs, parameters.noise_multiplier, rates, first, second)


TARGET = Setting(_training, _ratio)
