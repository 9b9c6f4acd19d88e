"""A kernel score: the witness function of a Gaussian kernel, which sees any difference of two smooth densities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.engine.scores.linear import LinearDiscriminant
from dpproof.audits.engine.scores.protocol import Floats, Ints, Learned, Scorer, flattened

MOST = 1 << 14
"""A fit uses at most this many of the latest samples."""
FEATURES = 96
"""The number of random frequencies. Each has a cosine and a sine."""
WIDTHS = (0.4, 1.0, 2.5)
"""The widths of the Gaussian kernels that are added up, in units of the root of the number of coordinates."""
FARTHEST = 12.0


@dataclass(frozen=True)
class Kernel(Learned):
    """A score that is the regularised witness function of a sum of Gaussian kernels of three widths.

    The witness of the maximum mean discrepancy is the function whose means under the two inputs differ most (Gretton
    et al. 2012). Here it is computed from random Fourier features (Rahimi and Recht 2007) with fixed frequencies. It is
    regularised like Fisher's discriminant, because some features vary more than others.
    """

    kind = "kernel"

    def fit(self, outputs: NDArray[np.generic], labels: Ints) -> Scorer:
        """Return a function from outputs to scores, fitted to the samples; 0 unless both labels occur twice."""
        x, y = flattened(outputs[-MOST:]), labels[-MOST:]
        low, centre, high = np.quantile(x, [0.25, 0.5, 0.75], axis=0)
        spread = np.where(high > low, high - low, np.ptp(x, axis=0))
        spread = np.where(spread > 0, spread, 1.0)

        def featured(drawn: NDArray[np.generic]) -> Floats:
            z = np.clip((flattened(drawn) - centre) / spread, -FARTHEST, FARTHEST)
            angles = z @ _frequencies(z.shape[1])
            return np.hstack([np.cos(angles), np.sin(angles)])

        discriminant = LinearDiscriminant(None).fit(featured(x), y)
        return lambda drawn: discriminant(featured(drawn))


@lru_cache(maxsize=16)
def _frequencies(coordinates: int) -> Floats:
    """Return the fixed random frequencies of the kernels, an array (coordinates, `FEATURES`)."""
    drawn = np.random.default_rng(0).standard_normal((coordinates, FEATURES))
    return np.asarray(drawn / (np.resize(WIDTHS, FEATURES) * np.sqrt(coordinates)))
