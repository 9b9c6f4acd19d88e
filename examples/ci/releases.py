"""What this project releases about its users."""

import numpy as np

EPSILON = 1.0
LARGEST = 10.0
"""Values are clipped to [0, LARGEST]."""


def noise(scale, n, rng):
    """Whole numbers with Laplace's law: the low bits of floating-point noise would tell the users apart."""
    chance = 1 - np.exp(-1 / scale)
    return rng.geometric(chance, n) - rng.geometric(chance, n)


def count(users, n, rng):
    """How many users there are, n times: noise for epsilon = 1."""
    return len(users) + noise(1.0 / EPSILON, n, rng)


def total(values, n, rng):
    """The sum of the clipped values, rounded, n times: noise for epsilon = 1."""
    clipped = np.clip(values, 0.0, LARGEST)
    return np.rint(clipped.sum()) + noise(LARGEST / EPSILON, n, rng)
