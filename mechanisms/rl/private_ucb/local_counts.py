"""Samples of the LOCAL-PRIVATIZER's counts, for an audit of its first users."""

from __future__ import annotations

import numpy as np

from dpproof.accountant.rl.private_ucb.parameters import LocalCountsParameters
from dpproof.mechanisms.rl.private_ucb.counted_users import CountedUsers, Floats, released
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import LocalPrivatizer


def sample(parameters: LocalCountsParameters, data: CountedUsers, n: int, rng: np.random.Generator) -> Floats:
    """Return the noisy counts that each user sends in ``n`` runs of the LOCAL-PRIVATIZER, (n, users, columns)."""
    return released(LocalPrivatizer(parameters), data, n, rng)
