"""The noisy sums of DP-SGD along one direction. One user contributes, and all other users send zero.

The noise is numpy's Gaussian noise in floating point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dpproof.accountant.noise.dp_sgd import DPSGDParameters


def sample(
    parameters: DPSGDParameters, vector: float, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw the sums of all steps, in units of the clipping norm: ``(n, steps)``.

    Args:
        parameters: of the run.
        vector: what each of the user's records contributes to a step that samples it, in [-1, 1] (vectors
            are clipped); 0 for a user who is not there.
        n: how many runs.
        rng: all randomness comes from it.

    Raises:
        ValueError: the vector is longer than the clipping norm.
    """
    if not -1 <= vector <= 1:
        raise ValueError(f"vector ({vector!r}) must be in [-1, 1], because vectors are clipped to norm 1")
    shape = (n, parameters.steps)
    sampled = rng.binomial(parameters.records, parameters.sampling_rate, shape)
    return sampled * vector + rng.normal(0, parameters.noise_multiplier, shape)
