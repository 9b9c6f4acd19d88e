"""Policies of a product set as compiled code: best values, probabilities of visits, and policies that visit most.

A product set allows some actions for each step and state, and contains every policy that takes allowed actions.
There are H steps, X states and A actions. Transitions are arrays (H, X, A, X), whose rows may sum to less than 1. All
compiled functions are in this file, for the reason given in `mechanisms.compiled`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.compiled import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@njit
def action_values(transitions: Floats, rewards: Floats, allowed: Bools, sign: float) -> tuple[Floats, Floats]:
    """Return the action values (H, X, A) and the values (H + 1, X) of the best policy of the set.

    With `sign` 1 it is the policy of the largest values, with `sign` -1 that of the smallest. Values of actions that
    are not allowed are computed, too.
    """
    H, X, A = rewards.shape
    table, values = np.zeros((H, X, A)), np.zeros((H + 1, X))
    for h in range(H - 1, -1, -1):
        for x in range(X):
            top = -np.inf
            for a in range(A):
                q = rewards[h, x, a]
                for y in range(X):
                    q += transitions[h, x, a, y] * values[h + 1, y]
                table[h, x, a] = q
                if allowed[h, x, a]:
                    top = max(top, sign * q)
            values[h, x] = sign * top
    return table, values


@njit
def seek(
    transitions: Floats, h: int, x: int, allowed: Bools, guide: Ints, tie: float, chosen: Ints
) -> Floats:
    """Write into `chosen` (H, X) the actions before step h of a policy that reaches state x at step h most often.

    Return the probabilities (X,) of this event from each state of the first step. If the action of `guide` (H, X) is
    worse than the best by at most `tie`, it is taken. Otherwise the first of the best actions is taken.
    """
    X, A = transitions.shape[1], transitions.shape[2]
    following = np.zeros(X)
    following[x] = 1.0
    for g in range(h - 1, -1, -1):
        now, rated = np.zeros(X), np.zeros(A)
        for z in range(X):
            best, top = guide[g, z], -np.inf
            for a in range(A):
                if allowed[g, z, a]:
                    chance = 0.0
                    for y in range(X):
                        chance += transitions[g, z, a, y] * following[y]
                    rated[a] = chance
                    if chance > top:
                        best, top = a, chance
            if allowed[g, z, guide[g, z]] and rated[guide[g, z]] >= top - tie:
                best = guide[g, z]
            chosen[g, z] = best
            now[z] = rated[best]
        following = now
    return following


@njit
def reached(transitions: Floats, allowed: Bools, start: int) -> Floats:
    """Return for each step and state (H, X) the largest probability with which a policy of the set is there."""
    H, X, A = allowed.shape
    found = np.zeros((H, X))
    for h in range(H):
        for x in range(X):
            following = np.zeros(X)
            following[x] = 1.0
            for g in range(h - 1, -1, -1):
                now = np.zeros(X)
                for z in range(X):
                    for a in range(A):
                        if allowed[g, z, a]:
                            chance = 0.0
                            for y in range(X):
                                chance += transitions[g, z, a, y] * following[y]
                            now[z] = max(now[z], chance)
                following = now
            found[h, x] = following[start]
    return found


@njit
def visits(transitions: Floats, chances: Floats, start: int) -> Floats:
    """Return the probabilities (H, X, A) of visits if actions are drawn with the probabilities `chances` (H, X, A)."""
    H, X, A = chances.shape
    found, passed = np.zeros((H, X, A)), np.zeros(X)
    passed[start] = 1.0
    for h in range(H):
        following = np.zeros(X)
        for x in range(X):
            if passed[x] != 0.0:
                for a in range(A):
                    u = passed[x] * chances[h, x, a]
                    found[h, x, a] = u
                    if u != 0.0:
                        for y in range(X):
                            following[y] += u * transitions[h, x, a, y]
        passed = following
    return found
