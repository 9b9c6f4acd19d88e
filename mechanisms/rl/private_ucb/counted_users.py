"""Users of a privatizer as an audit needs them: the first of a stream, and the counters that are looked at.

A part of what is released is released, so that a violation found in it is one; counters in which no user
differs, and episodes long after the user who does, only cost time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.private_ucb.parameters import (
    CentralCountsParameters,
    CountsParameters,
    LocalCountsParameters,
)
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer, LocalPrivatizer
from dpproof.mechanisms.rl.private_ucb.worst_trajectories import worst_pair
from dpproof.mechanisms.rl.trajectories import Trajectories, differ_in_one_trajectory

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CountedUsers:
    """The first users of a stream; what one of them who is absent adds to the counters is nothing.

    Attributes:
        users: their trajectories.
        absent: whether the first is left out, the others keeping their episodes.
        columns: the counters that are looked at, in the privatizer's order.

    >>> parameters = LocalCountsParameters(2, 1, 1, 1, pooled=True, visits="summed")
    >>> one = Trajectories([[0, 1]], [[0]], [[0.5]])
    >>> CountedUsers(one, False, np.array([0, 3])).leaves(parameters).tolist()
    [[0.5, 1.0]]
    """

    users: Trajectories
    absent: bool
    columns: NDArray[np.int64]

    def leaves(self, parameters: CountsParameters) -> Floats:
        """What every user adds to each of the counters: (users, columns)."""
        found = self.users.counts(parameters)[:, self.columns]
        if self.absent:
            found[0] = 0
        return found


def worst_users(
    parameters: CentralCountsParameters | LocalCountsParameters, users: int, *, replaced: bool
) -> tuple[CountedUsers, CountedUsers]:
    """The pair that attains the guarantee, the first user replaced or left out, in the counters it moves.

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


def differ_in_one_user(one: CountedUsers, other: CountedUsers) -> None:
    """Refuse two streams that differ in more than their first user, or in what is looked at.

    Raises:
        ValueError: saying which.
    """
    if not np.array_equal(one.columns, other.columns):
        raise ValueError(f"the counters looked at differ: {one.columns.size} and {other.columns.size}")
    if not differ_in_one_trajectory(one.users, other.users):
        raise ValueError("more than one user differs")
    if one.absent != other.absent and not differ_in_none(one.users, other.users):
        raise ValueError("a user is left out, and another differs")


def differ_in_none(one: Trajectories, other: Trajectories) -> bool:
    """Whether the trajectories are the same."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("states", "actions", "costs")
    )


def released(
    privatizer: CentralPrivatizer | LocalPrivatizer, data: CountedUsers, n: int, rng: np.random.Generator
) -> Floats:
    """``n`` runs of a privatizer: the counts that it releases after each user, or that each user sends."""
    return privatizer.release(data.leaves(privatizer.parameters), n, rng, data.columns)
