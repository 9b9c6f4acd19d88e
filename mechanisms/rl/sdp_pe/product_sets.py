"""Active policies as a product set, so that SDP-PE needs no list of policies.

A product set allows some actions for each step and state, and contains every policy that takes allowed actions. Dynamic
programming answers the questions of Algorithms 1 to 3 about such a set exactly, except for one: the policy that covers
the set is found by Newton's method, and its distance from the best one is computed. The sets of the paper do not have
this form, and its questions about them are NP-hard. So another rule drops actions. It multiplies the largest
probability of being in a state at a step by the loss of an action there. The loss is the best value from there, minus
the best value from there with this action now. If the product is at least the threshold, by the estimates, the action
is dropped.

A note argues that this rule never drops an optimal action, if the estimates are as precise as the paper's proof says.
The constants `TUNED` do not ensure this. A product set also contains combinations of actions that the paper would
drop. The regret bound of the note is larger than that of enumerated policies by a factor (XH + 1)/2, for X states and
H steps.

Proofs: docs/notes/sdp_product_sets.md.
"""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.rl.sdp_pe import _product_kernels as kernels
from dpproof.mechanisms.rl.sdp_pe._kernels import TIE
from dpproof.mechanisms.rl.sdp_pe.active_sets import ActiveSet, Covering, EnumeratedSet, Spread
from dpproof.mechanisms.rl.sdp_pe.constants import EliminationConstants
from dpproof.mechanisms.rl.sdp_pe.coverage import SLACK, EmptyActiveSetError
from dpproof.mechanisms.rl.sdp_pe.mixtures import Markov
from dpproof.mechanisms.rl.sdp_pe.policies import PolicySpace
from dpproof.mechanisms.rl.sdp_pe.public import PublicModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Policies: TypeAlias = Literal["product", "enumerated"]
"""How active policies are stored: as allowed actions, or as a list of all policies of a small problem."""
_ROUNDS: Final = 500
_HALVINGS: Final = 60


class ProductSet:
    """Active policies as the actions that are allowed for each step and state.

    >>> active = ProductSet(PublicModel(np.ones((1, 2, 1), bool), horizon=1), scored=True)
    >>> active.eliminate(np.zeros((1, 1, 2, 1)), np.array([[[0.1, 0.9]]]), threshold=0.5)
    >>> active.count, active.best().tolist()
    (1, [[1]])

    Args:
        model: the public knowledge about the environment. At first all actions are allowed.
        scored: which action explores if several do equally well: the best one by the last estimates (True), or the
            first one (False).
    """

    def __init__(self, model: PublicModel, *, scored: bool) -> None:
        reachable = model.reachable
        free = reachable & ~model.ends
        if model.extra:
            free[0] = False
        self.allowed: Bools = np.zeros((*reachable.shape, model.actions), np.bool_)
        self.allowed[..., 0] = True
        self.allowed[free] = True
        """Bool array (H, X, A). Where no action has to be chosen, only action 0 is allowed."""
        self._start, self._scored, self._reachable = model.start, scored, reachable
        self._greedy: Ints = np.zeros(reachable.shape, np.int64)
        after = np.vstack([reachable[1:], np.zeros((1, model.states), np.bool_)])
        self._mask: Floats = (reachable[:, :, None, None] & after[:, None, None, :]).astype(np.float64)
        self.policies = self.count
        """Number of all policies, active or not. Policies that differ in unreachable states only count once."""

    @property
    def count(self) -> int:
        """Number of active policies, an integer of any size."""
        return math.prod(self.allowed.sum(axis=2).ravel().tolist())

    @property
    def _guide(self) -> Ints:
        return self._greedy if self._scored else np.argmax(self.allowed, axis=2)

    def layer(self, h: int, transitions: Floats) -> Ints:
        """Return the policies (n, H, X) that explore step h. See `ActiveSet.layer`.

        For each state that is reachable by the public model, and each allowed action, there is one policy.
        """
        law, found = self._law(transitions), []
        for x in np.flatnonzero(self._reachable[h]).tolist():
            policy = self._guide.copy()
            kernels.seek(law, h, x, self.allowed, self._guide, TIE, policy)
            for a in np.flatnonzero(self.allowed[h, x]):
                policy[h, x] = a
                found.append(policy.copy())
        return np.array(found)

    def covering(self, transitions: Floats) -> Covering:
        """Return a random policy that covers all active policies. Its actions are drawn independently.

        Raises:
            ArithmeticError: the search does not come close enough to the best coverage.
        """
        law = self._law(transitions)
        chances, gap = cover(law, self.allowed, self._start)
        unused = chances.sum(axis=2) == 0
        chances[unused] = np.eye(self.allowed.shape[2])[self._guide[unused]]
        return Covering(Markov(chances), gap)

    def eliminate(self, transitions: Floats, rewards: Floats, threshold: float) -> None:
        """Drop each action whose loss, times the largest probability of its state, is at least `threshold`.

        The set that remains is smaller, so the rule is applied again until no action is dropped.

        Raises:
            EmptyActiveSetError: a state would have no action, because the threshold is not above 0.
        """
        if not threshold > 0:
            rule = "must be above 0. Otherwise no policy remains."
            raise EmptyActiveSetError(f"threshold ({threshold!r}) {rule}")
        law = self._law(transitions)
        while True:
            dropped = self.allowed & (losses(law, rewards, self.allowed, self._start) >= threshold)
            if not dropped.any():
                break
            self.allowed &= ~dropped
        table, _ = kernels.action_values(law, rewards, self.allowed, 1.0)
        self._greedy = np.argmax(np.where(self.allowed, table, -np.inf), axis=2)

    def best(self) -> Ints:
        """Return the active policy (H, X) of the largest value by the last estimates."""
        return self._greedy.copy()

    def spread(self, transitions: Floats, rewards: Floats) -> Spread:
        """Return the largest and the smallest value of an active policy by the given tables."""
        law = self._law(transitions)
        most, least = (
            float(
                kernels.action_values(law, np.ascontiguousarray(rewards), self.allowed, sign)[1][
                    0, self._start
                ]
            )
            for sign in (1.0, -1.0)
        )
        return Spread(most, least)

    def _law(self, transitions: Floats) -> Floats:
        """Return the transitions between states that are publicly reachable. The last step leads nowhere."""
        return np.ascontiguousarray(transitions * self._mask)


def active_set(model: PublicModel, policies: Policies, constants: EliminationConstants) -> ActiveSet:
    """Return the set of all policies of a problem, stored as `policies` says.

    Raises:
        ValueError: there are too many policies to enumerate, or `policies` is none of the two words.
    """
    match policies:
        case "product":
            return ProductSet(model, scored=constants.scored)
        case "enumerated":
            return EnumeratedSet(PolicySpace(model.reachable, model.actions), scored=constants.scored)
    raise ValueError(f"policies ({policies!r}) must be 'product' or 'enumerated'")


def losses(law: Floats, rewards: Floats, allowed: Bools, start: int) -> Floats:
    """Return for each action (H, X, A) its loss times the largest probability of its state.

    The loss is the difference of two values from this state on: the best one, and the best one with this action now.
    `law` (H, X, A, X) and `rewards` (H, X, A) are the estimates. `allowed` is the product set.

    >>> one = np.ones((1, 1, 2), bool)
    >>> losses(np.zeros((1, 1, 2, 1)), np.array([[[0.25, 1.0]]]), one, 0).tolist()
    [[[0.75, 0.0]]]
    """
    table, values = kernels.action_values(law, np.ascontiguousarray(rewards), allowed, 1.0)
    found: Floats = kernels.reached(law, allowed, start)[..., None] * (values[:-1, :, None] - table)
    return found


def cover(law: Floats, allowed: Bools, start: int, slack: float = SLACK) -> tuple[Floats, float]:
    """Return the action probabilities (H, X, A) of a random policy that covers a product set, and its coverage gap.

    `Coverage` defines the coverage and its gap. The actions of steps and states are drawn independently. Rows of states
    that no policy visits with a probability above 1e-12 are 0.

    Let u be the probabilities of visits. The search maximises the sum of log u over all (step, state, action) by
    Newton's method on the dual problem, which has one variable for each step and state. After each Newton step the
    largest coverage is computed exactly, by dynamic programming.

    >>> chances, gap = cover(np.zeros((1, 1, 3, 1)), np.ones((1, 1, 3), bool), 0)
    >>> chances.tolist(), round(gap, 9)
    ([[[0.333..., 0.333..., 0.333...]]], 0.0)

    Raises:
        ArithmeticError: the gap is not reached.
    """
    law, most = _pruned(law, allowed, start)
    dual = _Dual(law, allowed, most, start)
    for _ in range(_ROUNDS):
        chances = dual.chances()
        u = kernels.visits(law, chances, start)
        prices = np.divide(1.0, u, out=np.zeros_like(u), where=dual.wanted & (u > 0))
        worst = kernels.action_values(law, prices, allowed, 1.0)[1][0, start]
        if (gap := worst / dual.wanted.sum() - 1) <= slack and (u[dual.wanted] > 0).all():
            return chances, float(gap)
        dual.improve()
    raise ArithmeticError(f"slack ({slack!r}) was not reached in {_ROUNDS} rounds. Use a larger slack.")


def _pruned(law: Floats, allowed: Bools, start: int) -> tuple[Floats, Floats]:
    """Return transitions without states that are hardly ever visited, and the largest probabilities of all states.

    A state stays if a policy is there with a probability above 1e-12, by the transitions that stay.
    """
    while True:
        most = kernels.reached(law, allowed, start)
        rare = (most > 0) & (most <= TIE)
        if not rare.any():
            return law, most
        law = law.copy()
        law[:-1] *= ~rare[1:, None, None, :]


class _Dual:
    """The dual problem of the best coverage, and its present point.

    For variables v of pairs (h, x), minimise v(start) - sum over (h, x, a) of log(v(h, x) - P_hxa v(h + 1, .)). At
    the optimum, 1 / (v(h, x) - P_hxa v(h + 1, .)) are the probabilities of visits. The point holds y = D v, where
    D(h, x) is the largest probability of being there. So its numbers have similar sizes.
    """

    def __init__(self, law: Floats, allowed: Bools, most: Floats, start: int) -> None:
        from scipy import sparse  # takes long to import

        visited = most > TIE
        self.wanted: Bools = allowed & visited[..., None]
        number = np.cumsum(visited).reshape(visited.shape) - 1
        h, x, a = np.nonzero(self.wanted)
        rows, after = np.nonzero(law[h, x, a] * visited[np.minimum(h + 1, len(visited) - 1)])
        entries = law[h[rows], x[rows], a[rows], after] * most[h[rows], x[rows]] / most[h[rows] + 1, after]
        places = np.append(np.arange(h.size), rows), np.append(number[h, x], number[h[rows] + 1, after])
        shape = h.size, int(visited.sum())
        self._matrix = sparse.csr_matrix((np.append(np.ones(h.size), -entries), places), shape)
        self._linear = np.zeros(shape[1])
        self._linear[number[0, start]] = 1.0
        remaining = np.nonzero(visited)[0]
        self._point: Floats = most[visited] * (len(visited) - remaining) * (h.size / len(visited))

    def chances(self) -> Floats:
        """Return action probabilities (H, X, A) in proportion to the present probabilities of visits."""
        found = np.zeros(self.wanted.shape)
        found[self.wanted] = 1 / (self._matrix @ self._point)
        sums = found.sum(axis=2, keepdims=True)
        shares: Floats = np.divide(found, sums, out=found, where=sums > 0)
        return shares

    def improve(self) -> None:
        """Take one Newton step, shortened until the value falls enough."""
        from scipy.sparse import diags
        from scipy.sparse.linalg import spsolve

        slacks = self._matrix @ self._point
        gradient = self._linear - self._matrix.T @ (1 / slacks)
        hessian = (self._matrix.T @ diags(1 / slacks**2) @ self._matrix).tocsc()
        step = -np.atleast_1d(spsolve(hessian, gradient))
        slope, change = float(gradient @ step), self._matrix @ step
        length = 1.0
        for _ in range(_HALVINGS):
            ratio = 1 + length * change / slacks
            if (ratio > 0).all():
                gained = length * (self._linear @ step) - np.log(ratio).sum()
                if gained <= slope * length / 4:
                    break
            length /= 2
        self._point = self._point + length * step
