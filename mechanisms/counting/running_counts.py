"""Running counts under continual release: by the binary tree, or by a factorised matrix.

Called as ``sampler(parameters, streams, n, rng)`` with streams ``(restarts + 1, leaves)``, one fresh run a
row; all running counts, ``(n, restarts + 1, leaves)``, are returned. The noise is numpy's, in floating
point. A release adds up nodes of its tree; the differences between releases are these nodes again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import fftconvolve

from dpproof.accountant.counting.matrix_counting import strategy_of
from dpproof.mechanisms.counting.factorised import row_coefficients
from dpproof.mechanisms.counting.tree import tree_noise

if TYPE_CHECKING:
    from dpproof.accountant.counting.gaussian_tree import TreeParameters
    from dpproof.accountant.counting.laplace_tree import LaplaceTreeParameters
    from dpproof.accountant.counting.matrix_counting import MatrixCountingParameters

__all__ = ["factorised", "gaussian_tree", "laplace_tree", "tree_nodes"]

Floats = NDArray[np.float64]


def gaussian_tree(parameters: TreeParameters, streams: ArrayLike, n: int, rng: np.random.Generator) -> Floats:
    """Running counts with Gaussian noise on every node of the tree."""
    return _tree(parameters, streams, n, lambda shape: rng.normal(0, parameters.sigma, shape))


def laplace_tree(
    parameters: LaplaceTreeParameters, streams: ArrayLike, n: int, rng: np.random.Generator
) -> Floats:
    """Running counts with Laplace noise on every node of the tree."""
    return _tree(parameters, streams, n, lambda shape: rng.laplace(0, parameters.scale, shape))


def _tree(
    parameters: TreeParameters | LaplaceTreeParameters,
    streams: ArrayLike,
    n: int,
    draw: Callable[[tuple[int, ...]], Floats],
) -> Floats:
    true = _streams(streams, parameters.restarts + 1, parameters.leaves)
    return true.cumsum(axis=1) + tree_noise(parameters.leaves, (n, len(true)), draw)


def factorised(
    parameters: MatrixCountingParameters, streams: ArrayLike, n: int, rng: np.random.Generator
) -> Floats:
    """Running counts A x + B z, z Gaussian noise on every entry of C x, where A = B C."""
    true = _streams(streams, parameters.restarts + 1, parameters.leaves)
    row = row_coefficients(strategy_of(parameters))
    noise = rng.normal(0, parameters.sigma, (n, *true.shape))
    return true.cumsum(axis=1) + convolved(noise, row)


def tree_nodes(counts: Floats) -> Floats:
    """The noisy node that each release used anew, from running counts ``(..., leaves)``.

    The release at time t is the one at t without its lowest binary digit plus one node.

    >>> tree_nodes(np.array([1.0, 2.0, 4.0, 8.0]))
    array([1., 2., 2., 8.])
    """
    padded = np.concatenate([np.zeros((*counts.shape[:-1], 1)), counts], axis=-1)
    times = np.arange(1, padded.shape[-1])
    return np.asarray(counts - padded[..., times - (times & -times)])


def convolved(values: Floats, coefficients: Floats) -> Floats:
    """The lower triangular Toeplitz matrix of these coefficients applied along the last axis."""
    shaped = coefficients.reshape((1,) * (values.ndim - 1) + (-1,))
    return np.asarray(fftconvolve(values, shaped, axes=-1)[..., : values.shape[-1]])


def _streams(streams: ArrayLike, runs: int, leaves: int) -> Floats:
    true = np.asarray(streams, dtype=np.float64)
    if true.shape != (runs, leaves) or not np.isfinite(true).all():
        raise ValueError(f"streams (shape {true.shape}) must be finite, of the shape ({runs}, {leaves})")
    return true
