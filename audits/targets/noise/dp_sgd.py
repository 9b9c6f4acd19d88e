"""The audit of the noisy sums of DP-SGD: one user's vectors have the length of the clipping norm."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.noise.dp_sgd import DPSGDParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats, flat, heads
from dpproof.audits.targets.primitive import Setting


def _training(parameters: DPSGDParameters, adjacency: Adjacency) -> Neighbours:
    """Return no user (or, for ``replace``, negated vectors), and a user whose vectors have the clipping norm."""
    first = -1.0 if adjacency is Adjacency.REPLACE else 0.0
    described = f"vectors of a user: {'turned round' if first else 'none'}, or all of the clipping norm"
    return Neighbours(first, 1.0, adjacency, described, _clipped)


def _clipped(first: float, second: float) -> None:
    if not (abs(first) <= 1 and abs(second) <= 1):
        raise ValueError(f"{first!r} and {second!r} must be in [-1, 1]")


def ratio(outputs: Floats, parameters: DPSGDParameters, first: float, second: float) -> Floats:
    """Return the log-likelihood ratio of noisy sums in which coins decide on each of a user's records."""
    records, noise = parameters.records, parameters.noise_multiplier
    k = np.arange(records + 1)
    chances = heads(k, records, parameters.sampling_rate)
    both = [
        logsumexp(-((outputs[..., None] - k * v) ** 2) / (2 * noise**2) + chances, axis=-1)
        for v in (first, second)
    ]
    return flat(both[1] - both[0])


TARGET = Setting(_training, ratio)
