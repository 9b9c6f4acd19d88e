"""Planning from private counts as compiled code: optimistic value iteration and mirror descent on sparse transitions.

H, S, A are the numbers of steps, states and actions. A cell is a state s and an action a, with the number s A + a.
G is the number of tables: H, or 1 if all steps share one table. The possible next states of a cell are listed in a row
of `after`; the number S is the end of an episode, and -1 fills up a row. All numbers are costs to come: one minus the
gain of each step. The probabilities of a cell may sum to less than 1. What is missing costs
nothing, which is optimistic.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.compiled import inlined, njit

TIE = 1e-12
"""Actions whose costs differ by less than this, relative to the horizon, are equally good."""


class Estimates(NamedTuple):
    """What the private counts say: next states (S A, b), and per table the probabilities, mean costs and 1/sqrt(n).

    `sizes` (G, S A) are the numbers n of visits, at least 1.
    """

    after: NDArray[np.int64]
    chances: NDArray[np.float64]
    means: NDArray[np.float64]
    sizes: NDArray[np.float64]


class Bonus(NamedTuple):
    """The exploration bonus of step h: (widths[h] + deviations sd)/sqrt(n) + errors[h]/n.

    sd is the estimated standard deviation of the next state's value.
    """

    widths: NDArray[np.float64]
    errors: NDArray[np.float64]
    deviations: float


@inlined
def _optimistic(e: Estimates, bonus: Bonus, h: int, g: int, c: int, following: NDArray[np.float64]) -> float:
    """Return the optimistic cost of cell c at step h, before it is clipped. `following` has the next values."""
    mean, square = 0.0, 0.0
    for j in range(e.after.shape[1]):
        t = e.after[c, j]
        if t >= 0:
            p = e.chances[g, c, j]
            mean += p * following[t]
            square += p * following[t] * following[t]
    n = e.sizes[g, c]
    width = bonus.widths[h]
    if bonus.deviations > 0.0:
        width += bonus.deviations * math.sqrt(max(0.0, square - mean * mean))
    return e.means[g, c] + mean - width / math.sqrt(n) - bonus.errors[h] / n  # type: ignore[no-any-return] # an array entry


@njit
def improve(
    e: Estimates,
    bonus: Bonus,
    end: float,
    monotone: bool,
    values: NDArray[np.float64],
    table: NDArray[np.float64],
    weights: NDArray[np.float32],
) -> None:
    """Fill the optimistic costs `table` (H, S A) and `values` (H+1, S+1), and the best policy `weights` (H, S, A).

    Equally good actions get equal weight. `end` is the cost of a step after the end. With `monotone` costs never fall.
    """
    H, S, A = weights.shape
    G = e.means.shape[0]
    for h in range(H - 1, -1, -1):
        g = min(h, G - 1)
        values[h, S] = (H - h) * end
        for s in range(S):
            least = np.inf
            for a in range(A):
                c = s * A + a
                q = min(max(_optimistic(e, bonus, h, g, c, values[h + 1]), 0.0), float(H - h))
                table[h, c] = max(table[h, c], q) if monotone else q
                least = min(least, table[h, c])
            values[h, s] = least
            count = 0
            for a in range(A):
                count += table[h, s * A + a] <= least + TIE * H
            for a in range(A):
                weights[h, s, a] = 1.0 / count if table[h, s * A + a] <= least + TIE * H else 0.0


@njit
def trusting(
    e: Estimates,
    bonus: NDArray[np.float64],
    shares: NDArray[np.float64],
    prior: float,
    most: float,
    end: float,
    values: NDArray[np.float64],
    weights: NDArray[np.float32],
) -> None:  # pragma: no cover - compiled
    """Fill the costs `values` (H+1, S+1) of the best policy, and its `weights` (H, S, A), with a prior for cells.

    A cell's cost is what the counts say, less ``bonus`` (G, S A) for each step to come, with weight ``shares``
    (G, S A). The rest has the prior: each step to come costs ``prior``, and their gains sum to at most ``most``.
    Equally good actions get equal weight.
    """
    H, S, A = weights.shape
    G = e.means.shape[0]
    for h in range(H - 1, -1, -1):
        g = min(h, G - 1)
        values[h, S] = (H - h) * end
        hoped = max(prior * (H - h), H - h - most)
        for s in range(S):
            costs, least = np.empty(A), np.inf
            for a in range(A):
                c = s * A + a
                q = e.means[g, c] - bonus[g, c] * (H - h)
                for j in range(e.after.shape[1]):
                    t = e.after[c, j]
                    if t >= 0:
                        q += e.chances[g, c, j] * values[h + 1, t]
                q = min(max(q, 0.0), float(H - h))
                costs[a] = shares[g, c] * q + (1.0 - shares[g, c]) * hoped
                least = min(least, costs[a])
            values[h, s] = least
            count = 0
            for a in range(A):
                count += costs[a] <= least + TIE * H
            for a in range(A):
                weights[h, s, a] = 1.0 / count if costs[a] <= least + TIE * H else 0.0


@njit
def evaluate(
    e: Estimates,
    bonus: Bonus,
    end: float,
    weights: NDArray[np.float32],
    values: NDArray[np.float64],
    table: NDArray[np.float64],
) -> None:
    """Fill the optimistic costs `table` (H, S A) and `values` (H+1, S+1) of the policy `weights` (H, S, A)."""
    H, S, A = weights.shape
    G = e.means.shape[0]
    for h in range(H - 1, -1, -1):
        g = min(h, G - 1)
        values[h, S] = (H - h) * end
        for s in range(S):
            total = 0.0
            for a in range(A):
                c = s * A + a
                q = min(max(_optimistic(e, bonus, h, g, c, values[h + 1]), 0.0), float(H - h))
                table[h, c] = q
                total += weights[h, s, a] * q
            values[h, s] = total


@njit
def mirror(
    rate: float, table: NDArray[np.float64], logs: NDArray[np.float64], weights: NDArray[np.float32]
) -> None:
    """Make a step of mirror descent: weights proportional to their old value times exp(-rate cost).

    `logs` (H, S, A) are the logarithms of the weights, each up to a constant for its step and state.
    """
    H, S, A = weights.shape
    for h in range(H):
        for s in range(S):
            top = -np.inf
            for a in range(A):
                logs[h, s, a] -= rate * table[h, s * A + a]
                top = max(top, logs[h, s, a])
            total = 0.0
            for a in range(A):
                logs[h, s, a] -= top
                total += math.exp(logs[h, s, a])
            for a in range(A):
                weights[h, s, a] = math.exp(logs[h, s, a]) / total
