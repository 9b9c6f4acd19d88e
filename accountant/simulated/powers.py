"""The powers of a likelihood ratio as proposals: several copies of a record that attract each other.

(dP/dN)^k is the mean over k independent copies of the record of the ratio of all their contributions, times a
factor that prefers copies with common steps. Copies are alike, so a state is the number of copies on each rung
of the participation's chain (docs/notes/simulated.md, section 3).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from numpy.random import Generator
from numpy.typing import NDArray

from dpproof.accountant.numbers.arithmetic import cached_property, math, np
from dpproof.accountant.simulated.participation import Floats, Participation
from dpproof.accountant.simulated.proposals import Cap
from dpproof.accountant.simulated.training import TrainingRun

_MOST_CELLS, _MOST_COPIES, _MOST_MOVES = 2**22, 10, 20_000
State = tuple[int, ...]
"""How many copies are on each rung."""


@dataclass(frozen=True)
class _Moves:
    """What may happen in one step, from each state: one column for each choice of the copies that are used."""

    states: list[State]
    takes: NDArray[np.intp]
    """How many copies of each rung are used; the shape is states, choices, rungs."""
    after: NDArray[np.intp]
    """The number of the next state."""
    log_ways: Floats
    """The logarithm of the number of ways to choose these copies; minus infinity for padding."""


@dataclass(frozen=True)
class Power:
    """The law with density (dP/dN)^order exp(lean <m, y>), up to a factor.

    The order is a whole number, and m the mean contribution.
    """

    training: TrainingRun
    order: int
    lean: float = 0.0

    @cached_property
    def _moves(self) -> _Moves:
        law = self.training.participation
        states = list(_states(law.rungs, self.order))
        place = {state: i for i, state in enumerate(states)}
        choices = [list(_choices(state, law.active)) for state in states]
        width = max(map(len, choices))
        takes = np.zeros((len(states), width, law.rungs), dtype=np.intp)
        after = np.zeros((len(states), width), dtype=np.intp)
        log_ways = np.full((len(states), width), -math.inf)
        for i, (state, found) in enumerate(zip(states, choices, strict=True)):
            for j, used in enumerate(found):
                takes[i, j] = used
                after[i, j] = place[self._next(state, used)]
                log_ways[i, j] = sum(math.log(math.comb(n, c)) for n, c in zip(state, used, strict=True))
        return _Moves(states, takes, after, log_ways)

    def _next(self, state: State, used: State) -> State:
        law = self.training.participation
        found = [0] * law.rungs
        for rung, (here, taken) in enumerate(zip(state, used, strict=True)):
            if here - taken:
                found[law.unused(rung)] += here - taken
            if taken:
                found[law.used(rung)] += taken
        return tuple(found)

    def _log_step(self, i: int) -> Floats:
        """The logarithms of the weights of all choices in step i: chances and attraction."""
        law, moves = self.training.participation, self._moves
        here = np.array(moves.states)[:, None, :]
        chances = np.array([law.chance(i, rung) for rung in range(law.rungs)])
        logs = moves.log_ways + _powers(chances, moves.takes) + _powers(1 - chances, here - moves.takes)
        total = moves.takes.sum(axis=2)
        logs = logs + total * self.lean * float(self.training.products(self.training.mean)[i])
        logs = logs + total * (total - 1) / 2 * self.training.gram(i, 0)
        ages = ((rung, law.age(rung)) for rung in range(law.rungs))
        for rung, age in ages:
            if age is not None and age < len(self.training.column) and age <= i:
                logs = logs + total * here[:, :, rung] * self.training.gram(i, age)
        return np.asarray(logs)

    @cached_property
    def _table(self) -> tuple[Floats, Floats, float]:
        """Cumulated chances of the states at the start, and of all choices in each step; the logarithm of Z."""
        moves, steps = self._moves, self.training.participation.steps
        later = np.zeros(len(moves.states))
        cumulated = np.empty((steps, *moves.after.shape))
        for i in range(steps - 1, -1, -1):
            logs = self._log_step(i) + later[moves.after]
            top = logs.max(axis=1)
            shares = np.exp(logs - top[:, None])
            later = top + np.log(shares.sum(axis=1))
            cumulated[i] = shares.cumsum(axis=1) / shares.sum(axis=1)[:, None]
        start = np.array([self._log_start(state) for state in moves.states]) + later
        top = float(start.max())
        shares = np.exp(start - top)
        moved = self.lean**2 / 2 * self.training.mean_square
        return shares / shares.sum(), cumulated, top + math.log(float(shares.sum())) + moved

    def _log_start(self, state: State) -> float:
        start = self.training.participation.start
        if any(n and (rung >= len(start) or not start[rung]) for rung, n in enumerate(state)):
            return -math.inf
        ways = math.lgamma(self.order + 1) - sum(math.lgamma(n + 1) for n in state)
        return ways + sum(n * math.log(start[rung]) for rung, n in enumerate(state) if n)

    @property
    def cap(self) -> Cap:
        """Constants with log dP/dR <= a - b l. Here both sides are equal."""
        return Cap(self._table[2], self.order - 1.0, lean=self.lean)

    @property
    def scale(self) -> float:
        """The factor by which the logarithm of the density grows faster than l."""
        return float(self.order**2)

    def draw(self, rng: Generator, count: int) -> Floats:
        """Return ``count`` columns from this law."""
        start, cumulated, _ = self._table
        state = rng.choice(len(start), size=count, p=start)
        totals = self._moves.takes.sum(axis=2)
        used = np.zeros((len(cumulated), count))
        for i, chances in enumerate(cumulated):
            choice = (rng.random(count)[:, None] >= chances[state][:, :-1]).sum(axis=1)
            used[i] = totals[state, choice]
            state = self._moves.after[state, choice]
        return np.asarray(self.training.released(rng, used) + self.lean * self.training.mean[:, None])

    def log_density(self, gains: Floats, log_ratio: Floats) -> Floats:
        """Return log dR/dN."""
        return np.asarray(self.order * log_ratio + self.lean * self.training.along(gains) - self._table[2])


def orders(training: TrainingRun) -> list[int]:
    """Return the orders of powers whose tables are small enough, from 2 on."""
    return [
        order for order in range(2, _MOST_COPIES + 1) if _cells(training.participation, order) <= _MOST_CELLS
    ]


def _cells(law: Participation, order: int) -> int:
    """The size of the table: steps, states, and the most choices in a state, whose copies are spread evenly."""
    each, more = divmod(order, len(law.active))
    choices = (each + 2) ** more * (each + 1) ** (len(law.active) - more)
    states = math.comb(law.rungs + order - 1, order)
    return law.steps * states * choices if states * choices <= _MOST_MOVES else _MOST_CELLS + 1


def _states(rungs: int, copies: int) -> Iterator[State]:
    for places in itertools.combinations_with_replacement(range(rungs), copies):
        counts = Counter(places)
        yield tuple(counts[rung] for rung in range(rungs))


def _choices(state: State, active: tuple[int, ...]) -> Iterator[State]:
    """All numbers of used copies on each rung; only copies on active rungs may be used."""
    ranges = (range(n + 1 if rung in active else 1) for rung, n in enumerate(state))
    return itertools.product(*ranges)


def _powers(chances: Floats, times: NDArray[np.intp]) -> Floats:
    """The logarithm of the product of chances to the power of times; 0 to the power of 0 is 1."""
    logs = np.log(np.maximum(chances, 1e-300))
    impossible = ((times > 0) & (chances <= 0)).any(axis=2)
    return np.where(impossible, -math.inf, times @ logs)
