"""The stream in blocks and chunks, drawn here or by an executor, always the same."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.callables import Auditable, MechanismError, as_mechanism
from audits.layout import Layout
from audits.outputs import digest, joined
from audits.pairs import Pair
from audits.sampling import PROBES, draw, generator, outputs
from audits.schedule import block_sizes

__all__ = ["Record", "check_repeats", "draw_blocks"]

CHUNK = 4096
"""A block is drawn in chunks of so many samples, each with its own seed."""
NUMBERS = 1 << 24
AHEAD = 8
"""With an executor, so many chunks are drawn ahead."""
REPEATED = 1 << 12
"""About so many samples of the first chunks, and as many of the last, are drawn again."""
BETWEEN = 9
"""Place in the seed's tree of probes for the calls made between repeated chunks."""

Chunk = tuple[int, int, int]
Labelled = tuple[NDArray[Any], NDArray[np.int64]]
Record = list[tuple[Chunk, str]]
"""Chunks drawn, each with the digest of its outputs."""


def draw_blocks(
    sampler: Auditable,
    pair: Pair,
    seed: int,
    budget: int,
    executor: Executor | None,
    layout: Layout | None = None,
    record: Record | None = None,
) -> Iterator[Labelled]:
    """Yield the samples block by block; a block's chunks and their seeds do not depend on the workers.

    Args:
        sampler, pair, seed: what is drawn from.
        budget: how many samples in all.
        executor: draws chunks ahead, if given.
        layout: what outputs look like; blocks hold at most about `NUMBERS` numbers of that width.
        record: is given every chunk with a digest of its outputs, for `check_repeats`.
    """
    width = 1 if layout is None else layout.width
    sizes = list(block_sizes(budget, NUMBERS // width))
    chunks = [(size, block, k) for block, total in enumerate(sizes) for k, size in enumerate(_split(total))]
    drawn = zip(chunks, _drawn(iter(chunks), sampler, pair, seed, executor, layout), strict=True)
    for total in sizes:
        parts = list(itertools.islice(drawn, len(_split(total))))
        for chunk, (block, _) in parts:
            if record is not None:
                record.append((chunk, digest(block)))
        yield joined([part[0] for _, part in parts]), np.concatenate([part[1] for _, part in parts])


def check_repeats(sampler: Auditable, pair: Pair, seed: int, record: Record, layout: Layout | None) -> None:
    """Draw the first and the last chunks again, last first and with another call between, and compare.

    A mechanism that keeps a state between its calls can make the label visible without any fault of its
    law. Only one that is a function of its arguments passes; so no violation rests on such a state.

    Raises:
        MechanismError: a chunk came out differently. Mechanisms with randomness of their own are not asked.
    """
    if not as_mechanism(sampler).seeded:
        return
    ends = {*_reaching(record, REPEATED), *_reaching(record[::-1], REPEATED)}
    for (size, block, k), expected in sorted(ends, key=lambda noted: noted[0][1:], reverse=True):
        outputs(sampler, pair, 0, 1, generator(seed, PROBES, BETWEEN))
        if digest(draw(sampler, pair, size, seed, block, k, layout)[0]) != expected:
            raise MechanismError(
                f"mechanism: asked again for chunk {k} of block {block}, with an equal generator, it gives"
                " other outputs; it keeps a state between calls"
            )


def _reaching(record: Record, samples: int) -> Record:
    """The first chunks, until they hold so many samples."""
    sizes = itertools.accumulate(chunk[0] for chunk, _ in record)
    return [noted for noted, upto in zip(record, sizes, strict=True) if upto - noted[0][0] < samples]


def _split(total: int) -> list[int]:
    whole, rest = divmod(total, CHUNK)
    return [CHUNK] * whole + [rest] * (rest > 0)


def _drawn(
    chunks: Iterator[Chunk],
    sampler: Auditable,
    pair: Pair,
    seed: int,
    executor: Executor | None,
    layout: Layout | None,
) -> Iterator[Labelled]:
    if executor is None:
        yield from (draw(sampler, pair, size, seed, block, k, layout) for size, block, k in chunks)
        return
    waiting = [
        executor.submit(draw, sampler, pair, c[0], seed, *c[1:], layout)
        for c in itertools.islice(chunks, AHEAD)
    ]
    try:
        while waiting:
            yield waiting.pop(0).result()
            waiting += [
                executor.submit(draw, sampler, pair, c[0], seed, *c[1:], layout)
                for c in itertools.islice(chunks, 1)
            ]
    finally:
        for future in waiting:
            future.cancel()
