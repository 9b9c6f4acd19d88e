"""Trajectories of users (states, actions, costs) as arrays, and a check whether two sequences are neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.private_ucb.parameters import CountsParameters
from dpproof.mechanisms import _checks


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Trajectories of K users, H steps each. The arrays are copied and made read-only.

    Attributes:
        states: int64 (K, H + 1), numbers from 0 on. The last column is the state after the last step.
        actions: int64 (K, H), numbers from 0 on.
        costs: float64 (K, H) in [0, 1].

    >>> Trajectories([[0, 1, 1]], [[0, 0]], [[0.5, 1.0]]).count
    1

    Raises:
        ValueError: naming the field: shapes that do not fit, no user or step, an index below 0, a cost
            outside [0, 1].
    """

    states: NDArray[np.int64]
    actions: NDArray[np.int64]
    costs: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Check and freeze the fields."""
        costs = _checks.unit_interval("costs", self.costs)
        if costs.ndim != 2 or 0 in costs.shape:
            raise ValueError(
                f"the shape of costs {costs.shape} must be (users, steps), with at least one of each"
            )
        users, steps = costs.shape
        object.__setattr__(self, "costs", costs)
        for name, length in (("states", steps + 1), ("actions", steps)):
            values = _checks.indices(name, getattr(self, name), np.iinfo(np.int64).max)
            if values.shape != (users, length):
                raise ValueError(f"the shape of {name} {values.shape} must be {(users, length)}")
            object.__setattr__(self, name, values)

    @property
    def count(self) -> int:
        """Number K of users."""
        return int(self.costs.shape[0])

    def counts(self, parameters: CountsParameters) -> NDArray[np.float64]:
        """Return what each user adds to each private counter, an array (K, counters).

        `parameters` say which tables are counted: visits, summed costs, transitions. A user's row lists the entries
        of these tables in this order.

        >>> from dpproof.accountant.rl.private_ucb.parameters import LocalCountsParameters
        >>> one = Trajectories([[0, 1, 1]], [[0, 0]], [[0.5, 1.0]])
        >>> one.counts(LocalCountsParameters(2, 1, 2, 1, pooled=True, visits="summed")).tolist()
        [[0.5, 1.0, 0.0, 1.0, 0.0, 1.0]]

        Raises:
            ValueError: for a state or action beyond the parameters', or trajectories of another length.
        """
        S, A, H, T = parameters.states, parameters.actions, parameters.horizon, parameters.tables
        if self.costs.shape[1] != H:
            raise ValueError(f"steps ({self.costs.shape[1]}) must equal the horizon ({H})")
        _checks.indices("states", self.states, S)
        _checks.indices("actions", self.actions, A)
        table = np.zeros(H, np.int64) if parameters.pooled else np.arange(H)
        cells = (table * S + self.states[:, :-1]) * A + self.actions
        triples = cells * S + self.states[:, 1:]
        ones = np.ones_like(self.costs)
        found = {
            "visits": _added(cells, ones, T * S * A),
            "costs": _added(cells, self.costs, T * S * A),
            "transitions": _added(triples, ones, T * S * A * S),
        }
        return np.concatenate([found[name] for name in parameters.families], axis=1)


def _added(places: NDArray[np.int64], values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return the values summed by place, for each user."""
    found = np.zeros((len(places), size))
    np.add.at(found, (np.arange(len(places))[:, None], places), values)
    return found


def differ_in_one_trajectory(one: Trajectories, other: Trajectories, *, same_start: bool = False) -> bool:
    """Return whether two sequences of users differ in at most one user.

    With ``same_start``, that user's first state and first action must also be the same in both sequences.

    >>> one = Trajectories([[0, 1, 1]], [[0, 0]], [[0.5, 1.0]])
    >>> differ_in_one_trajectory(one, Trajectories([[1, 1, 1]], [[0, 0]], [[0.5, 1.0]]), same_start=True)
    False
    """
    if one.costs.shape != other.costs.shape:
        return False
    fields = ("states", "actions", "costs")
    alike = [(getattr(one, name) == getattr(other, name)).all(axis=1) for name in fields]
    begun = (one.states[:, 0] == other.states[:, 0]) & (one.actions[:, 0] == other.actions[:, 0])
    different = ~np.all(alike, axis=0)
    return bool(different.sum() <= 1 and (begun.all() or not same_start))
