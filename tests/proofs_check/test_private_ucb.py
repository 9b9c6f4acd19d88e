"""The decisive facts about PRIVATE-UCB once more, by enumeration, exact laws and a run of the algorithm."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.counting.noise import laplace_sum_tail
from dpproof.proofs_check.registry import lookup, statement_ids
from tests.rows import rows
from tests.verified import verified

EXPECTED = {
    "ucb.assumption1": "ASSUMED",
    "ucb.lemma3_1": "PROVED",
    "ucb.theorem3_2": "REFUTED",
    "ucb.theorem3_2.four_delta": "PROVED",
    "ucb.lemma4_1": "STEPS PROVED",
    "ucb.theorem4_2": "REFUTED",
    "ucb.theorem4_2.four_delta": "PROVED",
    "ucb.theorem4_2.eq18": "REFUTED",
    "ucb.central_regret": "PROVED",
    "ucb.local_regret": "PROVED",
    "ucb.lemma5_1.privacy": "REFUTED",
    "ucb.lemma5_1.utility": "REFUTED",
    "ucb.corollary5_2": "REFUTED",
    "ucb.lemma5_4.privacy": "REFUTED",
    "ucb.lemma5_4.utility": "REFUTED",
    "ucb.corollary5_5": "REFUTED",
    "ucb.corollary5_5.po": "PROVED ON A SUBDOMAIN",
    "ucb.corollary5_5.vi": "PROVED ON A SUBDOMAIN",
    "ucb.corollary5_5.vi_printed": "REFUTED",
    "ucb.lemmaA_1": "PROVED",
    "ucb.lemmaA_2": "PROVED",
    "ucb.lemmaA_3": "PROVED",
    "ucb.lemmaB_1": "PROVED",
    "ucb.central_privacy": "PROVED",
    "ucb.local_privacy": "PROVED",
    "ucb.central_error": "PROVED",
    "ucb.local_error": "PROVED",
    "ucb.corollary5_2.regret": "PROVED ON A SUBDOMAIN",
    "ucb.lemma5_1.utility.domain": "PROVED ON A SUBDOMAIN",
    "ucb.lemma5_4.utility.domain": "PROVED ON A SUBDOMAIN",
}


def test_recorded_verdicts_come_out_again():
    assert {x.id: x.verdict.value for x in verified(EXPECTED)} == EXPECTED


def test_nothing_here_rests_on_an_unchecked_theorem():
    results = verified(x for x in statement_ids("ucb.") if x != "ucb.assumption1")
    assert [x.id for x in results if x.assumptions] == []


def trajectories(states, actions, steps):
    """Arrays N, C, N' of every trajectory from state 0 with costs 0 or 1, with the first action."""
    for s in itertools.product(range(states), repeat=steps):
        path = (0, *s)
        for a in itertools.product(range(actions), repeat=steps):
            for c in itertools.product((0, 1), repeat=steps):
                counts = Counter()
                for h in range(steps):
                    counts["N", h, path[h], a[h]] += 1
                    counts["C", h, path[h], a[h]] += c[h]
                    counts["P", h, path[h], a[h], path[h + 1]] += 1
                yield a[0], counts


def distance(x, y):
    return sum(abs(x[key] - y[key]) for key in x.keys() | y.keys())


@pytest.mark.slow
@pytest.mark.parametrize(("states", "actions", "steps"), [(2, 2, 1), (2, 2, 2), (3, 1, 2), (2, 1, 3)])
def test_l1_changes_are_those_stated(states, actions, steps):
    found = list(trajectories(states, actions, steps))
    pairs = list(itertools.product(found, repeat=2))
    same = max(distance(x, y) for (a, x), (b, y) in pairs if a == b)
    assert same == 6 * steps - 3
    assert max(distance(x, y) for (_, x), (_, y) in pairs) == (6 * steps if actions > 1 else same)
    assert max(distance(x, Counter()) for _, x in found) == 3 * steps


def test_local_privacy_at_two_steps_is_three_halves():
    """Entry by entry the loss is largest, |x - y|/b, at o = x; noise of scale 6 stands for eps = 1."""
    first, second = max(
        itertools.product((x for a, x in trajectories(2, 1, 2)), repeat=2), key=lambda pair: distance(*pair)
    )
    grid = [Fraction(i, 4) for i in range(-8, 9)]
    loss = sum(
        max(abs(o - second[key]) - abs(o - first[key]) for o in grid) for key in first.keys() | second.keys()
    )
    assert loss / Fraction(6) == Fraction(3, 2)


@rows("episodes", range(2, 70))
def test_nodes_above_a_leaf_and_terms_of_a_release(episodes):
    last = episodes - 1
    nodes = [
        range(start, start + 2**i)
        for i in range(8)
        for start in range(1, last + 1, 2**i)
        if start + 2**i - 1 <= last
    ]
    above = [sum(leaf in node for node in nodes) for leaf in range(1, last + 1)]
    assert max(above) == above[0] == last.bit_length() == math.ceil(math.log2(episodes))
    assert max(t.bit_count() for t in range(1, episodes)) == episodes.bit_length() - 1


def test_powers_of_three_stay_below_the_square():
    total = 0
    for t in range(5000):
        total += 3 ** t.bit_count()
        assert total <= (t + 1) ** 2


def level(factor, rate):
    """The printed level in units of the scale, as a rational."""
    return Fraction(math.sqrt(8 * factor * rate))


@pytest.mark.parametrize(
    ("factor", "delta", "fails"),
    [(math.log(2), 1e-3, True), (math.log(2), 0.05, False), (2, 1e-8, True), (2, 1e-3, False)],
)
def test_the_first_release_fails_too_often_for_small_delta(factor, delta, fails):
    """K = 2, S = A = H = 1: three counters, each with one Laplace variable."""
    outside = 2 * float(laplace_sum_tail(1, level(factor, math.log(12 / delta))).mid())
    assert (1 - (1 - outside) ** 3 > delta) is fails


@pytest.mark.parametrize("episodes", [2, 3, 10, 64, 1000])
def test_central_levels_hold_at_the_border_of_the_domain(episodes):
    """lam <= 3 log K: one counter's exact chances to err, summed over releases, are at most 2 K exp(-lam)."""
    for rate in (1, 2, 3):
        lam = rate * math.log(episodes)
        point = level(math.log(episodes), lam)
        ones = Counter(t.bit_count() for t in range(1, episodes))
        exact = sum(n * 2 * float(laplace_sum_tail(m, point).upper()) for m, n in ones.items())
        assert exact <= 2 * episodes * math.exp(-lam)


@pytest.mark.parametrize("episodes", [2, 5, 40])
def test_local_levels_hold_at_the_border_of_the_domain(episodes):
    for rate in (0.5, 1.5, 2, 8 / 3):
        lam = rate * episodes
        exact = 2 * float(laplace_sum_tail(episodes, level(episodes, lam)).upper())
        assert exact <= 2 * math.exp(-lam)


LC = math.sqrt(2 * math.log(64 / 1e-6))
ROOT = 3 * LC


def second_policy(counts, costs, moves, precision):
    """Q~ of PRIVATE-UCB-VI before episode 2, written anew: arrays [h, s, a], respectively [h, s, a, s']."""
    n = np.maximum(1, counts + precision)
    bonus = (
        LC / np.sqrt(n) + 3 * precision / n + 2 * LC / np.sqrt(n) + 2 * (2 * precision + 2 * precision) / n
    )
    value, table = np.zeros(2), np.zeros((2, 2, 2))
    for h in (1, 0):
        raw = costs[h] / n[h] + moves[h] @ value / n[h] - bonus[h]
        table[h] = np.minimum(2 - h, np.maximum(0, raw))
        value = table[h].min(axis=1)
    return table


@pytest.mark.parametrize("precision", [0.01, 1.0, 50.0])
def test_all_values_are_zero_on_the_box(precision):
    """Whatever the other counts are; cells are [h, s, a] from 0."""
    rng = np.random.default_rng(7)
    for _ in range(500):
        counts, moves = rng.normal(0, 20, (2, 2, 2)), rng.normal(0, 20, (2, 2, 2, 2))
        costs = rng.normal(0, 20, (2, 2, 2))
        costs[0, 0] = rng.uniform(1, ROOT), min(costs[0, 0, 1], ROOT)
        costs[1, 0, 0], costs[1, 1, 0] = rng.uniform(1, ROOT), -abs(costs[1, 1, 0])
        assert not second_policy(counts, costs, moves, precision)[0, 0].any()


def tail(t):
    return math.exp(-t) / 2 if t >= 0 else 1 - math.exp(t) / 2


@pytest.mark.parametrize(("log", "violated"), [(math.log(2), True), (1.0, True), (1.5, False)])
def test_the_second_users_action_breaks_the_promise(log, violated):
    """The event of the refutation by the exact Laplace law; 3/2 is the scale that is needed."""
    eps, tau = 4.0, ROOT
    b = 6 * log / eps
    up = [(1, 0, tau), (1, 0, tau)] + [(1, 0, math.inf)] * 3  # mean under U, under U', upper end; lower end 1
    inside = [tail((1 - x) / b) - tail((end - x) / b) for x, _, end in up]
    inside_other = [tail((1 - y) / b) - tail((end - y) / b) for _, y, end in up]
    rest, rest_other = (1 - tail(tau / b)) * tail(0) ** 4, (1 - tail(tau / b)) * tail(1 / b) ** 4
    p, q = math.prod(inside) * rest, math.prod(inside_other) * rest_other
    leak = 2 * tail(tau / b) + tail((tau - 1) / b)
    assert p / q == pytest.approx(math.exp(9 / b))
    assert (p > math.exp(eps) * (q + leak)) is violated


def test_a_negative_count_turns_the_step_round():
    """Step (b) of Lemma B.1: P~ V~ <= P~ V* fails for one negative entry, and the mended bound does not."""
    rng = np.random.default_rng(3)
    broken = 0
    for _ in range(2000):
        true, noise = rng.integers(0, 5, 3), rng.uniform(-2, 2, 3)
        best = rng.uniform(0, 1, 3)
        kept = best * rng.uniform(0, 1, 3)
        broken += (true + noise) @ kept > (true + noise) @ best
        assert (true + noise) @ kept <= true @ best + 3 * 2 * 1
    assert broken


def bonus_value(plays, log_term):
    """Q~ at S = H = 1 where N~ = C~ = plays and E1 = E2 = 1, from Algorithm 2's own formulas."""
    n = max(1, plays + 1)
    beta = log_term / math.sqrt(n) + 3 / n
    return min(1, max(0, plays / n - beta - (log_term / math.sqrt(n) + 3 / n)))


@pytest.mark.parametrize("ties", [0, 1])
def test_all_ones_keep_value_iteration_at_the_bad_action_half_the_time(ties):
    """Exact counts, all costs 1: whatever the tie rule, the good action 0 is not preferred for long."""
    episodes = 3000
    log_term = math.sqrt(2 * math.log(8 * episodes / 0.5))
    plays = [0, 0]
    for _ in range(episodes):
        values = [bonus_value(x, log_term) for x in plays]
        plays[ties if values[0] == values[1] else values.index(min(values))] += 1
    assert plays[0] <= (2 * log_term + 8) ** 2 + plays[1] + 1


def test_false_counts_keep_value_iteration_at_the_bad_action():
    log_term = math.sqrt(2 * math.log(8 * 3000 / 0.5))
    assert bonus_value(10**6, log_term) > bonus_value(0, log_term) == 0


def test_all_ones_keep_policy_optimisation_symmetric():
    """Swapping the two actions of a run with all costs 1 swaps its policies: their masses add up to K."""
    episodes, rng = 200, np.random.default_rng(5)
    eta = math.sqrt(2 * math.log(2) / episodes)
    log_term = math.sqrt(2 * math.log(8 * episodes / 0.5))

    def mass(actions):
        totals, plays, bad = [0.0, 0.0], [0, 0], 0.0
        for a in actions:
            ratio = math.exp(eta * (totals[0] - totals[1]))
            bad += ratio / (1 + ratio)
            for i in (0, 1):
                # a smaller bonus than the printed one, so that values are above 0 within few episodes
                totals[i] += bonus_value(plays[i], log_term / 20)
            plays[a] += 1
        return bad

    for _ in range(20):
        actions = rng.integers(0, 2, episodes)
        assert mass(actions) + mass(1 - actions) == pytest.approx(episodes)


@pytest.mark.parametrize(("short", "holds"), [(0.3, False), (0.0, True)])
def test_equation_18_depends_on_the_costs_seen(short, holds):
    """H = 2: the gap at s_2 is 3 Lc/sqrt(n) plus what the seen costs fall short, b_2 twice the bonuses."""
    lc, n = 5.0, 10**8
    gap, b1, b2 = (3 + short) * lc / math.sqrt(n), 1e-3 * lc / math.sqrt(n), 6 * lc / math.sqrt(n)
    chi = -gap
    assert (3 * (chi + b1 + b2) >= 1.5 * (chi + b1) + 2.25 * b2) is holds


@pytest.mark.parametrize("seed", range(5))
def test_without_logarithms_the_bound_fails_while_the_bonus_covers_every_cost(seed):
    """Corollary 5.5 as printed, with O: Algorithm 2 on two actions, the bad one first in every tie."""
    episodes, eps, delta, rng = 100, 1.0, 0.25, np.random.default_rng(seed)
    log = math.log(12 * episodes / delta)
    error, confidence = 3 / eps * math.sqrt(8 * episodes * log), math.sqrt(2 * math.log(8 * episodes / delta))
    costs, plays, paid, noise = np.array([1.0, 0.0]), np.zeros(2), np.zeros(2), np.zeros((2, 2))
    for _ in range(episodes):
        assert np.abs(noise).max() <= error
        n = np.maximum(1, plays + noise[0] + error)
        bonus = 2 * confidence / np.sqrt(n) + 6 * error / n
        values = np.clip((paid + noise[1]) / n - bonus, 0, 1)
        action = int(np.argmin(values))
        plays[action] += 1
        paid[action] += costs[action]
        noise += rng.laplace(0, 3 / eps, (2, 2))
    assert paid.sum() == episodes > math.sqrt(2 * episodes) + 2 * math.sqrt(episodes) / eps


NUMBERS = {
    "ucb.local_privacy.any_pair": ["b*eps == 6*H"],
    "ucb.local_privacy.same_start": ["b*eps == 6*H - 3"],
    "ucb.local_privacy.removed": ["b*eps == 3*H"],
    "ucb.local_privacy.added": ["b*eps == 3*H"],
    "ucb.central_privacy.replaced": ["b*eps == (6*H - 3)*digits(K - 1)"],
    "ucb.central_privacy.removed": ["b*eps == (3*H)*digits(K - 1)"],
    "ucb.central_privacy.added": ["b*eps == (3*H)*digits(K - 1)"],
    "ucb.lemma5_4.utility.domain.goal": [
        "sqrt(8*K*log(6*S*A*K*H/delta))",
        "log(6*S*S*A*K*H/delta) <= 8/3*K",
        "<= delta",
    ],
    "ucb.theorem4_2.four_delta.goal": [
        "144*log(6*S*A*(K*H)/delta)**2*(sqrt(S*A*H**3*(K*H)) + S**2*A*H**3 + S**2*A*H**2*(E1 + E2))",
        "<= 4*delta",
    ],
    "ucb.lemmaA_3.goal": ["<= lam*sum(k, 1, K, V(k, w)) + log(1/delta)/lam", "F(1, w) <= delta"],
}
"""By goal: formulas that its text must contain, with the numbers of the statement."""


@rows(("name", "formulas"), NUMBERS.items())
def test_goals_state_the_numbers(name, formulas):
    statement, _, goal = name.rpartition(".")
    text = next(x.text for x in lookup(statement).obligations if x.name == goal)
    text = " ".join(text.replace("\\", " ").split())
    assert [x for x in formulas if x not in text] == []
