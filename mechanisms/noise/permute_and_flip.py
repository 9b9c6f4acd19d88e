"""Private selection of a candidate by permute-and-flip, in floating point.

The arguments are those of the exponential mechanism (`dpproof.mechanisms.noise.exponential`).
"""

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
    """Return the indices of the chosen candidates ``(n, compositions)``, one for each row of ``utilities``.

    Each candidate tosses a coin. Heads have probability exp((utility - best)/scale), where best is the largest
    utility. The choice is uniform among the candidates with heads. The best candidate always has heads.
    """
    true = utilities_of(utilities, parameters.compositions)
    chances = np.exp((true - true.max(axis=1, keepdims=True)) / parameters.scale)
    up = rng.random((n, *true.shape)) < chances
    return np.asarray(np.where(up, rng.random(up.shape), 2.0).argmin(axis=2))
