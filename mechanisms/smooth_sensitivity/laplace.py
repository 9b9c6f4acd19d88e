"""An answer plus Laplace noise, in floating point. The noise scale follows a bound on smooth sensitivity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpproof.mechanisms.noise.answers import Data, Floats, scaled

if TYPE_CHECKING:
    from dpproof.accountant.smooth_sensitivity.laplace import SmoothLaplaceParameters


def sample(parameters: SmoothLaplaceParameters, data: Data, n: int, rng: np.random.Generator) -> Floats:
    """Return ``n`` draws ``(n,)`` of the answer plus a scale times noise of density exp(-|z|)/2.

    ``data`` is (true answer, smooth bound on its sensitivity). The scale is ``parameters.noise`` times the bound.
    """
    answer, scale = scaled(parameters.noise, data)
    return answer + scale * rng.laplace(size=n)
