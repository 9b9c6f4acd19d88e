"""The audit of Gaussian Thompson sampling: the rewards of the first user differ, which the outputs reveal most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.thompson.thompson import ThompsonParameters
from dpproof.audits.data.pairs import Neighbours
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.targets.primitive import Setting
from dpproof.mechanisms.rl.thompson.thompson import Thompson, log_likelihood_ratio


def first_user(parameters: ThompsonParameters, adjacency: Adjacency) -> Neighbours:
    """Return two neighbouring inputs in which the first user's rewards are 0 or 1.

    All other rewards are 1, except that arm 0 has reward 0 if there are initial pulls. With initial pulls, the first
    user pulls arm 0, for which no other user has a reward. So arm 0 is rarely pulled again, and the first reward
    remains visible in the outputs. Without initial pulls, any arm may be pulled first.

    >>> first_user(ThompsonParameters(arms=2, rounds=1, pulls=1), Adjacency.REWARDS_ONLY).first.tolist()
    [[0.0, 0.0], [0.0, 1.0], [0.0, 1.0]]

    Raises:
        NoAuditError: there is one round without initial pulls, so the draws depend on no reward.
    """
    if parameters.square == 0:
        raise NoAuditError(
            "rounds (1) must be at least 2 for an audit if pulls is 0. Otherwise the draws depend on no reward."
        )
    quiet = np.ones((Thompson(parameters).users, parameters.arms))
    if parameters.pulls:
        quiet[:, 0] = 0.0
    quiet[0] = 0.0
    loud = quiet.copy()
    loud[0] = 1.0
    return Neighbours(
        quiet, loud, adjacency, "the first user pays 0 for every arm, or 1", _differ_in_one_user
    )


def _differ_in_one_user(first: NDArray[np.float64], second: NDArray[np.float64]) -> None:
    for rewards in (first, second):
        if not ((rewards >= 0) & (rewards <= 1)).all():
            raise ValueError("rewards must be in [0, 1]")
    users = np.flatnonzero((first != second).any(axis=1))
    if users.size > 1:
        raise ValueError(f"Users {users[:5].tolist()} differ. At most one may differ.")


TARGET = Setting(first_user, log_likelihood_ratio)
