"""Noisy bits: the simplest mechanisms whose privacy is known exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpproof.audits.data.pairs import Neighbours


def at_most_one_apart(first: float, second: float) -> None:
    if abs(first - second) > 1:
        raise ValueError(f"{first} and {second} differ by more than 1")


@pytest.fixture(scope="session")
def bits() -> Neighbours:
    return Neighbours(0.0, 1.0, "differ by at most 1", "0 or 1", at_most_one_apart)


@pytest.fixture(scope="session")
def laplace() -> Callable[[float], Any]:
    """The Laplace mechanism that is exactly epsilon-DP on the bits."""
    return lambda epsilon: lambda value, n, rng: value + rng.laplace(0, 1 / epsilon, n)


@pytest.fixture(scope="session")
def gauss() -> Callable[[float], Any]:
    """The Gaussian mechanism that is exactly mu-GDP on the bits."""
    return lambda mu: lambda value, n, rng: value + rng.standard_normal(n) / mu


@pytest.fixture(scope="session")
def quiet() -> Any:
    """A mechanism that reveals nothing."""
    return lambda value, n, rng: rng.standard_normal(n) + np.zeros(n)
