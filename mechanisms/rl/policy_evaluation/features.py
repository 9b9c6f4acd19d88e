"""Features of states and their norms, regression weights, and ridge parameters. All of them are public."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.mechanisms import _checks
from dpproof.mechanisms.rl.policy_evaluation.exact import norm_above, pseudo_inverse_norm_above

Floats = NDArray[np.float64]


def tabular(states: int) -> Floats:
    """Return the feature matrix that has one feature for each of N states: the identity (N, N)."""
    return np.eye(_checks.at_least("states", states, 1))


def aggregation(states: int, size: int = 2) -> Floats:
    """Return the feature matrix (N, ceil(N/size)) that has one feature for each group of `size` adjacent states.

    >>> aggregation(3).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    count, size = _checks.at_least("states", states, 1), _checks.at_least("size", size, 1)
    groups = np.arange(count) // size
    return np.eye(int(groups[-1]) + 1)[groups]


def checked_features(features: ArrayLike, states: int | None = None) -> Floats:
    """Return the feature matrix as float64 (N, d) after checking it.

    Raises:
        ValueError: unless it is a finite matrix with a row for each state and at least one column.
    """
    found = np.asarray(features, dtype=np.float64)
    if found.ndim != 2 or 0 in found.shape or (states is not None and len(found) != states):
        rows = "a row for each state" if states is None else f"{states} rows, one for each state,"
        raise ValueError(
            f"features (shape {found.shape}) must be a matrix with {rows} and at least one column"
        )
    if not np.isfinite(found).all():
        raise ValueError(f"features ({float(found[~np.isfinite(found)][0])!r}) must be finite")
    return found


def checked_weights(name: str, weights: ArrayLike | None, states: int, default: float) -> Floats:
    """Return the checked weights (N,), or `default` for every state if none are given.

    Raises:
        ValueError: unless there is one number in [0, 1] for each state, and not all of them are 0.
    """
    found = np.full(states, default) if weights is None else np.asarray(weights, dtype=np.float64)
    if found.shape != (states,):
        raise ValueError(f"{name} (shape {found.shape}) must have shape ({states},)")
    wrong = ~((found >= 0) & (found <= 1))
    if wrong.any():
        raise ValueError(f"{name} ({float(found[wrong][0])!r}) must be in [0, 1]")
    if not found.any():
        raise ValueError(f"{name} (all 0) must hold at least one number above 0")
    return found


def norm(features: Floats) -> float:
    """Return a certified upper bound on the largest singular value of ``features``, which is nearly exact.

    >>> norm(aggregation(4))
    1.4142...
    """
    return norm_above(features)


def pseudo_inverse_norm(features: Floats, weights: Floats) -> float:
    """Return an upper bound on the norm of the pseudo-inverse of diag(weights)^(1/2) times ``features``.

    The bound is certified, and only slightly larger than the norm.

    >>> pseudo_inverse_norm(tabular(4), np.full(4, 0.25))
    2.0

    Raises:
        ValueError: for features whose weighted columns are not independent, or so nearly dependent that it
            cannot be certified.
    """
    found = pseudo_inverse_norm_above(features, weights)
    if found is None:
        rank = int(np.linalg.matrix_rank(np.sqrt(weights)[:, None] * features))
        least = min(rank, features.shape[1] - 1)
        raise ValueError(
            f"features (rank {least} with these weights) must have rank {features.shape[1]}, the number of columns"
        )
    return found


def ridge(
    trajectories: int, features: Floats, weights: Floats, power: float = 0.5, factor: float = 2.0
) -> float:
    """Return a ridge parameter for m trajectories: `factor` (norm of features)^2 (largest weight) m^power.

    The result is public, because it depends on the data only through the public number m.

    >>> ridge(10_000, tabular(4), np.ones(4))
    200.0...

    Raises:
        ValueError: unless `power` is in [0, 1] and `factor` above 1.
    """
    if not 0 <= power <= 1:
        raise ValueError(f"power ({power!r}) must be in [0, 1]")
    if not 1 < factor < math.inf:
        raise ValueError(f"factor ({factor!r}) must be a number above 1")
    return float(factor * norm(features) ** 2 * float(weights.max()) * trajectories**power)
