"""The sparse vector technique with Gaussian noise reports which queries are above a threshold.

The noise is numpy's Gaussian noise in floating point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.mechanisms.sparse_vector.technique import ABOVE, BELOW, HALTED

if TYPE_CHECKING:
    from dpproof.accountant.sparse_vector.gaussian import GaussianSparseVectorParameters


def sample(
    parameters: GaussianSparseVectorParameters, queries: ArrayLike, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the codes `HALTED`, `BELOW` and `ABOVE` of ``n`` runs, an array ``(n, m)``.

    ``queries`` ``(m,)`` are the true values minus the threshold. There may be at most ``parameters.queries`` of them.

    >>> from dpproof.accountant.sparse_vector.gaussian import GaussianSparseVectorParameters
    >>> few = GaussianSparseVectorParameters(query_sigma=0.01, queries=3)
    >>> sample(few, [-9, 9, 9], 1, np.random.default_rng(0))
    array([[ 0.,  1., -1.]])

    Raises:
        ValueError: for too many queries, or numbers that are not finite.
    """
    given = np.asarray(queries, dtype=np.float64)
    if given.ndim != 1 or not np.isfinite(given).all():
        raise ValueError(f"queries (shape {given.shape}) must be one row of finite numbers")
    if given.size > parameters.queries:
        raise ValueError(
            f"queries has {given.size} numbers, but the account is for at most {parameters.queries}. "
            "Give fewer numbers, or account for more queries."
        )
    threshold = rng.normal(0, parameters.threshold, (n, 1))
    above = given + rng.normal(0, parameters.query_sigma, (n, given.size)) >= threshold
    earlier: NDArray[np.int64] = np.cumsum(above, axis=1) - above
    return np.where(earlier < parameters.positives, np.where(above, ABOVE, BELOW), HALTED)
