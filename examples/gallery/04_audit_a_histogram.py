"""A histogram under replace: a replaced record changes two bins, so the sensitivity is 2 and not 1."""

import numpy as np

from dpproof import audit


def histogram(values: np.ndarray, n: int, rng: np.random.Generator, scale: float) -> np.ndarray:
    """Counts of four categories with Laplace noise, n times."""
    counts = np.bincount(values, minlength=4)
    return counts + rng.laplace(0, scale, (n, 4))


categories = np.array([0, 1, 1, 2, 3, 0, 2, 1])
for scale in (1.0, 2.0):
    found = audit(
        lambda values, n, rng, scale=scale: histogram(values, n, rng, scale),
        categories,
        adjacency="replace",
        epsilon=1,
        budget=20_000,
        claim=f"a histogram with noise of scale {scale}",
    )
    print(found, end="\n\n")
    if scale == 1.0:
        found.plot().savefig("audit_a_histogram.svg")
