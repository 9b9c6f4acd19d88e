"""A mean whose noise is too small: which event gives the data away?"""

import numpy as np

from dpproof import audit


def noisy_mean(values: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """The mean of values in [0, 1], n times; the scale should be 1 / len(values) for epsilon 1."""
    return values.mean() + rng.laplace(0, 0.5 / len(values), n)


ages = np.array([0.1, 0.9, 0.4, 0.7, 0.2, 0.5, 0.8, 0.3])
found = audit(noisy_mean, ages, adjacency="replace", epsilon=1)
print(found)
found.plot().savefig("audit_a_mean.svg")
