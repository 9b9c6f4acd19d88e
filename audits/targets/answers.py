"""Neighbouring inputs and likelihood ratios that the audits of several mechanisms share.

The two inputs are as far apart as neighbours can be. If the accountant names a pair that attains its guarantee, the
audit uses this pair, or a similar pair that samples can distinguish. A log-likelihood ratio is ln p1/p0, where p0 and
p1 are the stated output densities for the two inputs. A function ``ratio(outputs, parameters, first, second)``
returns this number for each output, ``(n,)``. The ratio is the best score for a mechanism with the stated
distribution, and a valid score for any other mechanism. It is computed in double precision.
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
"""The finite number that replaces an infinite log-likelihood ratio."""


class Repeated(Protocol):
    """The parameters of a mechanism that runs several times."""

    @property
    def compositions(self) -> int:
        """The number of runs."""
        ...


class Gaussian(Protocol):
    """The parameters of a mechanism with Gaussian noise."""

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise."""
        ...


class Laplace(Protocol):
    """The parameters of a mechanism with Laplace noise."""

    @property
    def scale(self) -> float:
        """The scale of the noise."""
        ...


def answers(parameters: Repeated, adjacency: Adjacency) -> Neighbours:
    """Return two neighbouring vectors of true answers: one contains zeros, the other the number `size`."""
    moved = sensitivity_of(parameters, adjacency, L1)
    apart = size(parameters, adjacency)
    described = f"answers all 0, or all {apart:g}"
    none = np.zeros(parameters.compositions * moved.coordinates)
    return Neighbours(none, none + apart, adjacency, described, VectorRelation(Distance.ALL, apart))


def size(parameters: object, adjacency: Adjacency) -> float:
    """Return the largest change of one coordinate between neighbours, rounded down to a double."""
    return neighbours_of(sensitivity_of(parameters, adjacency, L1).moved)[0]


def gaussian(outputs: Numbers, parameters: Gaussian, first: Numbers, second: Numbers) -> Floats:
    """Return the log-likelihood ratio of independent Gaussian noise of ``sigma``, discrete or continuous."""
    return np.asarray(_squares(outputs, first, second) / parameters.sigma**2)


def laplace(outputs: Numbers, parameters: Laplace, first: Numbers, second: Numbers) -> Floats:
    """Return the log-likelihood ratio of independent Laplace or two-sided geometric noise of ``scale``."""
    return np.asarray(_distances(outputs, first, second) / parameters.scale)


def flat(terms: Numbers) -> Floats:
    """Return the sums over all axes except the first; an infinite term counts as plus or minus `FAR`."""
    finite = np.nan_to_num(terms, nan=0.0, posinf=FAR, neginf=-FAR)
    return np.asarray(finite.reshape(len(terms), -1).sum(axis=1))


def heads(count: Numbers, coins: int, chance: float) -> Floats:
    """Return the log probability that ``count`` of ``coins`` coins show heads; -inf for an impossible count.

    Each coin shows heads with probability ``chance``.
    """
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
