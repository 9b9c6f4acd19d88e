"""The audit of batches of a fixed size: all other records send the opposite of the record's vector."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.sampling.fixed_batch import FixedBatchSGDParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats, flat, heads
from dpproof.audits.targets.primitive import Setting
from dpproof.audits.targets.sampling.ratios import one_record, sampled_ratio

_COPIES = 64
"""The score counts at most this many copies of the record in a batch."""


def _training(parameters: FixedBatchSGDParameters, adjacency: Adjacency) -> Neighbours:
    return one_record(adjacency, 0.0, 2.0, 2.0)


def _ratio(outputs: Floats, parameters: FixedBatchSGDParameters, first: float, second: float) -> Floats:
    m, n, noise = parameters.batch, parameters.dataset, parameters.noise_multiplier
    if not parameters.replacement:
        return sampled_ratio(outputs, noise, np.full(parameters.steps, m / n), first, second)
    copies = np.arange(min(m, _COPIES) + 1)
    chances = heads(copies, m, 1 / n)
    both = [
        logsumexp(-((outputs[..., None] - copies * v) ** 2) / (2 * noise**2) + chances, axis=-1)
        for v in (first, second)
    ]
    return flat(both[1] - both[0])


TARGET = Setting(_training, _ratio)
