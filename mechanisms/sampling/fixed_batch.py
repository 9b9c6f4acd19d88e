"""The noisy sums of batches of a fixed size along one direction, if all records but one send the same vector.

The constant that the other records contribute is subtracted. The noise is numpy's Gaussian noise in floating point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.sampling.steps import clipped

if TYPE_CHECKING:
    from dpproof.accountant.sampling.fixed_batch import FixedBatchSGDParameters


def sample(
    parameters: FixedBatchSGDParameters, vector: float, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the noisy sums of all steps in ``n`` runs, divided by the clipping norm: an array (n, steps).

    Args:
        parameters: the number of steps, the sizes of a batch and of the dataset, and the noise.
        vector: the record's contribution less that of another record, in [-2, 2]. It is added for each copy.
        n: how many runs.
        rng: all randomness comes from this generator.

    Raises:
        ValueError: the difference is longer than two clipping norms.
    """
    clipped(vector, 2.0)
    shape = (n, parameters.steps)
    if parameters.replacement:
        copies = rng.binomial(parameters.batch, 1 / parameters.dataset, shape)
    else:
        copies = rng.binomial(1, parameters.batch / parameters.dataset, shape)
    return copies * vector + rng.normal(0, parameters.noise_multiplier, shape)
