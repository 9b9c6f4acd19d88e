"""What this project releases about its users."""

import numpy as np

EPSILON = 1.0
LARGEST = 10.0
"""Values are clipped to [0, LARGEST]."""


def count(users, n, rng):
    """How many users there are, n times: Laplace noise for epsilon = 1."""
    return len(users) + rng.laplace(0.0, 1.0 / EPSILON, n)


def total(values, n, rng):
    """The sum of the clipped values, n times: Laplace noise for epsilon = 1."""
    clipped = np.clip(values, 0.0, LARGEST)
    return clipped.sum() + rng.laplace(0.0, LARGEST / EPSILON, n)
