"""The noisy sums of cyclic Poisson sampling along one direction, if all records but one of group 0 send zero.

The noise is numpy's Gaussian noise in floating point. It is independent, so the column norm must be 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.sampling.steps import clipped

if TYPE_CHECKING:
    from dpproof.accountant.sampling.cyclic import CyclicSGDParameters


def sample(
    parameters: CyclicSGDParameters, vector: float, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the noisy sums of all steps in ``n`` runs, divided by the clipping norm: an array (n, steps).

    Args:
        parameters: the number of steps and of groups, the sampling rate, and the noise.
        vector: the contribution of the record to a step that samples it, in [-1, 1]. Use 0 if it is absent.
        n: how many runs.
        rng: all randomness comes from this generator.

    Raises:
        ValueError: the vector is longer than the clipping norm, or the noise is correlated.
    """
    clipped(vector)
    if parameters.column_norm != 1:
        raise ValueError(f"column_norm ({parameters.column_norm!r}) must be 1 to sample independent noise")
    shape = (n, parameters.steps)
    turn = np.arange(parameters.steps) % parameters.groups == 0
    sampled = (rng.random(shape) < parameters.sampling_rate) & turn
    return np.asarray(sampled * vector + rng.normal(0, parameters.noise_multiplier, shape))
