"""The explorative policy of fine exploration: a mixture whose worst coverage is near the optimum.

Let u be the probabilities of all pairs (step, state, action) under a mixture. A policy's coverage is the sum
of its own probabilities divided by u, over the D pairs that active policies can visit. A mixture's own
coverage is D, so the worst coverage of a policy is at least D. For the mixture with the largest sum of log u,
the worst coverage is D, which is at most the XAH of Lemma 13. The search evaluates all policies, adds the one
of largest coverage, and adjusts the weights. The worst coverage divided by D, minus 1, is a duality gap. It
certifies the mixture.

Equation (4) of the paper minimises over single policies instead. As soon as two active policies differ at a
pair that one of them reaches, every single policy misses a pair, and the minimum is infinite.

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
"""Largest relative excess of the worst coverage over the least, which the repaired proof of Lemma 9 allows."""
_INNER, _ROUNDS = 2000, 2000


class EmptyActiveSetError(ValueError):
    """Raised if no policy is active."""


@dataclass(frozen=True, eq=False)
class Coverage:
    """A mixture of active policies, and how well it covers all of them.

    Attributes:
        numbers: int64 array (m,) of policies, in order.
        weights: float64 array (m,), positive, with sum 1.
        worst: the largest coverage of an active policy.
        pairs: D, the number of pairs that active policies visit, with a chance above 1e-12 (`kernels.TIE`):
            the least worst coverage there is.
    """

    numbers: Ints
    weights: Floats
    worst: float
    pairs: int

    @property
    def gap(self) -> float:
        """The worst coverage divided by the least, minus 1."""
        return self.worst / self.pairs - 1


def visited_most(
    space: PolicySpace, transitions: Floats, heads: list[Ints], scores: Floats
) -> tuple[list[Ints], Floats]:
    """Return active policies that visit each pair most, (n, A), for every step, and probabilities (H, n, A).

    `transitions` (H, n, A, n) as returned by `PolicySpace.reduced`; `heads` as in the kernel.
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
    """Return the probabilities of the first step's states, for the single beginning without actions."""
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
    """Return a mixture of active policies whose worst coverage is at most (1 + slack) D.

    Args:
        space: the policies.
        transitions: float64 array (H, n, A, n), rows that sum to at most 1: `PolicySpace.reduced`.
        active: bool array (count,).
        heads: of the active policies with the scores, where the caller has them.
        scores: which of the policies that visit a pair equally often the search starts from.
        slack: the gap at which it stops.

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
        raise EmptyActiveSetError("active (no policy) must hold at least one policy")
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
    """Return the minimum of equation (4) as printed, over single active policies, where 0/0 counts as 0.

    A policy takes one action in each state, and misses the others. So the minimum is infinite if active
    policies visit two actions of some (step, state). It is D if all policies agree on every pair that they
    visit.

    >>> space = PolicySpace(np.array([[True]]), actions=2)
    >>> printed_coverage(space, np.zeros((1, 1, 2, 1)), np.array([True, True]))
    inf
    >>> printed_coverage(space, np.zeros((1, 1, 2, 1)), np.array([True, False]))
    1.0

    Raises:
        EmptyActiveSetError: no policy is active.
    """
    if not active.any():
        raise EmptyActiveSetError("active (no policy) must hold at least one policy")
    law, scores = np.ascontiguousarray(transitions, dtype=np.float64), np.zeros(space.count)
    _, most = visited_most(space, law, kernels.heads(space.layout, active, scores), scores)
    visited = most > 0
    return math.inf if (visited.sum(axis=2) > 1).any() else float(visited.sum())
