"""The sparse vector technique: report which queries are above a threshold, until enough of them are.

The noise is numpy's Laplace noise in floating point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from dpproof.accountant.sparse_vector.technique import SparseVectorParameters

Floats = NDArray[np.float64]

HALTED, BELOW, ABOVE = -1.0, 0.0, 1.0
"""The answers to a query."""


def sample(
    parameters: SparseVectorParameters, queries: ArrayLike, n: int, rng: np.random.Generator
) -> Floats:
    """Answer queries ``(m,)`` from which the threshold was subtracted: ``(n, m)`` codes.

    With ``answer_scale`` the result is ``(n, m, 2)``. It also contains the noisy values of the queries above
    the threshold, and 0 for the others.

    >>> from dpproof.accountant.sparse_vector.technique import SparseVectorParameters
    >>> sample(SparseVectorParameters(query_scale=0.01), [-9, 9, 9], 1, np.random.default_rng(0))
    array([[ 0.,  1., -1.]])
    """
    given = np.asarray(queries, dtype=np.float64)
    if given.ndim != 1 or not np.isfinite(given).all():
        raise ValueError(f"queries (shape {given.shape}) must be one row of finite numbers")
    return compare_noisily(
        given,
        n,
        rng,
        threshold_scale=parameters.threshold,
        query_scale=parameters.query_scale,
        positives=parameters.positives,
        redraw=parameters.redraw,
        answer_scale=parameters.answer_scale,
    )


def compare_noisily(
    queries: Floats,
    n: int,
    rng: np.random.Generator,
    *,
    threshold_scale: float,
    query_scale: float,
    positives: int | None,
    redraw: bool = False,
    answer_scale: float | None = None,
    release_compared: bool = False,
) -> Floats:
    """Run the comparisons of `sparse_vector` with arbitrary scales. Only some scales are private.

    Args:
        queries: ``(m,)``, the threshold subtracted.
        n: how many runs.
        rng: the generator.
        threshold_scale: of the noise on the threshold.
        query_scale: of the noise on each query.
        positives: stop after so many answers above; ``None`` for never.
        redraw: draw the threshold's noise afresh after every answer above.
        answer_scale: release the queries that are above with fresh noise of this scale.
        release_compared: release the very number that was compared, where it is above.

    Returns:
        Codes ``(n, m)``, or ``(n, m, 2)`` with the values released, 0 where there is none.
    """
    threshold = rng.laplace(0, threshold_scale, n)
    left = np.full(n, queries.size if positives is None else positives)
    codes, values = np.full((n, queries.size), HALTED), np.zeros((n, queries.size))
    for place, query in enumerate(queries):
        noisy = query + rng.laplace(0, query_scale, n)
        above = (left > 0) & (noisy >= threshold)
        codes[:, place] = np.where(left > 0, np.where(above, ABOVE, BELOW), HALTED)
        answer = noisy if answer_scale is None else query + rng.laplace(0, answer_scale, n)
        values[:, place] = np.where(above, answer, 0.0)
        if redraw:
            threshold = np.where(above, rng.laplace(0, threshold_scale, n), threshold)
        left -= above
    with_values = release_compared or answer_scale is not None
    return np.stack([codes, values], axis=-1) if with_values else codes
