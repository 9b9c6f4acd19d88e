"""Sampling a mechanism on a pair: seeded by block, independent of workers, and checked.

One stream: a fair coin picks the input of each sample. The samples of one label are drawn together, then put
where the coins say. So the place of a sample in a block tells nothing of its label. That matters: a score
is a sum in floating point, whose last bit may depend on the place of a row in a matrix. Where outputs are
their own scores they stay as they are drawn, which saves half of the time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.outputs import Block, as_block, has_nan, is_numeric, joined, nan_count
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.sampling.callables import (
    HINT,
    Auditable,
    Mechanism,
    MechanismError,
    Sampler,
    as_mechanism,
)
from dpproof.audits.engine.scores.layout import Layout
from dpproof.audits.time_budget import check_time

__all__ = ["BLOCKS", "POWER", "PROBES", "SEARCH", "MechanismError", "Sampler", "draw", "generator", "outputs"]

BLOCKS, PROBES, POWER, SEARCH, PAIRS = range(5)
"""The streams of a seed: samples, checks of the mechanism, the reference pair, a search, several pairs."""
AGAIN = 100
"""A mechanism that raised is called so many times more, to say how often it does."""


def generator(seed: int, *place: int) -> np.random.Generator:
    """The generator at a place of the seed's tree, the one that `SeedSequence.spawn` would give there."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=place))


def draw(
    sampler: Auditable, pair: Neighbours, size: int, seed: int, block: int, layout: Layout | None = None
) -> tuple[Block, NDArray[np.int64]]:
    """Draw ``size`` labelled samples: outputs ``(size, ...)`` and labels ``(size,)``, fair and independent.

    In an `ordered` layout those with label 0 come first; how many there are is up to as many coins.

    Raises:
        MechanismError: the mechanism raises, or returns NaN or the wrong number of outputs.
    """
    rng = generator(seed, BLOCKS, block)
    coins = np.unpackbits(np.frombuffer(rng.bytes((size + 7) // 8), np.uint8), count=size)
    ones = int(np.count_nonzero(coins))
    drawn = [outputs(sampler, pair, b, n, rng) for b, n in enumerate((size - ones, ones)) if n]
    if layout is not None and layout.ordered:
        return layout.settled(joined(drawn)), np.repeat(np.arange(2, dtype=np.int8), (size - ones, ones))
    places = [at for at in (np.flatnonzero(coins == label) for label in (0, 1)) if at.size]
    placed = _placed(drawn, places, size)
    return placed if layout is None else layout.settled(placed), coins.astype(np.int64)


def _placed(drawn: list[Block], places: list[NDArray[np.intp]], size: int) -> Block:
    """Put the rows of each part at its places, in an array of numbers if that holds them all."""
    together = joined(drawn)
    placed = np.empty_like(together, shape=(size, *together.shape[1:]))
    placed[np.concatenate(places)] = together
    return placed


def outputs(sampler: Auditable, pair: Neighbours, label: int, n: int, rng: np.random.Generator) -> Block:
    """Call the mechanism once on an input of the pair and check what it returns.

    Raises:
        MechanismError: as in `draw`, naming the input.
    """
    check_time()
    made, data = as_mechanism(sampler), (pair.first, pair.second)[label]
    where = f"on the {('first', 'second')[label]} input"
    try:
        returned = made(data, n, rng)
    except MechanismError as failure:
        raise MechanismError(f"mechanism: {failure}, {where}") from failure
    except (Exception, SystemExit) as failure:
        raised = f"raised {type(failure).__name__} ({failure})"
        raise MechanismError(f"mechanism: {raised} {where}{_how_often(made, data, n, rng)}") from failure
    try:
        return _checked(as_block(returned), n, made.nan == "token")
    except (TypeError, ValueError, RecursionError) as wrong:
        raise MechanismError(f"mechanism: {wrong}, {where}") from wrong


def _checked(block: Block, n: int, nan: bool) -> Block:
    if len(block) != n:
        raise ValueError(f"the outputs' shape {block.shape} must begin with {n}, one per sample")
    if is_numeric(block) and not has_nan(block):
        return block
    found = nan_count(block)
    if found and not nan:
        raise ValueError(f'{found} of {n} outputs are NaN, or hold one (nan="token" makes NaN an output)')
    return block


def _how_often(made: Mechanism, data: object, n: int, rng: np.random.Generator) -> str:
    """In words, how often single calls raise."""
    failed = 0
    for _ in range(AGAIN):
        check_time()
        try:
            made(data, 1, rng)
        except (Exception, SystemExit):
            failed += 1
    return f" when asked for {n} samples, and in {failed} of {AGAIN} further calls for one{HINT}"
