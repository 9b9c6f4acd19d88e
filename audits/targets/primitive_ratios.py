"""Log-likelihood ratios of noise primitives: ln p1/p0 of the stated law, for a pair of inputs.

Each is called as ``ratio(outputs, parameters, first, second)`` and returns ``(n,)``. They are scores: on a
mechanism of the stated law nothing tells the inputs apart better, on any other they are only a choice. They
are computed in plain double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, xlog1py, xlogy

from dpproof.accountant.counting.matrix_counting import strategy_of
from dpproof.mechanisms.counting.factorised import column_coefficients
from dpproof.mechanisms.counting.matrix_counting import convolved
from dpproof.mechanisms.counting.tree import tree_nodes

__all__ = [
    "binomial",
    "choice",
    "gaussian",
    "gaussian_tree",
    "laplace",
    "laplace_tree",
    "matrix",
    "response",
    "shuffled",
    "smooth",
    "smooth_cauchy",
    "smooth_gaussian",
    "smooth_laplace",
    "smooth_log_normal",
    "smooth_student",
    "training",
]

Floats = NDArray[np.float64]
FAR = 1e6
"""Stands for an infinite ratio."""


def gaussian(outputs: Any, parameters: Any, first: Any, second: Any) -> Floats:
    """Of independent Gaussian noise of ``sigma``, on whole or on real numbers."""
    return np.asarray(_squares(outputs, first, second) / parameters.sigma**2)


def laplace(outputs: Any, parameters: Any, first: Any, second: Any) -> Floats:
    """Of independent Laplace or two-sided geometric noise of ``scale``."""
    return np.asarray(_distances(outputs, first, second) / parameters.scale)


def gaussian_tree(outputs: Floats, parameters: Any, first: Floats, second: Floats) -> Floats:
    """Of running counts with Gaussian noise on the nodes of a tree."""
    return gaussian(*_nodes(outputs, parameters, first, second))


def laplace_tree(outputs: Floats, parameters: Any, first: Floats, second: Floats) -> Floats:
    """Of running counts with Laplace noise on the nodes of a tree."""
    return laplace(*_nodes(outputs, parameters, first, second))


def matrix(outputs: Floats, parameters: Any, first: Floats, second: Floats) -> Floats:
    """Of running counts by a factorised matrix: C times the differences of the counts has plain noise."""
    column = column_coefficients(strategy_of(parameters))
    noisy = convolved(np.diff(outputs, axis=-1, prepend=0.0), column)
    return gaussian(noisy, parameters, convolved(first, column), convolved(second, column))


def binomial(outputs: Any, parameters: Any, first: Any, second: Any) -> Floats:
    """Of counts plus heads of coins; an output that one input cannot have counts as `FAR`."""
    coins = parameters.trials, parameters.probability
    return _flat(_heads(outputs - second, *coins) - _heads(outputs - first, *coins))


def shuffled(outputs: Any, parameters: Any, first: int, second: int) -> Floats:
    """Of the ones among shuffled bits."""
    coins = parameters.users * max(parameters.noise_bits, 1), float(parameters.noise_chance)
    return _flat(_heads(outputs - second, *coins) - _heads(outputs - first, *coins))


def response(outputs: Any, parameters: Any, first: Any, second: Any) -> Floats:
    """Of randomised responses: one for an answer that is the second truth, minus one for the first."""
    return _flat((outputs == second).astype(np.float64) - (outputs == first))


def choice(outputs: Any, parameters: Any, first: Floats, second: Floats) -> Floats:
    """Of choices by the exponential mechanism; increasing in that of any other choice between two."""
    logs = [
        u / parameters.scale - logsumexp(u / parameters.scale, axis=1, keepdims=True) for u in (first, second)
    ]
    return _flat(np.take_along_axis((logs[1] - logs[0])[None], outputs[..., None], axis=2)[..., 0])


def training(outputs: Floats, parameters: Any, first: float, second: float) -> Floats:
    """Of noisy sums in which a user's records are sampled by coins."""
    records, noise = parameters.records, parameters.noise_multiplier
    k = np.arange(records + 1)
    chances = _heads(k, records, parameters.sampling_rate)
    both = [
        logsumexp(-((outputs[..., None] - k * v) ** 2) / (2 * noise**2) + chances, axis=-1)
        for v in (first, second)
    ]
    return _flat(both[1] - both[0])


def smooth(
    outputs: Floats, parameters: Any, first: Any, second: Any, *, log_density: Callable[..., Floats]
) -> Floats:
    """Of noise scaled by a smooth bound; ``log_density(z, parameters)`` is that of the noise, in any unit."""
    logs = []
    for answer, bound in (first, second):
        z = outputs.reshape(len(outputs), -1).astype(np.float64)
        z[:, 0] -= answer
        z /= parameters.noise * bound
        logs.append(log_density(z, parameters) - z.shape[1] * np.log(bound))
    return np.asarray(logs[1] - logs[0])


def smooth_gaussian(z: Floats, parameters: Any) -> Floats:
    """Standard normal, in any dimension."""
    return np.asarray(-(z**2).sum(axis=1) / 2)


def smooth_laplace(z: Floats, parameters: Any) -> Floats:
    """Density exp(-|z|)/2."""
    return -np.abs(z[:, 0])


def smooth_cauchy(z: Floats, parameters: Any) -> Floats:
    """Density proportional to 1/(1 + |z|^exponent)."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.logaddexp(0.0, parameters.exponent * np.log(np.abs(z[:, 0]))))


def smooth_student(z: Floats, parameters: Any) -> Floats:
    """Student's t."""
    return np.asarray(-(parameters.degrees + 1) / 2 * np.log1p(z[:, 0] ** 2 / parameters.degrees))


def smooth_log_normal(z: Floats, parameters: Any) -> Floats:
    """X exp(spread Y), X Laplace and Y normal: by Gauss-Hermite quadrature over Y."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    rates = np.exp(-parameters.spread * nodes)
    return np.asarray(logsumexp(-np.abs(z) * rates, b=weights * rates, axis=1))


def _flat(terms: Floats) -> Floats:
    """The sum over all but the first axis; infinite terms count as `FAR`."""
    finite = np.nan_to_num(terms, nan=0.0, posinf=FAR, neginf=-FAR)
    return np.asarray(finite.reshape(len(terms), -1).sum(axis=1))


def _squares(outputs: Any, first: Any, second: Any) -> Floats:
    """Half the difference of squared distances: ((x - a)^2 - (x - b)^2) / 2."""
    return _flat((second - first) * (outputs - (first + second) / 2))


def _distances(outputs: Any, first: Any, second: Any) -> Floats:
    """|x - a| - |x - b|, constant beyond a and b without a rounding error that would show the bits of x."""
    gap = np.abs(second - first)
    return _flat(np.clip(np.sign(second - first) * (2 * outputs - first - second), -gap, gap))


def _nodes(outputs: Floats, parameters: Any, first: Floats, second: Floats) -> tuple[Any, ...]:
    return tree_nodes(outputs), parameters, *(tree_nodes(x.cumsum(axis=-1)) for x in (first, second))


def _heads(heads: Any, coins: int, chance: float) -> Floats:
    """Log chance of so many heads; -inf for numbers of heads that there are not."""
    k = np.asarray(heads, dtype=np.float64)
    inside = (k >= 0) & (k <= coins)
    k = np.clip(k, 0, coins)
    logs = gammaln(coins + 1) - gammaln(k + 1) - gammaln(coins - k + 1)
    return np.where(inside, logs + xlogy(k, chance) + xlog1py(coins - k, -chance), -np.inf)
