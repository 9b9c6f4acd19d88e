"""Public grids of releases: their exponents, rewards in whole grains, and integers as doubles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.mechanisms.randomness import SIMULATION

GRID = -20
"""A release is a multiple of 2^-20 unless another exponent is given."""
REWARD_BITS = 30
"""Rewards are whole multiples of 2^-30."""
_FINEST, _COARSEST = -200, 60


def checked_exponent(exponent: int) -> int:
    """Return the exponent of a grid.

    Raises:
        ValueError: it is no integer in [-200, 60].
    """
    if type(exponent) is not int or not _FINEST <= exponent <= _COARSEST:
        raise ValueError(f"exponent ({exponent!r}) must be an integer in [{_FINEST}, {_COARSEST}]")
    return exponent


def grains(rewards: ArrayLike) -> NDArray[np.int64]:
    """Return the nearest whole multiples of 2^-30 to rewards in [0, 1], each by itself.

    >>> grains([0.0, 0.5, 1.0]).tolist()
    [0, 536870912, 1073741824]
    """
    return np.rint(np.ldexp(np.asarray(rewards, np.float64), REWARD_BITS)).astype(np.int64)


def doubles(integers: Any, exponent: int) -> NDArray[np.float64]:
    """Return 2^exponent times integers of any size, as the nearest doubles.

    >>> doubles([[1, -3]], -1).tolist()
    [[0.5, -1.5]]
    """
    return np.ldexp(np.array(integers, dtype=object).astype(np.float64), exponent)


def how_released(simulated: bool) -> str:
    """Return in words what drew an exact release, to stand in its `repr` and its JSON."""
    return SIMULATION if simulated else "drawn from entropy, every released bit covered"
