"""The samples of an audit, drawn in blocks. With an executor or without, the blocks are the same."""

from __future__ import annotations

import functools
import math
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
"""The largest number of samples that are drawn together in a block, which fits into processor caches, and a smaller
number for mechanisms that are expensive to call."""
NUMBERS = 1 << 22
REPEATED, SPARED = 1 << 12, 4
"""To find a state between calls, the audit draws about this many of the first and of the last samples again. For a
slow mechanism, it draws `SPARED` times the outputs of another check again, and at least one block."""
BETWEEN = 9
"""The number of the random stream for the calls between repeated blocks."""

Labelled = tuple[NDArray[Any], NDArray[np.int64]]


@dataclass(frozen=True)
class Drawn:
    """A block of samples that was drawn: its number, its size and its outputs."""

    block: int
    size: int
    outputs: NDArray[Any]


class Record:
    """A record of the first and of the last blocks of an audit, about `REPEATED` samples each."""

    def __init__(self) -> None:
        self._first: list[Drawn] = []
        self._last: deque[Drawn] = deque()
        self._begun = self._ended = 0

    def note(self, drawn: Drawn) -> None:
        """Add one more block to the record, and drop blocks that are no longer among the last ones."""
        if self._begun < REPEATED:
            self._first.append(drawn)
            self._begun += drawn.size
        self._last.append(drawn)
        self._ended += drawn.size
        while self._ended - self._last[0].size >= REPEATED:
            self._ended -= self._last.popleft().size

    def ends(self) -> list[Drawn]:
        """Return the recorded blocks, the last one first."""
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
    """Generate the samples of an audit block by block: the outputs and the labels (0 or 1) of their inputs.

    Args:
        sampler, pair, seed: the mechanism, its inputs and the audit's seed.
        budget: the total number of samples.
        executor: draws blocks ahead in parallel, if given; it does not change the samples.
        layout: the conversion of outputs to numbers; a block holds at most about `NUMBERS` numbers after conversion.
        record: records every block for `check_repeats`.
        pace: the rule for the size of the next block.
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
    """Return the largest number of samples in a block, which is the number of samples that are drawn together.

    Args:
        width: the number of columns to which one output is converted for the scores.
        budget: the total number of samples; a block has at most an eighth, so that workers share the last blocks.
        together: the smallest number of samples that is requested from the mechanism at once.
    """
    most = LARGEST if together == 1 else DEAR
    return min(most, NUMBERS // max(width, 1), max(budget // AHEAD, together))


def check_repeats(
    sampler: Auditable, pair: Neighbours, seed: int, record: Record, layout: Layout | None
) -> None:
    """Draw the first and the last blocks again, in another order, and raise an error if their outputs differ.

    The blocks are drawn in reverse order, with other calls between them. If a mechanism keeps a state between calls,
    the state could reveal the input even if the output distribution is correct. So the outputs must depend on the
    arguments only. A mechanism with randomness of its own, which no seed determines, is not tested.

    Raises:
        MechanismError: a block differs from its first version.
    """
    made = as_mechanism(sampler)
    if not made.seeded:
        return
    left = SPARED * made.sparing if made.sparing else math.inf
    for noted in record.ends():
        if left <= 0:
            return
        left -= noted.size
        outputs(made, pair, 0, 1, generator(seed, PROBES, BETWEEN))
        again, _ = draw(made, pair, noted.size, seed, noted.block, layout)
        if digest(again) != digest(noted.outputs):
            raise MechanismError(
                f"mechanism gives other outputs when block {noted.block} is drawn again with an equal"
                " generator. It must not keep a state between calls."
            )


def _in_turn(ask: Callable[..., Labelled], blocks: Blocks) -> Iterator[Labelled]:
    for block, (size, *_) in enumerate(blocks):
        yield ask(size=size, block=block)


def _ahead(ask: Callable[..., Labelled], blocks: Blocks, executor: Executor) -> Iterator[Labelled]:
    """Yield the same blocks, and draw predicted blocks ahead; a wrongly predicted block is dropped without use."""
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
