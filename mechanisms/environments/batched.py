"""Batches: many episodes of one environment, which are played at the same time.

All episodes of a batch begin together. Finished episodes are dropped, so they need no more time. States are
continuous and actions are discrete. Episodes are stopped after `horizon` steps.
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
"""Function of observations (n, d) and episode numbers (n,) that returns actions (n,)."""


class Dynamics(Protocol):
    """The rules by which an environment moves on, for many states at once. A state has k numbers."""

    def start(self, count: int, rng: np.random.Generator) -> Floats:
        """Return the first states of `count` episodes, an array (count, k)."""
        ...

    def observe(self, state: Floats) -> Observations:
        """Return the observations (n, d) of the states (n, k): what a policy sees of each state."""
        ...

    def move(
        self, state: Floats, actions: Integers, rng: np.random.Generator
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return the next states (n, k), the rewards (n,), and whether each episode is over (n,)."""
        ...


class Batch(Protocol):
    """Many running episodes of one environment, which take their steps together."""

    def observations(self) -> Observations:
        """Return the present observations, one row for each running episode."""
        ...

    def step(self, actions: Integers) -> tuple[Observations, Floats, NDArray[np.bool_]]:
        """Take one action in each running episode.

        Return for each episode the next observation, the reward, and whether the episode ended by itself.
        """
        ...

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Keep the running episodes for which `rows` is true, and drop the others."""
        ...

    def renew(self, rows: NDArray[np.bool_]) -> None:
        """Start the episodes for which `rows` is true again."""
        ...


class BatchedEnvironment(Protocol):
    """An environment that can play many episodes at the same time."""

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
        """Number of steps after which an episode is stopped."""
        ...

    def begin(self, count: int, rng: np.random.Generator) -> Batch:
        """Return a batch of `count` new episodes."""
        ...


class DynamicsBatch:
    """A batch of episodes that move by given `Dynamics`. All randomness comes from the generator."""

    def __init__(self, dynamics: Dynamics, count: int, rng: np.random.Generator) -> None:
        self._dynamics, self._rng = dynamics, rng
        self._state = dynamics.start(_checks.at_least("count", count, 1), rng)

    def observations(self) -> Observations:
        """Return the present observations, one row for each running episode."""
        return self._dynamics.observe(self._state)

    def step(self, actions: Integers) -> tuple[Observations, Floats, NDArray[np.bool_]]:
        """Take one action in each running episode. See `Batch.step` for the result."""
        self._state, rewards, over = self._dynamics.move(self._state, actions, self._rng)
        return self.observations(), rewards, over

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Keep the running episodes for which `rows` is true, and drop the others."""
        self._state = self._state[rows]

    def renew(self, rows: NDArray[np.bool_]) -> None:
        """Start the episodes for which `rows` is true again."""
        if rows.any():
            self._state[rows] = self._dynamics.start(int(rows.sum()), self._rng)


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps of many episodes, sorted by episode and then by time.

    Attributes:
        observations, following: float32 (steps, d), the observations before and after the action.
        actions: int64 (steps,).
        rewards: float64 (steps,), as the environment pays them.
        terminal: bool (steps,), whether the episode ended by itself with this step.
        lengths: int64 (episodes,), the number of steps of each episode, at least 1.
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
    """Play `count` episodes with `policy`, and return their steps.

    An episode ends by itself, or is stopped after `horizon` steps. The default is the environment's horizon.

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
