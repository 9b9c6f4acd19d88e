"""The audit of random allocation: one record has vectors of the clipping norm."""

from __future__ import annotations

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.sampling.allocated import AllocatedSGDParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats
from dpproof.audits.targets.primitive import Setting
from dpproof.audits.targets.sampling.ratios import allocated_ratio, one_record


def _training(parameters: AllocatedSGDParameters, adjacency: Adjacency) -> Neighbours:
    return one_record(adjacency, -1.0 if adjacency is Adjacency.REPLACE else 0.0, 1.0)


def _ratio(outputs: Floats, parameters: AllocatedSGDParameters, first: float, second: float) -> Floats:
    shape = parameters.epochs, parameters.steps, parameters.chosen
    return allocated_ratio(outputs, parameters.noise_multiplier, shape, parameters.fresh, first, second)


TARGET = Setting(_training, _ratio)
