"""Checks of independence: an audit rejects rows that share randomness before it gives a verdict.

The checks look at the outputs of an audit, up to `KEPT` of each input. Before a violation is reported they also
look at a few fresh calls. They recognise tiled noise, blocks from a generator that is seeded again, and rows
that come from a pool of one call, on one input or on both. Other dependence is not detected.

They also test whether calls are alike: all rows of a call must follow the law of one output, however many rows
it has. A mechanism may divide by the number of requested outputs, or draw all rows of a call from a small pool
of noise. Then every call has a law of its own, which identifies the call and with it the label.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.checks.repeated_rows import (
    Ids,
    blocks_repeat,
    calls_repeat,
    equal_in_turn,
    row_ids,
    value_in_runs,
)
from dpproof.audits.engine.sampling.callables import (
    PROBES,
    Each,
    Mechanism,
    MechanismError,
    generator,
    outputs,
)
from dpproof.audits.engine.scores.layout import Layout
from dpproof.audits.time_budget import time_left

Bins = NDArray[np.int64]
CELLS = 32
"""Every column is cut into at most so many bins, and whole rows are dealt out to twice as many."""
COLUMNS = 8
"""Of longer outputs so many columns are looked at."""


def bins_of(calls: Sequence[NDArray[np.float64]], ids: Sequence[NDArray[np.uint64]]) -> Iterator[list[Bins]]:
    """The bins of the rows of calls: by size for some columns, by their numbers for whole rows.

    The bins are cut by the half of the rows of every call that `calls_differ` learns from.

    Args:
        calls: the rows of each call as a matrix ``(rows, columns)``.
        ids: a number for each row of each call, equal for equal rows.
    """
    learned = np.concatenate([call[_halves(len(call))[0]] for call in calls])
    for column in np.unique(np.linspace(0, learned.shape[1] - 1, COLUMNS).astype(int)):
        cuts = np.unique(np.quantile(learned[:, column], np.arange(1, CELLS) / CELLS, method="lower"))
        yield [np.searchsorted(cuts, call[:, column]) for call in calls]
    yield [(one % np.uint64(2 * CELLS)).astype(np.int64) for one in ids]


def calls_differ(inputs: Sequence[Sequence[Bins]], level: float) -> bool:
    """Whether the halves of a call deviate in the same way from other calls, far beyond chance.

    Half of the rows of a call, at random places, say in which bins it has more than the average of the calls.
    If rows are independent and of one law, the mean over the other rows of what they earn by that is 0, and
    Hoeffding's inequality bounds how large it gets (docs/notes/audit_pairs.md, Theorem 7).

    Args:
        inputs: of the calls on each input, the bins of the rows.
        level: the probability at most of calling calls different that are not.

    >>> rng = np.random.default_rng(0)
    >>> alike, pools = rng.integers(9, size=(8, 1000)), rng.integers(9, size=(8, 50))
    >>> calls_differ([alike], 1e-8), calls_differ([[rng.choice(pool, 1000) for pool in pools]], 1e-8)
    (False, True)
    """
    parts = np.array([part for calls in inputs for part in _earned(calls)])
    earned, spread = parts.sum(axis=0)
    return bool(earned > 0 and 2 * earned**2 >= -math.log(level) * spread)


def _earned(calls: Sequence[Bins]) -> Iterator[tuple[float, float]]:
    """What the second half of each call earns, and the sum of the squared ranges of its rows."""
    width = 1 + max(int(call.max()) for call in calls)
    halves = [tuple(call[places] for places in _halves(len(call))) for call in calls]
    shares = np.array([np.bincount(one, minlength=width) / len(one) for one, _ in halves])
    for more, (_, rest) in zip(shares - shares.mean(axis=0), halves, strict=True):
        yield float(more[rest].mean()), float(np.ptp(more)) ** 2 / len(rest)


def _halves(rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of the rows to learn from and of the others; the same for all calls with that many rows."""
    places = np.random.default_rng(rows).permutation(rows)
    return places[: rows // 2], places[rows // 2 :]


KEPT = 1 << 18
"""Rows of each input that are kept."""
CALLS, FEWEST, MOST, MORE = 4, 512, 1 << 13, 4
"""Fresh calls on each input, and how many rows each has: four times the most so far, within these."""
FRESH, TIMED = 10, 11
"""Places in the seed's tree of probes for the fresh calls, and for one that is only timed."""
LEAST, SHARE = 64, 0.5
"""The fewest rows of a fresh call where time is short, and the share of the time left for them all."""
UNLIKE_LEVEL = 1e-8
"""The level of one comparison of calls, of which an audit makes at most nine."""
SHARED = (
    "mechanism: the outputs of one call depend on each other: rows come again in blocks, or within a call,"
    " far beyond chance, as tiled noise or a generator that is seeded again has it; rows must be independent"
)
IN_TURN = (
    "mechanism: the outputs of one call depend on each other: equal rows stand side by side far beyond"
    " chance, as where some calls, or parts of a call, have outputs of their own; rows must be independent"
)
UNLIKE = (
    "mechanism: the outputs of one call are unlike those of another, far beyond chance: their law depends on"
    " how many outputs are asked for, or the call draws once what every output must draw anew;"
    " f(data, n, rng) must return n independent outputs, and n must not be taken for the number of records"
)

SHORT = (
    "before the violation was pronounced, shared randomness was looked for in fresh calls of {size} rows"
    " instead of {wanted}, since the time budget allows no more"
)

Labelled = tuple[NDArray[Any], NDArray[np.int64]]


class RowRecord:
    """The outputs of an audit on each input, in the order they were drawn.

    Attributes:
        largest: the most rows of one call.
    """

    def __init__(self) -> None:
        self._columns: tuple[list[list[Ids]], list[list[Ids]]] = ([], [])
        self._kept = [0, 0]
        self.largest = 0

    def watching(self, blocks: Iterable[Labelled]) -> Iterator[Labelled]:
        """Yield the same blocks, and record each of them."""
        for drawn, labels in blocks:
            for label in (0, 1):
                self._note(label, drawn[labels == label])
            yield drawn, labels

    def _note(self, label: int, rows: NDArray[np.generic]) -> None:
        self.largest = max(self.largest, len(rows))
        room = KEPT - self._kept[label]
        if room and len(rows):
            self._columns[label].append(row_ids(rows[:room]))
            self._kept[label] += min(room, len(rows))

    def check(self) -> None:
        """Refuse rows that share randomness, seen in as many of the first as one of few lengths fixed before.

        Raises:
            MechanismError: they do.
        """
        length = max((n for n in _lengths() if n <= min(self._kept)), default=0)
        firsts = [(one[:length], other[:length]) for one, other in self._sequences()]
        if any(map(blocks_repeat, firsts)):
            raise MechanismError(SHARED)
        if any(map(equal_in_turn, firsts)) or any(
            value_in_runs(ids) for pair in self._sequences() for ids in pair
        ):
            raise MechanismError(IN_TURN)

    def _sequences(self) -> Iterator[tuple[Ids, Ids]]:
        """Rows, and each tested column, of both inputs."""
        parts = [_by_column(columns) for columns in self._columns]
        yield from zip(*parts, strict=False)


def _lengths() -> list[int]:
    return [n for power in range(5, KEPT.bit_length()) for n in (1 << power, 3 << (power - 1)) if n <= KEPT]


def _by_column(calls: list[list[Ids]]) -> list[Ids]:
    return [np.concatenate(column) for column in zip(*calls, strict=False)]


def check_fresh_calls(made: Mechanism, pair: Neighbours, seed: int, layout: Layout, largest: int) -> str:
    """Refuse rows that share randomness, or calls unlike each other, seen in a few fresh calls.

    A mechanism that is called once for each output cannot know how many are asked for. Where a time budget
    allows it only so, the calls have fewer rows, but as many as those of a small audit.

    Returns:
        What is taken on trust because the calls had fewer rows; an empty text otherwise.

    Raises:
        MechanismError: they do, or the mechanism fails.
        OutOfTimeError: the time budget is spent.
    """
    each = isinstance(made.function, Each)
    wanted = min(max(largest if each else MORE * largest, FEWEST), MOST)
    size = _affordable(made, pair, seed, wanted, max(LEAST, min(largest, FEWEST)))
    others = [] if each else [size // 2 - call for call in range(2 * CALLS)]
    calls = [_fresh(made, pair, label, seed, layout, [size] * CALLS + others) for label in (0, 1)]
    ids = [[row_ids(block) for block in blocks] for blocks in calls]
    for one, other in zip(*(_by_column(columns[:CALLS]) for columns in ids), strict=False):
        if blocks_repeat((one, other)) or calls_repeat((one, other), size):
            raise MechanismError(SHARED)
    if not each and _unlike([[layout.numbers(block) for block in blocks] for blocks in calls], ids):
        raise MechanismError(UNLIKE)
    return "" if size == wanted else SHORT.format(size=size, wanted=wanted)


def _affordable(made: Mechanism, pair: Neighbours, seed: int, wanted: int, least: int) -> int:
    """The number of rows that a fresh call can have in its share of the time left, by timing one call."""
    if wanted <= least or math.isinf(time_left()):
        return wanted
    begun = time.monotonic()
    outputs(made, pair, 0, least, generator(seed, PROBES, TIMED))
    took = max(time.monotonic() - begun, 1e-9)
    rounds = SHARE * time_left() / (6 * CALLS * took)
    return int(min(max(least * rounds, least), wanted))


def _fresh(
    made: Mechanism, pair: Neighbours, label: int, seed: int, layout: Layout, sizes: Sequence[int]
) -> list[NDArray[Any]]:
    """The outputs of one call of each size."""
    rngs = (generator(seed, PROBES, FRESH, label, call) for call in range(len(sizes)))
    return [layout.settled(outputs(made, pair, label, n, rng)) for n, rng in zip(sizes, rngs, strict=True)]


def _unlike(numbers: list[list[NDArray[np.float64]]], ids: list[list[list[Ids]]]) -> bool:
    """Whether calls differ from each other, in one of some columns or in whole rows."""
    whole_rows = [[column[0] for column in columns] for columns in ids]
    binned = zip(*map(bins_of, numbers, whole_rows), strict=True)
    return any(calls_differ(inputs, UNLIKE_LEVEL) for inputs in binned)
