"""SDP-PE's privatizer by brute force: every statement's number again, by enumeration in exact arithmetic."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from dpproof.accountant.rl.sdp_pe.shuffled_count import ShuffledCountParameters, view
from dpproof.proofs_check.registry import lookup
from tests.rows import rows
from tests.verified import verified

HALF = Fraction(1, 2)


def noise(n, tau):
    """The number of noise bits of a user and their chance."""
    return (math.ceil(tau / n), HALF) if n <= tau else (1, Fraction(tau) / (2 * n))


def messages(bits, tau, encoding):
    """The law of the shuffled multiset of messages, by enumeration of all noise bits."""
    each, p = noise(len(bits), tau)
    law = Counter()
    for coins in product((0, 1), repeat=each * len(bits)):
        ones = sum(coins)
        mine = [coins[i * each : (i + 1) * each] for i in range(len(bits))]
        if encoding == "sum":
            seen = tuple(sorted(d + sum(y) for d, y in zip(bits, mine, strict=True)))
        else:
            seen = tuple(sorted([*bits, *coins]))
        law[seen] += p**ones * (1 - p) ** (len(coins) - ones)
    return law


def hockey_stick(first, second, s):
    return sum(max(a - s * second[x], Fraction(0)) for x, a in first.items())


def deltas(n, tau, s, encoding):
    """The divergences for each data set of the others, in both directions."""
    pairs = [
        (messages((0, *rest), tau, encoding), messages((1, *rest), tau, encoding))
        for rest in product((0, 1), repeat=n - 1)
    ]
    return [(hockey_stick(a, b, s), hockey_stick(b, a, s)) for a, b in pairs]


@pytest.mark.parametrize(("n", "tau"), [(2, 1), (3, 1), (3, 2), (4, 3)])
@pytest.mark.parametrize("s", [1, 2, 20, 10**9])
def test_printed_sums_above_the_threshold_have_delta_one_minus_half_the_share(n, tau, s):
    found = deltas(n, tau, s, "sum")
    assert max(max(pair) for pair in found) == 1 - Fraction(tau, 2 * n)
    assert found[-1][0] == 1 - Fraction(tau, 2 * n)  # all others hold 1: the message 0 tells the bit 0
    assert found[0][1] >= Fraction(tau, 2 * n)  # all others hold 0: the message 2 tells the bit 1
    if s == 10**9:
        assert found[0][1] == Fraction(tau, 2 * n)


@pytest.mark.parametrize(("n", "tau"), [(2, 2), (2, 4), (3, 3), (2, 5)])
def test_printed_sums_below_the_threshold_leak_all_zeros(n, tau):
    each, _ = noise(n, tau)
    assert max(max(pair) for pair in deltas(n, tau, 10**9, "sum")) >= HALF**each


@pytest.mark.parametrize(("n", "tau"), [(2, 1), (3, 2), (4, 3), (2, 4), (3, 3), (3, 6)])
@pytest.mark.parametrize("s", [1, Fraction(3, 2), 3, 10])
def test_shuffled_bits_are_a_binomial_sum_whatever_the_others_hold(n, tau, s):
    each, p = noise(n, tau)
    trials = each * n
    masses = {k: math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)}
    one = Counter(masses)
    other = Counter({k + 1: mass for k, mass in masses.items()})
    expected = (hockey_stick(one, other, s), hockey_stick(other, one, s))
    assert set(deltas(n, tau, s, "bits")) == {expected}


@pytest.mark.parametrize(("users", "bits"), [(2, 1), (3, 1), (4, 1), (5, 1), (2, 3), (3, 2)])
@pytest.mark.parametrize("s", [1, Fraction(3, 2), 3, 10])
def test_few_printed_sums_are_between_all_and_half_as_many_alike(users, bits, s):
    """The formula of D, and both ends whatever the others hold (classic.shuffled_sums.few)."""

    def alike(n):
        law = [(HALF**bits * math.comb(bits, b), Fraction(bits - b, b + 1)) for b in range(bits + 1)]
        drawn = [
            (math.prod(m for m, _ in rows), sum(r for _, r in rows) / n) for rows in product(law, repeat=n)
        ]
        up = HALF**bits + sum(m * max(mean - s, 0) for m, mean in drawn)
        return max(up, sum(m * max(1 - s * mean, 0) for m, mean in drawn))

    found = deltas(users, users * bits, s, "sum")
    assert max(found[-1]) == max(found[0]) == alike(users)
    assert max(max(pair) for pair in found) <= min(alike((users + 2) // 2), alike(1))


@pytest.mark.parametrize(("bits", "p"), [(2, HALF), (3, Fraction(1, 5))])
@pytest.mark.parametrize("s", [1, 2, 8])
def test_a_whole_release_is_dominated_by_one_pair_each_way_for_every_family(bits, p, s):
    """One step, two actions, one state: visits and rewards of one more user (classic.shuffled_counters)."""
    noise_law = {k: math.comb(bits, k) * p**k * (1 - p) ** (bits - k) for k in range(bits + 1)}

    def released(*added):
        law = Counter()
        for noises in product(noise_law.items(), repeat=len(added)):
            seen = tuple(d + k for d, (k, _) in zip(added, noises, strict=True))
            law[seen] += math.prod(mass for _, mass in noises)
        return law

    def counts(action, reward, other):
        visits = [int(a == action) + int(a == other[0]) for a in (0, 1)]
        return (*visits, *(reward * (a == action) + other[1] * (a == other[0]) for a in (0, 1)))

    pairs = hockey_stick(released(1, 1, 0, 0), released(0, 0, 1, 1), s)
    cells = list(product((0, 1), repeat=2))
    found = {
        (one, two, other): hockey_stick(released(*counts(*one, other)), released(*counts(*two, other)), s)
        for one, two, other in product(cells, repeat=3)
    }
    assert max(found.values()) == pairs
    for other in cells:
        assert found[(0, 1), (1, 1), other] == pairs
        assert found[(0, 0), (1, 0), other] < pairs  # known bad: rewards of 0 change visits alone


@pytest.mark.parametrize(("steps", "states", "actions"), [(1, 1, 2), (1, 2, 1), (2, 2, 2)])
def test_replacing_a_user_changes_two_counters_a_step_and_family(steps, states, actions):
    cells = list(product(range(states), range(actions), range(states), (0, 1)))
    users = list(product(cells, repeat=steps))
    families = (
        lambda h, x, a, y, r: {(h, x, a)},
        lambda h, x, a, y, r: {(h, x, a, y)},
        lambda h, x, a, y, r: {(h, x, a)} if r else set(),
    )
    for family in families:
        marked = [set().union(*(family(h, *cell) for h, cell in enumerate(user))) for user in users]
        assert max(len(a ^ b) for a in marked for b in marked) == 2 * steps


def test_one_cell_changes_only_rewards():
    marked = [{h for h, r in enumerate(user) if r} for user in product((0, 1), repeat=3)]
    assert max(len(a ^ b) for a in marked for b in marked) == 3


@rows("epsilon", [0.05, 0.2, 1 / 3])
@rows("beta", [0.9, 1e-2, 1e-6])
@rows("scale", [0.25, 1.0, 1.01, 20.0])
def test_a_counter_at_the_printed_threshold_keeps_half_its_epsilon(epsilon, beta, scale):
    tau = 96 * math.log(2 / beta) / epsilon**2
    exact = view(ShuffledCountParameters(math.ceil(scale * tau), tau, "bits"))
    assert exact.delta(epsilon / 2).upper <= (beta / 2) ** (4 / 3)


def test_three_leaks_are_a_larger_leak():
    beta = Fraction(1, 10)
    seen = {True: beta, False: 1 - beta}
    together = sum(math.prod(seen[x] for x in xs) for xs in product(seen, repeat=3) if any(xs))
    assert together == 1 - (1 - beta) ** 3 > beta


def tail(n, p, k):
    return sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1))


@pytest.mark.parametrize(("tau", "n"), [(2, 25), (4, 50)])
def test_the_printed_tail_fails_far_out(tau, n):
    p = Fraction(tau, 2 * n)
    assert p == Fraction(1, 25)
    t = n - n * p
    assert math.log(tail(n, p, n)) > -(t**2) / (3 * tau)


@pytest.mark.parametrize("n", [10, 40, 200])
@pytest.mark.parametrize("p", [HALF, Fraction(1, 5), Fraction(1, 50)])
def test_the_proved_tails_hold(n, p):
    mean = n * p
    for k in range(math.ceil(mean) + 1, n + 1, 1 + n // 20):
        t = float(k - mean)
        above = float(tail(n, p, k))
        assert above <= math.exp(-(t**2) / (2 * mean + 2 * t / 3))
        assert t > mean or above <= math.exp(-(t**2) / (3 * mean))
    for k in range(math.floor(mean), -1, -1 - n // 20):
        t = float(mean - k)
        assert float(1 - tail(n, p, k + 1)) <= math.exp(-(t**2) / (2 * mean)) * (1 + 1e-12)


def program(raw, total, error):
    """The counts that minimise the largest change, with a sum within error/4 of the raw total."""
    count = len(raw)
    ones, eye, column = np.ones((1, count)), np.eye(count), -np.ones((count, 1))
    sides = np.vstack([np.hstack([eye, column]), np.hstack([-eye, column]),
                       np.hstack([ones, [[0]]]), np.hstack([-ones, [[0]]])])  # fmt: skip
    bounds = np.concatenate([raw, -raw, [total + error / 4], [error / 4 - total]])
    found = linprog([0] * count + [1], A_ub=sides, b_ub=bounds, bounds=[(0, None)] * (count + 1))
    return found.x[:-1], found.x[-1]


def test_the_linear_program_gives_assumption_4():
    draw = np.random.default_rng(5)
    for _ in range(200):
        count, error = int(draw.integers(1, 5)), float(draw.uniform(0.5, 8))
        true = draw.integers(0, 6, size=count).astype(float)
        raw = true + draw.choice([-1, 1], size=count) * error / 4
        total = true.sum() + draw.choice([-1, 1]) * error / 4
        kept, moved = program(raw, total, error)
        released, released_total = kept + error / (2 * count), kept.sum() + error / 2
        slack = 1e-7
        assert moved <= error / 4 + slack
        assert np.all(np.abs(released - true) <= error + slack)
        assert np.all(released > 0)
        assert true.sum() - slack <= released_total <= true.sum() + error + slack
        assert released_total == pytest.approx(released.sum())


def test_a_state_seen_once_is_too_likely_in_the_crude_model():
    steps, episodes, error, delta, chance = 2, 100, Fraction(1, 10000), Fraction(1, 100), Fraction(1, 4)
    iota = math.log(2 * steps * episodes / delta)
    seen, unseen, total = 1 + error / 4, error / 4, 1 + error / 2
    assert seen > 6 * error * steps**2 * iota > unseen  # stays outside W; falls into it
    assert (1 - Fraction(1, steps)) * seen / total > chance > 4 * delta


def test_members_without_a_covering_mixture():
    for s in (Fraction(k, 3000) for k in range(1, 1000)):
        t = (s + Fraction(1, 3)) / 2
        assert t / s + (1 - t) / (1 - s) > 2


def test_finite_members_have_a_covering_mixture():
    members = np.array([[0.1, 0.9], [0.3, 0.7], [0.25, 0.75]])
    weights = np.ones(3) / 3
    for _ in range(200_000 // 100):  # multiplicative updates towards the maximum of the sum of logarithms
        weights *= (members / (weights @ members)).sum(axis=1) / 2
    assert (members / (weights @ members)).sum(axis=1).max() == pytest.approx(2, abs=1e-2)


VERDICTS = {
    "classic.shuffled_counters": "PROVED",
    "classic.shuffled_sums.few": "STEPS PROVED",
    "sdp.definition5": "PROVED",
    "sdp.lemma10.privacy": "REFUTED",
    "sdp.lemma10.privacy.interval": "PROVED",
    "sdp.lemma10.privacy.ratio": "PROVED",
    "sdp.lemma10.privacy.sum": "PROVED",
    "sdp.lemma10.privacy.messages": "REFUTED",
    "sdp.lemma10.privacy.messages.exact": "PROVED",
    "sdp.lemma10.privacy.counters": "REFUTED",
    "sdp.lemma10.privacy.families": "REFUTED",
    "sdp.lemma10.privacy.batches": "PROVED",
    "sdp.lemma10.privacy.bits": "PROVED",
    "sdp.lemma10.utility": "PROVED",
    "sdp.lemma10.utility.tails": "REFUTED",
    "sdp.postprocessing": "PROVED",
    "sdp.corollary11": "REFUTED",
    "sdp.corollary11.repaired": "STEPS PROVED",
    "sdp.lemma10.utility.run": "PROVED",
    "sdp.lemma12": "PROVED",
    "sdp.lemma13": "REFUTED",
    "sdp.lemma13.closed": "PROVED",
    "sdp.lemma13.attained": "PROVED GIVEN",
    "sdp.lemma14": "REFUTED",
    "sdp.lemma14.large_error": "PROVED",
    "sdp.lemma15": "PROVED",
}


@pytest.mark.slow
def test_verdicts():
    assert {found.id: found.verdict.value for found in verified(VERDICTS)} == VERDICTS


NUMBERS = {
    "sdp.lemma10.privacy.bits.goal": [
        "tau == 96*log(2/(beta/(H*X*A)))/(epsilon/(3*H))**2",
        "<= exp(epsilon)*W(1, 1, 0, 0, g, g) + beta",
    ],
    "sdp.lemma10.privacy.interval.goal": [
        "tau == 96*log(2/beta)/epsilon**2",
        "w == sqrt(3*N*p*log(2/beta))",
        "<= beta",
    ],
    "sdp.binomial_tails.upper": ["exp(-N*p*x**2/(2 + 2*x/3))"],
    "sdp.binomial_tails.lower": ["exp(-N*p*x**2/2)"],
}
"""By goal: formulas that its text must contain, with the numbers of the statement."""


@rows(("name", "formulas"), NUMBERS.items())
def test_goals_state_the_numbers(name, formulas):
    statement, _, goal = name.rpartition(".")
    text = next(x.text for x in lookup(statement).obligations if x.name == goal)
    text = " ".join(text.replace("\\", " ").split())
    assert [x for x in formulas if x not in text] == []
