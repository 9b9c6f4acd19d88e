"""Are the outputs of one call independent of each other? Bets on their labels are valid only if they are.

A sampler that draws one number for all its outputs, or a random walk through them, would let the call, and
with it the label, be recognised although the data say nothing. That is an error, never a finding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, ndtr
from scipy.stats import rankdata

__all__ = ["CALLS", "looks_dependent"]

CALLS = 16
"""Calls of so many outputs each are compared."""
LEVEL = 1e-9
COLUMNS = 32


def looks_dependent(calls: NDArray[np.float64]) -> bool:
    """Whether outputs of the same call resemble each other, or their neighbours, far beyond chance.

    Ranks are compared, between calls against within (F test) and from one output to the next (lag 1), for
    up to 32 of the numbers in an output, at level 1e-9 in all. With very rare values the F test is too
    eager, so a caller asks twice.

    Args:
        calls: array (calls, outputs a call, numbers an output).

    >>> rng = np.random.default_rng(0)
    >>> looks_dependent(rng.normal(size=(16, 16, 1)))
    False
    >>> looks_dependent(rng.normal(size=(16, 1, 1)) + 0.1 * rng.normal(size=(16, 16, 1)))
    True
    """
    columns = np.unique(np.linspace(0, calls.shape[2] - 1, COLUMNS).astype(int))
    chosen = calls[:, :, columns]
    ranks = rankdata(chosen.reshape(-1, columns.size), axis=0).reshape(chosen.shape)
    return any(_dependent(ranks[:, :, j], LEVEL / (2 * columns.size)) for j in range(columns.size))


def _dependent(ranks: NDArray[np.float64], level: float) -> bool:
    """Both tests on one number, ranks of shape (calls, outputs a call)."""
    centred = ranks - ranks.mean()
    total = float((centred**2).sum())
    if total == 0:
        return False
    calls, size = ranks.shape
    between = size * float((centred.mean(axis=1) ** 2).sum())
    within = total - between
    if within <= 0:
        return True
    ratio = between / (calls - 1) / (within / (calls * (size - 1)))
    lagged = float((centred[:, 1:] * centred[:, :-1]).sum()) / total * np.sqrt(calls * (size - 1))
    chances = fdtrc(calls - 1, calls * (size - 1), ratio), 2 * ndtr(-abs(lagged))
    return bool(min(chances) < level)
