"""The stream in blocks, drawn here or by an executor, always the same."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.outputs import digest
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.betting.schedule import AHEAD, Blocks, Pace
from dpproof.audits.engine.sampling.callables import (
    PROBES,
    Auditable,
    MechanismError,
    as_mechanism,
    draw,
    generator,
    outputs,
)
from dpproof.audits.engine.sampling.progress import watcher
from dpproof.audits.engine.scores.layout import Layout
from dpproof.audits.time_budget import check_time

LARGEST, DEAR = 1 << 17, 1 << 16
"""A block holds at most so many samples, which processor caches hold too, and fewer of those that cost a
request; each has a seed of its own."""
NUMBERS = 1 << 22
REPEATED = 1 << 12
"""About so many samples of the first blocks, and as many of the last, are drawn again."""
BETWEEN = 9
"""Place in the seed's tree of probes for the calls made between repeated blocks."""

Labelled = tuple[NDArray[Any], NDArray[np.int64]]


@dataclass(frozen=True)
class Drawn:
    """A block that was drawn: its number, its size and its outputs."""

    block: int
    size: int
    outputs: NDArray[Any]


class Record:
    """The first and the last blocks of a stream, about `REPEATED` samples each."""

    def __init__(self) -> None:
        self._first: list[Drawn] = []
        self._last: deque[Drawn] = deque()
        self._begun = self._ended = 0

    def note(self, drawn: Drawn) -> None:
        """Remember one more block; those no longer among the last are let go."""
        if self._begun < REPEATED:
            self._first.append(drawn)
            self._begun += drawn.size
        self._last.append(drawn)
        self._ended += drawn.size
        while self._ended - self._last[0].size >= REPEATED:
            self._ended -= self._last.popleft().size

    def ends(self) -> list[Drawn]:
        """The blocks remembered, the last one first."""
        found = {drawn.block: drawn for drawn in (*self._first, *self._last)}
        return [found[block] for block in sorted(found, reverse=True)]


def draw_blocks(
    sampler: Auditable,
    pair: Neighbours,
    seed: int,
    budget: int,
    executor: Executor | None,
    layout: Layout | None = None,
    record: Record | None = None,
    pace: Pace | None = None,
) -> Iterator[Labelled]:
    """Yield the samples block by block; blocks and their seeds do not depend on the workers.

    Args:
        sampler, pair, seed: what is drawn from.
        budget: how many samples in all.
        executor: draws blocks ahead, if given.
        layout: what outputs look like; blocks hold at most about `NUMBERS` numbers of that width.
        record: is given every block, for `check_repeats`.
        pace: decides how large the blocks to come are, from what earlier ones have shown.
    """
    width, made = 1 if layout is None else layout.width, as_mechanism(sampler)
    blocks = Blocks(budget, pace or Pace(), largest_block(width, budget, made.together), made.together)
    ask = functools.partial(draw, made, pair, seed=seed, layout=layout)
    drawn = _in_turn(ask, blocks) if executor is None else _ahead(ask, blocks, executor)
    tell, spent = watcher(), 0
    for block, (outputs_, labels) in enumerate(drawn):
        if record is not None:
            record.note(Drawn(block, len(labels), outputs_))
        spent += len(labels)
        check_time()
        if tell is not None:
            tell(spent, budget)
        yield outputs_, labels


def largest_block(width: int, budget: int, together: int) -> int:
    """The most samples that a block holds.

    Args:
        width: how many numbers the scores see of one output.
        budget: samples in all; an eighth of them at most, so that no worker waits for the last block.
        together: the fewest samples that a mechanism is asked for.
    """
    most = LARGEST if together == 1 else DEAR
    return min(most, NUMBERS // max(width, 1), max(budget // AHEAD, together))


def check_repeats(
    sampler: Auditable, pair: Neighbours, seed: int, record: Record, layout: Layout | None
) -> None:
    """Draw the first and the last blocks again, last first and with another call between, and compare.

    A mechanism that keeps a state between its calls can make the label visible without any fault of its
    law. Only one that is a function of its arguments passes; so no violation rests on such a state.

    Raises:
        MechanismError: a block came out differently. Mechanisms with randomness of their own are not asked.
    """
    made = as_mechanism(sampler)
    if not made.seeded:
        return
    for noted in record.ends():
        outputs(made, pair, 0, 1, generator(seed, PROBES, BETWEEN))
        again, _ = draw(made, pair, noted.size, seed, noted.block, layout)
        if digest(again) != digest(noted.outputs):
            raise MechanismError(
                f"mechanism: asked again for block {noted.block}, with an equal generator, it gives"
                " other outputs; it keeps a state between calls"
            )


def _in_turn(ask: Callable[..., Labelled], blocks: Blocks) -> Iterator[Labelled]:
    for block, (size, *_) in enumerate(blocks):
        yield ask(size=size, block=block)


def _ahead(ask: Callable[..., Labelled], blocks: Blocks, executor: Executor) -> Iterator[Labelled]:
    """Yield the same blocks, and draw the foretold ones ahead. A wrongly foretold block is dropped unseen."""
    waiting: deque[tuple[int, Future[Labelled]]] = deque()
    try:
        for block, sizes in enumerate(blocks):
            while tuple(size for size, _ in waiting) != sizes[: len(waiting)]:
                waiting.pop()[1].cancel()
            for place in range(len(waiting), len(sizes)):
                asked = executor.submit(ask, size=sizes[place], block=block + place)
                waiting.append((sizes[place], asked))
            yield waiting.popleft()[1].result()
    finally:
        for _, future in waiting:
            future.cancel()
