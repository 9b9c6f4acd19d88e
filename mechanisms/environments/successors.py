"""A tabular decision process for compiled loops: the successors of every cell, and how one is drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.compiled import inlined


class Law(NamedTuple):
    """A decision process as lists of the possible successors of (s, a), the running sums of their chances."""

    rewards: NDArray[np.float64]
    successors: NDArray[np.int64]
    next_states: NDArray[np.int64]
    next_chances: NDArray[np.float64]
    next_sums: NDArray[np.float64]
    start: int


@inlined
def step(law: Law, s: int, a: int, rng: np.random.Generator) -> int:
    """Return a successor of (s, a), drawn with one uniform; never one of chance 0."""
    u = rng.random()
    place = 0
    while place < law.successors[s, a] - 1 and u >= law.next_sums[s, a, place]:
        place += 1
    return law.next_states[s, a, place]  # type: ignore[no-any-return] # an array entry
