"""Sensitivity of PRIVATE-UCB's counts to one user: visits N(s, a), costs C(s, a), transitions N(s, a, s').

A user is a trajectory of H steps. There are three tables: of visits, of transitions and of costs. Each step
adds one to an entry of the first two tables, and a cost in [0, 1] to an entry of the last. Either every step
has its own three tables, or all steps share them (pooled). Laplace noise needs the sum of the changes,
Gaussian noise the sum of their squares. The same pair of neighbours has the largest value of both sums
(docs/notes/ucb_counters_exact.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError

VISITS, COSTS, TRANSITIONS = FAMILIES = ("visits", "costs", "transitions")
Moves = tuple[tuple[int, int], ...]
"""Pairs (size, count): ``count`` entries of a table change by ``size``."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of PRIVATE-UCB's tables of counts.

    Attributes:
        states: the number of states.
        actions: the number of actions.
        horizon: the number of steps of an episode.
        pooled: whether all steps share one table of each kind.
    """

    states: int
    actions: int
    horizon: int
    pooled: bool = False


@dataclass(frozen=True)
class Change:
    """The largest change of one kind of counts (visits, costs or transitions) between neighbours.

    >>> Change(((3, 1), (2, 1))).total, Change(((3, 1), (2, 1))).squares
    (5, 13)
    """

    worst: Moves
    """The changes between the worst pair of neighbours, as pairs (size, count)."""
    boxes: Moves = ()
    """Changes that bound those of every pair of neighbours, as pairs (size, count); by default ``worst``.

    The changes of any pair of neighbours can be put into groups, one group for each of the listed changes,
    such that the sum of a group is at most its listed change.
    """

    @property
    def dominating(self) -> Moves:
        """Pairs (size, count) that bound the changes between any two neighbours. Every size is above 0."""
        return _nonzero(self.boxes or self.worst)

    @property
    def attained(self) -> Moves:
        """The changes between the worst pair of neighbours, as pairs (size, count) with a size above 0."""
        return _nonzero(self.worst)

    @property
    def total(self) -> int:
        """The largest sum of absolute changes: the L1 sensitivity."""
        return sum(size * count for size, count in self.worst)

    @property
    def squares(self) -> int:
        """The largest sum of squared changes: the squared L2 sensitivity."""
        return sum(size * size * count for size, count in self.worst)


def _nonzero(moves: Moves) -> Moves:
    return tuple((size, count) for size, count in moves if size and count)


Changes = Mapping[str, Change]


def _all_in_one(sizes: Sizes, steps: int, users: int) -> Change:
    """Return the change by ``users`` users without common cells, each of whom visits one cell in all ``steps``."""
    return Change(((steps, users),) if sizes.pooled else ((1, users * steps),))


def between(
    mechanism: str, sizes: Sizes, adjacency: Adjacency, *, any_start: bool, own_actions: bool
) -> Changes:
    """Return the largest changes of all kinds of counts between neighbours under ``adjacency``.

    Args:
        mechanism: the command-line name of the mechanism, for error messages.
        sizes: the sizes of the tables.
        adjacency: ``add-remove``, ``replace`` or ``rewards-only``.
        any_start: whether a user and its replacement may differ in the first state and action.
        own_actions: whether a user's later actions are its own data. It is used only if ``any_start`` is
            false.

    Raises:
        UnprovedAdjacencyError: for a relation without a proof.
    """
    if adjacency is Adjacency.ADD_REMOVE:
        return added(sizes)
    if adjacency is Adjacency.REWARDS_ONLY:
        return other_costs(sizes)
    if adjacency is not Adjacency.REPLACE:
        known = "Use one of: add-remove, replace, rewards-only"
        raise UnprovedAdjacencyError(mechanism, adjacency, known)
    return replaced(sizes) if any_start else same_start(sizes, own_actions=own_actions)


def added(sizes: Sizes) -> Changes:
    """Return the largest changes if one user is added.

    Each step of the user adds at most one to a single entry of each table.

    >>> added(Sizes(6, 2, 20))["visits"].total
    20
    """
    return dict.fromkeys(FAMILIES, _all_in_one(sizes, sizes.horizon, 1))


def other_costs(sizes: Sizes) -> Changes:
    """Return the largest changes between two users who visit the same cells but have different costs.

    >>> [change.total for change in other_costs(Sizes(6, 2, 20)).values()]
    [0, 20, 0]
    """
    return {VISITS: Change(()), COSTS: _all_in_one(sizes, sizes.horizon, 1), TRANSITIONS: Change(())}


def replaced(sizes: Sizes) -> Changes:
    """Return the largest changes if one trajectory is replaced by any other.

    In the worst case the two trajectories visit different states or actions at every step. If there is only
    one state and one action, they can differ in costs only.

    >>> [change.total for change in replaced(Sizes(6, 2, 20)).values()]
    [40, 40, 40]
    """
    if sizes.states * sizes.actions == 1:
        return other_costs(sizes)
    return dict.fromkeys(FAMILIES, _all_in_one(sizes, sizes.horizon, 2))


def same_start(sizes: Sizes, *, own_actions: bool) -> Changes:
    """Return the largest changes if one trajectory is replaced by another with the same first state and action.

    If ``own_actions`` is true, later actions are the users' own data. Otherwise the algorithm draws them, and
    users differ only in costs and next states. With a single state the next state is always the same.

    >>> [change.total for change in same_start(Sizes(6, 2, 20), own_actions=False).values()]
    [38, 39, 40]
    """
    if sizes.states == 1 and not (own_actions and sizes.actions > 1):
        return other_costs(sizes)
    steps = sizes.horizon
    later = _all_in_one(sizes, steps - 1, 2)
    if not sizes.pooled:
        transitions = _all_in_one(sizes, steps, 2)
        return {
            VISITS: later,
            COSTS: Change(((1, 2 * steps - 1),)),
            TRANSITIONS: transitions if sizes.states > 1 else later,
        }
    moved = Change(
        ((steps, 1), (steps - 1, 1), (1, 1)), ((steps, 2),)
    )  # one user stays, the other leaves at once
    return {
        VISITS: later,
        COSTS: Change(((steps, 1), (steps - 1, 1))),
        TRANSITIONS: moved if sizes.states > 1 else later,
    }
