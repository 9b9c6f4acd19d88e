"""The noisy sums of truncated Poisson sampling along one direction, for a dataset of one record at most.

A batch of one record is never truncated. The noise is numpy's Gaussian noise in floating point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.sampling.steps import clipped

if TYPE_CHECKING:
    from dpproof.accountant.sampling.truncated import TruncatedSGDParameters


def sample(
    parameters: TruncatedSGDParameters, vector: float, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the noisy sums of all steps in ``n`` runs, divided by the clipping norm: an array (n, steps).

    Args:
        parameters: the number of steps, the sampling rate, and the noise.
        vector: the contribution of the record to a step that samples it, in [-1, 1]. Use 0 if it is absent.
        n: how many runs.
        rng: all randomness comes from this generator.

    Raises:
        ValueError: the vector is longer than the clipping norm.
    """
    clipped(vector)
    shape = (n, parameters.steps)
    sampled = rng.random(shape) < parameters.sampling_rate
    return sampled * vector + rng.normal(0, parameters.noise_multiplier, shape)
