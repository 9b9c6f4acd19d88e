"""First-visit returns and visit counts, compiled: one backward pass over each trajectory."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["first_visit_sums"]

CHUNKS = 32
"""Parts that are added up each on its own: the same for any number of threads, and so is the result."""


@numba.njit(cache=True, parallel=True, nogil=True)  # type: ignore[untyped-decorator] # numba has no types
def first_visit_sums(
    states: Any, rewards: Any, starts: Any, count: int, discount: float, top: float
) -> tuple[Any, Any]:  # pragma: no cover - compiled
    """Visits (chunks, N) and summed first-visit returns (chunks, N), each return cut off at `top`.

    `starts` (m + 1,) says where each trajectory begins in `states` and `rewards`.
    """
    trajectories = len(starts) - 1
    visits = np.zeros((CHUNKS, count), np.int64)
    sums = np.zeros((CHUNKS, count))
    for chunk in numba.prange(CHUNKS):
        seen = np.full(count, -1, np.int64)
        value = np.zeros(count)
        order = np.empty(count, np.int64)
        for i in range(chunk * trajectories // CHUNKS, (chunk + 1) * trajectories // CHUNKS):
            following, found = 0.0, 0
            for t in range(starts[i + 1] - 1, starts[i] - 1, -1):
                state = states[t]
                following = rewards[t] + discount * following
                if seen[state] != i:
                    seen[state] = i
                    order[found] = state
                    found += 1
                value[state] = following
            for j in range(found):
                state = order[j]
                visits[chunk, state] += 1
                sums[chunk, state] += min(value[state], top)
    return visits, sums
