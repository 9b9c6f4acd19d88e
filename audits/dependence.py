"""Rows that share randomness are refused before any verdict, at any distance.

All outputs that were drawn are looked at, up to `KEPT` of each input; before a violation also those of a few
more calls. What is recognised: noise that is tiled, blocks from a generator that is seeded again, rows that
come from a pool of one call, on one input or on both. Other dependence is taken on trust.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.callables import Mechanism, MechanismError
from audits.layout import Layout
from audits.pairs import Pair
from audits.repeated_rows import Ids, blocks_repeat, calls_repeat, row_ids
from audits.sampling import PROBES, generator, outputs

__all__ = ["RowRecord", "check_fresh_calls"]

KEPT = 1 << 18
"""Rows of each input that are kept."""
CALLS, FEWEST, MOST = 4, 512, 1 << 13
"""Fresh calls on each input, and how many rows each has: as many as the largest so far, within these."""
FRESH = 10
"""Place in the seed's tree of probes for the fresh calls."""
SHARED = (
    "mechanism: the outputs of one call depend on each other: rows come again in blocks, or within a call,"
    " far beyond chance, as tiled noise or a generator that is seeded again has it; rows must be independent"
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
        """The same blocks, each noted as it passes."""
        for drawn, labels in blocks:
            for label in (0, 1):
                self._note(label, drawn[labels == label])
            yield drawn, labels

    def _note(self, label: int, rows: NDArray[Any]) -> None:
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
        if any(blocks_repeat((one[:length], other[:length])) for one, other in self._sequences()):
            raise MechanismError(SHARED)

    def _sequences(self) -> Iterator[tuple[Ids, Ids]]:
        """Rows, and each column that is looked at, of both inputs."""
        parts = [_by_column(columns) for columns in self._columns]
        yield from zip(*parts, strict=False)


def _lengths() -> list[int]:
    return [n for power in range(5, KEPT.bit_length()) for n in (1 << power, 3 << (power - 1)) if n <= KEPT]


def _by_column(calls: list[list[Ids]]) -> list[Ids]:
    return [np.concatenate(column) for column in zip(*calls, strict=False)]


def check_fresh_calls(made: Mechanism, pair: Pair, seed: int, layout: Layout, largest: int) -> None:
    """Refuse rows that share randomness, seen in a few fresh calls as large as those before.

    Raises:
        MechanismError: they do, or the mechanism fails.
    """
    size = min(max(largest, FEWEST), MOST)
    calls: list[list[list[Ids]]] = [[], []]
    for label in (0, 1):
        for call in range(CALLS):
            rng = generator(seed, PROBES, FRESH, label, call)
            calls[label].append(row_ids(layout.settled(outputs(made, pair, label, size, rng))))
    for one, other in zip(*map(_by_column, calls), strict=False):
        if blocks_repeat((one, other)) or calls_repeat((one, other), size):
            raise MechanismError(SHARED)
