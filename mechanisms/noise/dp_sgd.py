"""The noisy sums of gradients in DP-SGD along one direction, if all users but one send zero.

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
    """Return the noisy sums of all steps in ``n`` runs, divided by the clipping norm: an array (n, steps).

    Args:
        parameters: the number of steps, the sampling rate, and the noise of the run.
        vector: the contribution of one record of the user, divided by the clipping norm. A step that samples the
            record adds it to the sum. It is in [-1, 1], because gradients are clipped. Use 0 if the user is absent.
        n: how many runs.
        rng: all randomness comes from this generator.

    Raises:
        ValueError: the vector is longer than the clipping norm.
    """
    if not -1 <= vector <= 1:
        raise ValueError(f"vector ({vector!r}) must be in [-1, 1], because vectors are clipped to norm 1")
    shape = (n, parameters.steps)
    sampled = rng.binomial(parameters.records, parameters.sampling_rate, shape)
    return sampled * vector + rng.normal(0, parameters.noise_multiplier, shape)
