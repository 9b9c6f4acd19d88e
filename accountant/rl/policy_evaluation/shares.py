"""sum_s w_s/max(v_s - k, 1)^2 at many k at once: boxes of states seen from afar, in O(n log K) altogether.

Whole numbers 2, 3, ... between k and v fall into dyadic boxes, two a scale, each at least 1.5 of its lengths
away: from there 1/(v - k)^2 is a short power series about the middle of the box. Nothing is left out, as a
box of length 1 is one number. Proof and errors: docs/notes/policy_evaluation.md, section 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["inverse_square_sums"]

Reals = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
TERMS = 40
"""Of the power series, whose ratio is below 1/3: what is cut off is below 2^-54 of the whole."""
_FEW = 2**20
"""Up to so many pairs of a level and an offset are added one by one, which is faster."""


def inverse_square_sums(levels: Counts, masses: Reals, offsets: Counts) -> Reals:
    """The sum over all levels v of mass/max(v - k, 1)^2, for each offset k.

    Within (2n + 1024) 2^-52 of it, relatively, n the number of levels.

    Args:
        levels: rising whole numbers (n,), in [1, 2^53).
        masses: (n,), at least 0, the largest between 2^-500 and 2^500.
        offsets: whole numbers (q,), at least 0 and below the largest level.

    >>> inverse_square_sums(np.array([1, 5, 9]), np.ones(3), np.array([0, 4]))
    array([1.0523..., 2.04...])
    """
    if len(levels) * len(offsets) <= _FEW:
        gaps = np.maximum(levels[None, :] - offsets[:, None], 1).astype(np.float64)
        plain: Reals = (masses / np.square(gaps)).sum(axis=1)
        return plain
    return _from_afar(levels, masses, offsets)


def _from_afar(levels: Counts, masses: Reals, offsets: Counts) -> Reals:
    """The same by boxes; levels up to k + 1 count in full."""
    near = np.append(0.0, np.cumsum(masses))
    found: Reals = near[np.searchsorted(levels, offsets + 1, side="right")]
    for scale in range(int(levels[-1]).bit_length()):
        here = offsets >> scale
        boxes, starts = np.unique(levels >> scale, return_index=True)
        moments = _moments(levels, masses, boxes, starts, scale)
        for step in (2, 3):  # what the next scale does not cover: two boxes on, and from an even one three
            place = np.searchsorted(boxes, here + step)
            seen = (boxes[np.minimum(place, len(boxes) - 1)] == here + step) & ((step == 2) | (here % 2 == 0))
            found[seen] += _series(boxes[place[seen]], moments[:, place[seen]], offsets[seen], scale)
    return found


def _moments(levels: Counts, masses: Reals, boxes: Counts, starts: Counts, scale: int) -> Reals:
    """Sums of mass x^p (p, box), x in (-1/2, 1/2) being where in its box a level is, in box lengths."""
    length = 2.0**scale
    ends = np.append(starts[1:], len(levels))
    place = ((levels - np.repeat(boxes << scale, ends - starts)) - (length - 1) / 2) / length
    powers, rows = masses.copy(), []
    for _ in range(1 if scale == 0 else TERMS):
        rows.append(np.add.reduceat(powers, starts))
        powers *= place
    return np.array(rows)


def _series(boxes: Counts, moments: Reals, offsets: Counts, scale: int) -> Reals:
    """The sum over p of (-1)^p (p + 1) moment_p y^p / distance^2, y the lengths of a box in the distance."""
    length = 2.0**scale
    distance = ((boxes << scale) - offsets) + (length - 1) / 2
    ratio, total = -length / distance, np.zeros(len(boxes))
    for power in range(len(moments) - 1, -1, -1):
        total = total * ratio + (power + 1) * moments[power]
    found: Reals = total / np.square(distance)
    return found
