"""Checks of independence: before its verdict, an audit rejects a mechanism whose outputs share randomness.

A call of a mechanism returns a matrix with one output per row. The checks test the rows of an audit, up to `KEPT` for
each input. Before the audit reports a violation, they also test a few fresh calls. They detect noise that is repeated
in blocks, a generator that is seeded again, and rows that a call draws from a small pool. They do not detect other
dependence.

The checks also test whether calls are alike: every row of every call must have the same distribution, whatever the
number of rows. A faulty mechanism may divide by the number of requested outputs, or draw all rows of a call from a
small pool of noise. Then each call has its own distribution, which reveals the call, and so the input.
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
"""The largest number of bins for the values of a column; whole rows have twice as many bins."""
COLUMNS = 8
"""The largest number of columns that are tested."""


def bins_of(calls: Sequence[NDArray[np.float64]], ids: Sequence[NDArray[np.uint64]]) -> Iterator[list[Bins]]:
    """Generate several divisions of the rows into bins: one for each of some columns, and one for whole rows.

    A division gives for each call an array with the number of the bin of each row. The bins of a column are ranges of
    values. Their edges are computed from one half of the rows of each call. `calls_differ` learns from the same half.

    Args:
        calls: the rows of each call as a matrix ``(rows, columns)``.
        ids: for each call, an array with a number for each row; equal rows have equal numbers.
    """
    learned = np.concatenate([call[_halves(len(call))[0]] for call in calls])
    for column in np.unique(np.linspace(0, learned.shape[1] - 1, COLUMNS).astype(int)):
        cuts = np.unique(np.quantile(learned[:, column], np.arange(1, CELLS) / CELLS, method="lower"))
        yield [np.searchsorted(cuts, call[:, column]) for call in calls]
    yield [(one % np.uint64(2 * CELLS)).astype(np.int64) for one in ids]


def calls_differ(inputs: Sequence[Sequence[Bins]], level: float) -> bool:
    """Return whether calls have different distributions.

    If a call differs from the other calls, both halves of its rows show the same difference. The test uses a random
    half of the rows of each call to compare the call with the average call: it estimates for each bin how much larger
    the share of the call's rows in this bin is. Each row of the other half is given the estimate of its bin. If all
    rows are independent with the same distribution, these numbers have mean 0, and Hoeffding's inequality bounds
    their average (docs/notes/audit_pairs.md, Theorem 7).

    Args:
        inputs: for each input and each of its calls, the number of the bin (range of values) of each row.
        level: a bound on the probability of a false alarm.

    >>> rng = np.random.default_rng(0)
    >>> alike, pools = rng.integers(9, size=(8, 1000)), rng.integers(9, size=(8, 50))
    >>> calls_differ([alike], 1e-8), calls_differ([[rng.choice(pool, 1000) for pool in pools]], 1e-8)
    (False, True)
    """
    parts = np.array([part for calls in inputs for part in _earned(calls)])
    earned, spread = parts.sum(axis=0)
    return bool(earned > 0 and 2 * earned**2 >= -math.log(level) * spread)


def _earned(calls: Sequence[Bins]) -> Iterator[tuple[float, float]]:
    """Generate for each call the mean score of its n other rows, and the squared range of a score over n."""
    width = 1 + max(int(call.max()) for call in calls)
    halves = [tuple(call[places] for places in _halves(len(call))) for call in calls]
    shares = np.array([np.bincount(one, minlength=width) / len(one) for one, _ in halves])
    for more, (_, rest) in zip(shares - shares.mean(axis=0), halves, strict=True):
        yield float(more[rest].mean()), float(np.ptp(more)) ** 2 / len(rest)


def _halves(rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the rows to learn from, and the other places. They depend on the number of rows only."""
    places = np.random.default_rng(rows).permutation(rows)
    return places[: rows // 2], places[rows // 2 :]


KEPT = 1 << 18
"""The largest number of outputs of each input that are kept for the checks."""
CALLS, FEWEST, MOST, MORE = 4, 512, 1 << 13, 4
"""The number of fresh calls of the mechanism on each input, and their numbers of rows (outputs): `MORE` times the
largest call of the audit, but at least `FEWEST` and at most `MOST`."""
FRESH, TIMED = 10, 11
"""The numbers of the random streams for the fresh calls, and for a call that is only timed."""
LEAST, SHARE = 64, 0.5
"""The fewest rows of a fresh call if time is short, and the share of the remaining time for all fresh calls."""
UNLIKE_LEVEL = 1e-8
"""The largest probability of a false alarm in one comparison of calls. An audit makes at most nine."""
SHARED = (
    "mechanism returns rows that depend on each other. They repeat in blocks or within a call far more often"
    " than by chance, for example because a generator is seeded again. Rows must be independent."
)
IN_TURN = (
    "mechanism returns rows that depend on each other. Equal rows are adjacent far more often than by chance,"
    " for example because each call prefers some outputs. Rows must be independent."
)
UNLIKE = (
    "mechanism returns outputs whose distribution differs between calls, far beyond chance. It depends on n,"
    " or the call draws something once for all outputs. f(data, n, rng) must return n independent outputs;"
    " n is not the number of records."
)

SHORT = (
    "the search for shared randomness used fresh calls of {size} rows instead of {wanted}, because the function is"
    " called once for each output, or the time budget allowed no more"
)

Labelled = tuple[NDArray[Any], NDArray[np.int64]]


class RowRecord:
    """The outputs of an audit on each input, in the order they were drawn.

    Attributes:
        largest: the largest number of outputs of one input in one block.
    """

    def __init__(self) -> None:
        self._columns: tuple[list[list[Ids]], list[list[Ids]]] = ([], [])
        self._kept = [0, 0]
        self.largest = 0

    def watching(self, blocks: Iterable[Labelled]) -> Iterator[Labelled]:
        """Generate the given blocks unchanged, and record each block."""
        for drawn, labels in blocks:
            columns = row_ids(drawn) if min(self._kept) < KEPT else []
            for label in (0, 1):
                self._note(label, columns, labels == label)
            yield drawn, labels

    def _note(self, label: int, columns: list[Ids], of_label: NDArray[np.bool_]) -> None:
        rows, room = int(np.count_nonzero(of_label)), KEPT - self._kept[label]
        self.largest = max(self.largest, rows)
        if room and rows:
            self._columns[label].append([column[of_label][:room] for column in columns])
            self._kept[label] += min(room, rows)

    def check(self) -> None:
        """Raise an error if the recorded rows (outputs) share randomness.

        Raises:
            MechanismError: rows share randomness.
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
        """Generate the numbers of the whole rows, and of each tested column, for both inputs."""
        parts = [_by_column(columns) for columns in self._columns]
        yield from zip(*parts, strict=False)


def _lengths() -> list[int]:
    return [n for power in range(5, KEPT.bit_length()) for n in (1 << power, 3 << (power - 1)) if n <= KEPT]


def _by_column(calls: list[list[Ids]]) -> list[Ids]:
    return [np.concatenate(column) for column in zip(*calls, strict=False)]


def check_fresh_calls(made: Mechanism, pair: Neighbours, seed: int, layout: Layout, largest: int) -> str:
    """Raise an error if rows share randomness or calls have different distributions, in a few fresh calls.

    A row is one output. A mechanism that is called once for each output does not know how many outputs are requested,
    so its calls are not compared. If the time budget is short, the calls have fewer rows.

    Returns:
        The assumption that is not checked because the calls had fewer rows; an empty text otherwise.

    Raises:
        MechanismError: rows share randomness, calls have different distributions, or the mechanism fails.
        OutOfTimeError: the time budget is spent.
    """
    each = isinstance(made.function, Each) or made.sparing > 0
    wanted = min(max(largest if each else MORE * largest, FEWEST), MOST)
    size = made.sparing or _affordable(made, pair, seed, wanted, max(LEAST, min(largest, FEWEST)))
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
    """Time one call, and return the number of rows of a fresh call for which the remaining time suffices."""
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
    """Return the outputs of one call of each size."""
    rngs = (generator(seed, PROBES, FRESH, label, call) for call in range(len(sizes)))
    return [layout.settled(outputs(made, pair, label, n, rng)) for n, rng in zip(sizes, rngs, strict=True)]


def _unlike(numbers: list[list[NDArray[np.float64]]], ids: list[list[list[Ids]]]) -> bool:
    """Whether calls differ from each other in whole rows or in one of the tested columns."""
    whole_rows = [[column[0] for column in columns] for columns in ids]
    binned = zip(*map(bins_of, numbers, whole_rows), strict=True)
    return any(calls_differ(inputs, UNLIKE_LEVEL) for inputs in binned)
