"""Samplers on vectors of counts, correct and faulty: histograms, prefix sums, noisy maxima, sparse vectors.

Every sampler has the form ``sampler(counts, n, rng)``, where counts is a vector. The mechanisms and their
faults are those on which StatDP (Ding et al. 2018) and DP-Sniper (Bichsel et al. 2021) are measured.

Most published variants of the sparse vector technique are not private as claimed. They are numbered as in Lyu,
Su & Li 2017, "Understanding the sparse vector technique", Figure 2. An output is a row with one code for each
query: above, below, or not answered because the run had stopped. Variants that release values have codes and
values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.mechanisms.sparse_vector.technique import ABOVE, compare_noisily

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


REACH, STEPS = 30, 6001
"""Integrals over the threshold's noise go so many scales to either side, in so many steps."""


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


def first_release_ratio(
    variant: SparseVector, first: Sequence[float], second: Sequence[float]
) -> Callable[[Floats], Floats]:
    """Ln p1/p0 of a variant that stops at its first answer above and releases the number it compared.

    With F and g the law of a query's noise and f that of the threshold's, query j is the first above and has
    the value v with density g(v - q_j) times the integral of f(z) F(z - q_0) ... F(z - q_(j-1)) over z <= v.
    By quadrature: it steers an audit and carries no certificate.
    """
    grid = variant.threshold_scale * np.linspace(-REACH, REACH, STEPS)
    queries = np.array([[*values, variant.threshold] for values in (first, second)]) - variant.threshold
    below = [np.log(_below(variant, row[:-1], grid)) for row in queries]

    def ratio(outputs: Floats) -> Floats:
        above = outputs[:, :, 0] == ABOVE
        answered = above.any(axis=1)
        place = np.where(answered, above.argmax(axis=1), above.shape[1])
        value = np.where(answered, (outputs[:, :, 1] * above).sum(axis=1), grid[-1])
        at = np.minimum(grid.searchsorted(value), STEPS - 1)
        noise = (abs(value - queries[0, place]) - abs(value - queries[1, place])) / variant.query_scale
        return np.asarray(below[1][place, at] - below[0][place, at] + noise)

    return ratio


def _below(variant: SparseVector, queries: Floats, grid: Floats) -> Floats:
    """The integrals, up to a common factor: (queries + 1, grid)."""
    scaled = (grid - queries[:, None]) / variant.query_scale
    tails = np.exp(-abs(scaled)) / 2
    all_below = np.cumprod([np.ones_like(grid), *np.where(scaled < 0, tails, 1 - tails)], axis=0)
    return np.asarray(np.cumsum(np.exp(-abs(grid) / variant.threshold_scale) * all_below, axis=1))
