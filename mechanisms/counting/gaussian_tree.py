"""Running counts by the binary tree mechanism, with numpy's Gaussian noise on every node (sum of a block)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dpproof.mechanisms.counting.tree import Floats, noisy_counts

if TYPE_CHECKING:
    from dpproof.accountant.counting.gaussian_tree import TreeParameters


def sample(parameters: TreeParameters, streams: ArrayLike, n: int, rng: np.random.Generator) -> Floats:
    """Return ``n`` draws of all noisy running counts, as an array (n, restarts + 1, leaves).

    ``streams`` is an array (restarts + 1, leaves) of the numbers that are counted. Each row is one stream of
    ``leaves`` numbers, and its count begins at 0, because the counter is restarted.
    """
    runs = parameters.restarts + 1
    return noisy_counts(
        streams, runs, parameters.leaves, n, lambda shape: rng.normal(0, parameters.sigma, shape)
    )
