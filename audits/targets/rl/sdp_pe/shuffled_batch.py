"""The audit of a whole release of SDP-PE: in the two inputs, one user's trajectory differs at every step.

The two inputs attain the guarantee. The score is the exact likelihood ratio of the counters that differ between them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.sdp_pe.shuffled_batch import ShuffledBatchParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.targets.primitive import Setting
from dpproof.mechanisms.rl.sdp_pe.shuffled_batch import true_counts
from dpproof.mechanisms.rl.sdp_pe.shuffled_count import BitEncoder
from dpproof.mechanisms.rl.trajectories import Trajectories, differ_in_one_trajectory

Floats = NDArray[np.float64]
MOST = 10**7
"""The largest total number of steps of all users."""
IMPOSSIBLE = 1e3
"""The finite number that replaces an infinite ratio, for a value that is possible on one input only."""


def batch_users(parameters: ShuffledBatchParameters, adjacency: Adjacency) -> Neighbours:
    """Return two neighbouring inputs: the first user has reward 1 in state 0, or in another state and action.

    All other users stay in state 0 with reward 0.

    Raises:
        NoAuditError: there is only one state and one action, or there are too many users.
    """
    users, steps = parameters.users, parameters.shape.steps
    if parameters.states * parameters.actions == 1:
        raise NoAuditError(
            "states (1) times actions (1) must be at least 2 for an audit. "
            "The replaced user needs another state or action."
        )
    if users * steps > MOST:
        raise NoAuditError(f"users ({users}) must be at most {MOST // steps} for an audit with {steps} steps")
    rewards = np.zeros((users, steps))
    rewards[0] = 1.0
    states, actions = np.zeros((users, steps + 1), np.int64), np.zeros((users, steps), np.int64)
    here = Trajectories(states.copy(), actions.copy(), rewards)
    states[0], actions[0] = min(parameters.states - 1, 1), min(parameters.actions - 1, 1)
    there = Trajectories(states, actions, rewards)
    described = "one user elsewhere at every step, with reward 1; the others stay and earn nothing"
    return Neighbours(here, there, adjacency, described, _alike_but_one)


def _alike_but_one(first: Trajectories, second: Trajectories) -> None:
    if not differ_in_one_trajectory(first, second):
        raise ValueError("The trajectories of more than one user differ.")


def batch_ratio(
    outputs: Floats, parameters: ShuffledBatchParameters, first: Trajectories, second: Trajectories
) -> Floats:
    """Return the log-likelihood ratio of each release, from the counters that differ between the two inputs."""
    encoder = BitEncoder(parameters.users, parameters.threshold)
    trials, chance = encoder.users * encoder.noise_bits, float(encoder.parameters.noise_chance)
    true = [true_counts(parameters, data) for data in (first, second)]
    moved = np.flatnonzero(true[0] != true[1])
    logs = [
        binom.logpmf(np.rint(outputs[:, moved] + encoder.mean - held[moved]), trials, chance) for held in true
    ]
    both = np.clip(np.nan_to_num(logs[1] - logs[0]), -IMPOSSIBLE, IMPOSSIBLE)
    return np.asarray(both.sum(axis=1))


TARGET = Setting(batch_users, batch_ratio)
