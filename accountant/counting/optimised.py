"""Banded coefficients found by numerical search; ``errors`` certifies what it finds, nothing rests on it.

With at most as many bands as a user's leaves are apart, the squared norm to pay is the number of leaves
times the sum of c_k^2, whatever the coefficients are. Then the best C minimises that sum times the error of
B = A C^(-1), the sum of w_t b_t^2: a smooth function, whose gradient is two more series.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.counting.toeplitz import Banded, banded_square_root

__all__ = ["optimised_bands"]

_Floats = NDArray[np.float64]
_STEPS = 300


def optimised_bands(leaves: int, bands: int, error: Literal["mean", "largest"] = "mean") -> Banded:
    """The banded Toeplitz strategy of least certified-later ``error``, as far as the search finds it.

    It starts at the banded square root. Ask ``errors`` for what the strategy is worth.

    >>> from dpproof.accountant.counting.factorisation import errors
    >>> from dpproof.accountant.counting.toeplitz import banded_square_root
    >>> ours, theirs = errors(optimised_bands(256, 16), 4, 64), errors(banded_square_root(256, 16), 4, 64)
    >>> bool(ours.mean_at_mu_1.at_most(theirs.mean_at_mu_1))
    True

    Raises:
        ValueError: for bands outside 1..leaves, or another kind of error.
    """
    start = banded_square_root(leaves, bands).exact_coefficients()
    if error not in ("mean", "largest"):
        raise ValueError(f"error ({error!r}) must be 'mean' or 'largest'")
    weights = np.arange(leaves, 0, -1) / leaves if error == "mean" else np.ones(leaves)
    if bands == 1:
        return Banded(leaves, (1.0,))
    from scipy import optimize  # takes long to import

    found = optimize.minimize(
        _objective(weights),
        np.array([float(c) for c in start[1:]]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _STEPS},
    )
    return Banded(leaves, (1.0, *(float(c) for c in found.x)))


def _objective(weights: _Floats) -> Callable[[_Floats], tuple[float, _Floats]]:
    """log(sum c^2) + log(sum w b^2) and its gradient, as a function of c_1, c_2, ... with c_0 = 1."""
    from scipy import signal

    def value(free: _Floats) -> tuple[float, _Floats]:
        c = np.concatenate(([1.0], free))
        with np.errstate(over="ignore", invalid="ignore"):
            b = signal.lfilter([1.0], c, np.ones(len(weights)))
            moved = signal.lfilter([1.0], c, b)  # b_m falls by moved_(m-j) for each unit of c_j
            norm, error = float(c @ c), float(weights @ (b * b))
            if not np.isfinite(error):
                return 1e300, np.zeros_like(free)
            lags = signal.fftconvolve(weights * b, moved[::-1])[len(weights) - 1 :][: len(c)]
        return float(np.log(norm) + np.log(error)), (2 * c / norm - 2 * lags / error)[1:]

    return value
