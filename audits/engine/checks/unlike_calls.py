"""Are calls alike? All rows of a call follow the law of one output: that of other calls, however many rows.

A mechanism that divides by the number of outputs it was asked for, or draws all rows of a call from a small
pool of noise, has a law of its own in every call, by which the call, and with it the label, is recognised.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["bins_of", "calls_differ"]

Bins = NDArray[np.int64]
CELLS = 32
"""Every column is cut into at most so many bins, and whole rows are dealt out to twice as many."""
COLUMNS = 8
"""Of longer outputs so many columns are looked at."""


def bins_of(calls: Sequence[NDArray[np.float64]], ids: Sequence[NDArray[np.uint64]]) -> Iterator[list[Bins]]:
    """The bins in which the rows of calls lie: of some columns by size, of whole rows by their numbers.

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
    """Whether the halves of calls deviate from the other calls alike, far beyond chance.

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
    """The places of the rows to learn from, and of the others: the same for every call of so many rows."""
    places = np.random.default_rng(rows).permutation(rows)
    return places[: rows // 2], places[rows // 2 :]
