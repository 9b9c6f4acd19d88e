"""An answer plus Laplace log-normal noise, in floating point. Its scale follows a bound on smooth sensitivity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpproof.mechanisms.noise.answers import Data, Floats, scaled

if TYPE_CHECKING:
    from dpproof.accountant.smooth_sensitivity.log_normal import SmoothLogNormalParameters


def sample(parameters: SmoothLogNormalParameters, data: Data, n: int, rng: np.random.Generator) -> Floats:
    """Return ``n`` draws ``(n,)`` of the answer plus a scale times noise X exp(spread Y).

    X is Laplace, Y is normal, and spread is ``parameters.spread``. ``data`` is (true answer, smooth bound on its
    sensitivity). The scale is ``parameters.noise`` times the bound.
    """
    answer, scale = scaled(parameters.noise, data)
    return answer + scale * rng.laplace(size=n) * np.exp(parameters.spread * rng.standard_normal(n))
