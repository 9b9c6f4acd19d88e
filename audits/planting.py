"""Planted audits: the very same audit, run on a stream in which a known violation was planted.

A bank holds fresh outputs of the mechanism on one input. A planted stream throws the coin of each sample,
draws a cell from that label's law, and takes the next output of the bank that lies in the cell. So both laws
are made of the mechanism's own outputs, and each output is used once (docs/notes/audit_power.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.blocks import largest_block
from audits.callables import Mechanism
from audits.canonical import canonical_text
from audits.curves import CurvePoint
from audits.layout import Layout
from audits.outputs import Block, joined
from audits.pairs import Pair
from audits.sampling import POWER, generator, outputs
from audits.schedule import Blocks, Pace
from audits.scores import Score, Scorer, View
from audits.time_budget import check_time
from audits.trial import run_trial

__all__ = ["Bank", "Planted", "Planting", "draw_bank"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SKETCH = 4096
"""At most so many outputs serve to choose events by, and are not used for anything else."""
ROOM, SPARE = 1.1, 512
"""The bank holds so many outputs for each sample of a planted stream, and so many more."""
NUMBERS = 1 << 24
"""The bank holds about so many numbers at most."""
BANK, INPUT = 0, 0
"""The bank's place in the seed's tree of power, and the input of the pair that it is drawn on."""


@dataclass(frozen=True, eq=False)
class Bank:
    """Fresh outputs of a mechanism on the first input of a pair.

    Attributes:
        outputs: a row for each; the first `sketch` of them choose events, the others are planted.
        sketch: how many choose events.
        samples: the length of a planted stream.
        layout: what the outputs look like.
    """

    outputs: Block
    sketch: int
    samples: int
    layout: Layout

    @cached_property
    def numbers(self) -> NDArray[Any]:
        """The outputs as a matrix; whole numbers stay exact."""
        if self.layout.plain and self.outputs.dtype.kind in "biuO":
            return self.outputs.reshape(len(self.outputs), -1)
        return self.layout.numbers(self.outputs)

    @cached_property
    def words(self) -> list[list[str]]:
        """The tokens of every output, in their order: words of a text, parts of what is nested."""
        return [list(_tokens(output)) for output in self.outputs]


def draw_bank(
    made: Mechanism, pair: Pair, layout: Layout, samples: int, seed: int, executor: Executor | None = None
) -> Bank:
    """Draw the outputs that planted audits of so many samples need; their seeds do not depend on workers.

    Raises:
        MechanismError: as for `audits.sampling.outputs`.
        OutOfTimeError: the time budget is spent.
    """
    samples = min(samples, max(1, NUMBERS // max(layout.width, 1)))
    sketch = min(SKETCH, max(256, samples // 8))
    total = sketch + int(ROOM * samples) + SPARE
    most = largest_block(layout.width, total, made.together)
    sizes = [min(most, total - start) for start in range(0, total, most)]
    asked = [(made, pair, size, generator(seed, POWER, BANK, i)) for i, size in enumerate(sizes)]
    blocks = list(map(_drawn, asked) if executor is None else executor.map(_drawn, asked))
    return Bank(layout.settled(joined(blocks)), sketch, samples, layout)


def _tokens(value: Any) -> Iterator[str]:
    """What an output is made of; the entries of a table with their names.

    >>> list(_tokens(["a b", {"x": 1}]))
    ['a', 'b', '["x",1]']
    """
    if isinstance(value, str):
        yield from value.split() or [value]
    elif isinstance(value, list | tuple | np.ndarray):
        for part in value:
            yield from _tokens(part)
    elif isinstance(value, Mapping):
        yield from sorted(canonical_text(entry) for entry in value.items())
    elif isinstance(value, Set):
        yield from sorted(map(canonical_text, value))
    else:
        yield canonical_text(value)


def _drawn(asked: tuple[Mechanism, Pair, int, np.random.Generator]) -> Block:
    made, pair, size, rng = asked
    return outputs(made, pair, INPUT, size, rng)


@dataclass(frozen=True, eq=False)
class Planted:
    """A violation to plant.

    Attributes:
        cells: of every output of the bank that may be planted, its cell.
        laws: the chances of the cells under the two labels: ``(2, cells)``.
    """

    cells: Ints
    laws: Floats


class Planting:
    """Runs planted audits one after the other, on outputs of the bank that were used least.

    Args:
        bank: the outputs.
        scores: those of the audit.
        points: those that the audit bets against.
        alpha: its level.
        together: the fewest samples in one of its blocks.
    """

    def __init__(
        self,
        bank: Bank,
        scores: Sequence[Score],
        points: tuple[CurvePoint, ...],
        alpha: float,
        together: int = 1,
    ) -> None:
        planted = bank.outputs[bank.sketch :]
        self._scores = tuple(_Known(score, _table(score, planted)) for score in scores)
        self._points, self._alpha, self._samples = points, alpha, bank.samples
        self._sizes = largest_block(bank.layout.width, bank.samples, together), together
        self._room, self._taken = len(planted), 0

    @property
    def passes(self) -> float:
        """How often the outputs of the bank were used so far, on average."""
        return self._taken / self._room

    def sees(self, planted: Planted, rng: np.random.Generator) -> bool:
        """Whether one audit of a stream with this violation refutes the claim.

        One that runs out of outputs in a cell does not.
        """
        pace, queues = Pace(), _Queues(planted.cells, len(planted.laws[0]), self._taken % self._room)
        blocks = self._blocks(queues, planted.laws, rng, pace)
        refuted = run_trial(self._points, blocks, self._scores, self._alpha, pace=pace).refuted
        self._taken += queues.reached
        return refuted

    def _blocks(
        self, queues: _Queues, laws: Floats, rng: np.random.Generator, pace: Pace
    ) -> Iterator[tuple[Ints, Ints]]:
        """Blocks of places in the bank and of labels, until the samples or the outputs are spent."""
        edges = laws.cumsum(axis=1)[:, :-1]
        for size, *_ in Blocks(self._samples, pace, *self._sizes):
            check_time()
            labels = rng.integers(0, 2, size)
            places = queues.take((rng.random(size)[:, None] >= edges[labels]).sum(axis=1))
            if places is None:
                return
            yield places, labels


class _Queues:
    """The places of the bank by their cells, from some place on and around; each is taken once.

    Attributes:
        reached: how many places lie before the last one taken, and with it.
    """

    def __init__(self, cells: Ints, count: int, start: int) -> None:
        around = np.roll(np.arange(len(cells)), -start)
        rolled = cells[around]
        self._around = around
        self._left = [np.flatnonzero(rolled == cell) for cell in range(count)]
        self._next = [0] * count
        self.reached = 0

    def take(self, cells: Ints) -> Ints | None:
        """The next place in each of these cells; None if there are not so many left."""
        places = np.empty(len(cells), np.int64)
        for cell, left in enumerate(self._left):
            wanted = np.flatnonzero(cells == cell)
            end = self._next[cell] + wanted.size
            if end > left.size:
                return None
            places[wanted] = taken = left[self._next[cell] : end]
            self._next[cell] = end
            self.reached = max(self.reached, int(taken[-1]) + 1 if taken.size else 0)
        return self._around[places]


@dataclass(frozen=True, eq=False)
class _Known:
    """A score of outputs that are named by their places in the bank: what it looks at is computed once."""

    score: Score
    view: View

    @property
    def name(self) -> str:
        return self.score.name

    @property
    def oriented(self) -> bool:
        return self.score.oriented

    @property
    def training(self) -> int:
        return self.score.training

    @property
    def weight(self) -> float:
        return float(getattr(self.score, "weight", 1.0))

    def fit(self, outputs: NDArray[Any], labels: Ints) -> Scorer:
        """Fit the score; of one that learns nothing the values themselves are looked at."""
        return self.score.fit(outputs, labels) if self.score.training else _itself


def _itself(values: NDArray[Any]) -> NDArray[Any]:
    return values


def _table(score: Score, outputs: Block) -> View:
    """What a score looks at, by places; the values of a score that learns nothing."""
    seen = score.view(outputs)
    if not score.training:
        seen = score.fit(seen[:0], np.empty(0, np.int64))(seen)
    return lambda places: seen[places]
