"""Inputs and likelihood ratios that several mechanisms share: answers as far apart as neighbours can be.

Where the accountant names a pair that attains its guarantee, this is that pair, or one of its kind that samples
can distinguish. A likelihood ratio is ln p1/p0 of the stated law for a pair of inputs. It is called as
``ratio(outputs, parameters, first, second)`` and returns ``(n,)``. It is a score: for a mechanism of the stated
law no score is better, and for any other mechanism it is still a valid one. It is computed in plain double
precision.
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
"""Stands for an infinite ratio."""


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
    """All answers 0, or all at the sensitivity, in each coordinate that moves between neighbours."""
    moved = sensitivity_of(parameters, adjacency, L1)
    apart = size(parameters, adjacency)
    described = f"answers all 0, or all {apart:g}"
    none = np.zeros(parameters.compositions * moved.coordinates)
    return Neighbours(none, none + apart, adjacency, described, VectorRelation(Distance.ALL, apart))


def size(parameters: object, adjacency: Adjacency) -> float:
    """The largest double that is at most the change of one coordinate."""
    return neighbours_of(sensitivity_of(parameters, adjacency, L1).moved)[0]


def gaussian(outputs: Numbers, parameters: Gaussian, first: Numbers, second: Numbers) -> Floats:
    """Log-likelihood ratio of independent Gaussian noise of ``sigma``, on whole or on real numbers."""
    return np.asarray(_squares(outputs, first, second) / parameters.sigma**2)


def laplace(outputs: Numbers, parameters: Laplace, first: Numbers, second: Numbers) -> Floats:
    """Log-likelihood ratio of independent Laplace or two-sided geometric noise of ``scale``."""
    return np.asarray(_distances(outputs, first, second) / parameters.scale)


def flat(terms: Numbers) -> Floats:
    """The sum over all axes but the first; infinite terms count as `FAR`."""
    finite = np.nan_to_num(terms, nan=0.0, posinf=FAR, neginf=-FAR)
    return np.asarray(finite.reshape(len(terms), -1).sum(axis=1))


def heads(count: Numbers, coins: int, chance: float) -> Floats:
    """Log probability of that many heads; -inf for impossible numbers."""
    k = np.asarray(count, dtype=np.float64)
    inside = (k >= 0) & (k <= coins)
    k = np.clip(k, 0, coins)
    logs = gammaln(coins + 1) - gammaln(k + 1) - gammaln(coins - k + 1)
    return np.where(inside, logs + xlogy(k, chance) + xlog1py(coins - k, -chance), -np.inf)


def _squares(outputs: Numbers, first: Numbers, second: Numbers) -> Floats:
    """Half the difference of squared distances: ((x - a)^2 - (x - b)^2) / 2."""
    return flat((second - first) * (outputs - (first + second) / 2))


def _distances(outputs: Numbers, first: Numbers, second: Numbers) -> Floats:
    """|x - a| - |x - b|, constant beyond a and b without a rounding error that would show the bits of x."""
    gap = np.abs(second - first)
    return flat(np.clip(np.sign(second - first) * (2 * outputs - first - second), -gap, gap))
