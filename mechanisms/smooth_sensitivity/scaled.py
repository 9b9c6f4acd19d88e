"""The data of a release at smooth sensitivity: an answer, and a smooth bound of its local sensitivity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Data = tuple[float, float]
"""An answer, and the smooth bound of the data that it is the answer on."""


def scaled(noise: float, data: Data) -> Data:
    """The answer, and the scale of the noise on it."""
    answer, bound = data
    if not (np.isfinite(answer) and 0 <= bound < np.inf):
        raise ValueError(f"data ({data!r}) must be a finite answer and a bound at least 0")
    return answer, noise * bound
