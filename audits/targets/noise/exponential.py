"""The audit of noisy choices between two candidates: one utility rises by the sensitivity, and the other falls."""

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

RARE = 0.3
"""The odds of the rare candidate on the input where it is more likely."""


class Selection(Laplace, Repeated, Protocol):
    """The parameters of a mechanism that chooses a candidate by noisy utilities."""


def choices(parameters: Selection, adjacency: Adjacency, *, tied: bool = False) -> Neighbours:
    """Return neighbouring utilities of two candidates: one rises by the sensitivity, the other falls or stays.

    Args:
        parameters: the parameters of the accountant.
        adjacency: the name of the relation in the claim.
        tied: whether the candidates have equal utilities on the first input. If not, the candidate whose utility
            rises is chosen rarely on both inputs, so that the ratio of its two probabilities is close to the largest
            possible ratio.
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
    """Return the log-likelihood ratio of each output of the exponential mechanism, for two candidates."""
    logs = [
        u / parameters.scale - logsumexp(u / parameters.scale, axis=1, keepdims=True) for u in (first, second)
    ]
    return flat(np.take_along_axis((logs[1] - logs[0])[None], outputs[..., None], axis=2)[..., 0])


TARGET = Setting(choices, choice)
