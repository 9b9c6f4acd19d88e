"""The counters of agents in many independent runs at once: samples for audits.

The counters, the encoder, the noise and the grid are the code that agents run (`dpproof.mechanisms.agents.counted`,
`dpproof.mechanisms.counting.lattice`). One user is counted in the first batch. All other users only shift the releases
by a known amount, so they are left out. The noise comes from a given generator, so all draws are simulations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.mechanisms.agents.counters import Counters, Counting, Sums, possible_transitions
from dpproof.mechanisms.agents.learner import Floats, Ints, Path, Paths
from dpproof.mechanisms.agents.plans import Plan, counting_of, plan_of
from dpproof.mechanisms.agents.presets import OPTIMISTIC
from dpproof.mechanisms.agents.spaces import FiniteSpace
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.release.words import WordSource, seeded_words

EARLY = 128
"""Largest number of batches that are audited."""
_MOST = 1_000_000
"""Largest number of released numbers in a run that is audited."""


class _Repeated:
    """Private sums of many independent runs, in which the same user is counted."""

    def __init__(self, sums: Sums, counters: int, runs: int) -> None:
        self._sums, self._counters, self._runs = sums, counters, runs
        self.running = sums.running

    def add(self, places: ArrayLike, amounts: ArrayLike) -> None:
        """Add integers to counters of the present batch of every run."""
        shifts = self._counters * np.arange(self._runs)
        self._sums.add(
            np.add.outer(shifts, np.asarray(places)).ravel(), np.tile(np.asarray(amounts), self._runs)
        )

    def close(self) -> Floats:
        """Complete the batch, and return what it releases: an array (numbers of a counter, runs, counters)."""
        return np.asarray(self._sums.close(), np.float64).reshape(-1, self._runs, self._counters)


@dataclass(frozen=True)
class AgentCounts:
    """The counters of an agent with given parameters. A fault is a subclass that replaces one method.

    >>> sizes = BatchedCountsParameters(2, 1, 1, 3, sigma=1.0, bits=4, grains=1024)
    >>> AgentCounts(sizes).means(Path(np.array([0, 1]), np.array([0]), np.ones(1)))[0, 0].tolist()
    [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]

    Raises:
        ValueError: agents do not count with these parameters, or a run releases more numbers than an audit can sample.
    """

    parameters: BatchedCountsParameters

    def __post_init__(self) -> None:
        rows, columns = min(self.parameters.batches, EARLY), sum(self.sizes)
        if rows * columns > _MOST:
            raise ValueError(
                f"a run releases {rows * columns} numbers, but an audit can sample at most {_MOST}. Use fewer states."
            )

    @property
    def task(self) -> Task:
        """The task that the parameters describe. Every state and the end of the episode may follow every state."""
        p = self.parameters
        spaces = FiniteSpace.of("observation", p.states), FiniteSpace.of("action", p.actions)
        return Task(*spaces, p.horizon, p.episodes, 0.0, 1.0, most_gain=p.most_payoff)

    @property
    def plan(self) -> Plan:
        """The agent's plan with these parameters."""
        return plan_of(self.task, self.parameters)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of noisy counters: of gains, of transitions unless they are public, and of steps."""
        p = self.parameters
        moves = possible_transitions(self.task)
        found = p.tables * p.states * p.actions, p.tables * moves
        steps = () if p.step_sigma is None else (p.horizon * moves,)
        return found[:1] if p.public_transitions else (*found, *steps)

    def counting(self) -> Counting:
        """Return how users are counted."""
        return counting_of(self.task, self.plan, OPTIMISTIC)

    def noise(self, scale: Fraction, units: int, words: WordSource) -> Callable[[int], Ints]:
        """Return a function that draws noise for all counters of a family in all runs."""
        return self.plan.noise(scale, units, words)

    def bank(self, counters: int, units: int, draw: Callable[[int], Ints]) -> Sums:
        """Return the private sums of a family in all runs."""
        return self.plan.bank(counters, units, draw)

    def release(self, path: Path | None, runs: int, rng: np.random.Generator) -> Floats:
        """Return all noisy numbers that are released, in units of a visit or a payoff of 1.

        The array has the shape (runs, numbers of a counter, counters): the entries of C x + noise, or the nodes of a
        tree. The counters of payoffs come first.
        """
        return self._released(path, runs, lambda scale, units: self.noise(scale, units, seeded_words(rng)))

    def means(self, path: Path | None) -> Floats:
        """Return the released numbers of one run without noise, an array (1, numbers of a counter, counters)."""
        return self._released(path, 1, lambda *_: lambda count: np.zeros(count, np.int64))

    def _released(
        self, path: Path | None, runs: int, noise: Callable[[Fraction, int], Callable[[int], Ints]]
    ) -> Floats:
        plan, sums = self.plan, []
        for counters, (scale, units) in zip(self.sizes, plan.families, strict=False):
            bank = self.bank(runs * counters, units, noise(scale, units))
            sums.append((_Repeated(bank, counters, runs), float(units * plan.lattice)))
        users = Counters(
            self.task, self.counting(), *([one for one, _ in sums] if not plan.public else [sums[0][0], None])
        )
        if path is not None:
            users.count(Paths.of(path))
        rows = [
            np.concatenate([one.close() / unit for one, unit in sums], axis=2)
            for _ in range(min(plan.releases, EARLY))
        ]
        found: Floats = np.concatenate(rows).swapaxes(0, 1)
        return found

    @property
    def scales(self) -> Floats:
        """The scale of the noise of each counter, in units of a visit or a payoff of 1."""
        scales = [float(scale) for scale, _ in self.plan.families]
        return np.repeat(scales[: len(self.sizes)], self.sizes)


def paths_apart(parameters: BatchedCountsParameters, *, payoffs_only: bool) -> tuple[Path, Path]:
    """Return two users whose counts differ as much as possible.

    A cell is a pair of a state and an action. The first user visits cell after cell, ``cap`` times each, or one cell if
    every step has its own table. The second user visits the cells in reverse order, with payoff 0 in cells that the
    first user visits. With ``payoffs_only`` it visits the same cells with payoff 0. All other payoffs are 1.

    >>> one, other = paths_apart(BatchedCountsParameters(2, 1, 2, 9, 1.0, cap=2), payoffs_only=False)
    >>> one.states.tolist(), other.states.tolist()
    ([0, 0, 0], [1, 1, 1])
    """
    p = parameters
    last = p.states * p.actions - 1
    order = np.minimum(np.arange(p.horizon) // p.cap, last) if p.pooled else np.zeros(p.horizon, np.int64)
    back = order if payoffs_only else last - order
    return _in_cells(p, order, np.ones(p.horizon)), _in_cells(
        p, back, (~np.isin(back, order)).astype(np.float64)
    )


def _in_cells(parameters: BatchedCountsParameters, cells: Ints, gains: Floats) -> Path:
    states: NDArray[Any] = cells // parameters.actions
    return Path(np.append(states, states[-1]), cells % parameters.actions, gains)
