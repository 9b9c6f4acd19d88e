"""The audit of the noisy counts from which a policy is learned offline.

Two logs differ in one user. At even steps both users are in state 0 and take action 0, and they move to different
states. So the next counts differ as well. One user always earns 1, the other 0. With at least two states this pair has
the largest possible distance (docs/notes/offline_tables.md). The policy is computed from the counts alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.episodes import Episodes
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.targets.primitive import Setting
from dpproof.mechanisms.rl.offline.counts import LogParameters, exact_numbers

Floats = NDArray[np.float64]
OTHERS = 3
"""The number of other users in both logs. Noise does not depend on the data, so their number does not matter."""


def logs_apart(parameters: LogParameters, adjacency: Adjacency) -> Neighbours:
    """Return two logs of four users that differ in the last one, as much as possible.

    >>> pair = logs_apart(LogParameters(2, 1, 4, sigma=1.0), Adjacency.REPLACE)
    >>> [log.table("states")[-1].tolist() for log in (pair.first, pair.second)]
    [[0, 0, 0, 0], [0, 1, 0, 1]]

    Raises:
        ValueError: there is only one state, or the relation is not `replace` or `rewards-only`.
    """
    if parameters.states < 2 or adjacency not in (Adjacency.REPLACE, Adjacency.REWARDS_ONLY):
        raise ValueError(f"the audit needs two states and replace or rewards-only, not {adjacency.value}")
    one, two = (_log(parameters, moved, paid) for moved, paid in ((0, 1.0), (1, 0.0)))
    if adjacency is Adjacency.REWARDS_ONLY:
        two = _log(parameters, 0, 0.0)
    return Neighbours(one, two, adjacency, "one user moves to another state and earns 0 instead of 1")


def _log(parameters: LogParameters, moved: int, paid: float) -> Episodes:
    states = np.zeros((OTHERS + 1, parameters.horizon), np.int64)
    rewards = np.full(states.shape, 0.5)
    states[-1, 1::2], rewards[-1] = moved, paid
    return Episodes.rectangular(states, np.zeros_like(states), rewards)


def ratio(outputs: Floats, parameters: LogParameters, first: Episodes, second: Episodes) -> Floats:
    """Return the log-likelihood ratio of each output, in single precision, between the two logs."""
    (near, deviation), (far, _) = (exact_numbers(parameters, log) for log in (first, second))
    found = (((outputs - near) / deviation) ** 2 - ((outputs - far) / deviation) ** 2).sum(axis=1) / 2
    return np.asarray(found, np.float32).astype(np.float64)


TARGET = Setting(logs_apart, ratio)
