"""Inputs for the audit of a privatizer: two sequences of users for which its guarantee is tight.

An input holds only the first users and only some counters. A part of a release is itself released, so a violation
in the part is a violation of the whole. Counters that are the same for both inputs, and episodes long after the user
who differs, would only cost time. The best score is the exact log-likelihood ratio of the release for the two inputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.accountant.counting.noise import NoiseLaw
from dpproof.accountant.rl.private_ucb.parameters import (
    CentralCountsParameters,
    CountsParameters,
    LocalCountsParameters,
)
from dpproof.mechanisms.counting.paths import row_coefficients
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import (
    ALL,
    CentralPrivatizer,
    Columns,
    LocalPrivatizer,
    noise_scales,
)
from dpproof.mechanisms.rl.trajectories import Trajectories, differ_in_one_trajectory

Floats = NDArray[np.float64]


def worst_pair(
    parameters: CentralCountsParameters | LocalCountsParameters, users: int = 1
) -> tuple[Trajectories, Trajectories]:
    """Return two sequences of ``users`` users, whose first users differ as much as possible.

    A cell is a pair of a state and an action. In the first sequence the first user stays in one cell with costs 1. In
    the second sequence this user stays in another cell. If ``parameters.start`` is ``same``, the first state and action
    must not differ, so this user is in the other cell from the second step on. If users cannot choose another cell,
    this user stays in the same cell with costs 0.

    >>> from dpproof.accountant.rl.private_ucb.parameters import LocalCountsParameters
    >>> one, other = worst_pair(LocalCountsParameters(2, 1, 2, 1, start="same"))
    >>> one.states.tolist(), other.states.tolist(), other.costs.tolist()
    ([[0, 0, 0]], [[0, 1, 1]], [[0.0, 1.0]])
    """
    H, apart = parameters.horizon, 1 if parameters.start == "same" else 0
    states, actions = np.zeros((2, H + 1), np.int64), np.zeros((2, H), np.int64)
    costs = np.ones((2, H))
    if parameters.states > 1:
        states[1, apart:] = 1
        costs[1, :apart] = 0
    elif parameters.actions > 1 and parameters.own_actions:
        actions[1, apart:] = 1
        costs[1, :apart] = 0
    else:
        costs[1] = 0
    return _sequence(states[0], actions[0], costs[0], users), _sequence(
        states[1], actions[1], costs[1], users
    )


def _sequence(
    states: NDArray[np.int64], actions: NDArray[np.int64], costs: Floats, users: int
) -> Trajectories:
    """Return the user, followed by users who stay in the first cell without cost."""
    later = users - 1
    return Trajectories(
        np.vstack([states, np.zeros((later, len(states)), np.int64)]),
        np.vstack([actions, np.zeros((later, len(actions)), np.int64)]),
        np.vstack([costs, np.zeros((later, len(costs)))]),
    )


def central_log_ratio_of_leaves(
    outputs: ArrayLike,
    parameters: CentralCountsParameters,
    first: Floats,
    second: Floats,
    columns: Columns = ALL,
) -> Floats:
    """Return log(density under ``first`` / density under ``second``) for each of n releases.

    ``first`` and ``second`` (users, counters) are what every user adds to the counters in ``columns``. The releases are
    the array ``outputs`` (n, users, counters). An invertible linear map turns them into values with independent noise.
    For the tree counter these values are the noisy sums in the tree's nodes. For the square-root counter they are the
    noisy entries of C x, where x are the users' additions and C is the square root of the matrix of running sums.

    >>> parameters = CentralCountsParameters(2, 1, 1, 2, scale=2.0)
    >>> one, other = (user.counts(parameters)[:-1] for user in worst_pair(parameters, users=2))
    >>> central_log_ratio_of_leaves(9 * (one - other)[None], parameters, one, other)
    array([1.5])

    Raises:
        ValueError: for averaged subtrees, whose releases tell less than their nodes.
    """
    if parameters.counter == "honaker":
        raise ValueError(
            "counter ('honaker') is not possible here, because the distribution of its noise has no closed form. "
            "Use tree or square-root."
        )
    unmixed = _nodes if parameters.counter == "tree" else _entries
    released = np.asarray(outputs, dtype=np.float64)
    values = (unmixed(parameters, x) for x in (released, first.cumsum(axis=0), second.cumsum(axis=0)))
    return _log_ratio(parameters, noise_scales(parameters)[columns], *values)


def local_log_ratio_of_leaves(
    outputs: ArrayLike,
    parameters: LocalCountsParameters,
    first: Floats,
    second: Floats,
    columns: Columns = ALL,
) -> Floats:
    """Return log(density under ``first`` / density under ``second``) for each of n runs.

    ``first`` and ``second`` (users, counters) are the users' true counts in ``columns``. ``outputs`` (n, users,
    counters) are the noisy counts that the users send, as ``LocalPrivatizer.release`` returns them.
    """
    scales = noise_scales(parameters)[columns]
    return _log_ratio(parameters, scales, np.asarray(outputs, dtype=np.float64), first, second)


def _nodes(_parameters: CentralCountsParameters, running: Floats) -> Floats:
    """Return the node that ends at each time: the count minus that at the time without its lowest binary one."""
    with_start = np.concatenate([np.zeros_like(running[..., :1, :]), running], axis=-2)
    times = np.arange(1, with_start.shape[-2])
    found: Floats = with_start[..., 1:, :] - with_start[..., times & (times - 1), :]
    return found


def _entries(parameters: CentralCountsParameters, running: Floats) -> Floats:
    """Return the entries of C x + noise, from which B makes the running counts."""
    from scipy import signal  # takes long to import

    row = row_coefficients(parameters.strategy)
    found: Floats = signal.lfilter([1.0], row, running, axis=-2)
    return found


def _log_ratio(
    parameters: CountsParameters, scales: Floats, values: Floats, first: Floats, second: Floats
) -> Floats:
    if parameters.noise == NoiseLaw.LAPLACE:
        losses = (abs(values - second) - abs(values - first)) / scales
    else:
        losses = ((values - second) ** 2 - (values - first) ** 2) / (2 * scales**2)
    found: Floats = losses.sum(axis=(-2, -1))
    return found


@dataclass(frozen=True, eq=False)
class CountedUsers:
    """An input of an audit: the first users of a stream. An absent user adds nothing to the counters.

    Attributes:
        users: the trajectories of the users.
        absent: whether the first user is left out. The other users keep their episodes.
        columns: the numbers of the audited counters, in the privatizer's order.

    >>> parameters = LocalCountsParameters(2, 1, 1, 1, pooled=True, visits="summed")
    >>> one = Trajectories([[0, 1]], [[0]], [[0.5]])
    >>> CountedUsers(one, False, np.array([0, 3])).leaves(parameters).tolist()
    [[0.5, 1.0]]
    """

    users: Trajectories
    absent: bool
    columns: NDArray[np.int64]

    def leaves(self, parameters: CountsParameters) -> Floats:
        """Return an array (users, columns): what every user adds to each audited counter."""
        found = self.users.counts(parameters)[:, self.columns]
        if self.absent:
            found[0] = 0
        return found


def worst_users(
    parameters: CentralCountsParameters | LocalCountsParameters, users: int, *, replaced: bool
) -> tuple[CountedUsers, CountedUsers]:
    """Return two inputs for which the guarantee is tight. They hold only the counters in which they differ.

    If ``replaced`` is true, the first user of the second input is another one. Otherwise this user is absent.

    >>> parameters = LocalCountsParameters(2, 1, 1, 1, pooled=True, visits="summed")
    >>> [data.columns.tolist() for data in worst_users(parameters, 1, replaced=True)]
    [[0, 1, 2, 5], [0, 1, 2, 5]]
    """
    one, other = worst_pair(parameters, users)
    second = other if replaced else one
    all_of_them = np.arange(parameters.counters)
    pair = CountedUsers(one, False, all_of_them), CountedUsers(second, not replaced, all_of_them)
    first, changed = (data.leaves(parameters)[0] for data in pair)
    columns = np.flatnonzero(first != changed)
    return CountedUsers(one, False, columns), CountedUsers(second, not replaced, columns)


def worst_payoffs(
    parameters: CentralCountsParameters | LocalCountsParameters, users: int
) -> tuple[CountedUsers, CountedUsers]:
    """Return two inputs that differ in the first user's costs only: all 1, and all 0.

    They hold only the counters in which they differ.

    >>> parameters = LocalCountsParameters(2, 1, 1, 1, pooled=True, visits="summed")
    >>> [data.users.costs.tolist() for data in worst_payoffs(parameters, 1)]
    [[[1.0]], [[0.0]]]
    """
    one, _ = worst_pair(parameters, users)
    costs = one.costs.copy()
    costs[0] = 0.0
    paid, unpaid = one, Trajectories(one.states, one.actions, costs)
    all_of_them = np.arange(parameters.counters)
    first, changed = (CountedUsers(data, False, all_of_them).leaves(parameters)[0] for data in (paid, unpaid))
    columns = np.flatnonzero(first != changed)
    return CountedUsers(paid, False, columns), CountedUsers(unpaid, False, columns)


def differ_in_one_user(one: CountedUsers, other: CountedUsers) -> None:
    """Check that two inputs differ in one user only and have the same audited counters.

    Raises:
        ValueError: one of the two conditions fails. The message says which one.
    """
    if not np.array_equal(one.columns, other.columns):
        raise ValueError(
            f"columns ({one.columns.size} and {other.columns.size} counters) must name the same counters in both inputs"
        )
    if not differ_in_one_trajectory(one.users, other.users):
        raise ValueError("The inputs must differ in one user only.")
    if one.absent != other.absent and not differ_in_none(one.users, other.users):
        raise ValueError("If one input leaves out a user, no other user may differ.")


def differ_in_none(one: Trajectories, other: Trajectories) -> bool:
    """Return whether all states, actions and costs of two sequences are the same."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("states", "actions", "costs")
    )


def released(
    privatizer: CentralPrivatizer | LocalPrivatizer, data: CountedUsers, n: int, rng: np.random.Generator
) -> Floats:
    """Return the noisy counts in ``n`` runs of a privatizer, an array (n, users, columns).

    A central privatizer counts all users so far, after each user. A local one counts each user alone.
    """
    return privatizer.release(data.leaves(privatizer.parameters), n, rng, data.columns)
