"""The sparse vector technique: which queries are above a threshold, until there were enough of them.

Floating-point Laplace noise, numpy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from accountant.sparse_vector import SparseVectorParameters

__all__ = ["ABOVE", "BELOW", "HALTED", "sparse_vector"]

Floats = NDArray[np.float64]

HALTED, BELOW, ABOVE = -1.0, 0.0, 1.0
"""The answers to a query."""


def sparse_vector(
    parameters: SparseVectorParameters, queries: ArrayLike, n: int, rng: np.random.Generator
) -> Floats:
    """Answer queries ``(m,)``, the threshold subtracted from them: ``(n, m)`` codes.

    With ``answer_scale`` the noisy values of the queries that are above come along: ``(n, m, 2)``, 0 for
    the others.

    >>> from accountant.sparse_vector import SparseVectorParameters
    >>> sparse_vector(SparseVectorParameters(query_scale=0.01), [-9, 9, 9], 1, np.random.default_rng(0))
    array([[ 0.,  1., -1.]])
    """
    given = np.asarray(queries, dtype=np.float64)
    if given.ndim != 1 or not np.isfinite(given).all():
        raise ValueError(f"queries (shape {given.shape}) must be finite numbers in one row")
    threshold = rng.laplace(0, parameters.threshold, n)
    left = np.full(n, parameters.positives)
    codes, values = np.full((n, given.size), HALTED), np.zeros((n, given.size))
    for place, query in enumerate(given):
        noisy = query + rng.laplace(0, parameters.query_scale, n)
        above = (left > 0) & (noisy >= threshold)
        codes[:, place] = np.where(left > 0, np.where(above, ABOVE, BELOW), HALTED)
        if parameters.answer_scale is not None:
            values[:, place] = np.where(above, query + rng.laplace(0, parameters.answer_scale, n), 0.0)
        if parameters.redraw:
            threshold = np.where(above, rng.laplace(0, parameters.threshold, n), threshold)
        left -= above
    return codes if parameters.answer_scale is None else np.stack([codes, values], axis=-1)
