"""RLSVI as compiled code: the computation of a table, the update of the counts, and the loops over episodes.

Source: arXiv:2606.01952v1, Algorithm 1 and equation (1). All compiled functions are in this file, because the
cache depends only on the date of a function's own file. Steps, states, actions and episodes are numbered from
0 here; H, S, A and K are the numbers of steps, states, actions and episodes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.rl.rlsvi.rlsvi import RLSVIParameters
from dpproof.mechanisms.compiled import njit
from dpproof.mechanisms.environments.successors import Law, policy_value, step

SMALLEST = 2.0**-1022
"""A tiny number that is added to each privacy cost, so that rounding to 0 cannot make the sum too small."""


class Scale(NamedTuple):
    """The numbers that fix the variance of the noise, and the range of values.

    In episode k = 1, 2, ... the variance of the noise without visits is beta_k = `beta` log(2HSAk). Here beta_k
    includes the factor beta_scale. `log_of_cells` is log(2HSA). Values are clipped to [`floor`, `ceiling`]. Entry N of
    `widths` (K+1,) is the standard deviation of the noise after N visits, divided by sqrt(beta_k).
    """

    beta: float
    log_of_cells: float
    floor: float
    ceiling: float
    widths: NDArray[np.float64]


def noise_widths(parameters: RLSVIParameters) -> NDArray[np.float64]:
    """Return the standard deviation of the noise over sqrt(beta_k): 1/sqrt(N + 1) for N = 0, 1, ... visits."""
    widths: NDArray[np.float64] = 1 / np.sqrt(parameters.divisor(np.arange(parameters.episodes + 1.0)))
    return widths


def scale_of(parameters: RLSVIParameters, widths: NDArray[np.float64]) -> Scale:
    """Return the parameters of the noise and of the clipping as a `Scale`, for compiled code."""
    floor, ceiling = (-math.inf, math.inf) if parameters.clip is None else (0.0, float(parameters.clip))
    log_of_cells = math.log(parameters.log_scale)
    return Scale(parameters.beta_double, log_of_cells, floor, ceiling, widths)


class Model(NamedTuple):
    """The data of all users so far, for each step h, state s and action a.

    `visits` is the number of visits N, `rewards` the sum of rewards and `mean_rewards` their mean (0 without
    visits). `successors` is the number of different next states. The first entries of `next_states`, `next_counts`
    and `next_chances` (last axis) list these states, their counts, and the counts divided by N.
    """

    visits: NDArray[np.int64]
    rewards: NDArray[np.float64]
    mean_rewards: NDArray[np.float64]
    successors: NDArray[np.int64]
    next_states: NDArray[np.int64]
    next_counts: NDArray[np.int64]
    next_chances: NDArray[np.float64]


@njit
def empty_model(H: int, S: int, A: int) -> Model:
    """Return a model without any data, as before the first episode."""
    cells = (H, S, A)
    return Model(
        np.zeros(cells, np.int64),
        np.zeros(cells),
        np.zeros(cells),
        np.zeros(cells, np.int64),
        np.zeros((H, S, A, S), np.int64),
        np.zeros((H, S, A, S), np.int64),
        np.zeros((H, S, A, S)),
    )


@njit
def update(model: Model, h: int, s: int, a: int, reward: float, after: int) -> None:
    """Count one visit of (h, s, a) that paid `reward` and led to state `after`."""
    visits = model.visits[h, s, a] + 1
    model.visits[h, s, a] = visits
    model.rewards[h, s, a] += reward
    model.mean_rewards[h, s, a] = model.rewards[h, s, a] / visits
    place = 0
    while place < model.successors[h, s, a] and model.next_states[h, s, a, place] != after:
        place += 1
    if place == model.successors[h, s, a]:
        model.successors[h, s, a] += 1
        model.next_states[h, s, a, place] = after
    model.next_counts[h, s, a, place] += 1
    for j in range(model.successors[h, s, a]):
        model.next_chances[h, s, a, j] = model.next_counts[h, s, a, j] / visits


@njit
def mean(model: Model, h: int, s: int, a: int, following: NDArray[np.float64]) -> float:
    """Return the mean reward of action a in state s at step h, plus the mean value of the next state.

    `following` (S,) holds the values of the next states.
    """
    total = model.mean_rewards[h, s, a]
    for j in range(model.successors[h, s, a]):
        total += model.next_chances[h, s, a, j] * following[model.next_states[h, s, a, j]]
    return total  # type: ignore[no-any-return] # an array entry


@njit
def clip(value: float, scale: Scale) -> float:
    """Return `value` clipped to the range in `scale`. Without a `clip` parameter, the range is infinite."""
    return min(max(value, scale.floor), scale.ceiling)


@njit
def beta(scale: Scale, k: int) -> float:
    """Return the variance of the noise without visits. Episodes are numbered k = 0, 1, and so on.

    It is beta_scale S H^3 log(2HSA(k+1)) / 2.
    """
    return scale.beta * (scale.log_of_cells + math.log(k + 1.0))


@njit
def draw(rng: np.random.Generator, normals: NDArray[np.float64]) -> None:
    """Fill `normals` (H, S, A) with standard normals, in the order of its axes."""
    flat = normals.reshape(-1)
    for i in range(flat.size):
        flat[i] = rng.standard_normal()


@njit
def plan(
    model: Model,
    scale: Scale,
    k: int,
    normals: NDArray[np.float64],
    table: NDArray[np.float64],
    policy: NDArray[np.int64],
    values: NDArray[np.float64],
) -> bool:
    """Write the noisy action values of episode k and the best policy by them. Return whether the policy changed.

    The action values go into `table` (H, S, A). `normals` (H, S, A) are standard normal numbers. `normals` and `table`
    may be the same array. `policy` is (H, S). `values` (H+1, S) receives the values of the states; its last row stays
    0. The policy takes the first of equally good actions.
    """
    H, S, A = table.shape
    unit = math.sqrt(beta(scale, k))
    changed = False
    for h in range(H - 1, -1, -1):
        following = values[h + 1]
        for s in range(S):
            best, choice = -np.inf, 0
            for a in range(A):
                width = scale.widths[model.visits[h, s, a]]
                q = mean(model, h, s, a, following) + unit * width * normals[h, s, a]
                table[h, s, a] = q
                if q > best:
                    best, choice = q, a
            values[h, s] = clip(best, scale)
            changed |= policy[h, s] != choice
            policy[h, s] = choice
    return changed


@njit
def charge(model: Model, scale: Scale, k: int, costs: NDArray[np.float64]) -> float:
    """Add the privacy cost (rho of zCDP) of releasing episode k's table to `costs` (H, S, A).

    Return an upper bound on the cost of the worst user. A cell (step, state, action) with N visits has the cost
    (N+1)/(2 beta_k N^2). A user visits one cell in each step. A user changes a cell only from the user's own visit on.
    So the first visitor is the worst case, and a cell without visits costs nothing. The result is multiplied by a
    factor slightly above 1. Because all terms are positive, this factor covers all rounding errors.
    """
    H, S, A = costs.shape
    twice = 2.0 * beta(scale, k)
    worst = 0.0
    for h in range(H):
        most = 0.0
        for s in range(S):
            for a in range(A):
                visits = float(model.visits[h, s, a])
                if visits > 0.0:
                    costs[h, s, a] += (visits + 1.0) / (twice * visits * visits) + SMALLEST
                    most = max(most, costs[h, s, a])
        worst += most
    return worst * (1.0 + 2.0**-51 * (k + H + 20))  # type: ignore[no-any-return] # an array entry


@njit
def run_loop(
    law: Law,
    best: NDArray[np.int64],
    K: int,
    scale: Scale,
    budget: float,
    rng: np.random.Generator,
    regrets: NDArray[np.float64],
    states: NDArray[np.int64],
    actions: NDArray[np.int64],
) -> int:
    """Run K episodes. Return in how many of them a table was released.

    Fill `regrets` (K,) and, unless they are empty, `states` (K, H+1) and `actions` (K, H). `best` is an optimal
    policy (H, S). Tables are released, and the policy changes, while their privacy cost (rho of zCDP) is at most
    `budget`.
    """
    H, S = best.shape
    A = law.rewards.shape[1]
    model = empty_model(H, S, A)
    normals, table = np.zeros((H, S, A)), np.zeros((H, S, A))
    policy, values, scratch = np.full((H, S), -1), np.zeros((H + 1, S)), np.zeros((H + 1, S))
    optimum = policy_value(law, best, scratch)
    regret, released = 0.0, 0
    keep, metered = states.shape[0] > 0, budget < np.inf
    costs = np.zeros((H, S, A))
    for k in range(K):
        if released == k and not (metered and charge(model, scale, k, costs) > budget):
            released = k + 1
            draw(rng, normals)
            if plan(model, scale, k, normals, table, policy, values):
                regret = optimum - policy_value(law, policy, scratch)
        regrets[k] = regret
        s = law.start
        for h in range(H):
            a = policy[h, s]
            after = step(law, s, a, rng)
            update(model, h, s, a, law.rewards[s, a], after)
            if keep:
                states[k, h], states[k, h + 1], actions[k, h] = s, after, a
            s = after
    return released


@njit
def roll_out(
    model: Model,
    policy: NDArray[np.int64],
    start: int,
    responses: NDArray[np.int64],
    rewards: NDArray[np.float64],
) -> None:
    """Let one user with the given next states and rewards (H, S, A) follow `policy`, and count the visits."""
    s = start
    for h in range(policy.shape[0]):
        a = policy[h, s]
        after = responses[h, s, a]
        update(model, h, s, a, rewards[h, s, a], after)
        s = after


@njit
def release_loop(
    start: int,
    responses: NDArray[np.int64],
    rewards: NDArray[np.float64],
    scale: Scale,
    tables: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> None:
    """Turn the standard normal numbers in `tables` (runs, K, H, S, A) into the noisy tables of RLSVI, in place.

    Fill `counts` with the numbers of visits before each episode, unless it is empty.
    """
    runs, K, H, S, A = tables.shape
    policy, values = np.full((H, S), -1), np.zeros((H + 1, S))
    for run in range(runs):
        model = empty_model(H, S, A)
        for k in range(K):
            plan(model, scale, k, tables[run, k], tables[run, k], policy, values)
            if counts.shape[0] > 0:
                counts[run, k] = model.visits
            roll_out(model, policy, start, responses[k], rewards[k])


@njit
def read_policy(
    table: NDArray[np.float64], scale: Scale, policy: NDArray[np.int64], values: NDArray[np.float64]
) -> None:
    """Write the greedy policy (H, S) of a released table (H, S, A), and its `values` (H+1, S)."""
    H, S, A = table.shape
    for h in range(H):
        for s in range(S):
            choice = 0
            for a in range(1, A):
                if table[h, s, a] > table[h, s, choice]:
                    choice = a
            policy[h, s] = choice
            values[h, s] = clip(table[h, s, choice], scale)


@njit
def likelihood_loop(
    start: int,
    responses: NDArray[np.int64],
    rewards: NDArray[np.float64],
    change: NDArray[np.float64],
    user: int,
    scale: Scale,
    tables: NDArray[np.float64],
    ratios: NDArray[np.float64],
) -> None:
    """Fill `ratios` (runs,) with ln(p1/p0) of the noisy tables.

    p0 is the density of the tables for the given users, and p1 the density if the rewards of `user` are larger by
    `change`. Given the tables so far, the trajectories are the same under p0 and p1. Only one mean differs in each
    step: that of the state and action that `user` visited. It differs by change / (number of visits).
    """
    runs, K, H, S, A = tables.shape
    policy, values, cells = np.zeros((H, S), np.int64), np.zeros((H + 1, S)), np.zeros((H, 2), np.int64)
    for run in range(runs):
        model = empty_model(H, S, A)
        total = 0.0
        for k in range(K):
            read_policy(tables[run, k], scale, policy, values)
            for h in range(H if k > user else 0):
                s, a = cells[h]
                visits = model.visits[h, s, a]
                shift = change[h, s, a] / visits
                residual = tables[run, k, h, s, a] - mean(model, h, s, a, values[h + 1])
                total += shift * (residual - shift / 2) * (visits + 1) / beta(scale, k)
            if k == user:
                s = start
                for h in range(H):
                    cells[h, 0], cells[h, 1] = s, policy[h, s]
                    s = responses[k, h, s, policy[h, s]]
            roll_out(model, policy, start, responses[k], rewards[k])
        ratios[run] = total
