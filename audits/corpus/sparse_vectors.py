"""The sparse vector technique and its published variants; most of them are not private as claimed.

Numbered as in Lyu, Su & Li 2017, "Understanding the sparse vector technique", Figure 2. An output is a row
of codes, one a query: above, below, or not answered because the run had stopped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ABOVE", "BELOW", "STOPPED", "SparseVector"]

Floats = NDArray[np.float64]

STOPPED, BELOW, ABOVE = -1.0, 0.0, 1.0


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
        """The answers ``(n, queries)``; with values released ``(n, queries, 2)``, 0 where there is none."""
        q = np.asarray(queries, dtype=np.float64)
        answers, values = np.full((2, n, q.size), STOPPED)
        values[:] = 0.0
        rho = rng.laplace(0, self.threshold_scale, n)
        left = np.full(n, q.size if self.cutoff is None else self.cutoff)
        for i, query in enumerate(q):
            noisy = query + self._noise(self.query_scale, n, rng)
            running = left > 0
            above = running & (noisy >= self.threshold + rho)
            answers[:, i] = np.where(above, ABOVE, np.where(running, BELOW, STOPPED))
            values[:, i] = np.where(above, self._value(query, noisy, n, rng), 0.0)
            left -= above
            if self.resampled:
                rho = np.where(above, rng.laplace(0, self.threshold_scale, n), rho)
        with_values = self.released or self.value_scale is not None
        return np.stack([answers, values], axis=-1) if with_values else answers

    def _value(self, query: float, noisy: Floats, n: int, rng: np.random.Generator) -> Floats:
        return noisy if self.value_scale is None else query + self._noise(self.value_scale, n, rng)

    @staticmethod
    def _noise(scale: float, n: int, rng: np.random.Generator) -> Floats:
        return rng.laplace(0, scale, n) if scale > 0 else np.zeros(n)
