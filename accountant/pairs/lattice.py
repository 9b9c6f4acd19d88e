"""Sums and mixtures of probabilities with error bounds, used by several pairs. A mass here is a probability."""

from __future__ import annotations

from collections.abc import Sequence

import flint
import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.numbers.enclosures import round_down
from dpproof.accountant.numbers.normal import SMALLEST_MASS
from dpproof.accountant.pairs.base import Cells, Floats

_ULP = 2.0**-52
MOST_OUTCOMES = 1 << 24
"""The largest number of outcomes whose probabilities are listed. More would take gigabytes."""
MOST_KEPT = 1 << 22
"""The largest number of outcomes whose probabilities a pair keeps in memory for its next call."""
NEGLIGIBLE = 1e-280
"""The smallest sum of probabilities that is used. A smaller sum is replaced by it, with relative error 1."""


def between(
    masses: Floats, errors: Floats, starts: NDArray[np.int64], whole: bool = False
) -> tuple[Floats, Floats]:
    """Return the sums of ``masses[starts[i] : starts[i + 1]]``, for every i, and their relative errors.

    The outcomes that are omitted from ``masses`` or underflow must together have a probability below 1e-298.
    So leaving them out changes a sum above ``NEGLIGIBLE`` by less than the rounding error.

    Args:
        masses: positive probabilities. Each is within the relative error in ``errors`` of the true
            probability.
        errors: one for each mass.
        starts: nondecreasing, from 0 to len(masses).
        whole: whether ``masses`` omits no outcome. In this case an empty sum is exactly 0.

    >>> between(np.array([0.25, 0.5, 0.25]), np.zeros(3), np.array([0, 2, 2, 3]))[0].tolist()
    [0.75, 0.0, 0.25]
    """
    counts = np.diff(starts)
    sums = np.where(counts > 0, np.add.reduceat(np.append(masses, 0.0), starts[:-1]), 0.0)
    worst = np.where(counts > 0, np.maximum.reduceat(np.append(errors, 0.0), starts[:-1]), 0.0)
    ends = (starts[:-1] == len(masses)) | (starts[1:] == 0)  # the cells of what was left out
    tiny = (sums < NEGLIGIBLE) & ((counts > 0) | (ends & (not whole)))
    return np.where(tiny, NEGLIGIBLE, sums), np.where(tiny, 1.0, np.minimum(worst + (counts + 4) * _ULP, 1.0))


def floored(masses: Floats, error: float | Floats, some: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return probabilities and relative errors, after tiny probabilities are raised to ``NEGLIGIBLE``.

    ``masses`` are the given probabilities. A raised probability has the relative error 1. Probabilities are
    raised only where ``some`` is true, because only there the true probability may be above 0. Underflow may
    have reduced the given probabilities by 1e-298 in total.

    >>> floored(np.array([0.0, 0.0, 0.5]), 1e-16, np.array([True, False, True]))[0].tolist()
    [1e-280, 0.0, 0.5]
    """
    tiny = some & (masses < NEGLIGIBLE)
    return np.where(tiny, NEGLIGIBLE, masses), np.where(tiny, 1.0, error)


def charged(masses: Floats, errors: Floats, charge: Floats) -> tuple[Floats, Floats]:
    """Return probabilities and relative errors that also cover an absolute error of up to ``charge``.

    ``masses`` are the given probabilities, and ``errors`` their relative errors without the charge. If a new
    relative error is above 1/2, the probability is raised by the charge, and its error is set to 1. This is
    valid: the true probability of a mass m with error e <= 1 is at most m (1 + e) + charge, which is at most
    2 (m + charge).

    >>> masses, errors = charged(np.array([1.0, 1.0]), np.zeros(2), np.array([0.25, 3.0]))
    >>> masses.tolist(), errors.round(9).tolist()
    ([1.0, 4.0], [0.25, 1.0])
    """
    relative = (errors + charge / masses) * (1 + 4 * _ULP)
    unknown = relative > 0.5
    return np.where(unknown, masses + charge, masses), np.where(unknown, 1.0, relative)


def with_impossible(
    masses: Floats, errors: float | Floats, place: int, ends: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return probabilities and relative errors, after one of the probabilities is increased.

    The increased probability is the one at index ``place``. The exact increase is not known. It lies between
    the two numbers in ``ends``. It belongs to outcomes that are impossible under the other neighbour.

    >>> masses, errors = with_impossible(np.array([0.5, 0.5]), 0.0, 0, (0.0, 0.5))
    >>> masses.tolist(), errors.round(9).tolist()
    ([1.0, 0.5], [0.5, 0.0])
    """
    low, high = ends
    masses, errors = masses.copy(), np.broadcast_to(np.asarray(errors), masses.shape).astype(np.float64)
    if high > 0:
        wrong = masses[place] * errors[place] + (high - low)
        masses[place] += high
        errors[place] = min(wrong / masses[place] + 4 * _ULP, 1.0)
        if masses[place] < NEGLIGIBLE:
            masses[place], errors[place] = NEGLIGIBLE, 1.0
    return masses, errors


def mixed(terms: Sequence[tuple[float, Floats, float | Floats]]) -> tuple[Floats, Floats]:
    """Return a weighted sum of probabilities, and its relative error.

    A term (w, x, error) adds w x to the sum, and ``error`` is the relative error of x. Weights may be off by
    one unit in the last place, or by 1e-300 if they underflow. A sum below ``SMALLEST_MASS`` is replaced by
    ``SMALLEST_MASS`` if some of its terms are above 0.

    >>> mixed([(0.5, np.ones(1), 0.0), (0.5, np.ones(1), 1e-3)])[1].round(9).tolist()
    [0.0005]
    """
    total, wrong = np.zeros_like(terms[0][1]), np.zeros_like(terms[0][1])
    some = np.zeros(total.shape, dtype=bool)
    for weight, masses, error in terms:
        part = weight * masses
        total += part
        wrong += part * error
        some |= masses > 0
    tiny = (total < SMALLEST_MASS) & some
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = np.where(total > 0, wrong / total, 0.0)
    relative = relative * (1 + 2 * len(terms) * _ULP) + (len(terms) + 4) * _ULP
    unknown = relative > 1  # an error of 1 says [0, 2 m]: raised, the mass says it truly
    total, relative = np.where(unknown, total * relative, total), np.where(unknown, 1.0, relative)
    return np.where(tiny, SMALLEST_MASS, total), np.where(tiny, 1.0, relative)


def listed(
    edges: Floats, losses: Sequence[flint.arb], p: Sequence[flint.arb], q: Sequence[flint.arb]
) -> Cells:
    """Return the probabilities of the privacy losses between ``edges`` for a pair with few outcomes.

    ``losses`` are the privacy losses in increasing order. ``p`` and ``q`` are their probabilities. All are
    known to more than 60 bits. See ``DominatingPair.cells``.
    """
    places, first, second = (np.array([round_down(x) for x in part]) for part in (losses, p, q))
    starts = np.concatenate(([0], np.searchsorted(places, edges), [len(places)]))
    error = np.full(len(places), 2 * _ULP)
    (p_sums, p_error), (q_sums, q_error) = (between(x, error, starts, whole=True) for x in (first, second))
    return Cells(p_sums, q_sums, p_error, q_error, 2 * _ULP * float(np.abs(places).max()))
