"""The exact likelihood ratio of RLSVI's releases on neighbouring users: the strongest test there is.

Given the tables released so far, both sequences of users have walked through the same states, so the counts
agree; every entry of the next table is Gaussian with variance beta_k / (N + 1) under both, and only the
means differ, through Rhat, at the one cell per step that the changed user visited. Source:
arXiv:2606.01952v1, Algorithm 1 and Lemma 11.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.mechanisms.rl.rlsvi import _kernels as kernels
from dpproof.mechanisms.rl.rlsvi.users import Users, check_users, differ_only_in_rewards_of_one_user


def log_likelihood_ratio(
    parameters: RLSVIParameters, tables: NDArray[np.float64], users: Users, other: Users
) -> NDArray[np.float64]:
    """Return ln p_other(tables) / p_users(tables), one number per release.

    The densities are those of the algorithm: on the output of another one the result
    is a score, not a likelihood ratio.

    Args:
        parameters: those of the mechanism.
        tables: float64 array (runs, K, H, S, A), as `RLSVI.release` returns it.
        users: the data under the denominator.
        other: the data under the numerator, a neighbour of `users` (rewards of one user replaced).

    Raises:
        ValueError: the data are not neighbours, sizes do not fit, or a table holds NaN or infinity.

    >>> parameters = RLSVIParameters(states=1, actions=1, horizon=1, episodes=2)
    >>> users = Users([[[[0]]], [[[0]]]], [[[[0.0]]], [[[0.0]]]])
    >>> tables = np.array([0.3, 1.5]).reshape(1, 2, 1, 1, 1)
    >>> log_likelihood_ratio(parameters, tables, users, users.with_rewards(0, 1.0))
    array([2.885390...])

    """
    check_users(parameters, users)
    user = differ_only_in_rewards_of_one_user(users, other)
    given = np.ascontiguousarray(tables, dtype=np.float64)
    if given.shape[1:] != users.rewards.shape or given.ndim != 5:
        raise ValueError(f"the shape of tables {given.shape} must be (runs, *{users.rewards.shape})")
    if not np.isfinite(given).all():
        raise ValueError("tables must be finite, but hold NaN or infinity")
    ratios = np.empty(given.shape[0])
    kernels.likelihood_loop(
        users.start,
        users.next_states,
        users.rewards,
        other.rewards[user] - users.rewards[user],
        user,
        kernels.scale_of(parameters, kernels.noise_widths(parameters)),
        given,
        ratios,
    )
    return ratios
