"""The sparse vector technique and its published variants; most of them are not private as claimed.

Numbered as in Lyu, Su & Li 2017, "Understanding the sparse vector technique", Figure 2. An output is a row
of codes, one a query: above, below, or not answered because the run had stopped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mechanisms.sparse_vector import compare_noisily

__all__ = ["SparseVector"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SparseVector:
    """A variant, as its noise scales and its habits.

    Attributes:
        threshold: the public threshold.
        threshold_scale: scale of the Laplace noise on it.
        query_scale: scale of the Laplace noise on a query; 0 for none.
        cutoff: stop after so many answers above; ``None`` for never.
        resampled: draw the threshold's noise afresh after every answer above.
        released: release the noisy query itself where it is above.
        value_scale: release the query with fresh Laplace noise of this scale where it is above.
    """

    threshold: float
    threshold_scale: float
    query_scale: float
    cutoff: int | None = None
    resampled: bool = False
    released: bool = False
    value_scale: float | None = None

    def __call__(self, queries: ArrayLike, n: int, rng: np.random.Generator) -> Floats:
        """The codes ``(n, queries)``; with values released, less the threshold, ``(n, queries, 2)``."""
        return compare_noisily(
            np.asarray(queries, dtype=np.float64) - self.threshold,
            n,
            rng,
            threshold_scale=self.threshold_scale,
            query_scale=self.query_scale,
            positives=self.cutoff,
            redraw=self.resampled,
            answer_scale=self.value_scale,
            release_compared=self.released,
        )
