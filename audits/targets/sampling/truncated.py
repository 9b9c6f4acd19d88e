"""The audit of truncated Poisson sampling: a dataset of one record, whose vectors have the clipping norm."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.sampling.truncated import TruncatedSGDParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats
from dpproof.audits.targets.primitive import Setting
from dpproof.audits.targets.sampling.ratios import one_record, sampled_ratio


def _training(parameters: TruncatedSGDParameters, adjacency: Adjacency) -> Neighbours:
    return one_record(adjacency, -1.0 if adjacency is Adjacency.REPLACE else 0.0, 1.0)


def _ratio(outputs: Floats, parameters: TruncatedSGDParameters, first: float, second: float) -> Floats:
    rates = np.full(parameters.steps, parameters.sampling_rate)
    return sampled_ratio(outputs, parameters.noise_multiplier, rates, first, second)


TARGET = Setting(_training, _ratio)
