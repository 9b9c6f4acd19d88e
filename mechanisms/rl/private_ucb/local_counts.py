"""Samples of the noisy counts that users send in the local model (LOCAL-PRIVATIZER), for audits."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.rl.private_ucb.parameters import LocalCountsParameters
from dpproof.mechanisms.rl.private_ucb.counted_users import CountedUsers, Floats, released
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import LocalPrivatizer


def sample(parameters: LocalCountsParameters, data: CountedUsers, n: int, rng: np.random.Generator) -> Floats:
    """Return the noisy counts that each user sends in ``n`` runs.

    The result is an array (n, users, audited counters).
    """
    return released(LocalPrivatizer(parameters), data, n, rng)
