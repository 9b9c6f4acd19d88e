"""Sums of the masses of listed outcomes, with errors: what pairs on the integers share."""

from __future__ import annotations

from collections.abc import Sequence

import flint
import numpy as np
from numpy.typing import NDArray

from accountant.enclosures import round_down
from accountant.pairs.base import Cells, Floats

__all__ = ["MOST_OUTCOMES", "NEGLIGIBLE", "between", "listed"]

_ULP = 2.0**-52
MOST_OUTCOMES = 1 << 24
"""Outcomes that are enumerated at most; more would take gigabytes."""
NEGLIGIBLE = 1e-280
"""Sums below it are replaced by it, with relative error 1: what is true then lies in [0, 2e-280]."""


def between(
    masses: Floats, errors: Floats, starts: NDArray[np.int64], whole: bool = False
) -> tuple[Floats, Floats]:
    """Sums of ``masses[starts[i] : starts[i + 1]]`` and their relative errors.

    Outcomes left out of ``masses``, and those that underflow, must weigh below 1e-298 together: that is
    within the rounding of every sum that is not negligible.

    Args:
        masses: positive, each within the relative ``errors``.
        errors: one for each mass.
        starts: nondecreasing, from 0 to len(masses).
        whole: whether no outcome was left out: then the sum over none is 0.

    >>> between(np.array([0.25, 0.5, 0.25]), np.zeros(3), np.array([0, 2, 2, 3]))[0].tolist()
    [0.75, 0.0, 0.25]
    """
    counts = np.diff(starts)
    sums = np.where(counts > 0, np.add.reduceat(np.append(masses, 0.0), starts[:-1]), 0.0)
    worst = np.where(counts > 0, np.maximum.reduceat(np.append(errors, 0.0), starts[:-1]), 0.0)
    ends = (starts[:-1] == len(masses)) | (starts[1:] == 0)  # the cells of what was left out
    tiny = (sums < NEGLIGIBLE) & ((counts > 0) | (ends & (not whole)))
    return np.where(tiny, NEGLIGIBLE, sums), np.where(tiny, 1.0, np.minimum(worst + (counts + 4) * _ULP, 1.0))


def listed(
    edges: Floats, losses: Sequence[flint.arb], p: Sequence[flint.arb], q: Sequence[flint.arb]
) -> Cells:
    """The cells of a few outcomes, all of them, of increasing ``losses``, enclosed to more than 60 bits."""
    places, first, second = (np.array([round_down(x) for x in part]) for part in (losses, p, q))
    starts = np.concatenate(([0], np.searchsorted(places, edges), [len(places)]))
    error = np.full(len(places), 2 * _ULP)
    (p_sums, p_error), (q_sums, q_error) = (between(x, error, starts, whole=True) for x in (first, second))
    return Cells(p_sums, q_sums, p_error, q_error, 2 * _ULP * float(np.abs(places).max()))
