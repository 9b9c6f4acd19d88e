"""The audit of choices by utilities, on two candidates: one gains the sensitivity, and the other loses it."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.data.neighbours import Distance, VectorRelation
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.answers import Floats, Laplace, Repeated, flat, size
from dpproof.audits.targets.primitive import Setting

RARE = 0.1
"""The odds of the rare choice under the input that makes it more likely; this choice distinguishes the inputs."""


class Selection(Laplace, Repeated, Protocol):
    """Parameters of a choice by utilities."""


def choices(parameters: Selection, adjacency: Adjacency, *, tied: bool = False) -> Neighbours:
    """Return two candidates; one gains the sensitivity while the other loses it (or stays, if monotone).

    Args:
        parameters: the parameters of the accountant.
        adjacency: the name of the relation in the claim.
        tied: whether the candidates have equal utilities at first. If not, the gaining candidate is chosen rarely
            under both inputs, so that the ratio of its probabilities is close to its limit.
    """
    gain = size(parameters, adjacency)
    loss = 0.0 if getattr(parameters, "monotone", False) else gain
    behind = 0.0 if tied else gain + loss - parameters.scale * math.log(RARE)
    first = np.tile([-behind, 0.0], (parameters.compositions, 1))
    second = np.tile([gain - behind, -loss], (parameters.compositions, 1))
    second = np.where(np.abs(second - first) > gain, np.nextafter(second, first), second)
    described = f"utilities {first[0].tolist()} or {second[0].tolist()}"
    return Neighbours(first, second, adjacency, described, VectorRelation(Distance.ALL, gain))


def choice(outputs: NDArray[np.int64], parameters: Laplace, first: Floats, second: Floats) -> Floats:
    """Return the log-likelihood ratio of the exponential mechanism, monotone in that of any other binary choice."""
    logs = [
        u / parameters.scale - logsumexp(u / parameters.scale, axis=1, keepdims=True) for u in (first, second)
    ]
    return flat(np.take_along_axis((logs[1] - logs[0])[None], outputs[..., None], axis=2)[..., 0])


TARGET = Setting(choices, choice)
