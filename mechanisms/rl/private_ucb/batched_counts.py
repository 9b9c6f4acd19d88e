"""Inputs and samples for an audit of counts that are released after each batch of users.

The two inputs differ in one user. All other users are the same, and the noise does not depend on the data. So the other
users only shift the counts by a known amount, and are left out. If there are many batches, the audit uses only the
first ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.private_ucb.batched_parameters import BatchedCountsParameters
from dpproof.accountant.rl.private_ucb.parameters import CentralCountsParameters
from dpproof.mechanisms import _checks
from dpproof.mechanisms.agents.learner import Path
from dpproof.mechanisms.agents.many_found_runs import FoundCounts, FoundUsers
from dpproof.mechanisms.agents.many_runs import EARLY, AgentCounts, paths_apart
from dpproof.mechanisms.rl.private_ucb.privatizers_paper import CentralPrivatizer
from dpproof.mechanisms.rl.trajectories import Trajectories, differ_in_one_trajectory

Floats = NDArray[np.float64]


def over_batches(parameters: BatchedCountsParameters) -> CentralCountsParameters:
    """Return the parameters of a counter that treats each batch as one user, with the same noise.

    >>> over_batches(BatchedCountsParameters(6, 2, 20, 1000, sigma=9.0, every=100)).leaves
    9

    Raises:
        ValueError: for one table for each step, transitions of each step, a limit on an episode's payoffs, or an
            encoder that is rounded to a number of bits.
    """
    p = parameters
    if not p.pooled or p.most_payoff is not None or p.bits is not None or p.step_sigma is not None:
        raise ValueError(
            f"pooled ({p.pooled}) must be true, and most_payoff ({p.most_payoff}) and step_sigma ({p.step_sigma}) left "
            f"out, without bits ({p.bits}). "
            "Give bits=16 and grains=1024, so that the audit samples the counters of agents."
        )
    return CentralCountsParameters(
        p.states,
        p.actions,
        p.horizon,
        p.batches + 1,
        scale=p.sigma,
        noise=p.noise,
        cost_factor=p.cost_factor,
        visits="summed",
        pooled=True,
        counter=p.counter,
        bands=p.bands,
    )


def capped_counts(parameters: BatchedCountsParameters, user: Trajectories) -> Floats:
    """Return what one user adds to the counters: first to those of costs, then to those of transitions.

    At most ``parameters.cap`` visits of each state and action are counted.

    >>> once = BatchedCountsParameters(2, 1, 3, 9, sigma=1.0, cap=1)
    >>> capped_counts(once, Trajectories([[0, 0, 1, 1]], [[0, 0, 0]], [[1.0, 1.0, 0.5]])).tolist()
    [1.0, 0.5, 1.0, 0.0, 0.0, 1.0]
    """
    S, A = parameters.states, parameters.actions
    _checks.indices("states", user.states, S)
    _checks.indices("actions", user.actions, A)
    cells, after = user.states[0, :-1] * A + user.actions[0], user.states[0, 1:]
    kept = [h for h, cell in enumerate(cells) if (cells[:h] == cell).sum() < parameters.cap]
    costs = np.bincount(cells[kept], user.costs[0, kept], S * A)
    return np.concatenate([costs, np.bincount((cells * S + after)[kept], minlength=S * A * S)])


@dataclass(frozen=True, eq=False)
class BatchedUser:
    """An input of the audit: one user of the first batch. An absent user adds nothing to the counters.

    Attributes:
        user: the trajectory of the user.
        absent: whether the user is left out.
        columns: the numbers of the audited counters.
    """

    user: Trajectories
    absent: bool
    columns: NDArray[np.int64]

    @property
    def path(self) -> Path | None:
        """The user as agents count it; None if the user is absent."""
        one = self.user
        return None if self.absent else Path(one.states[0], one.actions[0], one.costs[0])

    def leaves(self, parameters: BatchedCountsParameters) -> Floats:
        """Return an array (batches, columns): what the user adds to each audited counter in each batch."""
        found = np.zeros((min(parameters.batches, EARLY), len(self.columns)))
        if not self.absent:
            found[0] = capped_counts(parameters, self.user)[self.columns]
        return found


def users_apart(parameters: BatchedCountsParameters, *, replaced: bool) -> tuple[BatchedUser, BatchedUser]:
    """Return the two inputs of the audit: users whose counts differ as much as possible.

    A cell is a pair of a state and an action. The first user visits the cells in order, ``cap`` times each. The second
    user visits them in reverse order, with cost 0 in cells that the first user visits. All other costs are 1. If
    ``replaced`` is false, the second user is the first one, marked as absent.

    >>> parameters = BatchedCountsParameters(2, 1, 2, 9, sigma=1.0, cap=2)
    >>> [one.user.states.tolist() for one in users_apart(parameters, replaced=True)]
    [[[0, 0, 0]], [[1, 1, 1]]]
    """
    cells = parameters.states * parameters.actions
    order = np.minimum(np.arange(parameters.horizon) // parameters.cap, cells - 1)
    one = _in_cells(parameters, order, np.ones(parameters.horizon))
    back = cells - 1 - order
    other = _in_cells(parameters, back, (~np.isin(back, order)).astype(np.float64)) if replaced else one
    sums = (capped_counts(parameters, one), capped_counts(parameters, other) if replaced else 0.0)
    columns = np.flatnonzero(sums[0] != sums[1])
    return BatchedUser(one, False, columns), BatchedUser(other, not replaced, columns)


def payoffs_apart(parameters: BatchedCountsParameters) -> tuple[BatchedUser, BatchedUser]:
    """Return the two inputs of the audit under ``rewards-only``: one user with all costs 1, and with all costs 0.

    Both visit the cells in order, ``cap`` times each.

    >>> first, second = payoffs_apart(BatchedCountsParameters(2, 1, 2, 9, sigma=1.0, cap=2))
    >>> first.columns.tolist(), second.user.costs.tolist()
    ([0], [[0.0, 0.0]])
    """
    cells = parameters.states * parameters.actions
    order = np.minimum(np.arange(parameters.horizon) // parameters.cap, cells - 1)
    one, other = (_in_cells(parameters, order, np.full(parameters.horizon, cost)) for cost in (1.0, 0.0))
    columns = np.flatnonzero(capped_counts(parameters, one) != capped_counts(parameters, other))
    return BatchedUser(one, False, columns), BatchedUser(other, False, columns)


def _in_cells(parameters: BatchedCountsParameters, cells: NDArray[np.int64], costs: Floats) -> Trajectories:
    states = cells // parameters.actions
    path = np.append(states, states[-1])
    return Trajectories(path[None], (cells % parameters.actions)[None], costs[None])


def lattice_users(
    parameters: BatchedCountsParameters, adjacency: Adjacency
) -> tuple[BatchedUser, BatchedUser]:
    """Return two inputs for agents' own counters, which lie on a lattice. They hold the counters that differ.

    >>> parameters = BatchedCountsParameters(2, 1, 2, 9, 1.0, cap=2, bits=4, grains=1024)
    >>> [one.columns.tolist() for one in lattice_users(parameters, Adjacency.ADD_REMOVE)]
    [[0, 2], [0, 2]]
    """
    paths = paths_apart(parameters, payoffs_only=adjacency is Adjacency.REWARDS_ONLY)
    absent = adjacency is Adjacency.ADD_REMOVE
    counts = AgentCounts(parameters)
    apart = counts.means(paths[0]) - counts.means(None if absent else paths[1])
    columns = np.flatnonzero(apart[0].any(axis=0))
    one, other = (Trajectories(path.states[None], path.actions[None], path.gains[None]) for path in paths)
    return BatchedUser(one, False, columns), BatchedUser(one if absent else other, absent, columns)


def differ_in_one_batched_user(one: BatchedUser, other: BatchedUser) -> None:
    """Check that both inputs hold one user each and have the same audited counters.

    Raises:
        ValueError: one of the two conditions fails. The message says which one.
    """
    if not np.array_equal(one.columns, other.columns):
        raise ValueError(
            f"columns ({one.columns.size} and {other.columns.size} counters) must name the same counters in both inputs"
        )
    if one.user.count != 1 or not differ_in_one_trajectory(one.user, other.user):
        raise ValueError("The inputs must differ in one user only.")


def sample(
    parameters: BatchedCountsParameters, data: BatchedUser | FoundUsers, n: int, rng: np.random.Generator
) -> Floats:
    """Return the audited noisy counts in ``n`` runs, an array (n, releases, columns).

    On a lattice, these are all noisy numbers that an agent releases. Otherwise they are the running counts after each
    batch. If transitions are found, see `dpproof.mechanisms.agents.many_found_runs.FoundCounts.sample`.
    """
    if isinstance(data, FoundUsers):
        return FoundCounts(parameters).sample(data, n, rng)
    if parameters.bits is not None:
        return AgentCounts(parameters).release(data.path, n, rng)[..., data.columns]
    privatizer = CentralPrivatizer(over_batches(parameters))
    return privatizer.release(data.leaves(parameters), n, rng, data.columns)
