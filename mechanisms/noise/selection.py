"""Private choices: the exponential mechanism and permute-and-flip, in floating point.

Called as ``sampler(parameters, utilities, n, rng)`` with utilities ``(compositions, candidates)``; the
places of the chosen candidates, ``(n, compositions)``, are returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from dpproof.accountant.noise.exponential import SelectionParameters
    from dpproof.accountant.noise.permute_and_flip import PermuteAndFlipParameters

__all__ = ["exponential", "permute_and_flip"]

Ints = NDArray[np.int64]


def exponential(
    parameters: SelectionParameters, utilities: ArrayLike, n: int, rng: np.random.Generator
) -> Ints:
    """Choose r with chance proportional to exp(utility(r)/scale): the largest after Gumbel noise is added."""
    scores = _utilities(utilities, parameters.compositions) / parameters.scale
    return np.asarray((scores + rng.gumbel(size=(n, *scores.shape))).argmax(axis=2))


def permute_and_flip(
    parameters: PermuteAndFlipParameters, utilities: ArrayLike, n: int, rng: np.random.Generator
) -> Ints:
    """The first candidate, in random order, whose coin of chance exp((utility - best)/scale) comes up.

    The order is random, so the first is a uniform one of those whose coins come up; the best one's does.
    """
    true = _utilities(utilities, parameters.compositions)
    chances = np.exp((true - true.max(axis=1, keepdims=True)) / parameters.scale)
    up = rng.random((n, *true.shape)) < chances
    return np.asarray(np.where(up, rng.random(up.shape), 2.0).argmin(axis=2))


def _utilities(utilities: ArrayLike, count: int) -> NDArray[np.float64]:
    true = np.asarray(utilities, dtype=np.float64)
    if true.ndim != 2 or len(true) != count or not true.shape[1]:
        raise ValueError(f"utilities (shape {true.shape}) must have the shape ({count}, candidates)")
    if not np.isfinite(true).all():
        raise ValueError(f"utilities ({true.tolist()}) must be finite numbers")
    return true
