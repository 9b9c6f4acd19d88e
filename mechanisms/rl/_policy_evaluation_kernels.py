"""First-visit returns and visit counts, compiled: one backward pass over each trajectory."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["first_visit_sums"]

CHUNKS = 32
"""Parts that are added up each on its own: the same for any number of threads, and so is the result."""
FEW = 200_000
"""Up to so many steps threads cost more than they save, on a busy machine very much more."""


def first_visit_sums(
    states: Any, rewards: Any, starts: Any, count: int, discount: float, top: float
) -> tuple[Any, Any]:
    """Visits (chunks, N) and summed first-visit returns (chunks, N), each return cut off at `top`.

    `starts` (m + 1,) says where each trajectory begins in `states` and `rewards`.
    """
    added = _alone if len(states) <= FEW else _together
    visits, sums = np.zeros((CHUNKS, count), np.int64), np.zeros((CHUNKS, count))
    added(states, rewards, starts, discount, top, visits, sums)
    return visits, sums


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator] # numba has no types
def _chunk(
    states: Any, rewards: Any, starts: Any, discount: float, top: float, visits: Any, sums: Any, chunk: int
) -> None:  # pragma: no cover - compiled
    """Add the trajectories of one part to its rows."""
    trajectories, count = len(starts) - 1, visits.shape[1]
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


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _alone(
    states: Any, rewards: Any, starts: Any, discount: float, top: float, visits: Any, sums: Any
) -> None:  # pragma: no cover - compiled
    for chunk in range(CHUNKS):
        _chunk(states, rewards, starts, discount, top, visits, sums, chunk)


@numba.njit(cache=True, parallel=True, nogil=True)  # type: ignore[untyped-decorator]
def _together(
    states: Any, rewards: Any, starts: Any, discount: float, top: float, visits: Any, sums: Any
) -> None:  # pragma: no cover - compiled
    for chunk in numba.prange(CHUNKS):
        _chunk(states, rewards, starts, discount, top, visits, sums, chunk)
