"""An answer plus Cauchy-like noise, in floating point. The noise scale follows a bound on smooth sensitivity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpproof.mechanisms.noise.answers import Data, Floats, scaled

if TYPE_CHECKING:
    from dpproof.accountant.smooth_sensitivity.cauchy import SmoothCauchyParameters


def sample(parameters: SmoothCauchyParameters, data: Data, n: int, rng: np.random.Generator) -> Floats:
    """Return ``n`` draws ``(n,)`` of the answer plus a scale times noise Z.

    ``data`` is (true answer, smooth bound on its sensitivity). The scale is ``parameters.noise`` times the bound. Z
    has density proportional to 1/(1 + |z|^g), where g is ``parameters.exponent``. |Z|^g is a ratio of gamma variables
    with shapes 1/g and 1 - 1/g.
    """
    answer, scale = scaled(parameters.noise, data)
    share = 1 / parameters.exponent
    ratio = rng.standard_gamma(share, n) / rng.standard_gamma(1 - share, n)
    return answer + scale * rng.choice([-1.0, 1.0], n) * ratio**share
