"""The noisy sums of shuffled batches along one direction, if all records but one send the same vector.

The constant that the other records contribute is subtracted. The noise is numpy's Gaussian noise in floating point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.sampling.steps import clipped, drawn_steps

if TYPE_CHECKING:
    from dpproof.accountant.sampling.shuffled import ShuffledSGDParameters


def sample(
    parameters: ShuffledSGDParameters, vector: float, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the noisy sums of all steps in ``n`` runs, divided by the clipping norm: an array (n, epochs * steps).

    Args:
        parameters: the numbers of epochs and steps, whether the records are permuted again, and the noise.
        vector: the record's contribution less that of another record, in [-2, 2].
        n: how many runs.
        rng: all randomness comes from this generator.

    Raises:
        ValueError: the difference is longer than two clipping norms.
    """
    clipped(vector, 2.0)
    taken = drawn_steps(n, parameters.epochs, parameters.steps, 1, parameters.fresh, rng)
    return taken * vector + rng.normal(0, parameters.noise_multiplier, taken.shape)
