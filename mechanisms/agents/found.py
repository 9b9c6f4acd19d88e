"""Counters for transitions that are found: a transition gets a counter when enough users have taken it.

A pair is a state and an action (a cell) with a next state; if every step has its own table, with a step as well.
At first no pair has a counter. Batches form periods. At the end of a period, each pair that was seen in it and has no
counter gets integer noise on its count. It is opened if the sum reaches the threshold. Its counter begins at 0 with
the next batch, and from then on gets noise at every release. Earlier visits of the pair are not used. Rewards are
counted for visits of open pairs only, so that rewards and visits of a cell belong together.

The threshold is paid for in delta (docs/notes/found_support.md). Memory and time grow with the number of pairs that are
seen, not with the square of the number of states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpproof.mechanisms.agents.counters import Counters, Counting, Sums
from dpproof.mechanisms.agents.learner import Floats, Ints, Paths
from dpproof.mechanisms.agents.task import Task
from dpproof.mechanisms.counting.lattice import LatticeSums


@dataclass(frozen=True)
class Openings:
    """How transitions are found.

    Attributes:
        sigma: the standard deviation of the noise on the count of a pair, before it is rounded to an integer.
        threshold: a pair is opened if its noisy count is at least this integer.
        period: the number of batches after which counts are compared with the threshold and begin again at 0.
    """

    sigma: Fraction
    threshold: int
    period: int


class FoundCounters(Counters):
    """The counts of a task whose possible transitions are found.

    Args:
        task: the sizes.
        counting: how users are counted.
        gains: private sums of gains, in units of 1/grains, with G S A counters.
        transitions: private numbers of transitions, with no counter yet.
        openings: how transitions are found.
        draw: a function that draws the integer noise of openings.
    """

    def __init__(
        self,
        task: Task,
        counting: Counting,
        gains: Sums,
        transitions: LatticeSums,
        openings: Openings,
        draw: Callable[[int], Ints],
    ) -> None:
        super().__init__(task, counting, gains, None)
        self._moves, self._openings, self._draw = transitions, openings, draw
        self._width = task.states + 1
        self._counter: dict[int, int] = {}
        self._where: list[tuple[int, int, int]] = []
        self._waiting: dict[int, int] = {}
        self._batches = 0

    def check(self, paths: Paths) -> None:
        """Accept all paths. Every transition is possible."""

    def count(self, paths: Paths) -> None:
        """Add users to the present batch. Visits of pairs without a counter are kept for the next openings."""
        tables, cells, after, grains = self._visits(paths, pooled=self.counting.pooled)
        rows = tables * self.cells + cells
        pairs, where, times = np.unique(rows * self._width + after, return_inverse=True, return_counts=True)
        numbers = np.array([self._counter.get(pair, -1) for pair in pairs.tolist()], np.int64)
        known = numbers >= 0
        self._moves.add(numbers[known], times[known])
        self._gains.add(rows[known[where]], grains[known[where]])
        for pair, count in zip(pairs[~known].tolist(), times[~known].tolist(), strict=True):
            self._waiting[pair] = self._waiting.get(pair, 0) + count

    def release(self) -> tuple[Floats, Floats]:
        """Complete the batch. Return the private sums of gains (G, S A) and numbers of transitions (G, S A, b)."""
        self._gains.close()
        self._moves.close()
        self._batches += 1
        if self._batches % self._openings.period == 0:
            self._add(self._passed())
        found = np.zeros((self.tables, *self.after.shape))
        if self._where:
            found[tuple(np.array(self._where).T)] = self._moves.running
        return self._gains.running.reshape(self.tables, self.cells) / self.counting.grains, found

    def _passed(self) -> list[int]:
        """Return the pairs whose noisy counts reach the threshold, in increasing order. Counts begin again at 0."""
        pairs = sorted(self._waiting)
        counts = np.array([self._waiting[pair] for pair in pairs], np.int64)
        noisy = counts + self._draw(len(pairs))
        self._waiting = {}
        return [
            pair
            for pair, count in zip(pairs, noisy.tolist(), strict=True)
            if count >= self._openings.threshold
        ]

    def _add(self, pairs: list[int]) -> None:
        """Open counters for pairs, which begin at 0 with the next batch."""
        for pair in pairs:
            row, after = divmod(pair, self._width)
            table, cell = divmod(row, self.cells)
            if (cell, after) not in self._places:
                self._open(cell, after)
            self._counter[pair] = len(self._where)
            self._where.append((table, cell, self._places[cell, after]))
        self._moves.grow(len(pairs))
        self.possible = len(self._where)
