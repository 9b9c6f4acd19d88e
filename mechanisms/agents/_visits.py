"""The visits of users that are counted, as compiled code: of each state and action at most a number in an episode."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.compiled import njit

Ints = NDArray[np.int64]


@njit
def counted(
    states: Ints,
    actions: Ints,
    grains: Ints,
    width: int,
    cap: int,
    most: int,
    pooled: bool,
    turns: Ints,
    found: Ints,
) -> int:  # pragma: no cover - compiled
    """Write the counted visits into `found`, and return their number.

    Args:
        states: the states (n, H + 1) of n users.
        actions: their actions (n, H); -1 after the last step.
        grains: the gains (n, H) of their steps, whole numbers.
        width: the number of actions.
        cap: the largest number of visits of a cell that an episode counts, if all steps share one table.
        most: the largest sum of gains that an episode counts. The rest is cut.
        pooled: whether all steps share one table.
        turns: zeros, one for each cell. They are zeros again at the end.
        found: an array (4, n H). A column gets the table, the cell, the next state and the grains of a visit.
    """
    count = 0
    for user in range(actions.shape[0]):
        left, steps = most, 0
        while steps < actions.shape[1] and actions[user, steps] >= 0:
            c = states[user, steps] * width + actions[user, steps]
            if not pooled or turns[c] < cap:
                gain = min(grains[user, steps], left)
                left -= gain
                found[0, count] = 0 if pooled else steps
                found[1, count] = c
                found[2, count] = states[user, steps + 1]
                found[3, count] = gain
                count += 1
            turns[c] += 1
            steps += 1
        for h in range(steps):
            turns[states[user, h] * width + actions[user, h]] = 0
    return count
