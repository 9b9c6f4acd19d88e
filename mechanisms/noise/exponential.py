"""The exponential mechanism, in floating point.

Utilities have the shape ``(compositions, candidates)``. The samplers return the indices of the chosen
candidates, ``(n, compositions)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from dpproof.accountant.noise.exponential import SelectionParameters

Ints = NDArray[np.int64]


def sample(parameters: SelectionParameters, utilities: ArrayLike, n: int, rng: np.random.Generator) -> Ints:
    """Return the indices of the chosen candidates ``(n, compositions)``, one for each row of ``utilities``.

    Candidate r has probability proportional to exp(utility(r)/scale). The index of the largest utility after
    Gumbel noise has this distribution.
    """
    scores = utilities_of(utilities, parameters.compositions) / parameters.scale
    return np.asarray((scores + rng.gumbel(size=(n, *scores.shape))).argmax(axis=2))


def utilities_of(utilities: ArrayLike, count: int) -> NDArray[np.float64]:
    """Return the checked utilities as an array ``(count, candidates)``.

    Raises:
        ValueError: the utilities have another shape, or one of them is not finite.
    """
    true = np.asarray(utilities, dtype=np.float64)
    if true.ndim != 2 or len(true) != count or not true.shape[1]:
        raise ValueError(f"utilities (shape {true.shape}) must have the shape ({count}, candidates)")
    if not np.isfinite(true).all():
        raise ValueError(f"utilities ({true.tolist()}) must be finite numbers")
    return true
