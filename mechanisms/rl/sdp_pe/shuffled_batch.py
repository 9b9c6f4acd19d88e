"""Samples of one whole release of SDP-PE: all noisy counters of a batch, computed from its users' trajectories.

Shuffled bits reveal no more than their sum. For every counter the sampler draws this sum minus the mean of the
noise, before any post-processing. From entropy the noise is exactly binomial; from a seed it is numpy's, in floating
point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.private_ucb.parameters import LocalCountsParameters
from dpproof.mechanisms.rl.sdp_pe.shuffled_count import BitEncoder

if TYPE_CHECKING:
    from dpproof.accountant.rl.sdp_pe.shuffled_batch import ShuffledBatchParameters
    from dpproof.mechanisms.rl.trajectories import Trajectories


def true_counts(parameters: ShuffledBatchParameters, data: Trajectories) -> NDArray[np.int64]:
    """Return the true counters of a release: visits, rewards and transitions, concatenated.

    Visits are left out if they are sums of transitions, and rewards are left out if the release has none. The field
    ``costs`` of the trajectories holds the rewards, which must be 0 or 1.

    Raises:
        ValueError: the number of users or steps is not that of the parameters, a reward is not 0 or 1, or a state or
            action is out of range.
    """
    if data.count != parameters.users:
        raise ValueError(
            f"data ({data.count} users) must have {parameters.users} users with one trajectory each"
        )
    shape = parameters.shape
    sizes = LocalCountsParameters(shape.states, shape.actions, shape.steps, 1, visits=parameters.visits)
    counts: NDArray[np.int64] = data.counts(sizes).sum(axis=0).astype(np.int64)
    if not np.isin(data.costs, (0.0, 1.0)).all():
        raise ValueError("rewards must be 0 or 1, because a counter sums bits")
    if shape.rewards:
        return counts
    kept = np.ones(len(counts), np.bool_)
    start = sizes.families.index("costs") * shape.cells
    kept[start : start + shape.cells] = False
    found: NDArray[np.int64] = counts[kept]
    return found


def sample(
    parameters: ShuffledBatchParameters, data: Trajectories, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the noisy counters in ``n`` releases of one batch, an array ``(n, counters)``.

    >>> from dpproof.accountant.rl.sdp_pe.shuffled_batch import ShuffledBatchParameters
    >>> from dpproof.mechanisms.rl.trajectories import Trajectories
    >>> users = Trajectories(np.zeros((9, 2), int), np.zeros((9, 1), int), np.ones((9, 1)))
    >>> chosen = ShuffledBatchParameters(9, 4.0, states=2, actions=1, horizon=1)
    >>> sample(chosen, users, 5, np.random.default_rng(0)).shape
    (5, 8)

    Raises:
        ValueError: see ``true_counts``.
    """
    true = true_counts(parameters, data)
    encoder = BitEncoder(parameters.users, parameters.threshold)
    return encoder.counts(np.broadcast_to(true, (n, true.size)), rng)
