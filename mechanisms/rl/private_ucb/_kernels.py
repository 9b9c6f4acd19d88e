"""Optimistic tabular learning from noisy counts as compiled code: one loop for all algorithms and privatizers.

Source: Chowdhury and Zhou, "Differentially private regret minimization in episodic Markov decision processes"
(AAAI 2022), Algorithms 1 and 2; Qiao and Wang, "Near-optimal differentially private reinforcement learning"
(AISTATS 2023), Algorithm 1. The noise of a privatizer does not depend on the data. It is drawn before and
passed in, a block of episodes at a time. Between blocks the state of a run stays in its arrays. Counters
without noise have arrays of no columns.

All compiled functions are in this file, for the reason given in `mechanisms.compiled`. H, S, A, K are the
numbers of steps, states, actions and episodes, numbered from 0 here. A cell is a state s and an action a, with the
number s A + a. G is the number of tables: H, or 1 if all steps share one table.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpproof.mechanisms.compiled import borrowing, inlined, njit
from dpproof.mechanisms.environments.successors import Law, action_value, policy_value, step

LN2 = Fraction("0.69314718055994530941723212145817656807550013436026")
LN2_HIGH = float(Fraction(round(LN2 * 2**32), 2**32))
"""The high part of ln 2, with so few digits that its products with exponents are exact.

`LN2_LOW` is the rest.
"""
LN2_LOW = float(LN2 - Fraction(LN2_HIGH))
OVER_LN2 = float(1 / LN2)
T = tuple(1.0 / math.factorial(n) for n in range(14))
"""Coefficients of the exponential series."""
GREEDY, MIRROR, VARIANCE = 0, 1, 2
"""Ways to improve a policy: value iteration, mirror descent, value iteration with Bernstein's bonus."""


class Noise(NamedTuple):
    """Noise of the counts that a learner reads before each episode. Row i belongs to episode `first` + i.

    A column is a counter. Columns are ordered by table, state and action, and for transitions also by next state.
    `reads` (K,) marks the episodes of the whole run that read new counts. The other episodes use the counts that were
    read last. Nothing is read before episode 0.
    """

    first: int
    reads: NDArray[np.bool_]
    visits: NDArray[np.float32]
    payoffs: NDArray[np.float32]
    transitions: NDArray[np.float32]


class Learner(NamedTuple):
    """The state of a run besides its counts: policy, values and working arrays.

    `policy` (H, S) is the policy of greedy algorithms. `chances` (A, H S) are the action probabilities of a randomised
    policy, and `logs` their logarithms. `values` (H+1, S) and `table` (H, S A) are the optimistic values of states and
    of actions. `met` (G, S A) counts the visits of the present episode to each cell of each table. A cell is a state
    and an action. `path` (H, 2) lists the table and the cell of each step of the episode. `scratch`, `q`, `sizes` and
    `tops` are working arrays. `optimum` is the optimal value, and `regret` that of the present policy; each is an array
    with one number.
    """

    policy: NDArray[np.int64]
    chances: NDArray[np.float64]
    logs: NDArray[np.float64]
    values: NDArray[np.float64]
    table: NDArray[np.float64]
    met: NDArray[np.int64]
    path: NDArray[np.int64]
    scratch: NDArray[np.float64]
    q: NDArray[np.float64]
    sizes: NDArray[np.float64]
    tops: NDArray[np.float64]
    optimum: NDArray[np.float64]
    regret: NDArray[np.float64]


class Bernstein(NamedTuple):
    """The constants of DP-UCBVI's bonus. They already contain the powers of its logarithm iota.

    After n private visits the bonus is error/n + w/sqrt(n). Here w is `variance` times the standard deviation of the
    next state's value, plus `reward`, plus `spread` sqrt(sum P~(s') min(once/m + twice/m^2, H^2)). The sum is over next
    states s' with estimated probability P~(s') and m private visits. H is the number of steps.
    """

    variance: float
    reward: float
    spread: float
    once: float
    twice: float
    error: float


NO_BONUS = Bernstein(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Rule(NamedTuple):
    """How private counts become estimates and exploration bonuses, and how policies are improved.

    A cell is a state and an action. N~ is the private number of its visits, and n = max(1, N~ + `shift`). The bonus of
    step h is widths[h]/sqrt(n) + errors[h]/n. An episode counts at most `cap` visits of a cell. `rewards` says whether
    payoffs are rewards, not costs.

    `projection` says how the private counts of a cell's next states are changed:

    - 0: not at all.
    - 1: to the nearest non-negative counts with the sum max(0, N~).
    - 2: to the nearest non-negative counts whose sum is within margin/4 of N~. Then margin/(2S) is added to each of the
      S counts.
    - 3: counts below `threshold` become 0.

    Except with 0, N~ becomes the sum of the changed counts, and payoffs are clipped to [0, N~]. Payoffs below
    `payoff_threshold` become 0.

    `way` says how policies are improved: `GREEDY`, `MIRROR` with learning rate `rate`, or `VARIANCE` with the constants
    `bernstein`. With `monotone` an action value never becomes more optimistic.
    """

    shift: float
    widths: NDArray[np.float64]
    errors: NDArray[np.float64]
    projection: int
    margin: float
    threshold: float
    payoff_threshold: float
    rewards: bool
    cap: int
    monotone: bool
    way: int = GREEDY
    rate: float = 0.0
    bernstein: Bernstein = NO_BONUS


class Model(NamedTuple):
    """The true counts (the first three arrays), and the estimates from the private counts (the next five).

    `sizes` are the numbers n of visits that the bonus uses, `roots` 1/sqrt(n), `inverses` 1/n, `means` the mean
    costs and `chances` the probabilities of next states. `row` and `sorted_row` are working arrays.
    """

    visits: NDArray[np.float64]
    payoffs: NDArray[np.float64]
    transitions: NDArray[np.float64]
    sizes: NDArray[np.float64]
    roots: NDArray[np.float64]
    inverses: NDArray[np.float64]
    means: NDArray[np.float64]
    chances: NDArray[np.float64]
    row: NDArray[np.float64]
    sorted_row: NDArray[np.float64]


@njit
def empty_model(G: int, S: int, A: int) -> Model:
    """Return a model without data for G tables, S states and A actions."""
    cells = (G, S * A)
    return Model(
        np.zeros(cells),
        np.zeros(cells),
        np.zeros((G, S * A, S)),
        np.ones(cells),
        np.ones(cells),
        np.ones(cells),
        np.zeros(cells),
        np.zeros((G, S, S * A)),
        np.zeros(S),
        np.zeros(S),
    )


@njit
def begin(law: Law, best: NDArray[np.int64], G: int, rule: Rule, first: float) -> tuple[Model, Learner]:
    """Return the model and the learner before the first episode of a run.

    `best` is an optimal policy (H, S). All action values are `first` at the beginning.
    """
    H, S = best.shape
    A = law.rewards.shape[1]
    model = empty_model(G, S, A)
    initial(model, rule)
    learner = Learner(
        np.full((H, S), -1),
        np.full((A, H * S), 1.0 / A),
        np.zeros((A, H * S)),
        np.zeros((H + 1, S)),
        np.full((H, S * A), first),
        np.zeros((G, S * A), np.int64),
        np.zeros((H, 2), np.int64),
        np.zeros((H + 1, S)),
        np.zeros(S * A),
        np.zeros(S),
        np.zeros(H * S),
        np.zeros(1),
        np.zeros(1),
    )
    learner.optimum[0] = policy_value(law, best, learner.scratch)
    return model, learner


@borrowing
def waterfill(row: NDArray[np.float64], scratch: NDArray[np.float64], total: float) -> None:
    """Replace `row` by max(0, row + x), with x such that the sum is `total` (at least 0)."""
    S = row.size
    for i in range(S):  # insertion, largest first: rows are short
        value, j = row[i], i
        while j > 0 and scratch[j - 1] < value:
            scratch[j] = scratch[j - 1]
            j -= 1
        scratch[j] = value
    running, x = 0.0, 0.0
    for i in range(S):
        running += scratch[i]
        candidate = (total - running) / (i + 1)
        if i == 0 or scratch[i] + candidate > 0.0:
            x = candidate
    for i in range(S):
        row[i] = max(0.0, row[i] + x)


@borrowing
def project(model: Model, visits: float, rule: Rule) -> float:
    """Change the private counts in `model.row` as `rule.projection` says. Return their new sum."""
    S = model.row.size
    if rule.projection == 3:
        kept = 0.0
        for t in range(S):
            if model.row[t] < rule.threshold:
                model.row[t] = 0.0
            kept += model.row[t]
        return kept
    if rule.projection == 1:
        total = max(0.0, visits)
        waterfill(model.row, model.sorted_row, total)
        return total
    positive = 0.0
    for t in range(S):
        positive += max(0.0, model.row[t])
    total = max(0.0, min(max(positive, visits - rule.margin / 4), visits + rule.margin / 4))
    waterfill(model.row, model.sorted_row, total)
    for t in range(S):
        model.row[t] += rule.margin / (2 * S)
    return total + rule.margin / 2


@inlined
def estimate(model: Model, rule: Rule, noise: Noise, r: int, g: int, c: int) -> None:
    """Compute the estimates of cell c in table g from its counts plus the noise in row r.

    A cell is a state and an action.
    """
    S = model.row.size
    at = g * model.visits.shape[1] + c
    noisy = noise.transitions.shape[1] > 0
    for t in range(S):
        model.row[t] = model.transitions[g, c, t]
        if noisy:
            model.row[t] += noise.transitions[r, at * S + t]
    visits = model.visits[g, c]
    if noise.visits.shape[1] > 0:
        visits += noise.visits[r, at]
    payoff = model.payoffs[g, c]
    if noise.payoffs.shape[1] > 0:
        payoff += noise.payoffs[r, at]
    if rule.projection > 0:
        visits = project(model, visits, rule)
        payoff = min(max(payoff, 0.0), visits) if payoff >= rule.payoff_threshold else 0.0
    if rule.rewards:
        payoff = visits - payoff
    n = max(1.0, visits + rule.shift)
    model.sizes[g, c] = n
    model.roots[g, c] = 1.0 / math.sqrt(n)
    model.inverses[g, c] = 1.0 / n
    model.means[g, c] = payoff / n
    for t in range(S):
        if model.row[t] != 0.0 or model.chances[g, t, c] != 0.0:  # most are 0 and stay 0 without noise
            model.chances[g, t, c] = model.row[t] / n


@inlined
def read(model: Model, rule: Rule, noise: Noise, k: int, learner: Learner) -> bool:
    """Update the estimates if counts are released before episode k. Return whether counts are released.

    Without noise, only cells with new visits are updated.
    """
    if k == 0 or not noise.reads[k]:
        return False
    G, cells = model.visits.shape
    path, met = learner.path, learner.met
    columns = noise.visits.shape[1] + noise.payoffs.shape[1] + noise.transitions.shape[1]
    changed = columns == 0 and (k == 1 or noise.reads[k - 1])
    for i in range(path.shape[0] if changed else G * cells):
        g, c = (path[i, 0], path[i, 1]) if changed else (i // cells, i % cells)
        if met[g, c] == 0:
            met[g, c] = 1 if changed else 0
            estimate(model, rule, noise, k - noise.first, g, c)
    if changed:
        forget(met, path)
    return True


@njit
def initial(model: Model, rule: Rule) -> None:
    """Set the estimates as they follow from private counts that are all 0, as before the first episode."""
    n = max(1.0, rule.shift + (rule.margin / 2 if rule.projection == 2 else 0.0))
    model.sizes[:] = n
    model.roots[:] = 1.0 / math.sqrt(n)
    model.inverses[:] = 1.0 / n
    if rule.projection == 2:
        model.chances[:] = rule.margin / (2 * model.row.size) / n


@inlined
def choose(chances: NDArray[np.float64], i: int, rng: np.random.Generator) -> int:
    """Return a random action. Column i of `chances` (A, H S) has the probabilities."""
    u = rng.random()
    total = chances[0, i]
    a = 0
    while a < chances.shape[0] - 1 and u >= total:
        a += 1
        total += chances[a, i]
    return a


@inlined
def count(
    model: Model, rule: Rule, met: NDArray[np.int64], g: int, c: int, payoff: float, after: int
) -> None:
    """Count one visit of cell c in table g, unless the episode has already visited it `rule.cap` times.

    A cell is a state and an action.
    """
    met[g, c] += 1
    if met[g, c] <= rule.cap:
        model.visits[g, c] += 1.0
        model.payoffs[g, c] += payoff
        model.transitions[g, c, after] += 1.0


@inlined
def forget(met: NDArray[np.int64], path: NDArray[np.int64]) -> None:
    """Set the visits in `met` to 0 for the tables and cells in `path`, those of the present episode."""
    for h in range(path.shape[0]):
        met[path[h, 0], path[h, 1]] = 0


@inlined
def backup(model: Model, h: int, following: NDArray[np.float64], q: NDArray[np.float64]) -> None:
    """Write the estimated cost of each cell, plus the mean value of the next state, into `q` (S A,).

    `following` (S,) holds the values of the next states.
    """
    g = min(h, model.visits.shape[0] - 1)
    for c in range(q.size):
        q[c] = model.means[g, c] + model.chances[g, 0, c] * following[0]
    for t in range(1, following.size):
        value, chances = following[t], model.chances[g, t]
        for c in range(q.size):
            q[c] += chances[c] * value


@inlined
def mixed_value(law: Law, policy: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return the exact expected reward of a randomised `policy` (A, H S).

    `values` (H+1, S) is overwritten.
    """
    S = values.shape[1]
    for h in range(values.shape[0] - 2, -1, -1):
        for s in range(S):
            total = 0.0
            for a in range(policy.shape[0]):
                if policy[a, h * S + s] > 0.0:
                    total += policy[a, h * S + s] * action_value(law, s, a, values[h + 1])
            values[h, s] = total
    return values[0, law.start]  # type: ignore[no-any-return] # an array entry


@inlined
def walk(
    law: Law,
    payoffs: NDArray[np.float64],
    model: Model,
    rule: Rule,
    learner: Learner,
    rng: np.random.Generator,
    states: NDArray[np.int64],
    actions: NDArray[np.int64],
    randomised: bool,
) -> None:
    """Play one episode with the present policy. Count its visits, and write it into `states` and `actions`."""
    G, path, policy = model.visits.shape[0], learner.path, learner.policy
    S, A = payoffs.shape
    s = law.start
    states[0] = s
    for h in range(actions.size):
        a = choose(learner.chances, h * S + s, rng) if randomised else policy[h, s]
        after = step(law, s, a, rng)
        g, c = min(h, G - 1), s * A + a
        path[h, 0], path[h, 1] = g, c
        count(model, rule, learner.met, g, c, payoffs[s, a], after)
        states[h + 1], actions[h] = after, a
        s = after
    forget(learner.met, path)


@inlined
def improve_greedily(model: Model, rule: Rule, learner: Learner) -> bool:
    """Let the policy take the action with the smallest optimistic cost. Return whether the policy changed.

    The optimistic cost is the estimated cost minus the bonus. Of several best actions the policy takes the first.
    """
    policy, values, q, table = learner.policy, learner.values, learner.q, learner.table
    H, S = policy.shape
    A = q.size // S
    changed = False
    for h in range(H - 1, -1, -1):
        g = min(h, model.visits.shape[0] - 1)
        roots, inverses = model.roots[g], model.inverses[g]
        width, error, most = rule.widths[h], rule.errors[h], float(H - h)
        backup(model, h, values[h + 1], q)
        for s in range(S):
            best, choice = np.inf, 0
            for a in range(A):
                c = s * A + a
                cost = min(most, max(0.0, q[c] - (width * roots[c] + error * inverses[c])))
                if rule.monotone:
                    cost = max(cost, table[h, c])
                    table[h, c] = cost
                if cost < best:
                    best, choice = cost, a
            values[h, s] = best
            changed |= policy[h, s] != choice
            policy[h, s] = choice
    return changed


@inlined
def evaluate(model: Model, rule: Rule, learner: Learner) -> None:
    """Write the optimistic values of actions and states under the randomised policy into the learner."""
    policy, values, table, q = learner.chances, learner.values, learner.table, learner.q
    A, (H, S) = policy.shape[0], learner.policy.shape
    for h in range(H - 1, -1, -1):
        g = min(h, model.visits.shape[0] - 1)
        roots, inverses = model.roots[g], model.inverses[g]
        width, error, most = rule.widths[h], rule.errors[h], float(H - h)
        backup(model, h, values[h + 1], q)
        for s in range(S):
            total = 0.0
            for a in range(A):
                c = s * A + a
                cost = min(most, max(0.0, q[c] - (width * roots[c] + error * inverses[c])))
                total += cost * policy[a, h * S + s]
                table[h, c] = cost
            values[h, s] = total


@inlined
def exponential(x: float) -> float:
    """Return exp(x) for x <= 0, with an error below one unit in the last place. Return 0 below x = -708.

    The result is 2^k exp(r), with k the integer nearest to x/ln 2. exp(r) is a Taylor polynomial, with error below
    5e-18 since |r| < 0.347. The code has no branch or call, so a loop over states is vectorised and takes a fifth of
    the time of the library's function. It has only sums and products, so it gives the same bits on every machine. The
    last bits of the double k + 1.5 2^52 are those of the integer k. A shift by 52 bits moves them to the place of a
    double's exponent.
    """
    low = max(x, -708.0)
    shifted = np.float64(low * OVER_LN2 + 1.5 * 2.0**52)
    k = shifted - 1.5 * 2.0**52
    r = (low - k * LN2_HIGH) - k * LN2_LOW
    p = ((((T[13] * r + T[12]) * r + T[11]) * r + T[10]) * r + T[9]) * r + T[8]
    p = (((((p * r + T[7]) * r + T[6]) * r + T[5]) * r + T[4]) * r + T[3]) * r + T[2]
    bits = np.float64(1.0 + (r + r * r * p)).view(np.int64) + (shifted.view(np.int64) << 52)
    return np.int64(bits).view(np.float64) if x >= -708.0 else 0.0


@inlined
def mirror_step(rate: float, learner: Learner) -> None:
    """Multiply the randomised policy by exp(-rate Q), where Q are the action values, and normalise it.

    The policy is stored as logarithms, shifted so that the largest is 0. Each loop handles all steps and states for
    one action, so that it is vectorised.
    """
    policy, logs, tops, table = learner.chances, learner.logs, learner.tops, learner.table.reshape(-1)
    A, columns = logs.shape
    for a in range(A):
        for i in range(columns):
            logs[a, i] -= rate * table[i * A + a]
        for i in range(columns):
            tops[i] = max(tops[i], logs[a, i]) if a > 0 else logs[a, i]
    for a in range(A):
        for i in range(columns):
            logs[a, i] -= tops[i]
            policy[a, i] = exponential(logs[a, i])
    for a in range(A):
        for i in range(columns):
            tops[i] = tops[i] + policy[a, i] if a > 0 else policy[a, i]
    for a in range(A):
        for i in range(columns):
            policy[a, i] /= tops[i]


@borrowing
def bernstein_bonus(
    model: Model,
    g: int,
    c: int,
    next_sizes: NDArray[np.float64],
    following: NDArray[np.float64],
    most: float,
    b: Bernstein,
) -> float:
    """Return the bonus of Qiao and Wang for cell c in table g.

    `next_sizes` (S,) are the private visits of the next states, `following` (S,) their values, and `most` is the number
    of steps. With at most one visit the bonus is `most`. Qiao and Wang do not need this rule: they add a margin to the
    private visits, so they never divide by 0.
    """
    if model.sizes[g, c] <= 1.0:
        return most
    mean, square, around = 0.0, 0.0, 0.0
    for t in range(following.size):
        p = model.chances[g, t, c]
        mean += p * following[t]
        square += p * following[t] * following[t]
        m = max(1.0, next_sizes[t])
        around += p * min(b.once / m + b.twice / (m * m), most * most)
    n = model.sizes[g, c]
    width = b.variance * math.sqrt(max(0.0, square - mean * mean)) + b.reward
    width += b.spread * math.sqrt(max(0.0, around))
    return width / math.sqrt(n) + b.error / n  # type: ignore[no-any-return] # an array entry


@borrowing
def improve_by_variance(model: Model, b: Bernstein, learner: Learner) -> bool:
    """Lower each action value to the optimistic value from the counts, if that is smaller.

    Return whether the policy changed. The policy takes the best actions by the new values.
    """
    policy, values, table, sizes = learner.policy, learner.values, learner.table, learner.sizes
    H, S = policy.shape
    A = table.shape[1] // S
    changed = False
    q = learner.q
    for h in range(H - 1, -1, -1):
        g, after = min(h, model.visits.shape[0] - 1), min(h + 1, model.visits.shape[0] - 1)
        for t in range(S):
            sizes[t] = model.sizes[after, t * A : (t + 1) * A].sum() if h + 1 < H else np.inf
        backup(model, h, values[h + 1], q)
        for s in range(S):
            choice = 0
            for a in range(A):
                c = s * A + a
                bonus = bernstein_bonus(model, g, c, sizes, values[h + 1], float(H), b)
                table[h, c] = min(table[h, c], q[c] + bonus)
                if table[h, c] > table[h, s * A + choice]:
                    choice = a
            values[h, s] = table[h, s * A + choice]
            changed |= policy[h, s] != choice
            policy[h, s] = choice
    return changed


@borrowing
def block(
    law: Law,
    payoffs: NDArray[np.float64],
    model: Model,
    learner: Learner,
    rule: Rule,
    noise: Noise,
    rng: np.random.Generator,
    regrets: NDArray[np.float64],
    states: NDArray[np.int64],
    actions: NDArray[np.int64],
) -> None:
    """Run a learner for a block of episodes, and fill their `regrets`.

    `states` and `actions` have a row for each episode of the block, or one row that is overwritten. A greedy
    policy is improved when counts were read, and a randomised one after every episode.
    """
    keep, randomised = states.shape[0] > 1, rule.way == MIRROR
    for i in range(regrets.size):
        k = noise.first + i
        fresh = read(model, rule, noise, k, learner) or k == 0
        if randomised:
            evaluate(model, rule, learner)
            learner.regret[0] = learner.optimum[0] - mixed_value(law, learner.chances, learner.scratch)
        elif fresh:
            if rule.way == VARIANCE:
                changed = improve_by_variance(model, rule.bernstein, learner)
            else:
                changed = improve_greedily(model, rule, learner)
            if changed:
                learner.regret[0] = learner.optimum[0] - policy_value(law, learner.policy, learner.scratch)
        regrets[i] = learner.regret[0]
        walk(law, payoffs, model, rule, learner, rng, states[i * keep], actions[i * keep], randomised)
        if randomised:
            mirror_step(rule.rate, learner)


@njit
def loop(
    law: Law,
    payoffs: NDArray[np.float64],
    model: Model,
    learner: Learner,
    rule: Rule,
    noise: Noise,
    rng: np.random.Generator,
    regrets: NDArray[np.float64],
    states: NDArray[np.int64],
    actions: NDArray[np.int64],
) -> None:
    """Run `block`. Python calls this function and not `block`, so that the generator is released afterwards.

    The code made by `borrowing` would keep its reference to the generator.
    """
    block(law, payoffs, model, learner, rule, noise, rng, regrets, states, actions)
