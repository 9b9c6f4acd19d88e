"""First-visit returns and visit counts, compiled: one backward pass over each trajectory.

A return is computed in doubles, from its own trajectory alone, cut off, and rounded to whole units. Units are
added as integers, so that the sums are exact and do not depend on the order of the trajectories.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

LOW_BITS = 26
"""Units have 53 bits; so many low bits are added apart from the others: 2^36 trajectories fit."""
CHUNKS = 32
"""Parts that are added up each on its own: the same for any number of threads, and so is the result."""
FEW = 200_000
"""Up to so many steps threads cost more than they save, on a busy machine very much more."""


def first_visit_sums(
    states: Any, rewards: Any, starts: Any, count: int, discount: float, top: float, units: float
) -> tuple[Any, Any, Any]:
    """Visits (N,), and the high and low parts (N,) of the summed first-visit returns in units.

    A return is cut off at `top` and is then the nearest whole number of units, `units` (a power of two) of
    them to 1. `starts` (m + 1,) says where each trajectory begins in `states` and `rewards`.
    """
    added = _alone if len(states) <= FEW else _together
    visits, high, low = (np.zeros((CHUNKS, count), np.int64) for _ in range(3))
    added(states, rewards, starts, discount, top, units, visits, high, low)
    return visits.sum(axis=0), high.sum(axis=0), low.sum(axis=0)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator] # numba has no types
def _chunk(
    states: Any,
    rewards: Any,
    starts: Any,
    discount: float,
    top: float,
    units: float,
    visits: Any,
    high: Any,
    low: Any,
    chunk: int,
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
            whole = np.int64(np.rint(min(value[state], top) * units))
            high[chunk, state] += whole >> LOW_BITS
            low[chunk, state] += whole & ((1 << LOW_BITS) - 1)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _alone(
    states: Any,
    rewards: Any,
    starts: Any,
    discount: float,
    top: float,
    units: float,
    visits: Any,
    high: Any,
    low: Any,
) -> None:  # pragma: no cover - compiled
    for chunk in range(CHUNKS):
        _chunk(states, rewards, starts, discount, top, units, visits, high, low, chunk)


@numba.njit(cache=True, parallel=True, nogil=True)  # type: ignore[untyped-decorator]
def _together(
    states: Any,
    rewards: Any,
    starts: Any,
    discount: float,
    top: float,
    units: float,
    visits: Any,
    high: Any,
    low: Any,
) -> None:  # pragma: no cover - compiled
    for chunk in numba.prange(CHUNKS):
        _chunk(states, rewards, starts, discount, top, units, visits, high, low, chunk)
