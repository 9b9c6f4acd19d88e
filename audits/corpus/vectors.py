"""Correct and faulty mechanisms on vectors of counts: histograms, prefix sums, noisy maxima, sparse vectors.

Every mechanism has the form ``f(counts, n, rng)``, where ``counts`` is a vector, and returns ``n`` outputs. StatDP
(Ding et al. 2018) and DP-Sniper (Bichsel et al. 2021) were evaluated with the same mechanisms and faults.

Most published variants of the sparse vector technique are not private as claimed. Here they have the numbers of Lyu,
Su & Li 2017, "Understanding the sparse vector technique", Figure 2. An output is a row with one code for each query:
above, below, or not answered because the run had stopped. If a variant releases values, an output has codes and
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
    """Return ``n`` outputs, in each of which every count has Laplace noise, as an array of shape (n, counts)."""
    x = np.asarray(counts, dtype=np.float64)
    return x + rng.laplace(0, scale, (n, *x.shape))


def gaussian(counts: ArrayLike, n: int, rng: np.random.Generator, *, sigma: float) -> Floats:
    """Return ``n`` outputs, in each of which every count has Gaussian noise, as an array of shape (n, counts)."""
    x = np.asarray(counts, dtype=np.float64)
    return x + rng.normal(0, sigma, (n, *x.shape))


def prefix_sums(counts: ArrayLike, n: int, rng: np.random.Generator, *, scale: float) -> Floats:
    """Return the running sums of the noisy counts, as an array of shape (n, counts).

    They reveal as much as the noisy counts.
    """
    return laplace(counts, n, rng, scale=scale).cumsum(axis=1)


def noisy_argmax(
    counts: ArrayLike, n: int, rng: np.random.Generator, *, scale: float, one_sided: bool = False
) -> NDArray[np.int64]:
    """Return the place of the largest noisy count; ``one_sided`` noise is exponential (Dwork & Roth 2014, 3.3)."""
    x = np.asarray(counts, dtype=np.float64)
    noise = rng.exponential if one_sided else rng.laplace
    drawn = noise(scale=scale, size=(n, x.size))
    return np.asarray((x + drawn).argmax(axis=1))


def largest_value(counts: ArrayLike, n: int, rng: np.random.Generator, *, scale: float) -> Floats:
    """Return the largest noisy count itself. This is a fault: the noise hides only the place of the count."""
    return np.asarray(laplace(counts, n, rng, scale=scale).max(axis=1))


REACH, STEPS = 30, 6001
"""Integrals over the threshold's noise use `STEPS` points, from -`REACH` to `REACH` times the noise scale."""


@dataclass(frozen=True)
class SparseVector:
    """A variant of the sparse vector technique, as a function that returns outputs.

    Attributes:
        threshold: the public threshold.
        threshold_scale: the scale of the Laplace noise on the threshold.
        query_scale: the scale of the Laplace noise on a query; 0 for no noise.
        cutoff: the number of answers "above" after which the run stops; ``None`` for no limit.
        resampled: whether the threshold's noise is drawn again after every answer "above".
        released: whether the noisy query itself is released with an answer "above".
        value_scale: if not ``None``, an answer "above" also releases the query with fresh Laplace noise of this
            scale.
    """

    threshold: float
    threshold_scale: float
    query_scale: float
    cutoff: int | None = None
    resampled: bool = False
    released: bool = False
    value_scale: float | None = None

    def __call__(self, queries: ArrayLike, n: int, rng: np.random.Generator) -> Floats:
        """Return the codes ``(n, queries)``, or codes and values minus the threshold ``(n, queries, 2)``."""
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
    """Return the function ln p1/p0 for a variant that stops at its first "above" and releases the noisy query.

    An output has the density p0 under the input ``first``, and p1 under the input ``second``.

    Let F and g be the distribution function and the density of a query's noise, and f the density of the threshold's
    noise. Let q_0, q_1, ... be the queries. An output says that query j is the first one above, and that its noisy
    value is v. The density of this output is the product of g(v - q_j) and an integral over z <= v: that of f(z) F(z -
    q_0) ... F(z - q_(j-1)). The integral is computed numerically and is not certified; the ratio is only used as a
    score.
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
    """Return the integrals of `first_release_ratio`, up to a common factor: (queries + 1, grid)."""
    scaled = (grid - queries[:, None]) / variant.query_scale
    tails = np.exp(-abs(scaled)) / 2
    all_below = np.cumprod([np.ones_like(grid), *np.where(scaled < 0, tails, 1 - tails)], axis=0)
    return np.asarray(np.cumsum(np.exp(-abs(grid) / variant.threshold_scale) * all_below, axis=1))
