"""Many episodes of one environment at once: a batch of states, and policies that see all of them.

A batch begins all its episodes together. It drops finished episodes, so no step is spent on them. States are
continuous and actions are discrete. Episodes are cut after `horizon` steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms import _checks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Observations = NDArray[np.float32]
Policy = Callable[[Observations, Integers], Integers]
"""(observations (n, d), rows (n,)) -> actions (n,). A row is the number of an episode in its batch."""


class Dynamics(Protocol):
    """Equations of motion, applied to rows of states at once."""

    def start(self, count: int, rng: np.random.Generator) -> Floats:
        """Return first states (count, k)."""
        ...

    def observe(self, state: Floats) -> Observations:
        """Return the observations (n, d) of states (n, k)."""
        ...

    def move(
        self, state: Floats, actions: Integers, rng: np.random.Generator
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return the next states, the rewards (n,), and whether each episode is over (n,)."""
        ...


class Batch(Protocol):
    """A batch of episodes in progress."""

    def observations(self) -> Observations:
        """Return the observations of the policies."""
        ...

    def step(self, actions: Integers) -> tuple[Observations, Floats, NDArray[np.bool_]]:
        """Take actions.

        Return the next observations, the rewards, and which episodes ended without being cut.
        """
        ...

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Keep only these rows."""
        ...

    def renew(self, rows: NDArray[np.bool_]) -> None:
        """Start the episodes of these rows again."""
        ...


class BatchedEnvironment(Protocol):
    """An environment in which episodes can be started."""

    @property
    def actions(self) -> int:
        """Number of actions."""
        ...

    @property
    def observation_size(self) -> int:
        """Number d of entries in an observation."""
        ...

    @property
    def horizon(self) -> int:
        """Number of steps after which an episode is cut."""
        ...

    def begin(self, count: int, rng: np.random.Generator) -> Batch:
        """Start this many episodes."""
        ...


class DynamicsBatch:
    """A batch of episodes with the given equations of motion. All randomness comes from the generator."""

    def __init__(self, dynamics: Dynamics, count: int, rng: np.random.Generator) -> None:
        self._dynamics, self._rng = dynamics, rng
        self._state = dynamics.start(_checks.at_least("count", count, 1), rng)

    def observations(self) -> Observations:
        """Return the observations of the policies."""
        return self._dynamics.observe(self._state)

    def step(self, actions: Integers) -> tuple[Observations, Floats, NDArray[np.bool_]]:
        """Take actions. See `Batch.step`."""
        self._state, rewards, over = self._dynamics.move(self._state, actions, self._rng)
        return self.observations(), rewards, over

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Keep only these rows."""
        self._state = self._state[rows]

    def renew(self, rows: NDArray[np.bool_]) -> None:
        """Start the episodes of these rows again."""
        if rows.any():
            self._state[rows] = self._dynamics.start(int(rows.sum()), self._rng)


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps of many episodes, sorted by episode and then by time.

    Attributes:
        observations, following: float32 (steps, d), before and after the action.
        actions: int64 (steps,).
        rewards: float64 (steps,), as the environment pays them.
        terminal: bool (steps,), the episode is over by itself (not cut).
        lengths: int64 (episodes,), at least 1.
    """

    observations: Observations
    following: Observations
    actions: Integers
    rewards: Floats
    terminal: NDArray[np.bool_]
    lengths: Integers

    def returns(self) -> Floats:
        """Return the sum of rewards of each episode."""
        ends = np.cumsum(self.lengths)
        return np.diff(np.concatenate([[0.0], np.cumsum(self.rewards)])[np.append(0, ends)])


def roll_out(
    environment: BatchedEnvironment,
    policy: Policy,
    count: int,
    rng: np.random.Generator,
    horizon: int | None = None,
) -> Steps:
    """Play `count` episodes.

    Each ends by itself or is cut after `horizon` steps (default: the environment's).

    >>> from dpproof.mechanisms.environments.classic_control import CartPole
    >>> push = lambda seen, rows: np.ones(len(rows), np.int64)
    >>> roll_out(CartPole(), push, 3, np.random.default_rng(0)).lengths
    array([ 8, 10, 10])
    """
    batch, alive = environment.begin(count, rng), np.arange(count)
    seen, blocks = batch.observations(), []
    for _ in range(_checks.at_least("horizon", environment.horizon if horizon is None else horizon, 1)):
        actions = policy(seen, alive)
        after, rewards, over = batch.step(actions)
        blocks.append((alive, seen, after, actions, rewards, over))
        alive, seen = alive[~over], after[~over]
        if not len(alive):
            break
        batch.keep(~over)
    return _by_episode(blocks, count)


def _by_episode(blocks: list[tuple[Any, ...]], count: int) -> Steps:
    """Sort blocks of simultaneous steps by episode. The sort is stable, so each episode keeps its order."""
    rows, *columns = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    order = np.argsort(rows, kind="stable")
    seen, after, actions, rewards, over = (column[order] for column in columns)
    return Steps(seen, after, actions, rewards, over, np.bincount(rows, minlength=count))
