"""Two noisy counters: one that keeps its claim of epsilon = 1, one with half the noise it needs."""

import numpy as np


def neighbours():
    """The counts of two data sets that differ in one record."""
    return 41.0, 42.0


def honest(count, n, rng):
    """N releases of the count with Laplace noise of scale 1: epsilon = 1."""
    return count + rng.laplace(0.0, 1.0, n)


def hasty(count, n, rng):
    """N releases with Laplace noise of scale 1/2: epsilon = 2, whatever the claim says."""
    return count + rng.laplace(0.0, 0.5, n)


def rounded(count, n, rng):
    """N releases of the honest counter, rounded: post-processing keeps the claim."""
    return np.rint(honest(count, n, rng))
