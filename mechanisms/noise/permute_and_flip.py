"""Permute-and-flip in floating point, with the same arguments as the exponential mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dpproof.mechanisms.noise.exponential import Ints, utilities_of

if TYPE_CHECKING:
    from dpproof.accountant.noise.permute_and_flip import PermuteAndFlipParameters


def sample(
    parameters: PermuteAndFlipParameters, utilities: ArrayLike, n: int, rng: np.random.Generator
) -> Ints:
    """Choose the first candidate, in random order, whose coin exp((utility - best)/scale) comes up.

    Equivalently, choose uniformly among the candidates whose coins come up. The best candidate's coin always
    comes up.
    """
    true = utilities_of(utilities, parameters.compositions)
    chances = np.exp((true - true.max(axis=1, keepdims=True)) / parameters.scale)
    up = rng.random((n, *true.shape)) < chances
    return np.asarray(np.where(up, rng.random(up.shape), 2.0).argmin(axis=2))
