"""Inputs and likelihood ratios that several mechanisms share: answers as far apart as neighbours can be.

If the accountant names a pair that attains its guarantee, the audit uses this pair, or a similar one that samples
can distinguish. A log-likelihood ratio is ln p1/p0 of the stated output distribution for a pair of inputs. It is called
as ``ratio(outputs, parameters, first, second)`` and returns ``(n,)``. It is the best score for a mechanism with the
stated distribution, and a valid score for any other mechanism. It is computed in plain double precision.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.sensitivity import L1, sensitivity_of
from dpproof.accountant.numbers.inversion import neighbours_of
from dpproof.audits.data.neighbours import Distance, VectorRelation
from dpproof.audits.data.pairs import Neighbours

Floats = NDArray[np.float64]
Numbers = NDArray[np.float64] | NDArray[np.int64]
FAR = 1e6
"""The finite value that replaces an infinite ratio."""


class Repeated(Protocol):
    """Parameters of a mechanism that runs several times."""

    @property
    def compositions(self) -> int:
        """The number of runs."""
        ...


class Gaussian(Protocol):
    """Parameters of Gaussian noise."""

    @property
    def sigma(self) -> float:
        """The standard deviation."""
        ...


class Laplace(Protocol):
    """Parameters of Laplace noise."""

    @property
    def scale(self) -> float:
        """The scale."""
        ...


def answers(parameters: Repeated, adjacency: Adjacency) -> Neighbours:
    """Return two neighbours: all answers are 0 on the first, and equal to the largest change on the second."""
    moved = sensitivity_of(parameters, adjacency, L1)
    apart = size(parameters, adjacency)
    described = f"answers all 0, or all {apart:g}"
    none = np.zeros(parameters.compositions * moved.coordinates)
    return Neighbours(none, none + apart, adjacency, described, VectorRelation(Distance.ALL, apart))


def size(parameters: object, adjacency: Adjacency) -> float:
    """Return the largest double that is at most the change of one coordinate."""
    return neighbours_of(sensitivity_of(parameters, adjacency, L1).moved)[0]


def gaussian(outputs: Numbers, parameters: Gaussian, first: Numbers, second: Numbers) -> Floats:
    """Return the log-likelihood ratio of independent Gaussian noise of ``sigma``, discrete or continuous."""
    return np.asarray(_squares(outputs, first, second) / parameters.sigma**2)


def laplace(outputs: Numbers, parameters: Laplace, first: Numbers, second: Numbers) -> Floats:
    """Return the log-likelihood ratio of independent Laplace or two-sided geometric noise of ``scale``."""
    return np.asarray(_distances(outputs, first, second) / parameters.scale)


def flat(terms: Numbers) -> Floats:
    """Return the sum over all axes but the first; an infinite term counts as plus or minus `FAR`."""
    finite = np.nan_to_num(terms, nan=0.0, posinf=FAR, neginf=-FAR)
    return np.asarray(finite.reshape(len(terms), -1).sum(axis=1))


def heads(count: Numbers, coins: int, chance: float) -> Floats:
    """Return the log probability of this number of heads; -inf for an impossible number."""
    k = np.asarray(count, dtype=np.float64)
    inside = (k >= 0) & (k <= coins)
    k = np.clip(k, 0, coins)
    logs = gammaln(coins + 1) - gammaln(k + 1) - gammaln(coins - k + 1)
    return np.where(inside, logs + xlogy(k, chance) + xlog1py(coins - k, -chance), -np.inf)


def _squares(outputs: Numbers, first: Numbers, second: Numbers) -> Floats:
    """Return half the difference of squared distances, ((x - a)^2 - (x - b)^2) / 2, added up."""
    return flat((second - first) * (outputs - (first + second) / 2))


def _distances(outputs: Numbers, first: Numbers, second: Numbers) -> Floats:
    """Return |x - a| - |x - b|, added up. It is exactly constant beyond a and b, so it reveals no low bits of x."""
    gap = np.abs(second - first)
    return flat(np.clip(np.sign(second - first) * (2 * outputs - first - second), -gap, gap))
