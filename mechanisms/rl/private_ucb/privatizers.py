"""Privatizers: private versions of the counts that optimistic learning plans with (Assumption 1).

What an algorithm needs from a privatizer:

- **Noise.** Before episode k = 0, 1, ..., K-1 an algorithm reads three families of counts over the users
  before k: visits N_h(s, a), summed costs C_h(s, a), transitions N_h(s, a, s'). A private count is the true
  one plus a path of noise that does not depend on the data. ``privatizer.noise(rng)`` yields the paths in
  blocks of consecutive episodes, ``CountNoise(first, visits, costs, transitions)``: float32 arrays of shapes
  (n, T, S, A), (n, T, S, A) and (n, T, S, A, S) for episodes first, ..., first + n - 1. T counts the tables:
  H, or 1 where the parameters say ``pooled`` (then leaf k of a counter is the sum over all steps of user k,
  and the algorithm sums its true counts over the steps, too). Episode 0 has no users before it, so its noise
  is 0. Blocks come in order and cover 0..K-1 once. Their arrays are reused, so copy what you keep.
- **Sizes** are in ``privatizer.parameters``: ``states, actions, horizon, episodes, pooled``.
- **Levels.** ``privatizer.levels(delta)`` is a ``Levels(visits, costs, transitions)``: with probability 1 -
  delta all private counts of all episodes are that near at once (certified upper ends); ``.E1 = max(visits,
  costs)``, ``.E2 = transitions``. ``privatizer.printed_levels(delta)`` are the printed ones.
- **Guarantee.** ``privatizer.account(adjacency)`` is an ``PrivacyResult``, as every mechanism's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.result import PrivacyResult
from dpproof.mechanisms import _checks

Floats = NDArray[np.float32]


class CountNoise(NamedTuple):
    """Noise of the counts read before the episodes ``first``, ``first + 1``, ..., for T tables (see above)."""

    first: int
    visits: Floats
    """(n, T, S, A)"""
    costs: Floats
    """(n, T, S, A)"""
    transitions: Floats
    """(n, T, S, A, S)"""


@dataclass(frozen=True)
class Levels:
    """Bounds on the error of private counts, at once for all counters and episodes.

    They hold with probability 1 - delta.
    """

    visits: float
    costs: float
    transitions: float

    @property
    def E1(self) -> float:  # noqa: N802 (the paper's name)
        """The level of visits and costs together, as in Assumption 1."""
        return max(self.visits, self.costs)

    @property
    def E2(self) -> float:  # noqa: N802 (the paper's name)
        """The level of transitions."""
        return self.transitions


class Sizes(Protocol):
    """Sizes that the parameters of every privatizer have."""

    @property
    def states(self) -> int:
        """Number S of states."""
        ...

    @property
    def actions(self) -> int:
        """Number A of actions."""
        ...

    @property
    def horizon(self) -> int:
        """Number H of steps."""
        ...

    @property
    def episodes(self) -> int:
        """Number K of episodes."""
        ...

    @property
    def pooled(self) -> bool:
        """Whether all steps share one table."""
        ...


class Privatizer(Protocol):
    """Private counts of trajectories: noise for simulation, precision levels, and the guarantee."""

    @property
    def parameters(self) -> Sizes:
        """The sizes of the problem."""
        ...

    def noise(self, rng: np.random.Generator, block: int = 512) -> Iterator[CountNoise]:
        """Yield the noise of all episodes' counts, ``block`` episodes at a time."""
        ...

    def levels(self, delta: float) -> Levels:
        """Return certified levels at failure probability ``delta``."""
        ...

    def printed_levels(self, delta: float) -> Levels:
        """Return the paper's levels for this noise."""
        ...

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee under a neighbouring relation."""
        ...


@dataclass(frozen=True)
class ExactCounts:
    """The privatizer without noise: levels 0, no guarantee. With it Algorithms 1 and 2 are not private.

    Attributes:
        states, actions, horizon, episodes: the sizes S, A, H, K, all at least 1.
        pooled: whether counts are summed over the steps, for transitions that do not depend on the step.

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
        """The sizes, which are fields of this object."""
        return self

    def noise(self, rng: np.random.Generator, block: int = 512) -> Iterator[CountNoise]:
        """Yield all episodes in one block of arrays without columns. Nothing is drawn from `rng`."""
        none = np.zeros((self.episodes, 0), np.float32)
        yield CountNoise(0, none, none, none)

    def levels(self, delta: float) -> Levels:
        """Return zeros for any `delta`."""
        return Levels(0.0, 0.0, 0.0)

    def printed_levels(self, delta: float) -> Levels:
        """Return zeros, because the paper has no privatizer without noise."""
        return Levels(0.0, 0.0, 0.0)

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Refuse, because exact counts have no guarantee.

        Raises:
            ValueError: always.
        """
        relation = Adjacency.of(adjacency).value
        raise ValueError(
            f"adjacency ({relation!r}) has no guarantee, because counts without noise are not private"
        )
