"""The stream in blocks and chunks, drawn here or by an executor, always the same."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.pairs import Pair
from audits.sampling import Sampler, draw
from audits.schedule import block_sizes

__all__ = ["draw_blocks"]

CHUNK = 4096
"""A block is drawn in chunks of so many samples, each with its own seed."""
NUMBERS = 1 << 24
AHEAD = 8
"""With an executor, so many chunks are drawn ahead."""

Chunk = tuple[int, int, int]
Labelled = tuple[NDArray[Any], NDArray[np.int64]]


def draw_blocks(
    sampler: Sampler, pair: Pair, seed: int, budget: int, executor: Executor | None, width: int = 1
) -> Iterator[Labelled]:
    """Yield the samples block by block; a block's chunks and their seeds do not depend on the workers.

    ``width`` is how many numbers one output holds; blocks hold at most about `NUMBERS`.
    """
    sizes = list(block_sizes(budget, NUMBERS // width))
    chunks = (
        (size, block, chunk) for block, total in enumerate(sizes) for chunk, size in enumerate(_split(total))
    )
    drawn = _drawn(chunks, sampler, pair, seed, executor)
    for total in sizes:
        parts = list(itertools.islice(drawn, len(_split(total))))
        yield np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _split(total: int) -> list[int]:
    whole, rest = divmod(total, CHUNK)
    return [CHUNK] * whole + [rest] * (rest > 0)


def _drawn(
    chunks: Iterator[Chunk], sampler: Sampler, pair: Pair, seed: int, executor: Executor | None
) -> Iterator[Labelled]:
    if executor is None:
        yield from (draw(sampler, pair, size, seed, block, chunk) for size, block, chunk in chunks)
        return
    waiting = [
        executor.submit(draw, sampler, pair, c[0], seed, *c[1:]) for c in itertools.islice(chunks, AHEAD)
    ]
    try:
        while waiting:
            yield waiting.pop(0).result()
            waiting += [
                executor.submit(draw, sampler, pair, c[0], seed, *c[1:]) for c in itertools.islice(chunks, 1)
            ]
    finally:
        for future in waiting:
            future.cancel()
