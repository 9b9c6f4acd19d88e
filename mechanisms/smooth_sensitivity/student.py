"""An answer plus Student's noise of a scale that is smooth in the data, in floating point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpproof.mechanisms.noise.answers import Data, Floats, scaled

if TYPE_CHECKING:
    from dpproof.accountant.smooth_sensitivity.student import SmoothStudentParameters


def sample(parameters: SmoothStudentParameters, data: Data, n: int, rng: np.random.Generator) -> Floats:
    """Z of Student's t law: ``(n,)``."""
    answer, scale = scaled(parameters.noise, data)
    return answer + scale * rng.standard_t(parameters.degrees, n)
