"""Running counts by a factorised matrix, with numpy's Gaussian noise.

x is a stream of numbers, and A x holds its running counts. The released counts are A x + B z, where A = B C and
z is noise on every entry of C x.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import fftconvolve

from dpproof.accountant.counting.matrix_counting import strategy_of
from dpproof.mechanisms.counting.paths import row_coefficients
from dpproof.mechanisms.counting.tree import Floats, streams_of

if TYPE_CHECKING:
    from dpproof.accountant.counting.matrix_counting import MatrixCountingParameters


def sample(
    parameters: MatrixCountingParameters, streams: ArrayLike, n: int, rng: np.random.Generator
) -> Floats:
    """Return ``n`` draws of all noisy running counts, as an array (n, restarts + 1, leaves).

    ``streams`` is an array (restarts + 1, leaves) of the numbers that are counted. Each row is one stream of
    ``leaves`` numbers, and its count begins at 0, because the counter is restarted.
    """
    true = streams_of(streams, parameters.restarts + 1, parameters.leaves)
    row = row_coefficients(strategy_of(parameters))
    noise = rng.normal(0, parameters.sigma, (n, *true.shape))
    return true.cumsum(axis=1) + convolved(noise, row)


def convolved(values: Floats, coefficients: Floats) -> Floats:
    """Return each vector along the last axis of ``values``, multiplied by a lower triangular Toeplitz matrix.

    ``coefficients`` is the first column of the matrix.
    """
    shaped = coefficients.reshape((1,) * (values.ndim - 1) + (-1,))
    return np.asarray(fftconvolve(values, shaped, axes=-1)[..., : values.shape[-1]])
