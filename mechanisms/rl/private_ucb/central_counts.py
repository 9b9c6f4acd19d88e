"""Samples of the noisy counts that a trusted server releases (CENTRAL-PRIVATIZER), for audits."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters
from dpproof.mechanisms.rl.private_ucb.counted_users import CountedUsers, Floats, released
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer


def sample(
    parameters: CentralCountsParameters, data: CountedUsers, n: int, rng: np.random.Generator
) -> Floats:
    """Return a trusted server's noisy counts after each user in ``n`` runs.

    The result is an array (n, users, audited counters).
    """
    return released(CentralPrivatizer(parameters), data, n, rng)
