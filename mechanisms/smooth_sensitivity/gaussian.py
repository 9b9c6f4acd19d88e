"""An answer plus Gaussian noise, in floating point. The noise scale follows a bound on smooth sensitivity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpproof.mechanisms.noise.answers import Data, Floats, scaled

if TYPE_CHECKING:
    from dpproof.accountant.smooth_sensitivity.gaussian import SmoothGaussianParameters


def sample(parameters: SmoothGaussianParameters, data: Data, n: int, rng: np.random.Generator) -> Floats:
    """Return ``n`` draws ``(n, dimension)`` of a vector plus spherical Gaussian noise.

    ``data`` is (first coordinate of the true vector, smooth bound on its sensitivity). The other coordinates are 0.
    The noise has deviation ``parameters.noise`` times the bound.
    """
    answer, scale = scaled(parameters.noise, data)
    released = scale * rng.standard_normal((n, parameters.dimension))
    released[:, 0] += answer
    return released
