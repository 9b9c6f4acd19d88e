"""Noise of one counter of a batch: with the shuffler, as printed and as little as certified, and of local reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import noise_scales
from dpproof.reproduction.sdp_pe.arms import (
    ACTIONS,
    HORIZON,
    STATES,
    Arm,
    Kind,
    deviation,
    local,
    shuffled,
)

USERS: Final = tuple(4**power for power in range(1, 8))
"""The compared numbers of users in a batch."""


def noise_rows(epsilons: Sequence[float]) -> list[dict[str, Any]]:
    """Return the standard deviation of the noise of one counter of a batch of users, in RiverSwim.

    There is a row for each epsilon and each number of users. Nothing is drawn. Noise of local reports is that of the
    sum of the users' reports of one transition.

    >>> [round(row["local"] / row["calibrated"], 1) for row in noise_rows([1.0])][-2:]
    [52.2, 104.4]
    """
    shape = ReleaseShape(HORIZON, STATES, ACTIONS)
    return [
        {
            "epsilon": epsilon,
            "users": users,
            "printed": deviation(shuffled(_arm(Kind.PRINTED, epsilon)), shape, users),
            "calibrated": deviation(shuffled(_arm(Kind.CALIBRATED, epsilon)), shape, users),
            "local": float(noise_scales(local(_arm(Kind.LDP, epsilon)).parameters)[-1]) * math.sqrt(users),
        }
        for epsilon in epsilons
        for users in USERS
    ]


def _arm(kind: Kind, epsilon: float) -> Arm:
    return Arm("RiverSwim", kind, epsilon, USERS[-1])
