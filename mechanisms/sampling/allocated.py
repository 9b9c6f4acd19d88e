"""The noisy sums of random allocation along one direction, if all records but one send zero.

The noise is numpy's Gaussian noise in floating point. It is independent, so there is one band and the column norm is 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.sampling.steps import clipped, drawn_steps

if TYPE_CHECKING:
    from dpproof.accountant.sampling.allocated import AllocatedSGDParameters


def sample(
    parameters: AllocatedSGDParameters, vector: float, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the noisy sums of all steps in ``n`` runs, divided by the clipping norm: an array (n, epochs * steps).

    Args:
        parameters: the numbers of epochs and steps, how the steps of a record are drawn, and the noise.
        vector: the contribution of the record to a step in which it takes part, in [-1, 1]. Use 0 if it is absent.
        n: how many runs.
        rng: all randomness comes from this generator.

    Raises:
        ValueError: the vector is longer than the clipping norm, or the noise is correlated.
    """
    clipped(vector)
    if parameters.bands > 1 or parameters.column_norm != 1:
        raise ValueError("bands and column_norm must be 1 to sample independent noise")
    how = parameters.epochs, parameters.steps, parameters.chosen, parameters.fresh
    taken = drawn_steps(n, *how, rng)
    return taken * vector + rng.normal(0, parameters.noise_multiplier, taken.shape)
