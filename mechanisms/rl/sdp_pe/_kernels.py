"""Policy elimination as compiled code: the values of all policies, and which policies visit an action most often.

Policies are numbered as in `dpproof.mechanisms.rl.sdp_pe.policies`. Policies with the same last steps share
the values of these steps. Policies with the same first steps (the same beginning) share the probabilities of the
visited states. Each is computed once. A state has a number among those reachable at its step. All compiled functions
are in this file, for the reason given in `mechanisms.compiled`.
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

    `sizes[h]` states are reachable at step h. For their actions there are `configurations[h]` = A^sizes[h] choices. For
    the actions of step h and all later steps together there are `suffixes[h]` choices. The tables of action values of
    step h begin at `offsets[h]`. `states[h]` lists the reachable states, followed by -1.
    """

    actions: int
    sizes: Ints
    configurations: Ints
    suffixes: Ints
    offsets: Ints
    states: Ints


@njit
def digits(layout: Layout, h: int, configuration: int, out: Ints) -> None:
    """Write the actions of step h into `out`, one for each reachable state.

    `configuration` is an integer that stands for these actions: they are its digits in base A.
    """
    for i in range(layout.sizes[h] - 1, -1, -1):
        out[i] = configuration % layout.actions
        configuration //= layout.actions


@njit
def all_values(layout: Layout, transitions: Floats, rewards: Floats, tables: Floats) -> None:
    """Fill `tables` with action values. The first entries are the values of all policies, in order.

    `transitions` is (H, n, A, n) and `rewards` is (H, n, A), for n reachable states. Rows of `transitions` may sum to
    less than 1; the missing probability pays nothing. For step h, entry (i, a, j) of its table is the value of action
    a in state i if the later steps follow choice number j.
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
    """Return the number of the best policy among all, by the Bellman equation. Ties go to the first action."""
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
    """For each step h, return an active policy for each choice of the actions in steps 0, ..., h.

    The policy takes the chosen actions. Among several such policies it is the one with the best score, and the first
    one in a tie. If no active policy takes these actions, the entry is -1.
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
    """Return the probabilities of the states of step h + 1 from those of step h (`passed`).

    The result has a row for each choice of the actions in steps 0, ..., h.
    """
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
    """For each state and action of step h, find an active policy that visits this pair most often.

    Return the policies, and their probabilities of such a visit. `passed` has the probabilities of the states of step
    h, with a row for each choice of the actions in the earlier steps. `head` is the result of `heads` for step h. Ties
    go to the best score, then to the first policy. The policy is -1 if no active policy takes the action.
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
    """Write into `out` (H, n, A) the probability of each state and action under the policy of the given number."""
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
    """Find the weights with which a mixture of policies has the largest sum of log probabilities.

    `rows` (m, D) has the probabilities of m policies to visit D triples of step, state and action. The mixture's
    probabilities are the average of the rows with the `weights` (m,), which are changed in place. For each triple,
    divide a policy's probability by that of the mixture. The mean of these quotients is the gain of the policy. A
    search step multiplies each weight by the gain of its policy. This never lowers the sum. The search stops if no gain
    is above 1 + `slack`, or after `most` steps. The function returns the largest gain.
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
    """Pull the arm with the largest index in every episode of a block, and fill `regrets`.

    `counts` (2, A) has the numbers of pulls and the sums of rewards, and is updated.
    `dpproof.mechanisms.rl.sdp_pe.bandit` has the formula of the index. `root` is the factor of 1/sqrt(n) in this
    formula.
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
