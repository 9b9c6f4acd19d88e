"""The audit of shuffled batches: one record is in a random batch of each epoch."""

from __future__ import annotations

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.sampling.shuffled import ShuffledSGDParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats
from dpproof.audits.targets.primitive import Setting
from dpproof.audits.targets.sampling.ratios import allocated_ratio, one_record


def _training(parameters: ShuffledSGDParameters, adjacency: Adjacency) -> Neighbours:
    return one_record(adjacency, 0.0, 2.0 if adjacency is Adjacency.REPLACE else 1.0, 2.0)


def _ratio(outputs: Floats, parameters: ShuffledSGDParameters, first: float, second: float) -> Floats:
    shape = parameters.epochs, parameters.steps, 1
    return allocated_ratio(outputs, parameters.noise_multiplier, shape, parameters.fresh, first, second)


TARGET = Setting(_training, _ratio)
