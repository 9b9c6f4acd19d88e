"""The expert-level release by brute force: small expert sets enumerated, integrals summed, orders listed."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpproof.proofs_check.registry import lookup
from tests.rows import rows
from tests.verified import verified

GRID = np.linspace(-60, 60, 120_001)
EPS, BETA, PMIN, LENGTH = 1.5, 1e-3, 0.25, 2


def laplace_upper(x, scale):
    return np.where(x >= 0, np.exp(-np.abs(x) / scale) / 2, 1 - np.exp(-np.abs(x) / scale) / 2)


def averaged(values, scale):
    """The mean over Laplace noise on the grid."""
    return np.trapezoid(values * np.exp(-np.abs(GRID) / scale) / (2 * scale), GRID)


def round_law(counts, threshold, eps):
    """The chances that 0, 1, ..., all queries of a round answer top before the first bottom."""
    tops = [laplace_upper(threshold + GRID - count, 4 / eps) for count in counts]
    before = np.cumprod([np.ones_like(GRID), *tops], axis=0)
    ends = [b * (1 - t) for b, t in zip(before, tops, strict=False)]
    return [averaged(x, 2 / eps) for x in (*ends, before[-1])]


def release_law(experts, eps=EPS, beta=BETA):
    """The law of one iteration: one state, two actions, an expert is its chance of action 1 at each step."""
    least = math.exp(eps) / (math.exp(eps) - 1)
    threshold = least / PMIN + 4 / eps * math.log(1 / beta)
    law = {}
    for path in itertools.product((0, 1), repeat=LENGTH):
        plays = [[e[i] if a else 1 - e[i] for i, a in enumerate(path)] for e in experts]
        counts = [sum(math.prod(p[: k + 1]) for p in plays) for k in range(LENGTH)]
        drawn = counts[-1] / len(experts)
        for k, chance in enumerate(round_law(counts, threshold, eps)):
            law[path[:k]] = law.get(path[:k], 0) + drawn * chance
    return law


def excess(first, second, eps):
    return sum(max(first[x] - math.exp(eps) * second[x], 0) for x in first)


FIRM, TORN = (1 - PMIN, 1 - PMIN), (PMIN, 1 - PMIN)
SETS = [[FIRM] * n + [TORN] * k for n in (1, 3, 6, 40) for k in (1, 2)]


@pytest.mark.parametrize("experts", SETS)
def test_one_iteration_keeps_its_guarantee_with_the_empty_release(experts):
    full, less = release_law(experts), release_law(experts[:-1])
    assert sum(full.values()) == pytest.approx(1, abs=1e-6)
    for pair in ((full, less), (less, full)):
        assert excess(*pair, 2 * EPS) <= LENGTH * BETA


def test_a_guarantee_that_is_too_small_is_seen():
    experts = [FIRM] * 40 + [TORN]
    assert excess(release_law(experts), release_law(experts[:2]), 2 * EPS) > LENGTH * BETA  # no neighbours
    assert any(
        excess(release_law(s), release_law(s[:-1]), 0.001) > 0 for s in SETS
    )  # no (0.001, 0) guarantee


def test_the_empty_release_is_not_negligible():
    assert release_law([FIRM, TORN])[()] > 0.99


@pytest.mark.parametrize("gap", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("beta", [0.5, 0.01])
def test_the_integral_behind_lemma_5_2(gap, beta):
    eps = 0.8
    margin = gap + 4 / eps * math.log(1 / beta)
    s = beta * math.exp(-gap * eps / 4)
    wide = np.linspace(-200, 200, 800_001)
    values = laplace_upper(margin + wide, 4 / eps) * np.exp(-np.abs(wide) * eps / 2) * eps / 4
    assert np.trapezoid(values, wide) == pytest.approx((4 * s - s * s) / 6, abs=1e-7)
    assert (4 * s - s * s) / 6 < 2 * beta / 3 < beta


def test_a_round_over_monotone_counts_spends_three_quarters():
    spent = 0.0
    for n in (1, 5, 20):
        high, low = [0.0] * n + [1.0], [-1.0] * n + [1.0]
        for a, b in ((high, low), (low, high)):
            spent = max(
                spent,
                *(abs(math.log(p / q)) for p, q in zip(round_law(a, 1, 1), round_law(b, 1, 1), strict=True)),
            )
    assert spent <= 0.75 + 1e-6
    assert spent > 0.5


def coins(count, eps, target):
    """The hockey stick of so many randomised responses, exactly but for the exponentials."""
    odds, far = Fraction(math.exp(eps)), Fraction(math.exp(target))
    terms = (
        math.comb(count, j) * max(odds**j - far * odds ** (count - j), Fraction(0)) for j in range(count + 1)
    )
    return float(sum(terms, Fraction(0)) / (1 + odds) ** count)


def each(target, delta, count):
    return target / math.sqrt(8 * count * math.log(2 / delta))


@rows("count", [1, 5, 20, 62, 100])
@rows("target", [0.1, 1.0, 5.0, 7.5, 10.0, 26.0, 60.0, 70.0])
def test_randomised_responses_keep_the_composed_guarantee(count, target):
    delta = 3e-4
    left = math.log(2 / delta)
    order = 8 * left / target + 1 / 2
    assert left + order * delta / 2 <= 4 * left * (1 - target / (16 * left)) ** 2
    assert coins(count, each(target, delta, count), target) <= 0.51 * delta


def test_and_break_it_outside():
    assert coins(100, each(120, 3e-4, 100), 120) > 3e-4
    assert coins(16, each(50, 0.5, 16), 50) > 0.5


@pytest.mark.parametrize("order", [1.0, 1.3, 2.0, 7.5, 40.0])
@pytest.mark.parametrize("eps", [0.01, 0.5, 3.0])
def test_the_moment_of_a_cut_off_loss(order, eps):
    """The worst law has its losses at the two ends; a larger mean of e^x costs a factor 1 + k d."""
    for d in (0.0, 0.01):
        upper = (1 + d - math.exp(-eps)) / (math.exp(eps) - math.exp(-eps))
        moment = upper * math.exp(order * eps) + (1 - upper) * math.exp(-order * eps)
        if upper <= 1:
            allowed = order * (order - 1) * eps**2 / 2 + math.log1p(order * d)
            assert math.log(moment) <= allowed + 1e-12


def gaussian_stick(rate, noise, eps, of_step=1.0):
    x = np.linspace(-30, 31, 400_001) * noise
    base = np.exp(-((x / noise) ** 2) / 2) / (noise * math.sqrt(2 * math.pi))
    ratio = 1 - rate + rate * np.exp((2 * x - 1) / (2 * noise**2))
    return of_step * np.trapezoid(np.maximum(ratio - math.exp(eps), 0) * base, x)


def test_the_coin_is_seen():
    eps = math.log(1.25)
    printed, real = gaussian_stick(0.25, 1, eps), gaussian_stick(0.5, 1, eps, 0.5)
    assert printed == pytest.approx(0.0477, abs=1e-4)
    assert real == pytest.approx(0.0659, abs=1e-4)


def test_the_whole_pipeline_at_the_printed_rate():
    """A release that is almost surely empty, then one step: nothing of delta_1 pays for the coin."""
    eps1, delta1, pmin, delta2 = 0.01, 0.001, 1e-4, 0.0477
    eps = eps1 / math.sqrt(32 * math.log(2 / delta1))
    threshold = math.exp(eps) / (math.exp(eps) - 1) / pmin
    released = 2 / 3 * delta1 / 2 * math.exp(-(threshold - 2) * eps / 4)
    assert released < 1e-300
    assert gaussian_stick(0.25, 1, math.log(1.25)) <= delta2
    lost = (2 + math.exp(eps1) * 1.25) * pmin / 2
    real = gaussian_stick(0.5, 1, eps1 + math.log(1.25), 0.5) - lost - released
    assert real == pytest.approx(0.0646, abs=1e-4)
    assert real > 1.3 * (delta1 + delta2)


def test_a_batch_of_fixed_size_moves_by_two():
    x = np.linspace(-12, 12, 400_001)
    plus, minus = (np.exp(-((x - m) ** 2) / 2) / math.sqrt(2 * math.pi) for m in (1, -1))
    real = np.trapezoid(np.maximum((plus + minus) / 2 - 1.25 * minus, 0), x)
    assert real == pytest.approx(0.308, abs=1e-3)
    assert real == pytest.approx(gaussian_stick(0.5, 0.5, math.log(1.25)), abs=1e-5)
    assert gaussian_stick(0.5, 1, math.log(1.25)) == pytest.approx(0.132, abs=1e-3)


@pytest.mark.parametrize(
    ("target", "delta", "rounds", "length", "pmin", "experts", "least"),
    [(1, 1e-6, 1, 1, 0.25, 2000, 1 / 4000), (7.5, 3e-4, 25, 200, 0.02, 3000, 0.0041)],
)
def test_two_given_data_sets_are_told_apart(target, delta, rounds, length, pmin, experts, least):
    eps = target / math.sqrt(32 * rounds * math.log(2 / delta))
    margin = 4 / eps * math.log(2 * rounds * length / delta)
    gap = experts * (1 - pmin) - math.exp(eps) / (math.exp(eps) - 1) / pmin - margin
    wide = np.linspace(-60, 60, 120_001) * 2 / eps
    noise = np.exp(-np.abs(wide) * eps / 2) * eps / 4
    top = np.trapezoid(laplace_upper(wide - gap, 4 / eps) * noise, wide)
    assert gap >= 0
    assert top >= 1 / 2
    assert (1 - (1 - 1 / experts) ** rounds) * top >= least > delta


def test_a_round_with_half_the_noise_below_theta_plus_one():
    for eps in (0.01, 0.3, 0.9, 1.0, 2.0, 5.0):
        for beta in (0.49, 0.1, 1e-3, 1e-8):
            margin = 8 / (3 * eps) * math.log(1 / beta)
            wide = np.linspace(-60, 60, 120_001) * 2 / eps
            noise = np.exp(-np.abs(wide) * eps / 2) * eps / 4
            top = np.trapezoid(laplace_upper(margin - 1 + wide, 2 / eps) * noise, wide)
            assert top <= beta or math.exp(2 * eps) * (1 - top) >= 1


def test_a_shuffled_data_set_is_not_drawn_afresh():
    orders = list(itertools.permutations("aabb"))
    same = Fraction(sum(x[0] == x[1] for x in orders), len(orders))
    assert same == Fraction(1, 3)
    assert Fraction(1, 2) - same == Fraction(2 - 1, 2 * (2 * 2 - 1))


def sequences(experts, each_has, draws):
    """Every sequence of experts with its chance in the walk and in fresh draws."""
    stock = [e for e in range(experts) for _ in range(each_has)]
    walks = [tuple(stock[i] for i in p) for p in itertools.permutations(range(len(stock)), draws)]
    return {
        s: (Fraction(walks.count(s), len(walks)), Fraction(1, experts**draws))
        for s in itertools.product(range(experts), repeat=draws)
    }


@pytest.mark.parametrize(("experts", "each_has", "draws"), [(2, 2, 2), (3, 2, 3), (2, 4, 4)])
def test_walk_and_fresh_draws_bound_each_other(experts, each_has, draws):
    total = experts * each_has
    for s, (walk, fresh) in sequences(experts, each_has, draws).items():
        taken = [s.count(e) for e in range(experts)]
        assert walk <= fresh * Fraction(total, total - draws + 1) ** draws
        repeats = math.prod(
            Fraction(each_has**n, math.perm(each_has, n)) if n <= each_has else 0 for n in taken
        )
        assert fresh <= walk * repeats or max(taken) > each_has


def test_a_product_over_experts_is_a_coefficient():
    weights, experts, draws = [1, 1, 3, 0, 0], 3, 4
    found = sum(
        math.prod(weights[s.count(e)] for e in range(experts)) * fresh
        for s, (_, fresh) in sequences(experts, 2, draws).items()
    )
    bound = min(
        math.factorial(draws)
        / (experts * z) ** draws
        * sum(w * z**n / math.factorial(n) for n, w in enumerate(weights)) ** experts
        for z in (0.5, 1.0, 4 / 3, 2.0)
    )
    assert 0.2 * bound < found <= bound


@pytest.mark.slow
def test_verdicts():
    found = {
        x.id: x.verdict.value
        for x in verified(
            [
                "expert.theorem5_3",
                "expert.theorem5_5",
                "expert.theorem5_5.drawn",
                "expert.theorem5_6",
                "expert.theorem5_6.set_aside",
                "expert.amplification",
            ]
        )
    }
    assert found == {
        "expert.theorem5_3": "PROVED",
        "expert.theorem5_5": "REFUTED",
        "expert.theorem5_5.drawn": "PROVED ON A SUBDOMAIN",
        "expert.theorem5_6": "REFUTED",
        "expert.theorem5_6.set_aside": "PROVED",
        "expert.amplification": "REFUTED",
    }


NUMBERS = {
    "expert.svt.added": ["b_t == 2/eps", "b_q == 4/eps", "<= exp(eps)*sum("],
    "expert.svt.removed": ["b_t == 2/eps", "b_q == 4/eps", "<= exp(eps)*sum("],
    "expert.lemma5_2.goal": ["margin == 4/eps*log(1/delta)", "if theta > c: delta >"],
    "expert.lemma5_2.constant": ["2/3*delta*exp("],
    "expert.theorem5_3.added": [
        "beta == delta_1/(2*T*L)",
        "c_min*(exp(eps) - 1) == exp(eps)",
        "theta == c_min/x",
        "<= exp(2*eps)*",
        "+ delta_1/(2*T)",
    ],
    "expert.theorem5_3.removed": [
        "beta == delta_1/(2*T*L)",
        "c_min*(exp(eps) - 1) == exp(eps)",
        "theta == c_min/x",
        "<= exp(2*eps)*",
        "+ delta_1/(2*T)",
    ],
    "expert.composition.goal": ["T*d + exp(-((k - 1)*tot) + T*(k*(k - 1)*eps**2/2 + k*d))"],
    "expert.theorem5_5.drawn.goal": ["P(0, h) <= exp(eps_1)*Q(0, h) + delta_1"],
    "expert.theorem5_5.drawn.small_number": [
        "8*log(2/delta_1) >= T",
        "P(0, h) <= exp(eps_1)*Q(0, h) + delta_1",
    ],
    "expert.theorem5_6.set_aside.goal": ["<= exp(eps_1 + eps_2)*", "+ (delta_1 + delta_2)"],
}
"""By goal: formulas that its text must contain, with the numbers of the statement."""


@rows(("name", "formulas"), NUMBERS.items())
def test_goals_state_the_numbers(name, formulas):
    statement, _, goal = name.rpartition(".")
    text = next(x.text for x in lookup(statement).obligations if x.name == goal)
    text = " ".join(text.replace("\\", " ").split())
    assert [x for x in formulas if x not in text] == []
