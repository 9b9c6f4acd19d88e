"""Samples of the CENTRAL-PRIVATIZER's counts, for an audit of its first users."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters
from dpproof.mechanisms.rl.private_ucb.counted_users import CountedUsers, Floats, released
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer


def sample(
    parameters: CentralCountsParameters, data: CountedUsers, n: int, rng: np.random.Generator
) -> Floats:
    """Return the noisy counts after each user in ``n`` runs of the CENTRAL-PRIVATIZER, (n, users, columns)."""
    return released(CentralPrivatizer(parameters), data, n, rng)
