"""Policy evaluation, privacy: the statements against brute force and against exact profiles."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.accountant.published import published
from dpproof.accountant.smooth_sensitivity.gaussian import SmoothGaussian
from dpproof.accountant.smooth_sensitivity.spherical import spherical_delta
from dpproof.proofs_check.registry import lookup
from tests.rows import rows
from tests.verified import verified

COUNTS = range(5)
EPSILONS = ("0.01", "0.5", "1", "5", "15")
DELTAS = ("0.99", "0.5", "0.1", "1e-6")


def profile(alpha, beta, dimension, epsilon, delta):
    """Delta of the worst pair that a lemma's printed constants admit, enclosed."""
    values = {"epsilon": float(epsilon), "delta": float(delta)}
    noise = published(alpha).formula.float(**values) * (1 - 1e-12)
    smoothing = published(beta).formula.float(**values, d=dimension) / 2 * (1 + 1e-12)
    return SmoothGaussian(noise=str(noise), smoothing=str(smoothing), dimension=dimension).delta(epsilon)


@rows("dimension", [1, 2, 7, 40])
@rows("epsilon", EPSILONS)
@rows("delta", DELTAS)
def test_the_corrected_lemma_1_by_exact_profiles(dimension, epsilon, delta):
    assert profile("eval.lemma1.alpha", "eval.lemma1.beta", dimension, epsilon, delta).upper <= float(delta)


@rows("dimension", [1, 2, 7, 40])
@rows("epsilon", EPSILONS[:-1])
@rows("delta", DELTAS)
def test_lemma_14_by_exact_profiles(dimension, epsilon, delta):
    assert profile("eval.lemma14.alpha", "eval.lemma14.beta", dimension, epsilon, delta).upper <= float(delta)


@pytest.mark.slow
def test_lemma_1_fails_at_a_large_epsilon():
    assert profile("eval.lemma1.alpha", "eval.lemma1.beta", 1, "50", "0.25").lower > 0.25
    assert verified(["eval.lemma1"])[0].verdict.value == "REFUTED"


def above(square):
    """A rational a little above the square root."""
    return Fraction(math.isqrt(int(square * 10**18)) + 1, 10**9)


def safe(dimension, low, high, least, most):
    """No pair breaks Lemma 1 for an epsilon in [low, high] and log(2/delta) in [least, most]."""
    shift, half = above(high * high / (50 * least)), high / (8 * (dimension + least))
    delta = 2 * (-arb_of(most)).exp()
    return all(spherical_delta(shift, x, dimension, low) < delta for x in (half, -half, Fraction(0)))


def rectangles(dimension, top):
    """The rectangles of epsilon in [15, top] and log(2/delta) that cover beta >= 3/2; each is safe."""
    found, todo = [], [(Fraction(15), top, Fraction(69, 100), top / 6 - dimension)]
    while todo:
        low, high, least, most = todo.pop()
        if 6 * (dimension + least) >= high:
            continue
        most = min(most, high / 6 - dimension)
        if safe(dimension, low, high, least, most):
            found.append((low, high, least, most))
        elif high - low > 16 * (most - least):
            middle = (low + high) / 2
            todo += [(low, middle, least, most), (middle, high, least, most)]
        else:
            middle = (least + most) / 2
            todo += [(low, high, least, middle), (low, high, middle, most)]
        assert high - low > Fraction(1, 10**6)
    return found


def test_lemma_1_up_to_49_by_exact_profiles():
    top = Fraction("49.17")
    with precision(80):
        found = [rectangles(d, top) for d in range(1, 9)]
    assert [len(x) for x in found] == [6068, 47, 22, 11, 7, 4, 1, 0]
    rng = random.Random(0)
    for _ in range(300):  # a beta of 3/2 is at epsilon = 6 (d + L)
        dimension = rng.randint(1, 7)
        epsilon = Fraction(rng.uniform(6 * (dimension + 0.7), float(top)))
        length = Fraction(rng.uniform(0.69, float(epsilon) / 6 - dimension))
        assert epsilon < 15 or any(
            low <= epsilon <= high and least <= length <= most
            for low, high, least, most in found[dimension - 1]
        )


@rows("dimension", range(1, 9))
def test_scales_within_a_factor_of_two_are_private_up_to_fifty(dimension):
    """eval.lemma1.ratio_4, whose kernel proof uses another bound: the shift of Lemma 1, a half log ratio of log 2."""
    for length in (Fraction(x, 100) for x in range(70, 820, 25)):
        shift, half = above(Fraction(2500) / (50 * length)), Fraction(694, 1000)
        half = min(half, Fraction(50) / (8 * (dimension + length)))
        with precision(80):
            delta = 2 * (-arb_of(length)).exp()
            assert all(
                spherical_delta(shift, x, dimension, Fraction(50)) < delta for x in (half, -half, Fraction(0))
            )


@rows("seed", range(20))
def test_the_scales_of_the_algorithm_are_within_a_factor_of_two(seed):
    """The step `double` of eval.theorem6.to_50, for every beta."""
    rng = np.random.default_rng(seed)
    weights, beta = rng.random(3) ** 8, 10 * rng.random()
    first = rng.integers(0, 6, 3)
    second = np.maximum(first + rng.integers(-1, 2, 3), 0)
    phi = lsw(weights, None)
    both = [
        max(math.exp(-k * beta) * phi(np.maximum(v - k, 1)) for k in range(max(v) + 1))
        for v in (first, second)
    ]
    assert max(both) <= 4 * min(both) * (1 + 1e-12)


def test_lemma_1_fails_at_every_epsilon_above_the_limit():
    length, epsilon = Fraction("2.105458"), Fraction("49.172")
    with precision(80):
        delta = 2 * (-arb_of(length)).exp()
        while epsilon < 200:
            step = Fraction(4)
            shift, half = epsilon / above(50 * length), epsilon / (8 * (1 + length))
            while not spherical_delta(shift, half, 1, epsilon + step) > delta:
                step /= 2
                assert step > Fraction(1, 10**6)
            epsilon += step


def lsw(weights, capacity):
    return lambda v: sum(w / max(x, 1) ** 2 for w, x in zip(weights, v, strict=True))


def lsl(weights, capacity, cap=min):
    def value(v):
        total = sum(w * cap(x, capacity) for w, x in zip(weights, v, strict=True))
        return (0.3 * math.sqrt(total) + math.hypot(*weights)) ** 2

    return value


def within(v, k):
    return itertools.product(*(range(max(x - k, 0), x + k + 1) for x in v))


def envelope(phi, v, k):
    return max(phi(x) for x in within(v, k))


def smoothed(phi, v, beta, last):
    return max(math.exp(-k * beta) * envelope(phi, v, k) for k in range(last + 1))


WEIGHTS, CAPACITY = (0.7, 0.2), 4
VECTORS = list(itertools.product(COUNTS, repeat=2))


@rows("v", VECTORS)
@rows("k", range(6))
def test_envelopes_by_enumeration(v, k):
    low = lsw(WEIGHTS, CAPACITY)
    assert envelope(low, v, k) == pytest.approx(
        sum(w / max(x - k, 1) ** 2 for w, x in zip(WEIGHTS, v, strict=True))
    )
    high = lsl(WEIGHTS, CAPACITY)
    assert envelope(high, v, k) == pytest.approx(high([x + k for x in v]))
    if k >= max(v) - 1:
        assert envelope(low, v, k) == pytest.approx(sum(WEIGHTS))
    if k >= CAPACITY - min(v):
        assert envelope(high, v, k) == pytest.approx(high([CAPACITY] * 2))


def test_the_maximum_printed_in_lemma_9_is_not_constant():
    phi = lsl((1.0,), 1, cap=max)
    assert envelope(phi, (0,), 2) > phi((1,)) == envelope(phi, (0,), 1)
    assert verified(["eval.lemma9", "eval.lemma9.corrected"])[0].verdict.value == "REFUTED"


@pytest.mark.parametrize("beta", [0.05, 0.4, 2.0])
@pytest.mark.parametrize("kind", [lsw, lsl])
def test_the_algorithms_maximum_is_a_smooth_upper_bound(kind, beta):
    phi = kind(WEIGHTS, CAPACITY)
    values = {}
    for v in VECTORS:
        last = max(v) if kind is lsw else CAPACITY
        values[v] = smoothed(phi, v, beta, last)
        assert values[v] >= phi(v)
        assert values[v] == pytest.approx(smoothed(phi, v, beta, last + 5))  # later terms are not larger
    for v, u in itertools.product(VECTORS, repeat=2):
        if max(abs(x - y) for x, y in zip(u, v, strict=True)) <= 1:
            assert abs(math.log(values[u] / values[v])) <= beta + 1e-12


STATES, FEATURES, BOUND = 4, 2, 1.0


def trajectory(rng):
    """Which states it visits, and its returns there, between 0 and 1 and often at an end."""
    seen = rng.random(STATES) < 0.5
    return seen, seen * np.where(rng.random(STATES) < 0.5, rng.random(STATES), rng.integers(0, 2, STATES))


def neighbours(rng):
    batch = [trajectory(rng) for _ in range(rng.integers(1, 6))]
    return batch, [*batch[:-1], trajectory(rng)]


def averages(batch):
    visits = sum(seen for seen, _ in batch).astype(float)
    return visits, sum(returns for _, returns in batch) / np.maximum(visits, 1)


def ridge(batch, features, weights, penalty):
    visits, mean = averages(batch)
    gamma = np.diag(weights * visits / len(batch))
    matrix = features.T @ gamma @ features + penalty / (2 * len(batch)) * np.eye(FEATURES)
    return np.linalg.solve(matrix, features.T @ gamma @ mean)


def norm(matrix):
    return np.linalg.norm(matrix, 2)


@rows("seed", range(200))
def test_sensitivities_on_random_batches(seed):
    rng = np.random.default_rng(seed)
    first, second = neighbours(rng)
    weights = rng.random(STATES)
    (visits, mean), (_, other) = averages(first), averages(second)
    others = averages(first[:-1])[0] if len(first) > 1 else np.zeros(STATES)
    gap = weights @ (mean - other) ** 2
    touched = first[-1][0] | second[-1][0]
    exact = weights @ (touched / (others + 1) ** 2)
    assert gap <= BOUND**2 * exact + 1e-12  # Lemma 2
    assert exact <= weights @ (1 / np.maximum(visits, 1) ** 2) + 1e-12  # Corollary 3


@rows("seed", range(200))
def test_ridge_sensitivities_on_random_batches(seed):
    rng = np.random.default_rng(seed)
    first, second = neighbours(rng)
    weights, features = rng.random(STATES), rng.normal(size=(STATES, FEATURES))
    largest = norm(features) ** 2 * weights.max()
    penalty = largest * (1 + rng.exponential())
    theta, moved = (ridge(x, features, weights, penalty) for x in (first, second))
    distance = np.linalg.norm(theta - moved)
    (seen, returns), (also, others) = first[-1], second[-1]
    delta = np.diag(seen.astype(float) - also)
    numerator = features.T @ np.diag(weights) @ (delta @ features @ theta - returns + others)
    spread = norm(features.T @ delta @ np.diag(weights) @ features)
    assert distance / 2 <= np.linalg.norm(numerator) / (penalty - spread) + 1e-12  # Lemma 7
    visits = averages(first)[0]
    size = math.sqrt(weights @ visits / (2 * penalty))
    assert np.linalg.norm(theta) <= BOUND * size + 1e-12
    bound = norm(features) * weights.max() * size + np.linalg.norm(weights)
    assert distance <= 2 * BOUND * norm(features) / (penalty - largest) * bound + 1e-12  # Corollary 8


def upper_tail(t):
    return math.erfc(t / math.sqrt(2)) / 2


@pytest.mark.parametrize(("identity", "shrink"), [("eval.theorem6", 1.0), ("eval.theorem10", 0.999)])
def test_the_algorithms_fail_at_a_large_epsilon(identity, shrink):
    epsilon, delta, t = 110.0, 0.8, -1.34
    alpha = published("eval.lemma1.alpha").formula.float(epsilon=epsilon, delta=delta)
    shift = shrink * 0.999 / alpha
    assert upper_tail(t) > math.exp(epsilon) * upper_tail(t + shift) + delta
    assert verified([identity])[0].verdict.value == "REFUTED"
    assert verified([f"{identity}.corrected"])[0].verdict.value == "PROVED"


NUMBERS = {
    "eval.lemma1.corrected.goal": [
        "for eps in (0, 15]",
        "5*sqrt(2*log(2/delta))/eps",
        "eps/(4*d + 4*log(2/delta))",
        "<= exp(eps)*P(u, 0, h) + delta",
    ],
    "eval.lemma14.goal": [
        "for eps in (0, 5]",
        "15*sqrt(2*log(4/delta))/eps",
        "<= exp(eps)*P(u, 0, h) + delta",
    ],
    "eval.lemma1.small_beta.goal": [
        "for eps in (0, 50]",
        "5*sqrt(2*log(2/delta))/eps",
        "eps/(4*d + 4*log(2/delta))",
        "eps/(4*d + 4*log(2/delta)) <= 3/2",
        "<= exp(eps)*P(u, 0, h) + delta",
    ],
    "eval.lemma1.ratio_4.goal": [
        "for eps in (0, 50]",
        "5*sqrt(2*log(2/delta))/eps",
        "eps/(4*d + 4*log(2/delta))",
        "sigma(x) <= 2*sigma(u)",
        "<= exp(eps)*P(u, 0, h) + delta",
    ],
    "eval.theorem6.to_50.goal": [
        "for eps in (0, 50]",
        "alpha == 5*sqrt(2*log(2/delta))/eps",
        "beta == eps/(4*(d + log(2/delta)))",
        "<= exp(eps)*P(u, 0, h) + delta",
    ],
    "eval.theorem10.small_beta.goal": [
        "for eps in (0, 50]",
        "alpha == 5*sqrt(2*log(2/delta))/eps",
        "beta == eps/(4*(d + log(2/delta)))",
        "given small: beta <= 3/2",
        "<= exp(eps)*P(u, 0, h) + delta",
    ],
    "eval.theorem6.corrected.goal": [
        "for eps in (0, 15]",
        "alpha == 5*sqrt(2*log(2/delta))/eps",
        "beta == eps/(4*(d + log(2/delta)))",
        "<= exp(eps)*P(u, 0, h) + delta",
    ],
    "eval.theorem10.corrected.goal": [
        "for eps in (0, 15]",
        "alpha == 5*sqrt(2*log(2/delta))/eps",
        "beta == eps/(4*(d + log(2/delta)))",
        "<= exp(eps)*P(u, 0, h) + delta",
    ],
    "eval.corollary3.goal": ["<= R/(1 - gamma)*bound(x)"],
}
"""By goal: formulas that its text must contain, with the numbers of the statement."""


@rows(("name", "formulas"), NUMBERS.items())
def test_goals_state_the_numbers(name, formulas):
    statement, _, goal = name.rpartition(".")
    text = next(x.text for x in lookup(statement).obligations if x.name == goal)
    text = " ".join(text.replace("\\", " ").split())
    assert [x for x in formulas if x not in text] == []
