"""An answer plus Laplace log-normal noise, in floating point. The noise scale is smooth in the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpproof.mechanisms.noise.answers import Data, Floats, scaled

if TYPE_CHECKING:
    from dpproof.accountant.smooth_sensitivity.log_normal import SmoothLogNormalParameters


def sample(parameters: SmoothLogNormalParameters, data: Data, n: int, rng: np.random.Generator) -> Floats:
    """Draw an answer plus scaled noise Z = X exp(spread Y), with X Laplace and Y normal: ``(n,)``."""
    answer, scale = scaled(parameters.noise, data)
    return answer + scale * rng.laplace(size=n) * np.exp(parameters.spread * rng.standard_normal(n))
