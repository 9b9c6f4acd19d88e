"""A random mixture of policies for fine exploration, which covers all active policies nearly as well as possible.

Active policies can visit D different triples (step, state, action). Let u be the probability that the mixture visits
a triple. A policy's coverage is the sum over these triples of the policy's own probability divided by u. A small
coverage is good. The mean coverage of the policies in the mixture is D, so the worst coverage of a policy is at least
D. For the mixture with the largest sum of log u, the worst coverage is D, which is at most the XAH of Lemma 13
(states times actions times steps). The search evaluates all policies, adds the one of largest coverage, and adjusts
the weights. The worst coverage divided by D, minus 1, certifies how far the mixture is from the optimum.

Equation (4) of the paper minimises over single policies instead. If two active policies take different actions in a
state that one of them reaches, every single policy misses a triple, and the minimum is infinite.

Proofs: docs/notes/sdp_elimination.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpproof.mechanisms.rl.sdp_pe import _kernels as kernels
from dpproof.mechanisms.rl.sdp_pe.policies import PolicySpace

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SLACK: Final = 1 / 48
"""Largest `Coverage.gap` with which `cover` accepts a mixture (proof of Lemma 9)."""
_INNER, _ROUNDS = 2000, 2000


class EmptyActiveSetError(ValueError):
    """Raised if no policy is active, because all have been dropped."""


@dataclass(frozen=True, eq=False)
class Coverage:
    """A random mixture of active policies, and how well it covers all of them.

    For each (step, state, action), divide a policy's probability of a visit by the mixture's probability. The sum of
    these quotients is the policy's coverage. A small coverage is good.

    Attributes:
        numbers: int64 array (m,), the numbers of the policies, in increasing order.
        weights: float64 array (m,), their probabilities, positive, with sum 1.
        worst: the largest coverage of an active policy.
        pairs: the number of (step, state, action) that an active policy visits with a probability above 1e-12
            (`kernels.TIE`). The largest coverage is never smaller than this number, whatever the mixture.
    """

    numbers: Ints
    weights: Floats
    worst: float
    pairs: int

    @property
    def gap(self) -> float:
        """``worst`` divided by its least possible value ``pairs``, minus 1. It is 0 for the best mixture."""
        return self.worst / self.pairs - 1


def visited_most(
    space: PolicySpace, transitions: Floats, heads: list[Ints], scores: Floats
) -> tuple[list[Ints], Floats]:
    """Return which active policies visit each state and action most often, and with which probabilities.

    There are H steps, A actions and at most n reachable states at a step. The policies are a list with one array for
    each step, which has a row for each reachable state and a column for each action. The probabilities are one array
    (H, n, A). `transitions` (H, n, A, n) has only reachable states (`PolicySpace.reduced`). `heads` and `scores` are
    those of `kernels.heads`.
    """
    layout = space.layout
    passed, found = start_of(space), []
    most = np.zeros((space.horizon, layout.states.shape[1], space.actions))
    for h in range(space.horizon):
        policies, reached = kernels.explore(layout, h, passed, heads[h], scores)
        found.append(policies)
        most[h, : len(reached)] = np.maximum(reached, 0.0)
        if h + 1 < space.horizon:
            passed = kernels.advance(layout, h, passed, transitions)
    return found, most


def start_of(space: PolicySpace) -> Floats:
    """Return the probabilities (1, n) of the n states at the first step: the start state has probability 1."""
    passed = np.zeros((1, space.layout.states.shape[1]))
    passed[0, 0] = 1.0
    return passed


def cover(
    space: PolicySpace,
    transitions: ArrayLike,
    active: Bools,
    *,
    heads: list[Ints] | None = None,
    scores: Floats | None = None,
    slack: float = SLACK,
) -> Coverage:
    """Return a mixture of active policies whose worst coverage is at most (1 + slack) times the least possible.

    `Coverage` defines the coverage.

    Args:
        space: the policies.
        transitions: float64 array (H, n, A, n), rows that sum to at most 1, as in `PolicySpace.reduced`.
        active: bool array (count,), whether each policy is active.
        heads: the result of `kernels.heads` for the active policies and the scores. It is computed if left out.
        scores: one number for each policy. The search starts with policies that visit each state and action most often.
            If several do so equally often, it takes the one with the largest score.
        slack: the search stops when `Coverage.gap` is at most this number.

    >>> space = PolicySpace(np.array([[True]]), actions=3)
    >>> found = cover(space, np.zeros((1, 1, 3, 1)), np.ones(3, bool))
    >>> found.weights.tolist(), round(found.worst, 9)
    ([0.333..., 0.333..., 0.333...], 3.0)

    Raises:
        EmptyActiveSetError: no policy is active.
        ArithmeticError: the gap is not reached.
    """
    law = np.ascontiguousarray(transitions, dtype=np.float64)
    scores = np.zeros(space.count) if scores is None else scores
    if not active.any():
        raise EmptyActiveSetError("active must mark at least one policy as active, but it marks none")
    heads = kernels.heads(space.layout, active, scores) if heads is None else heads
    policies, most = visited_most(space, law, heads, scores)
    wanted = most > kernels.TIE
    chosen = np.unique(np.concatenate([table[table >= 0] for table in policies]))
    return _improve(space, law, active, wanted, chosen, slack)


def _improve(
    space: PolicySpace, law: Floats, active: Bools, wanted: Bools, chosen: Ints, slack: float
) -> Coverage:
    """Add policies of largest coverage until none exceeds the slack."""
    pairs = int(wanted.sum())
    numbers = chosen.tolist()
    rows = np.array([_chances(space, law, number)[wanted] for number in numbers])
    weights = np.full(len(numbers), 1 / len(numbers))
    tables = np.empty(int(space.layout.offsets[-1]))
    for _ in range(_ROUNDS):
        kernels.fit_weights(rows, weights, slack / 4, _INNER)
        prices = np.zeros(wanted.shape)
        prices[wanted] = 1 / (weights @ rows)
        number, worst = _largest(space, law, prices, active, tables)
        if worst <= (1 + slack) * pairs:
            kept = weights > 0
            return Coverage(np.array(numbers)[kept], weights[kept], worst, pairs)
        if number not in numbers:
            numbers.append(number)
            rows = np.vstack([rows, _chances(space, law, number)[wanted]])
            weights = np.append(weights, 0.0)
        place = numbers.index(number)
        weights *= 1 - 1 / pairs
        weights[place] += 1 / pairs
    raise ArithmeticError(f"slack ({slack!r}) was not reached in {_ROUNDS} rounds. Use a larger slack.")


def _largest(
    space: PolicySpace, law: Floats, prices: Floats, active: Bools, tables: Floats
) -> tuple[int, float]:
    """Return an active policy of largest value for rewards `prices`, and that value."""
    number = kernels.greedy(space.layout, law, prices)
    if not active[number]:
        kernels.all_values(space.layout, law, prices, tables)
        number = kernels.best(tables[: space.count], active)
    return number, float((_chances(space, law, number) * prices).sum())


def _chances(space: PolicySpace, law: Floats, number: int) -> Floats:
    found = np.empty((space.horizon, space.layout.states.shape[1], space.actions))
    kernels.chances(space.layout, number, law, found)
    return found


def printed_coverage(space: PolicySpace, transitions: ArrayLike, active: Bools) -> float:
    """Return the minimum of the paper's equation (4).

    Equation (4) replaces the mixture by one active policy, and minimises the worst coverage over the choice of this
    policy. Here 0/0 counts as 0. A single policy takes one action in each state, and misses the others. So the minimum
    is infinite if active policies take two different actions in a state that they reach at the same step. Otherwise it
    is the number of (step, state, action) that active policies visit.

    >>> space = PolicySpace(np.array([[True]]), actions=2)
    >>> printed_coverage(space, np.zeros((1, 1, 2, 1)), np.array([True, True]))
    inf
    >>> printed_coverage(space, np.zeros((1, 1, 2, 1)), np.array([True, False]))
    1.0

    Raises:
        EmptyActiveSetError: no policy is active.
    """
    if not active.any():
        raise EmptyActiveSetError("active must mark at least one policy as active, but it marks none")
    law, scores = np.ascontiguousarray(transitions, dtype=np.float64), np.zeros(space.count)
    _, most = visited_most(space, law, kernels.heads(space.layout, active, scores), scores)
    visited = most > 0
    return math.inf if (visited.sum(axis=2) > 1).any() else float(visited.sum())
