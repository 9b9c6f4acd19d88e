"""Policy elimination, compiled: the values of all policies, and the policies that visit a pair most often.

Policies are numbered as in `dpproof.mechanisms.rl.sdp_pe.policies`. Policies with the same last steps share
the values of these steps. Policies with the same first steps share the probabilities of the visited states.
Each is computed once. A state is numbered among those reachable at its step. All compiled functions are in
this file, for the reason given in `mechanisms.compiled`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.compiled import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TIE = 1e-12
"""Probabilities of a visit that differ by at most this much are treated as equal."""


class Layout(NamedTuple):
    """How policies are numbered.

    `sizes[h]` states are reachable at step h and have `configurations[h]` = A^sizes[h] choices of actions;
    `suffixes[h]` policies differ from step h on. Tables of action values of step h begin at `offsets[h]`.
    `states[h]` lists the reachable states, followed by -1.
    """

    actions: int
    sizes: Ints
    configurations: Ints
    suffixes: Ints
    offsets: Ints
    states: Ints


@njit
def digits(layout: Layout, h: int, configuration: int, out: Ints) -> None:
    """Write the actions of a step's configuration, one for each reachable state."""
    for i in range(layout.sizes[h] - 1, -1, -1):
        out[i] = configuration % layout.actions
        configuration //= layout.actions


@njit
def all_values(layout: Layout, transitions: Floats, rewards: Floats, tables: Floats) -> None:
    """Fill the tables of action values. The first step's table has the values of all policies, in order.

    `transitions` is (H, n, A, n) and `rewards` is (H, n, A). Rows of `transitions` may sum to less than 1;
    the missing mass pays nothing. For step h, entry (i, a, j) of its table is the value of action a in state
    i if the policy continues as suffix j.
    """
    H, A = layout.sizes.size, layout.actions
    choice = np.zeros(layout.states.shape[1], np.int64)
    for h in range(H - 1, -1, -1):
        below, base = layout.suffixes[h + 1], layout.offsets[h]
        if h == H - 1:
            for i in range(layout.sizes[h]):
                for a in range(A):
                    tables[base + i * A + a] = rewards[h, i, a]
            continue
        deep, after = layout.suffixes[h + 2], layout.offsets[h + 1]
        for c in range(layout.configurations[h + 1]):
            digits(layout, h + 1, c, choice)
            for i in range(layout.sizes[h]):
                for a in range(A):
                    out = tables[
                        base + (i * A + a) * below + c * deep : base + (i * A + a) * below + (c + 1) * deep
                    ]
                    out[:] = rewards[h, i, a]
                    for k in range(layout.sizes[h + 1]):
                        p = transitions[h, i, a, k]
                        if p != 0.0:
                            start = after + (k * A + choice[k]) * deep
                            row = tables[start : start + deep]
                            for j in range(deep):
                                out[j] += p * row[j]


@njit
def greedy(layout: Layout, transitions: Floats, rewards: Floats) -> int:
    """Return the number of a best policy among all, by the Bellman equation. Ties go to the first action."""
    H, A = layout.sizes.size, layout.actions
    values, before = np.zeros(layout.states.shape[1]), np.zeros(layout.states.shape[1])
    number, weight = 0, 1
    for h in range(H - 1, -1, -1):
        for i in range(layout.sizes[h] - 1, -1, -1):
            chosen, top = 0, -np.inf
            for a in range(A):
                q = rewards[h, i, a]
                if h < H - 1:
                    for k in range(layout.sizes[h + 1]):
                        q += transitions[h, i, a, k] * before[k]
                if q > top:
                    chosen, top = a, q
            values[i] = top
            number += chosen * weight
            weight *= A
        before[:] = values
    return number


@njit
def best(values: Floats, active: NDArray[np.bool_]) -> int:
    """Return the first active policy of the largest value, or -1 if none is active."""
    found, top = -1, -np.inf
    for i in range(active.size):
        if active[i] and (found < 0 or values[i] > top):
            found, top = i, values[i]
    return found


@njit
def drop(values: Floats, active: NDArray[np.bool_], top: float, threshold: float) -> int:
    """Deactivate the policies with a value at least `threshold` below `top`. Return how many stay active."""
    left = 0
    for i in range(active.size):
        if active[i]:
            if top - values[i] >= threshold:
                active[i] = False
            else:
                left += 1
    return left


@njit
def heads(layout: Layout, active: NDArray[np.bool_], scores: Floats) -> list[Ints]:
    """Return for each step and each beginning the active policy of the best score with it, or -1.

    Ties go to the first policy.
    """
    H = layout.sizes.size
    last = np.full(active.size, -1, np.int64)
    for i in range(active.size):
        if active[i]:
            last[i] = i
    found = [last]
    for h in range(H - 1, 0, -1):
        width = layout.configurations[h]
        later = found[-1]
        now = np.full(later.size // width, -1, np.int64)
        for p in range(now.size):
            for c in range(width):
                rival = later[p * width + c]
                if rival >= 0 and (now[p] < 0 or scores[rival] > scores[now[p]]):
                    now[p] = rival
        found.append(now)
    return found[::-1]


@njit
def advance(layout: Layout, h: int, passed: Floats, transitions: Floats) -> Floats:
    """Return the probabilities of the states of step h + 1, given those of step h, for every beginning."""
    width = layout.configurations[h]
    choice = np.zeros(layout.states.shape[1], np.int64)
    found = np.zeros((passed.shape[0] * width, layout.states.shape[1]))
    for c in range(width):
        digits(layout, h, c, choice)
        for i in range(layout.sizes[h]):
            for k in range(layout.sizes[h + 1]):
                p = transitions[h, i, choice[i], k]
                if p != 0.0:
                    for b in range(passed.shape[0]):
                        found[b * width + c, k] += passed[b, i] * p
    return found


@njit
def explore(layout: Layout, h: int, passed: Floats, head: Ints, scores: Floats) -> tuple[Ints, Floats]:
    """Return for each state and action of step h an active policy that visits it most, and the probability.

    `passed` has the probabilities of step h's states for every beginning, and `head` is the result of `heads`
    for step h. Ties go to the best score, then to the first policy. The policy is -1 if no active policy
    takes the action.
    """
    A, n, width = layout.actions, layout.sizes[h], layout.configurations[h]
    choice = np.zeros(layout.states.shape[1], np.int64)
    found, most = np.full((n, A), -1, np.int64), np.full((n, A), -1.0)
    for c in range(width):
        digits(layout, h, c, choice)
        for b in range(passed.shape[0]):
            rival = head[b * width + c]
            if rival < 0:
                continue
            for i in range(n):
                a, chance = choice[i], passed[b, i]
                if chance < most[i, a] - TIE:
                    continue
                held = found[i, a]
                ahead = held < 0 or chance > most[i, a] + TIE
                if not ahead:
                    better = scores[rival] - scores[held]
                    ahead = better > 0 or (better == 0 and rival < held)
                if ahead:
                    found[i, a] = rival
                    most[i, a] = chance
    return found, most


@njit
def chances(layout: Layout, number: int, transitions: Floats, out: Floats) -> None:
    """Write the probability (H, n, A) of every state and action under one policy."""
    H = layout.sizes.size
    choice = np.zeros(layout.states.shape[1], np.int64)
    passed = np.zeros(layout.states.shape[1])
    passed[0] = 1.0
    out[:] = 0.0
    for h in range(H):
        digits(layout, h, number // layout.suffixes[h + 1] % layout.configurations[h], choice)
        following = np.zeros(layout.states.shape[1])
        for i in range(layout.sizes[h]):
            out[h, i, choice[i]] = passed[i]
            if h < H - 1:
                for k in range(layout.sizes[h + 1]):
                    following[k] += passed[i] * transitions[h, i, choice[i], k]
        passed = following


@njit
def fit_weights(rows: Floats, weights: Floats, slack: float, most: int) -> float:
    """Maximise the sum of the logarithms of the mixed probabilities over the weights of the rows.

    Stop if no row gains more than `slack`.

    `rows` (m, D) has each policy's probabilities of D pairs. A step multiplies a weight by its gain, the mean
    over the pairs of its probability divided by the mixed one. This never lowers the sum. Return the largest
    gain.
    """
    m, D = rows.shape
    mixed, gains = np.zeros(D), np.zeros(m)
    top = np.inf
    for _ in range(most):
        mixed[:] = 0.0
        for i in range(m):
            for d in range(D):
                mixed[d] += weights[i] * rows[i, d]
        top = 0.0
        for i in range(m):
            gain = 0.0
            for d in range(D):
                gain += rows[i, d] / mixed[d]
            gains[i] = gain / D
            top = max(top, gains[i])
        if top <= 1.0 + slack:
            break
        total = 0.0
        for i in range(m):
            weights[i] *= gains[i]
            total += weights[i]
        for i in range(m):
            weights[i] /= total
    return top


@njit
def pull(
    means: Floats, noise: NDArray[np.float32], root: float, counts: Floats, uniforms: Floats, regrets: Floats
) -> None:
    """Pull the arm of the largest index in every episode of a block.

    `counts` (2, A) has visits and rewards.
    """
    A = means.size
    for k in range(regrets.size):
        chosen, top = 0, -np.inf
        for a in range(A):
            n = max(1.0, counts[0, a] + noise[0, k, a])
            index = (min(max(counts[1, a] + noise[1, k, a], 0.0), n) + root * np.sqrt(n)) / n
            if index > top:
                chosen, top = a, index
        regrets[k] = means.max() - means[chosen]
        counts[0, chosen] += 1
        if uniforms[k] < means[chosen]:
            counts[1, chosen] += 1
