"""Noise on vectors of counts: histograms, prefix sums, noisy maxima; sound, and wrong in known ways.

Every sampler has the shape ``sampler(counts, n, rng)`` with counts a vector. The mechanisms and their faults
are those that StatDP (Ding et al. 2018) and DP-Sniper (Bichsel et al. 2021) are measured on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def laplace(counts: ArrayLike, n: int, rng: np.random.Generator, *, scale: float) -> Floats:
    """Every count plus Laplace noise: ``(n, counts)``."""
    x = np.asarray(counts, dtype=np.float64)
    return x + rng.laplace(0, scale, (n, *x.shape))


def gaussian(counts: ArrayLike, n: int, rng: np.random.Generator, *, sigma: float) -> Floats:
    """Every count plus Gaussian noise: ``(n, counts)``."""
    x = np.asarray(counts, dtype=np.float64)
    return x + rng.normal(0, sigma, (n, *x.shape))


def prefix_sums(counts: ArrayLike, n: int, rng: np.random.Generator, *, scale: float) -> Floats:
    """The running sums of the noisy counts: ``(n, counts)``; as revealing as these themselves."""
    return laplace(counts, n, rng, scale=scale).cumsum(axis=1)


def noisy_argmax(
    counts: ArrayLike, n: int, rng: np.random.Generator, *, scale: float, one_sided: bool = False
) -> NDArray[np.int64]:
    """Which noisy count is largest; with ``one_sided`` the noise is exponential (Dwork & Roth 2014, 3.3)."""
    x = np.asarray(counts, dtype=np.float64)
    noise = rng.exponential if one_sided else rng.laplace
    drawn = noise(scale=scale, size=(n, x.size))
    return np.asarray((x + drawn).argmax(axis=1))


def largest_value(counts: ArrayLike, n: int, rng: np.random.Generator, *, scale: float) -> Floats:
    """The largest noisy count itself, released with the noise that only hides which one it is."""
    return np.asarray(laplace(counts, n, rng, scale=scale).max(axis=1))
