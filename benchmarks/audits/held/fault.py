"""What is recorded of a broken function, and the noise that several of them draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SIGMA = 3.7307
"""The smallest standard deviation of Gaussian noise for epsilon 1 and delta 1e-5 at distance 1, rounded up."""
DELTA = 1e-5
LOOSE_SIGMA, LOOSE_DELTA = 2.5747, 1e-3
"""The same for delta 1e-3."""


@dataclass(frozen=True)
class Fault:
    """A function that breaks its claim, data for it, and the truth about its fault.

    Attributes:
        function: the function, ``f(data, rng)`` or ``f(data, n, rng)``.
        data: the data that it is audited on.
        kind: the fault: ``"bits"``, ``"structure"``, ``"plain"``, ``"reused"``, ``"normal"`` or ``"scale"``; empty
            for any other fault.
        adjacency: the relation of the claim.
        epsilon: the claimed epsilon.
        delta: the claimed delta, 0 unless given.
        factor: for the kind ``"scale"``, by which factor the noise is too small.
        failures: what an exception counts as, if not as an error.
    """

    function: Callable[..., Any]
    data: object
    kind: str
    adjacency: str
    epsilon: float
    delta: float | None = None
    factor: float | None = None
    failures: str | None = None

    def __post_init__(self) -> None:
        if (self.kind == "scale") != (self.factor is not None):
            raise ValueError(f"factor ({self.factor}) must be given for the kind scale, and for no other")

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.__name__


def geometric(rng, scale, size=None):
    """Two-sided geometric noise: the discrete Laplace distribution with this scale."""
    p = 1 - np.exp(-1 / scale)
    return rng.geometric(p, size) - rng.geometric(p, size)


def unit_rows(rows):
    """The rows, each shortened to norm 1 if it is longer."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
