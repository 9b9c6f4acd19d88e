"""Fresh outputs of a mechanism on the first input of a pair, for choosing events and for planting violations.

The outputs are drawn in chunks. Each chunk has its own seed, so its outputs do not depend on the number of workers or
on the time of drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from concurrent.futures import Executor, Future
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.alike import parts_of
from dpproof.audits.data.canonical import canonical_text
from dpproof.audits.data.encoding import lengths, values_between
from dpproof.audits.data.outputs import Block, joined
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.sampling.blocks import largest_block
from dpproof.audits.engine.sampling.callables import POWER, Mechanism, generator, outputs
from dpproof.audits.engine.scores.layout import WIDEST, Layout
from dpproof.audits.engine.scores.protocol import View

T = TypeVar("T")

SKETCH, FEWEST = 4096, 1024
"""The largest and the smallest number of outputs for choosing events. These outputs are used for nothing else."""
NUMBERS = 1 << 24
"""About the largest amount of numbers that are kept in memory for several kinds of events, and the largest amount of
numbers in a stream to which a violation is added."""
CHUNKS, SMALLEST = 32, 64
"""A chunk (the outputs that are drawn together) has 1 / `CHUNKS` of an audit's samples, but at least `SMALLEST`."""
FARTHEST = 512
"""For outputs that are not arrays of numbers, events use at most this many numbers and words of an output."""
AHEAD = 8
"""The number of chunks of outputs that an executor draws ahead."""
INPUT = 0
"""The label of the input on which the outputs are drawn."""
OF_SKETCH, OF_CHUNKS = 0, 99
"""The numbers of two random streams. The kinds of events have the numbers between them."""


class Outputs:
    """Some outputs of a mechanism, and their conversions for events and scores, each computed once.

    Attributes:
        rows: the outputs.
        layout: the conversion of outputs to numbers.
    """

    def __init__(self, rows: Block, layout: Layout) -> None:
        self.rows, self.layout = rows, layout
        self._seen: dict[int, tuple[View, NDArray[Any]]] = {}
        self._once: dict[Callable[[Outputs], Any], Any] = {}

    @cached_property
    def numbers(self) -> NDArray[Any]:
        """The outputs as a matrix, with exact whole numbers.

        A cell is one number or word of an output. Scores use the first `WIDEST` cells only. For longer outputs the
        matrix has up to `FARTHEST` cells, so that events can use later cells.
        """
        if self.layout.plain and self.rows.dtype.kind in "biuO":
            return self.rows.reshape(len(self.rows), -1)
        seen = self.seen(self.layout.view).reshape(len(self.rows), -1)
        if self.layout.plain or self.layout.cells < WIDEST:
            return seen
        return np.hstack([seen, values_between(self.rows, WIDEST, FARTHEST)])

    @cached_property
    def cut(self) -> bool:
        """Whether some outputs are longer than the part that events use."""
        return not self.layout.plain and bool((lengths(self.rows) > FARTHEST).any())

    @cached_property
    def words(self) -> list[list[str]]:
        """The words of every output, in their order: words of texts, and elements of nested collections."""
        return [list(_tokens(output)) for output in self.rows]

    def once(self, about: Callable[[Outputs], T]) -> T:
        """Return ``about`` of these outputs, computed once. ``about`` must be a function of a module."""
        if about not in self._once:
            self._once[about] = about(self)
        found: T = self._once[about]
        return found

    def seen(self, view: View) -> NDArray[Any]:
        """Return the outputs, converted by ``view``, the function that makes the input of a score."""
        if id(view) not in self._seen:
            self._seen[id(view)] = view, view(self.rows)  # a view that is held keeps its id
        return self._seen[id(view)][1]


class FreshOutputs:
    """A source of fresh outputs of a mechanism on the first input, drawn in chunks.

    Args:
        made, pair, seed: the mechanism, its inputs and the audit's seed.
        layout: the conversion of outputs to numbers.
        samples: the number of samples of one audit of a planted (known) violation.
        executor: draws chunks ahead in parallel, if given.

    Attributes:
        size: the number of outputs of a chunk.
    """

    def __init__(
        self,
        made: Mechanism,
        pair: Neighbours,
        layout: Layout,
        samples: int,
        seed: int,
        executor: Executor | None = None,
    ) -> None:
        most = largest_block(layout.width, samples, made.together)
        self.size = min(max(samples // CHUNKS, SMALLEST, made.together), max(most, 1))
        self._asked = made, pair, layout, self.size, seed
        self._kept: dict[int, Outputs] = {}
        self._room = NUMBERS // (self.size * max(layout.width, 1))
        self._executor, self._coming = executor, dict[int, Future[Outputs]]()

    def chunk(self, number: int) -> Outputs:
        """Return the chunk of outputs with this number. The first chunks are kept in memory, as many as fit.

        Raises:
            MechanismError: as for `dpproof.audits.engine.sampling.callables.outputs`.
            OutOfTimeError: the time budget is spent.
        """
        if number in self._kept:
            return self._kept[number]
        drawn = self._drawn(number)
        if number < self._room:
            self._kept[number] = drawn
        return drawn

    def _drawn(self, number: int) -> Outputs:
        if self._executor is None:
            return _drawn(*self._asked, number)
        for ahead in range(number, number + AHEAD):
            if ahead not in self._kept and ahead not in self._coming:
                self._coming[ahead] = self._executor.submit(_drawn, *self._asked, ahead)
        return self._coming.pop(number).result()


def draw_sketch(
    made: Mechanism,
    pair: Neighbours,
    layout: Layout,
    samples: int,
    seed: int,
    executor: Executor | None = None,
) -> Outputs:
    """Return the outputs from which events are chosen. They do not depend on the executor."""
    most = largest_block(layout.width, samples, made.together)
    sizes = [min(most, samples - start) for start in range(0, samples, most)]
    asked = [(made, pair, size, generator(seed, POWER, OF_SKETCH, i)) for i, size in enumerate(sizes)]
    blocks = list(map(_rows, asked) if executor is None else executor.map(_rows, asked))
    return Outputs(layout.settled(joined(blocks)), layout)


def planted_samples(samples: int, layout: Layout) -> int:
    """Return the number of samples to which a violation is added: those of the audit, or fewer if memory is short."""
    return min(samples, max(1, NUMBERS // max(layout.width, 1)))


def _rows(asked: tuple[Mechanism, Neighbours, int, np.random.Generator]) -> Block:
    made, pair, size, rng = asked
    return outputs(made, pair, INPUT, size, rng)


def _drawn(made: Mechanism, pair: Neighbours, layout: Layout, size: int, seed: int, number: int) -> Outputs:
    rng = generator(seed, POWER, OF_CHUNKS, number)
    return Outputs(layout.settled(outputs(made, pair, INPUT, size, rng)), layout)


def _tokens(value: object) -> Iterator[str]:
    """Generate the parts of an output as tokens; a token for an entry of a table contains its name.

    >>> list(_tokens(["a b", {"x": 1}]))
    ['a', 'b', '["x",1]']
    """
    match value:
        case str():
            yield from parts_of(value) or [value]
        case list() | tuple() | np.ndarray():
            for part in value:
                yield from _tokens(part)
        case Mapping():
            yield from sorted(map(canonical_text, value.items()))
        case Set():
            yield from sorted(map(canonical_text, value))
        case _:
            yield canonical_text(value)
