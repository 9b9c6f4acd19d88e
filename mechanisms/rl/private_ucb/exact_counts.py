"""Counts without privacy: what UCB-VI (Azar et al. 2017) and OPPO (Efroni et al. 2020) learn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.mechanisms import _checks
from dpproof.mechanisms.rl.private_ucb.privatizers import CountNoise, Levels


@dataclass(frozen=True)
class ExactCounts:
    """The privatizer that adds nothing: levels 0, no guarantee. With it Algorithms 1 and 2 are not private.

    Attributes:
        states, actions, horizon, episodes: the sizes S, A, H, K, all at least 1.
        pooled: counts are added up over the steps, for laws that do not change with the step.

    >>> ExactCounts(states=6, actions=2, horizon=20, episodes=50).levels(0.05).E1
    0.0

    """

    states: int
    actions: int
    horizon: int
    episodes: int
    pooled: bool = False

    def __post_init__(self) -> None:
        """Check the sizes."""
        for name in ("states", "actions", "horizon", "episodes"):
            object.__setattr__(self, name, _checks.at_least(name, getattr(self, name), 1))

    @property
    def parameters(self) -> ExactCounts:
        """The sizes: this object itself."""
        return self

    def noise(self, rng: np.random.Generator, block: int = 512) -> Iterator[CountNoise]:
        """All episodes in one block of arrays without columns: nothing is drawn, `rng` is left as it is."""
        none = np.zeros((self.episodes, 0), np.float32)
        yield CountNoise(0, none, none, none)

    def levels(self, delta: float) -> Levels:
        """Zeros, whatever `delta` is."""
        return Levels(0.0, 0.0, 0.0)

    def printed_levels(self, delta: float) -> Levels:
        """Zeros: the paper has no privatizer without noise."""
        return Levels(0.0, 0.0, 0.0)

    def account(self, adjacency: Adjacency) -> PrivacyResult:
        """Refuse: exact counts promise nothing.

        Raises:
            ValueError: always.

        """
        raise ValueError(f"adjacency ({adjacency.value}): counts without noise are private under none")
