"""Histograms: how many records fall into each cell; one record is added, removed or moved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.data.pairs import Neighbours

Ints = NDArray[np.int64]


def check_one_record_more(first: object, second: object) -> None:
    """Raise ValueError, showing the difference, unless one histogram has exactly one record more.

    >>> check_one_record_more([1, 0], [1, 2])
    Traceback (most recent call last):
    ValueError: the difference, cell by cell {1: 2}, must be one cell by 1
    """
    change = _change(first, second)
    if [abs(by) for by in change.values()] != [1]:
        raise ValueError(f"the difference, cell by cell {_shown(change)}, must be one cell by 1")


def check_one_record_moved(first: object, second: object) -> None:
    """Raise ValueError, showing the difference, unless exactly one record lies in another cell.

    >>> check_one_record_moved([1, 0], [0, 1])
    """
    change = _change(first, second)
    if sorted(change.values()) != [-1, 1]:
        raise ValueError(
            f"the difference, cell by cell {_shown(change)}, must be one cell by -1 and one by 1"
        )


def _change(first: object, second: object) -> dict[int, int]:
    one, other = _counts("first", first), _counts("second", second)
    if one.shape != other.shape:
        raise ValueError(f"the shapes {one.shape} and {other.shape} must be equal")
    return {int(cell): int(other[cell]) - int(one[cell]) for cell in np.flatnonzero(one != other)}


def _counts(name: str, given: object) -> NDArray[Any]:
    counts = np.asarray(given).ravel()
    whole = counts.dtype.kind in "iu" or (counts.dtype.kind == "f" and (counts == np.floor(counts)).all())
    if not whole or not np.isfinite(counts).all() or (counts < 0).any():
        raise ValueError(
            f"{name} ({np.array2string(counts, threshold=5)}) must hold numbers of records, 0 or more"
        )
    return counts


def _shown(change: Mapping[int, int]) -> str:
    shown = dict(list(change.items())[:5])
    return f"{shown}" if len(shown) == len(change) else f"{shown} and {len(change) - 5} more"


def _added(cells: int, crowd: int) -> dict[str, tuple[Ints, Ints]]:
    first, last, even = (
        np.eye(cells, dtype=np.int64)[0],
        np.eye(cells, dtype=np.int64)[-1],
        np.full(cells, crowd),
    )
    return {
        "the only record": (0 * first, first),
        "a second record in its cell": (first, 2 * first),
        "a record alone in its cell": (even * (1 - first), even * (1 - first) + first),
        "breaks a tie in the first cell": (even, even + first),
        "breaks a tie in the last cell": (even, even + last),
    }


def _moved(cells: int, crowd: int) -> dict[str, tuple[Ints, Ints]]:
    first, last, even = (
        np.eye(cells, dtype=np.int64)[0],
        np.eye(cells, dtype=np.int64)[-1],
        np.full(cells, crowd),
    )
    return {
        "the only record": (first, last),
        "leaves the crowd": (crowd * first, (crowd - 1) * first + last),
        "takes the lead along": (even + first, even + last),
        "out of an even histogram": (even, even - first + last),
    }


_MAKE: Mapping[
    Adjacency, tuple[Callable[[int, int], dict[str, tuple[Ints, Ints]]], Callable[[Any, Any], None]]
] = {
    Adjacency.ADD_REMOVE: (_added, check_one_record_more),
    Adjacency.REPLACE: (_moved, check_one_record_moved),
}


def histogram_pairs(cells: int, adjacency: Adjacency, crowd: int = 10) -> tuple[Neighbours, ...]:
    """Hard pairs of histograms, int64 arrays ``(cells,)``.

    Args:
        cells: at least 1, or 2 where a record is replaced.
        adjacency: add-remove or replace.
        crowd: records in a crowded cell, at least 1.

    Raises:
        ValueError: another adjacency, too few cells, or no crowd.

    >>> [pair.second.tolist() for pair in histogram_pairs(3, Adjacency.REPLACE)][:2]
    [[0, 0, 1], [9, 0, 1]]
    """
    if adjacency not in _MAKE:
        known = ", ".join(known.value for known in _MAKE)
        raise ValueError(f"adjacency ({adjacency.value!r}) must be one of: {known}")
    if cells < (2 if adjacency is Adjacency.REPLACE else 1) or crowd < 1:
        raise ValueError(
            f"cells ({cells!r}) must be at least 1, or 2 for replace, and crowd ({crowd!r}) at least 1"
        )
    make, check = _MAKE[adjacency]
    return tuple(Neighbours(a, b, adjacency, name, check) for name, (a, b) in make(cells, crowd).items())
