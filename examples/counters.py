"""Noisy counters: one keeps its claim of epsilon = 1, one only in real arithmetic, one has half the noise."""

import numpy as np


def neighbours():
    """The counts of two data sets that differ in one record."""
    return 41.0, 42.0


def alone():
    """The counts without and with the only record."""
    return 0.0, 1.0


def honest(count, n, rng):
    """N releases of the count with geometric noise of scale 1: epsilon = 1."""
    chance = 1 - np.exp(-1.0)
    return count + rng.geometric(chance, n) - rng.geometric(chance, n)


def textbook(count, n, rng):
    """N releases with numpy's Laplace noise: epsilon = 1 in real arithmetic, but not of the doubles."""
    return count + rng.laplace(0.0, 1.0, n)


def hasty(count, n, rng):
    """N releases with Laplace noise of scale 1/2: epsilon = 2, whatever the claim says."""
    return count + rng.laplace(0.0, 0.5, n)


def rounded(count, n, rng):
    """N releases of the textbook counter, rounded: what is left has no low bits."""
    return np.rint(textbook(count, n, rng))
