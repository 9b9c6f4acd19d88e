"""An answer plus spherical Gaussian noise of a scale that is smooth in the data, in floating point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpproof.mechanisms.noise.answers import Data, Floats, scaled

if TYPE_CHECKING:
    from dpproof.accountant.smooth_sensitivity.gaussian import SmoothGaussianParameters


def sample(parameters: SmoothGaussianParameters, data: Data, n: int, rng: np.random.Generator) -> Floats:
    """An answer whose first coordinate is given, the others being 0: ``(n, dimension)``."""
    answer, scale = scaled(parameters.noise, data)
    released = scale * rng.standard_normal((n, parameters.dimension))
    released[:, 0] += answer
    return released
