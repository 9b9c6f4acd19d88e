"""Permute-and-flip, in floating point, called as the exponential mechanism is."""

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
    """The first candidate, in random order, whose coin of chance exp((utility - best)/scale) comes up.

    The order is random, so the first is a uniform one of those whose coins come up; the best one's does.
    """
    true = utilities_of(utilities, parameters.compositions)
    chances = np.exp((true - true.max(axis=1, keepdims=True)) / parameters.scale)
    up = rng.random((n, *true.shape)) < chances
    return np.asarray(np.where(up, rng.random(up.shape), 2.0).argmin(axis=2))
