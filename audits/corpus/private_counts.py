"""The privatizers of PRIVATE-UCB with the faults of published code put in, one each.

All but their noise is the code of `mechanisms.rl.private_ucb.privatizers_paper`. Faults of the scale alone need no code
here: they are the real privatizers with that scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.rl.private_ucb.privatizers_paper import (
    RELEASE_DRAWS,
    CentralPrivatizer,
    LocalPrivatizer,
)

__all__ = ["FreshNoise", "OneNoiseForTwoFamilies", "SharedNoise", "short_levels"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FreshNoise(CentralPrivatizer):
    """Fault: no tree, but fresh noise on the same running counts at every episode: it averages out."""

    def release_noise(self, runs: int, users: int, counters: int, rng: np.random.Generator) -> Floats:
        """Independent noise of every release."""
        return RELEASE_DRAWS[self.parameters.noise](rng, (runs, users, counters))


@dataclass(frozen=True)
class SharedNoise(LocalPrivatizer):
    """Fault: one draw serves all counters of a user; their differences are exact."""

    def release_noise(self, runs: int, users: int, counters: int, rng: np.random.Generator) -> Floats:
        """One noise a user, repeated."""
        return np.repeat(super().release_noise(runs, users, 1, rng), counters, axis=2)


@dataclass(frozen=True)
class OneNoiseForTwoFamilies(LocalPrivatizer):
    """Fault: costs get the noise of the visits, so that what a visit cost is exact.

    The published code has one noise for the denominators of costs and of transitions.
    """

    def release_noise(self, runs: int, users: int, counters: int, rng: np.random.Generator) -> Floats:
        """The noise of the first family, which is that of visits, stands in the second, too."""
        noise = super().release_noise(runs, users, counters, rng)
        cells = self.parameters.tables * self.parameters.states * self.parameters.actions
        noise[..., cells : 2 * cells] = noise[..., :cells]
        return noise


def short_levels(episodes: int) -> int:
    """Fault: the depth of the tree taken as floor(ln K) + 1, which is short of log2 K."""
    return math.floor(math.log(episodes)) + 1
