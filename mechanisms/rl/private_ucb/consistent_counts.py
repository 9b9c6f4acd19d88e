"""Private counts made consistent: nonnegative, transitions that sum to visits, costs within visits.

Processing of what was released: it costs no privacy. Noisy visits and the sum of noisy transitions are two
estimates of one number, joined with weights inverse to their variances; the transitions are then moved to the
nearest nonnegative ones (in squares) that sum to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def onto_simplex(values: Floats, totals: Floats) -> Floats:
    """The nearest nonnegative rows, over the last axis, with the given sums.

    Every entry is lowered by one number, and what falls below 0 is 0; the number is found by sorting.

    >>> onto_simplex(np.array([[3.0, 1.0, -2.0]]), np.array([2.0])).tolist()
    [[2.0, 0.0, 0.0]]

    Raises:
        ValueError: for a total below 0, or one for each row missing.
    """
    if totals.shape != values.shape[:-1]:
        raise ValueError(f"the shape of totals {totals.shape} must be {values.shape[:-1]}, one for each row")
    if not (totals >= 0).all():
        raise ValueError(f"totals ({totals.min()}) must be at least 0")
    falling = -np.sort(-values, axis=-1)
    excess = np.cumsum(falling, axis=-1) - totals[..., None]
    ranks = np.arange(1, values.shape[-1] + 1)
    kept = np.maximum((falling - excess / ranks > 0).sum(axis=-1, keepdims=True), 1)
    lowered = np.take_along_axis(excess, kept - 1, axis=-1) / kept
    found: Floats = np.maximum(values - lowered, 0.0)
    return found


def consistent(
    visits: Floats, costs: Floats, transitions: Floats, *, own_noise: bool
) -> tuple[Floats, Floats, Floats]:
    """The counts of every (h, s, a), made consistent.

    Args:
        visits: (..., S, A), the private visits.
        costs: of the same shape, the private summed costs.
        transitions: (..., S, A, S), the private transitions.
        own_noise: whether visits have noise of their own, of the same law, or are sums of transitions.

    >>> visits, costs = np.array([[4.0]]), np.array([[9.0]])
    >>> [found.tolist() for found in consistent(visits, costs, np.array([[[6.0]]]), own_noise=True)]
    [[[5.0]], [[5.0]], [[[5.0]]]]
    """
    summed = transitions.sum(axis=-1)
    states = transitions.shape[-1]
    joined = (states * visits + summed) / (states + 1) if own_noise else summed
    total = np.maximum(joined, 0.0)
    return total, np.clip(costs, 0.0, total), onto_simplex(transitions, total)
