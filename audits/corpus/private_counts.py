"""Models of the faults in published code for private reinforcement learning, one fault each.

A stream of users, one an episode; user t adds a vector of counts. The central model releases all running
counts through a binary tree, the local one every user's own counts. Scales are what a claim needs
under replacement of one user, or short of it in the way the code is.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mechanisms.counting.tree import tree_noise

__all__ = ["central", "fresh_noise", "local", "shared_denominators", "shared_noise", "short_levels"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def central(users: Ints, n: int, rng: np.random.Generator, *, scale: float) -> Floats:
    """Running counts plus tree noise: ``(n, counters, users)``."""
    episodes, counters = users.shape
    noise = tree_noise(episodes, (n, counters), lambda shape: rng.laplace(0, scale, shape))
    return users.cumsum(axis=0).T + noise


def fresh_noise(users: Ints, n: int, rng: np.random.Generator, *, scale: float) -> Floats:
    """Fault: no tree, but fresh noise on the same running counts at every episode: it averages out."""
    running = users.cumsum(axis=0).T
    return running + rng.laplace(0, scale, (n, *running.shape))


def short_levels(episodes: int) -> int:
    """Fault: the depth of the tree taken as floor(ln K) + 1, which is short of log2 K."""
    return math.floor(math.log(episodes)) + 1


def local(counts: Ints, n: int, rng: np.random.Generator, *, scale: float) -> Floats:
    """One user's counts with Laplace noise: ``(n, counters)``."""
    return counts + rng.laplace(0, scale, (n, *counts.shape))


def shared_noise(counts: Ints, n: int, rng: np.random.Generator, *, scale: float) -> Floats:
    """Fault: one draw serves all counters of a user; their differences are exact."""
    return counts + rng.laplace(0, scale, (n, 1))


def shared_denominators(visits: Ints, n: int, rng: np.random.Generator, *, scale: float) -> Floats:
    """Fault: visits and visits that went on, ``(n, 2)``, with the same noise; how many ended is exact."""
    return shared_noise(visits, n, rng, scale=scale)
