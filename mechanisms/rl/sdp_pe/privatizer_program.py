"""The linear programme that makes raw counts consistent, in closed form for all cells of a batch at once.

For one (h, s, a) with raw counts a(s') and M: the least t for which some n(s') >= 0 has |n(s') - a(s')| <= t
and |sum n - M| <= slack. Given t, n(s') may be anything in [max(a - t, 0), a + t], so that its sum fills an
interval that grows with t: the least t is the largest of three, (a) max(0, -min a), (b) what the sum of a + t
needs to reach M - slack, (c) what the sum of max(a - t, 0) needs to come down to M + slack.

Source: Section V of the paper; docs/notes/sdp_batches.md, section 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def nearest_consistent(transitions: Floats, visits: Floats, slack: float) -> tuple[Floats, Floats]:
    """A minimiser n(s') of each cell's programme, and its value t.

    Args:
        transitions: (..., S), the raw a(s').
        visits: (...), the raw M.
        slack: at least 0; how far the sum may be from M.

    Of all minimisers it is the one nearest to max(a, 0) along the segment to the interval's end: no count
    moves that need not. Where M < -slack no n is feasible; M is then taken for -slack, and n is 0.

    >>> found, t = nearest_consistent(np.array([[3.0, -1.0]]), np.array([5.0]), 1.0)
    >>> found.tolist(), t.tolist()
    ([[4.0, 0.0]], [1.0])

    Raises:
        ValueError: for shapes that do not belong together, or a slack below 0.
    """
    if visits.shape != transitions.shape[:-1]:
        raise ValueError(f"the shape of visits {visits.shape} must be {transitions.shape[:-1]}, one a row")
    if not slack >= 0:
        raise ValueError(f"slack ({slack!r}) must be at least 0")
    least, most = np.maximum(visits - slack, 0.0), np.maximum(visits + slack, 0.0)
    width = transitions.shape[-1]
    rising = (least - transitions.sum(axis=-1)) / width
    t = np.maximum.reduce(
        [np.zeros_like(visits), -transitions.min(axis=-1), rising, _lowering(transitions, most)]
    )
    low = np.maximum(transitions - t[..., None], 0.0)
    high = np.maximum(transitions + t[..., None], 0.0)
    start = np.clip(np.maximum(transitions, 0.0), low, high)
    sums = start.sum(axis=-1)
    up = _share(least - sums, high.sum(axis=-1) - sums)[..., None]
    down = _share(sums - most, sums - low.sum(axis=-1))[..., None]
    return start + up * (high - start) - down * (start - low), t


def made_consistent(visits: Floats, transitions: Floats, level: float) -> tuple[Floats, Floats]:
    """Visits and transitions as Assumption 4 wants them, if the raw ones are within ``level / 4``.

    The programme's minimiser with level/(2 S) more for each next state: sums agree, every transition is
    positive, and a sum whose raw counts are that near the truth is between the truth and the truth + level.

    >>> [x.tolist() for x in made_consistent(np.array([5.0]), np.array([[3.0, -1.0]]), 4.0)]
    [[6.0], [[5.0, 1.0]]]
    """
    kept, _ = nearest_consistent(transitions, visits, level / 4)
    kept = kept + level / (2 * transitions.shape[-1])
    return kept.sum(axis=-1), kept


def _share(needed: Floats, possible: Floats) -> Floats:
    """The part of the way that has to be gone; rounding may ask for a little more than there is."""
    part: Floats = np.clip(needed / np.where(possible > 0, possible, 1.0), 0.0, 1.0)
    return part


def _lowering(values: Floats, total: Floats) -> Floats:
    """The least t >= 0 at which the sum of max(values - t, 0) is at most ``total`` >= 0."""
    falling = -np.sort(-values, axis=-1)
    ranks = np.arange(1, values.shape[-1] + 1)
    shifts = (np.cumsum(falling, axis=-1) - total[..., None]) / ranks
    # with j counts above t the sum is (sum of the j largest) - j t: the largest of these lines is the sum
    least: Floats = np.maximum(shifts.max(axis=-1), 0.0)
    return least
