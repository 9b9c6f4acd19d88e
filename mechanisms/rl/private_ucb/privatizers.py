"""Privatizers, which give optimistic learners private counts to plan from (Assumption 1 of the paper).

A learner needs four things from a privatizer:

- **Noise.** Before episode k = 0, 1, ..., K-1 a learner reads three kinds of counts over the users before k:
  visits N_h(s, a), summed costs C_h(s, a), transitions N_h(s, a, s') for step h, state s, action a and next state
  s'. A private count is the true count plus noise that does not depend on the data. ``privatizer.noise(rng)`` yields
  the noise in blocks of n consecutive episodes, ``CountNoise(first, visits, costs, transitions)``: float32 arrays
  of shapes (n, T, S, A), (n, T, S, A) and (n, T, S, A, S) for episodes first, ..., first + n - 1. There are S states
  and A actions. T is the number H of steps, or 1 if the parameters say ``pooled``: then all steps share one table,
  and the learner sums its true counts over the steps. Episode 0 has no users before it, so its noise is 0. The
  blocks come in order and cover each episode once. Their arrays are reused, so copy what you keep.
- **Sizes** are in ``privatizer.parameters``: ``states, actions, horizon, episodes, pooled``.
- **Levels** (error bounds). ``privatizer.levels(delta)`` returns certified bounds ``Levels(visits, costs,
  transitions)``. With probability 1 - delta they hold for all private counts of all episodes at once. The paper
  uses ``E1 = max(visits, costs)`` and ``E2 = transitions``. ``privatizer.printed_levels(delta)`` returns the bounds
  that the paper prints.
- **Guarantee.** ``privatizer.account(adjacency)`` returns a ``PrivacyResult``, as for every mechanism.
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
    """Noise of the counts that a learner reads before each of n episodes, numbered from ``first`` on.

    There are S states and A actions. T is the number of steps, or 1 if all steps share one table.
    """

    first: int
    visits: Floats
    """Noise of the numbers of visits, an array (n, T, S, A)."""
    costs: Floats
    """Noise of the summed costs, an array (n, T, S, A)."""
    transitions: Floats
    """Noise of the numbers of transitions, an array (n, T, S, A, S)."""


@dataclass(frozen=True)
class Levels:
    """Upper bounds on the errors of private counts: of visits, of summed costs and of transitions.

    They hold for all counters and episodes at once, except with a small failure probability.
    """

    visits: float
    costs: float
    transitions: float

    @property
    def E1(self) -> float:  # noqa: N802 (the paper's name)
        """The larger of the two error bounds ``visits`` and ``costs``. The paper calls it E1."""
        return max(self.visits, self.costs)

    @property
    def E2(self) -> float:  # noqa: N802 (the paper's name)
        """The error bound ``transitions``. The paper calls it E2."""
        return self.transitions


class Sizes(Protocol):
    """Interface of an object that holds the sizes of a problem, as the parameters of every privatizer do."""

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
        """Whether all steps share one table of counts."""
        ...


class Privatizer(Protocol):
    """Interface of a privatizer: it has noise for simulated private counts, error bounds, and a guarantee."""

    @property
    def parameters(self) -> Sizes:
        """The sizes of the problem."""
        ...

    def noise(self, rng: np.random.Generator, block: int = 512) -> Iterator[CountNoise]:
        """Yield the noise of all episodes' counts, ``block`` episodes at a time."""
        ...

    def levels(self, delta: float) -> Levels:
        """Return certified bounds on the errors of the counts. They fail with probability at most ``delta``."""
        ...

    def printed_levels(self, delta: float) -> Levels:
        """Return the error bounds that the paper prints for this noise."""
        ...

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Return the guarantee under the neighbouring relation ``adjacency``."""
        ...


@dataclass(frozen=True)
class ExactCounts:
    """The privatizer without noise. Its error bounds are 0, and a learner that uses it is not private.

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
        """The sizes of the problem. This object has them as fields, so the value is the object itself."""
        return self

    def noise(self, rng: np.random.Generator, block: int = 512) -> Iterator[CountNoise]:
        """Yield one block for all episodes. Its arrays have no columns, because there is no noise.

        `rng` and `block` are not used.
        """
        none = np.zeros((self.episodes, 0), np.float32)
        yield CountNoise(0, none, none, none)

    def levels(self, delta: float) -> Levels:
        """Return the error bounds 0 for any `delta`."""
        return Levels(0.0, 0.0, 0.0)

    def printed_levels(self, delta: float) -> Levels:
        """Return the error bounds 0. The paper prints none for counts without noise."""
        return Levels(0.0, 0.0, 0.0)

    def account(self, adjacency: Adjacency | str) -> PrivacyResult:
        """Raise an error, because counts without noise have no guarantee.

        Raises:
            ValueError: always.
        """
        relation = Adjacency.of(adjacency).value
        raise ValueError(
            f"There is no privacy guarantee for adjacency {relation!r}, because counts without noise are not private."
        )
