"""An answer plus Cauchy-like noise of a scale that is smooth in the data, in floating point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpproof.mechanisms.noise.answers import Data, Floats, scaled

if TYPE_CHECKING:
    from dpproof.accountant.smooth_sensitivity.cauchy import SmoothCauchyParameters


def sample(parameters: SmoothCauchyParameters, data: Data, n: int, rng: np.random.Generator) -> Floats:
    """Z of density proportional to 1/(1 + |z|^g): |Z|^g is a ratio of gamma variables of 1/g and 1 - 1/g."""
    answer, scale = scaled(parameters.noise, data)
    share = 1 / parameters.exponent
    ratio = rng.standard_gamma(share, n) / rng.standard_gamma(1 - share, n)
    return answer + scale * rng.choice([-1.0, 1.0], n) * ratio**share
