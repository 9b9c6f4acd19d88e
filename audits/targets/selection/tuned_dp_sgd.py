"""The audit of tuned DP-SGD: one user's vectors have the clipping norm, and the training with the largest sums wins."""

from __future__ import annotations

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.selection.tuned_dp_sgd import TunedDPSGDParameters, training
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats
from dpproof.audits.targets.noise import dp_sgd
from dpproof.audits.targets.primitive import Setting

_ONE = dp_sgd.TARGET


def _pair(parameters: TunedDPSGDParameters, adjacency: Adjacency) -> Neighbours:
    return _ONE.pair(training(parameters), adjacency)


def _ratio(outputs: Floats, parameters: TunedDPSGDParameters, first: float, second: float) -> Floats:
    """Return the log-likelihood ratio of one training, without the effect of the selection."""
    return dp_sgd.ratio(outputs, training(parameters), first, second)


TARGET = Setting(_pair, _ratio, samples=20_000)
