"""The policy-evaluation paper's utility half against enumeration, by formulas written down again."""

import itertools
import math
from fractions import Fraction as Q

import numpy as np
import pytest

from dpproof.proofs_check.kernel import arithmetic as ia
from dpproof.proofs_check.kernel.expressions import evaluate
from dpproof.proofs_check.kernel.goals import task
from dpproof.proofs_check.registry import lookup
from tests.rows import rows
from tests.verified import verified

REFUTED = {
    "eq47", "lemma23", "eq52", "lemma25", "theorem26", "theorem11", "noise", "lemma30", "eq58", "theorem32",
}  # fmt: skip
PROVED = {"lemma22", "lemma24", "lemma29", "lemma31", "corollary12", "corollary13"}
PROVED |= {f"{name}.corrected" for name in REFUTED}
CHANCES = [Q(1, 10), Q(1, 3), Q(1, 2), Q(9, 10), Q(1)]
BETAS = [0.001, 0.01, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0]
TOLERANCE = 1 + 1e-12


def test_recorded_verdicts():
    expected = dict.fromkeys(REFUTED, "REFUTED") | dict.fromkeys(PROVED, "PROVED")
    found = verified([f"eval.{name}" for name in expected])
    assert {x.id.removeprefix("eval."): x.verdict.value for x in found} == expected
    assert not any(x.assumptions for x in found)
    assert all(x.corrected_by == f"{x.id}.corrected" for x in found if x.verdict.value == "REFUTED")


def binomial(m, p):
    return [math.comb(m, n) * p**n * (1 - p) ** (m - n) for n in range(m + 1)]


@rows("p", CHANCES)
@rows("m", range(9))
def test_inverse_moments(m, p):
    law, q = binomial(m, p), 1 - p
    assert sum(x / (n + 1) for n, x in enumerate(law)) == (1 - q ** (m + 1)) / (p * (m + 1))
    printed = 6 / (p * (m + 1)) * ((1 - q ** (m + 2)) / (p * (m + 2)) - q ** (m + 1) - p * (m + 1) / 2 * q**m)
    assert sum((x / n**2 for n, x in enumerate(law) if n), Q(0)) <= printed
    assert q**m + printed <= 6 / (p**2 * (m + 1) * (m + 2))


def visits(m, law):
    """The law of the two counts after m trajectories, from the law of one trajectory's two indicators."""
    counts = {(0, 0): Q(1)}
    for _ in range(m):
        following = {}
        for ((a, b), x), ((y, z), w) in itertools.product(counts.items(), law.items()):
            following[a + y, b + z] = following.get((a + y, b + z), 0) + x * w
        counts = following
    return counts


LAWS = [
    {(0, 0): Q(1, 4), (0, 1): Q(1, 4), (1, 0): Q(1, 4), (1, 1): Q(1, 4)},
    {(0, 0): Q(1, 10), (0, 1): Q(2, 5), (1, 0): Q(3, 10), (1, 1): Q(1, 5)},
    {(0, 1): Q(2, 3), (1, 0): Q(1, 3)},
    {(1, 0): Q(4, 5), (1, 1): Q(1, 5)},
]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("m", range(1, 6))
def test_five_moments(m, law):
    counts = visits(m, law)
    p, p2 = (sum(x for y, x in law.items() if y[i]) for i in (0, 1))
    both, only = law.get((1, 1), Q(0)), law.get((1, 0), Q(0))

    def mean(f):
        return sum(f(*n) * x for n, x in counts.items())

    assert mean(lambda a, b: a) == m * p
    assert mean(lambda a, b: a == 0) == (1 - p) ** m
    assert mean(lambda a, b: a * a) == m**2 * p**2 + m * (p - p**2)
    assert mean(lambda a, b: a * b) == m * (m - 1) * p * p2 + m * both
    assert mean(lambda a, b: a * (b == 0)) == m * only * (1 - p2) ** (m - 1)


def test_the_largest_value_is_at_an_end_and_the_print_is_the_smallest():
    for a, b in itertools.product([1, 1.5, 2, 3, 4, 7, 12.5], BETAS):
        x = np.linspace(0, a - 1, 2001)
        f = np.exp(-b * x) / (a - x) ** 2
        assert f.max() == pytest.approx(max(a**-2, math.exp(-b * (a - 1))), rel=1e-9)
        inner = math.exp(2 - a * b) / 4 * b * b if b <= 2 else math.exp(b - a * b)
        assert f.min() == pytest.approx(a**-2 if b < 2 / a else inner, rel=1e-4)


def largest(n, beta):
    return max(math.exp(-k * beta) / max(n - k, 1) ** 2 for k in range(n + 3))


def printed_largest(n, beta):
    if n == 0:
        return 1.0
    return n**-2 if n < 2 / beta else math.exp(2 - beta * n) / 4 * beta**2


@pytest.mark.parametrize("beta", BETAS)
def test_largest_term_over_k(beta):
    for n in range(40):
        exact = max(n**-2, math.exp(-beta * (n - 1))) if n else 1.0
        assert largest(n, beta) == pytest.approx(exact, rel=1e-12)
        if beta <= 2:
            assert (printed_largest(n, beta) < exact * (1 - 1e-9)) == (n >= 2)


def share(m, p, beta, factor):
    return 6 / (p * p * (m + 1) * (m + 2)) + factor * (1 - (1 - math.exp(-beta)) * p) ** m


def test_mean_of_the_largest_term():
    broken = 0
    for m, p, beta in itertools.product(range(1, 30), (0.05, 0.1, 0.3, 0.5, 0.9, 1.0), BETAS):
        exact = sum(x * largest(n, beta) for n, x in enumerate(binomial(m, p)))
        assert exact <= share(m, p, beta, math.exp(beta)) * TOLERANCE
        if beta <= 0.5:
            assert exact <= (6 / (p * m) ** 2 + 2 * (1 - beta * p / 2) ** m) * TOLERANCE
        c = (1 - math.exp(-beta)) * p
        assert exact <= (6 / p**2 + 2 * math.exp(beta) / c**2) / m**2 * TOLERANCE
        broken += beta <= 2 and exact > share(m, p, beta, math.exp(2) * beta**2 / 4)
        assert exact >= math.exp(-beta * (m - 1)) / TOLERANCE
    assert broken > 100


def largest_certain(m, beta):
    return max(m**-2, math.exp(-beta * (m - 1)))


def test_a_certain_state_at_the_papers_own_privacy():
    beta = 0.1 / (4 * (40 + math.log(20)))
    exact, printed = largest(1000, beta), 6 * (1e-6 + beta**2 * (1 - beta / 2) ** 1000)
    assert exact == pytest.approx(0.5594, abs=1e-4)
    assert printed == pytest.approx(7.52e-6, rel=1e-2)
    holds = [
        m for m in range(1, 32_700) if largest_certain(m, beta) <= 6 * (m**-2 + beta**2 * (1 - beta / 2) ** m)
    ]
    assert holds == [1, 2, *range(32_621, 32_700)]


def test_rising_then_falling():
    for a, b, m in itertools.product([0, 0.25, 1, 2, 5], [0.01, 0.1, 0.5, 1, 3], [1, 2, 5, 20]):
        if a <= m:
            x = np.linspace(0, m - a, 4001)
            peak = math.exp(2 * a * b - 1) / (2 * b)
            ends = m * math.exp(-2 * b * (m - a)) if 2 * b * m <= 1 else peak
            exact = a if 2 * a * b >= 1 else ends
            assert (np.exp(-2 * b * x) * (a + x)).max() == pytest.approx(exact, rel=1e-4)
            assert exact <= peak * TOLERANCE


def capped(n, m, rate):
    return max(math.exp(-rate * k) * min(n + k, m) for k in range(m + 1))


def test_few_visits_gain_up_to_m():
    for m, rate in itertools.product((1, 2, 5, 20, 100), (0.01, 0.05, 0.2, 0.9)):
        for n in range(m + 1):
            assert capped(n, m, rate) <= (n + math.exp(-rate * n - 1) / rate) * TOLERANCE
    assert capped(1, 2, 0.5) > 1  # the printed right side for one visit, beta = 1/4
    assert capped(0, 1, 0.5) < 1 / (math.e * 0.5) - 0.1  # printed as equal


def test_the_display_before_lemma_30_fails_from_three_trajectories_on():
    beta, ridge = 1 / 20, 1.1
    for m, fails in ((1, False), (2, False), (3, True)):
        assert (smooth([0], [1.0], m, beta, ridge, 1.0) > 2 + capped(0, m, 2 * beta) / ridge) == fails


def dot(*rows):
    return sum(math.prod(entries) for entries in zip(*rows, strict=True))


def smooth(counts, weights, m, beta, ridge, size):
    """psi of DP-LSL, ``size`` being ||Phi|| ||rho||_inf."""
    norm = math.hypot(*weights)

    def root(k):
        return math.sqrt(dot(weights, [min(n + k, m) for n in counts]) / (2 * ridge))

    return max(math.exp(-k * beta) * (size * root(k) + norm) ** 2 for k in range(m + 1))


def sides(name, point):
    """The two sides of a registered printed claim at its refuting point."""
    claim = lookup(name).obligations[0].goal
    t = task(claim, 200)
    box = {v: ia.point(Q(x)) for v, x in point.items()}
    return [float(evaluate(e, box, 200).lo[1]) for e in (t.goal.left, t.goal.right)]


@pytest.mark.parametrize("name", ["theorem26", "theorem11"])
def test_refuting_instance_of_the_first_algorithm(name):
    point = verified([f"eval.{name}"])[0].point
    epsilon, delta, m = (float(Q(point[v])) for v in ("epsilon", "delta", "m"))
    beta, alpha = epsilon / (4 * (1 + math.log(2 / delta))), 5 * math.sqrt(2 * math.log(2 / delta)) / epsilon
    square = (alpha / 0.5) ** 2
    bound = share(m, 1, beta, math.exp(2) * beta**2 / 4)
    printed, least = sides(f"eval.{name}", point)
    assert least == pytest.approx(square * largest(int(m), beta))
    expected = bound if name == "theorem26" else 6 * (m**-2 + beta**2 * (1 - beta / 2) ** m)
    assert printed == pytest.approx(square * expected)
    assert printed < least


def second_bound(m, beta, ridge, features, weights, law, printed):
    """Theorem 32's braces for two states: as printed, or corrected."""
    p = [float(sum(x for y, x in law.items() if y[i])) for i in (0, 1)]
    squares, d = [float(v @ v) for v in features], features.shape[1]
    norm = np.linalg.norm(features, 2) ** 2 * max(weights) ** 2
    total, once = dot(weights, weights), 1 / (math.e * beta)
    stays = [1 - x if printed else 1 - (1 - math.exp(-beta)) * x for x in p]
    rare = [x**m / (4 if printed else 2) for x in stays]
    value = d * norm / 2 * dot(weights, p) + 2 * total * dot(weights, p, squares)
    value += ridge / m * d * total + d * norm * once / m * dot(weights, rare)
    for s, t in itertools.product((0, 1), (0, 1)):
        pair = weights[s] * weights[t] * squares[s]
        both = p[s] if s == t else float(law.get((1, 1), 0))
        meets = (p[s] - both) / 2 if printed else p[s] - both + math.exp(-beta) * both
        extra = meets * once * stays[t] ** (m - 1)
        value += norm / ridge * pair * (m * p[s] * p[t] + both - p[s] * p[t] + extra)
    return value


def second_risk(m, beta, ridge, features, weights, law):
    """The excess risk of DP-LSL over C_lambda^2, by lemma 29 and enumeration."""
    squares, d = [float(v @ v) for v in features], features.shape[1]
    size, mean = np.linalg.norm(features, 2) * max(weights), 0.0
    for counts, x in visits(m, law).items():
        cost = ridge * d / (2 * m) + dot(weights, squares, counts) / m
        mean += float(x) * cost * smooth(counts, weights, m, beta, ridge, size)
    return mean


def test_corrected_bound_of_the_second_algorithm():
    draw = np.random.default_rng(0)
    for m, beta, law in itertools.product((1, 2, 5, 9), (0.005, 0.1, 0.4), LAWS):
        features, weights = draw.normal(size=(2, 2)), list(draw.uniform(0, 1, 2))
        ridge = np.linalg.norm(features, 2) ** 2 * max(weights) * 1.1 + 0.1
        setting = (m, beta, ridge, features, weights, law)
        assert second_risk(*setting) <= second_bound(*setting, printed=False) * TOLERANCE


def weighted(p):
    """Two states: the initial one of weight 0, the other visited with chance p."""
    return np.array([[0.0], [1.0]]), [0.0, 1.0], {(1, 0): 1 - p, (1, 1): p}


def test_refuting_instance_of_the_second_algorithm():
    point = verified(["eval.theorem32"])[0].point
    epsilon, delta, ridge = (float(Q(point[v])) for v in ("epsilon", "delta", "ridge"))
    beta = epsilon / (4 * (1 + math.log(2 / delta)))
    setting = (2, beta, ridge, *weighted(Q(point["p"])))
    scale = 4 * 25 * 2 * math.log(2 / delta) / epsilon**2 / (0.5 * (ridge - 1)) ** 2
    printed, least = sides("eval.theorem32", point)
    assert printed == pytest.approx(scale * second_bound(*setting, printed=True))
    assert printed * 1.06 < least <= scale * second_risk(*setting) * TOLERANCE


@pytest.mark.parametrize(("m", "p", "ratio"), [(10, Q(1, 5), 1.676), (50, Q(1, 20), 3.923)])
def test_rarely_visited_states_cost_more_than_printed(m, p, ratio):
    setting = (m, 0.1 / (4 * (1 + math.log(20))), 2.0, *weighted(p))
    assert second_risk(*setting) / second_bound(*setting, printed=True) == pytest.approx(ratio, abs=1e-3)
    assert second_risk(*setting) <= second_bound(*setting, printed=False)


SIGNS = (Q(1), Q(-1))


def test_excess_risk_needs_only_mean_zero_and_variance_one():
    """Fair signs in place of Gaussian coordinates: the mean excess risks come out exactly."""
    features, theta, sigma = [(Q(1), Q(2)), (Q(-1, 2), Q(3)), (Q(0), Q(1))], (Q(1, 3), Q(-2)), Q(3, 7)
    weights, targets, ridge, m = (Q(1), Q(1, 2), Q(2)), (Q(1), Q(0), Q(5)), Q(3), 4

    def loss(at):
        fits = (sum(a * b for a, b in zip(phi, at, strict=True)) for phi in features)
        errors = sum(w * (f - v) ** 2 for w, f, v in zip(weights, targets, fits, strict=True))
        return errors, errors / m + ridge / (2 * m) * sum(a * a for a in at)

    base, found = loss(theta), [Q(0), Q(0)]
    for signs in itertools.product(SIGNS, SIGNS):
        there = loss(tuple(a + sigma * e for a, e in zip(theta, signs, strict=True)))
        found = [x + (a - b) / 4 for x, a, b in zip(found, there, base, strict=True)]
    frobenius = sum(w * sum(a * a for a in phi) for w, phi in zip(weights, features, strict=True))
    assert found[0] == sigma**2 * frobenius
    assert found[1] == sigma**2 * (frobenius / m + ridge * 2 / (2 * m))


NUMBERS = {
    "eval.lemma25.corrected.goal": ["6/(p**2*(m + 1)*(m + 2)) + exp(beta)*gen(m)"],
    "eval.eq58.corrected.goal": ["<= n + exp(-(b*n))/(exp(1)*b)"],
    "eval.theorem26.corrected.goal": [
        "6*recip(s)**2/((m + 1)*(m + 2)) + exp(beta)*gen(s, m)",
        "<= C**2*sum(s, 1, N, w(s)*bound(s))",
    ],
    "eval.theorem11.corrected.goal": [
        "6*recip(s)**2/m**2 + 2*slow(s, m)",
        "<= C**2*sum(s, 1, N, w(s)*bound(s))",
    ],
    "eval.corollary12.goal": [
        "recip(s)**2*(6 + 2*exp(beta)/(1 - exp(-beta))**2)",
        "<= C**2*sum(s, 1, N, w(s)*factor(s))/m**2",
    ],
    "eval.lemma29.goal": [
        "lam*d/(2*m) + sum(s, 1, N, rho(s)*sum(j, 1, d, feature(s, j)**2)*count(x, s))/m)*sigma(x)**2",
    ],
    "eval.theorem32.corrected.goal": [
        "C == 2*alpha*R*op/((1 - gamma)*room)",
        "c == op*peak/sqrt(2*lam)",
        "1/m*(d*op**2*peak**2/(2*exp(1)*beta))*sum(s, 1, N, rho(s)*rare(s, m))",
        "1/(exp(1)*beta)*(only(s, z) + exp(-beta)*both(s, z))*rare(z, m - 1)",
    ],
    "eval.corollary13.goal": ["<= (4*alpha*R*op/(1 - gamma))**2*K*(1/(lam*m) + 1/lam**2 + m/lam**3)"],
}
"""By goal: formulas that its text must contain, with the numbers of the statement."""


@rows(("name", "formulas"), NUMBERS.items())
def test_goals_state_the_numbers(name, formulas):
    statement, _, goal = name.rpartition(".")
    text = next(x.text for x in lookup(statement).obligations if x.name == goal)
    text = " ".join(text.replace("\\", " ").split())
    assert [x for x in formulas if x not in text] == []
