"""The sparse vector technique reports which queries are above a threshold, and stops after enough of them.

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
"""Answers to a query: the run had already stopped, the query is below the threshold, or it is above."""


def sample(
    parameters: SparseVectorParameters, queries: ArrayLike, n: int, rng: np.random.Generator
) -> Floats:
    """Return the codes `HALTED`, `BELOW` and `ABOVE` of ``n`` runs, an array ``(n, m)``.

    ``queries`` ``(m,)`` are the true values minus the threshold. If ``parameters.answer_scale`` is given, the
    result is ``(n, m, 2)``. It also contains the noisy values of the queries that are above the threshold, and 0
    for the other queries.

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
    """Return the results of the sparse vector technique with any noise scales. Not every choice is private.

    Args:
        queries: the true values minus the threshold ``(m,)``.
        n: how many runs.
        rng: the generator.
        threshold_scale: scale of the Laplace noise on the threshold.
        query_scale: scale of the Laplace noise on each query.
        positives: stop after this number of answers `ABOVE`; ``None`` to never stop.
        redraw: draw new noise for the threshold after every answer `ABOVE`.
        answer_scale: release the queries that are above, with new noise of this scale.
        release_compared: release the noisy number that was compared, if it is above the threshold.

    Returns:
        Codes ``(n, m)``, or codes and released values ``(n, m, 2)``. A value is 0 if none was released.
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
