"""The exact rounded Gaussian: its law against masses by Arb, both paths on the same words, adversarial words.

The reference masses are normal tails enclosed by Arb, an independent route. Each chi-square test declares its
alpha and sample size, and a law with 5 % more noise, or moved by 5 % of it, is rejected at the same alpha.
"""

import ast
import inspect
import math
from fractions import Fraction
from itertools import pairwise

import flint
import numpy as np
import pytest
from scipy import stats

from dpproof.mechanisms.release import rounded_gaussian as module
from dpproof.mechanisms.release.rounded_gaussian import exact_rounded_gaussian, rounded_gaussian
from dpproof.mechanisms.release.words import WordStream, seeded_words, system_words
from tests.rows import tiered

SEED, ALPHA, DRAWS = 2718, 1e-6, 100_000


def arb(value):
    return flint.arb(value.numerator) / value.denominator


def below(edge, mean, variance):
    """The probability that mean + sigma Z is below the edge."""
    return (-(arb(edge - mean) / arb(variance).sqrt() / flint.arb(2).sqrt())).erfc() / 2


def masses(mean, variance, exponent, edges):
    """Probabilities of k < edges[0], edges[0] <= k < edges[1], ..., where k is the nearest grid point."""
    cuts = [(Fraction(edge) - Fraction(1, 2)) * Fraction(2) ** exponent for edge in edges]
    tails = [flint.arb(0), *(below(cut, mean, variance) for cut in cuts), flint.arb(1)]
    return np.array([float(b - a) for a, b in pairwise(tails)])


def edges_of(mean, variance, exponent):
    """Up to 61 integers, about a tenth of the deviation apart, or one after another."""
    unit = Fraction(2) ** exponent
    middle, root = round(mean / unit), math.isqrt(math.floor(variance / unit**2))
    step = max(1, root // 10)
    return [middle + step * i for i in range(-30, 31)]


def p_value(found, mean, variance, exponent):
    edges = edges_of(mean, variance, exponent)
    from_middle = np.array([k - edges[30] for k in found], np.int64)
    cuts = np.array([edge - edges[30] for edge in edges], np.int64)
    counts = np.bincount(np.searchsorted(cuts, from_middle, "right"), minlength=len(edges) + 1)
    expected = masses(mean, variance, exponent, edges) * len(found)
    kept = expected >= 5
    seen, law = np.append(counts[kept], counts[~kept].sum()), np.append(expected[kept], expected[~kept].sum())
    if law[-1] < 1e-3:
        assert seen[-1] == 0
        seen, law = seen[:-1], law[:-1]
    return float(stats.chisquare(seen, law * (len(found) / law.sum())).pvalue) if len(seen) > 1 else 1.0


LAWS = [
    (Fraction(0), Fraction(1), 0),
    (Fraction(1, 3), Fraction(1, 4), 0),
    (Fraction(-7, 2), Fraction(3), 0),
    (Fraction(22, 7), Fraction(2), -10),
    (Fraction(10**9, 3), Fraction(10**18), 0),
    (Fraction(1, 3) * Fraction(2) ** -40, Fraction(5), -40),
    (Fraction(499, 1000), Fraction(1, 10**6), 0),
    (Fraction(10**9) + Fraction(1, 2), Fraction(1, 10**6), 0),
    (Fraction(10**30, 7), Fraction(10**38), 3),
    (Fraction(5), Fraction(7), -58),
]


@pytest.mark.parametrize("case", tiered(range(len(LAWS)), fast=1))
def test_counts_follow_the_exact_masses(case):
    """Alpha 1e-6 each, 100,000 draws; the same numbers are rejected as draws of two nearby laws."""
    mean, variance, exponent = LAWS[case]
    source = seeded_words(np.random.default_rng([SEED, case]))
    found = rounded_gaussian([mean], [variance], exponent, times=DRAWS, source=source)
    assert p_value(found, mean, variance, exponent) > ALPHA
    assert p_value(found, mean, variance * Fraction(110, 100), exponent) < ALPHA or case == 7
    moved = mean + Fraction(math.isqrt(math.floor(variance * 10**8)), 10**4) * Fraction(5, 100)
    assert p_value(found, moved, variance, exponent) < ALPHA


@pytest.mark.slow
def test_the_exact_path_alone_has_the_law_too():
    """Alpha 1e-6, 20,000 draws."""
    mean, variance = Fraction(1, 3), Fraction(9, 4)
    stream = WordStream(seeded_words(np.random.default_rng(SEED)))
    found = exact_rounded_gaussian([mean] * 20_000, [variance] * 20_000, 0, stream)
    assert p_value(found, mean, variance, 0) > ALPHA
    assert p_value(found, mean, variance * Fraction(6, 5), 0) < ALPHA


def few_values(rng):
    """Words of which many agree: ties, runs of them, and numbers at the ends of intervals."""
    values = np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1, 2**62, 3 * 2**61], np.uint64)

    def draw(count):
        plain = rng.integers(0, 2**64, count, np.uint64)
        return np.where(plain % 10 < 3, plain, values[(plain >> np.uint64(8)) % np.uint64(7)])

    return draw


SCALES = [
    Fraction(1, 10**6),
    Fraction(1, 7),
    Fraction(3),
    Fraction(10**18),
    Fraction(2) ** 106,
    Fraction(2) ** 130,
]


@pytest.mark.parametrize("source", [seeded_words, few_values])
@pytest.mark.parametrize("variance", SCALES)
def test_both_paths_give_the_same_integers_from_the_same_words(source, variance):
    rng = np.random.default_rng([SEED, int(math.log2(variance)) + 100])
    means = [Fraction(int(rng.integers(-(2**50), 2**50)), int(rng.integers(1, 2**30))) for _ in range(400)]
    means[:3] = [Fraction(0), Fraction(1, 2), Fraction(-3, 2)]
    variances = [variance * int(rng.integers(1, 9)) for _ in means]
    for exponent in (0, -3, 5):
        fast = rounded_gaussian(means, variances, exponent, source=source(np.random.default_rng(SEED)))
        stream = WordStream(source(np.random.default_rng(SEED)))
        assert fast == exact_rounded_gaussian(means, variances, exponent, stream)


def test_the_fast_path_decides_nearly_everything_and_the_exact_path_the_rest(monkeypatch):
    passed = []
    exactly = module._exactly
    monkeypatch.setattr(module, "_exactly", lambda law, stream: passed.append(1) or exactly(law, stream))
    source = seeded_words(np.random.default_rng(SEED))
    rounded_gaussian([Fraction(1, 3)], [Fraction(4)], -30, times=10_000, source=source)
    assert not passed
    rounded_gaussian([Fraction(1, 3)], [Fraction(4)], -52, times=10_000, source=source)
    assert 20 < len(passed) < 2_000


def test_the_size_of_blocks_does_not_change_the_integers(monkeypatch):
    def drawn():
        source = seeded_words(np.random.default_rng(SEED))
        return rounded_gaussian([Fraction(1, 3)], [Fraction(4)], -30, times=3_000, source=source)

    many = drawn()
    monkeypatch.setattr(module, "_BLOCK", 64)
    assert drawn() == many


@pytest.mark.parametrize("word", [0, 1, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("length", [1, 7, 40])
def test_long_ties_are_resolved_by_further_words(word, length):
    """The stream repeats one word, so that uniform numbers agree in hundreds of bits; then it goes on."""

    def source():
        rng, left = np.random.default_rng(SEED), [length]

        def draw(count):
            held = min(count, left[0])
            left[0] -= held
            return np.append(np.full(held, word, np.uint64), rng.integers(0, 2**64, count - held, np.uint64))

        return draw

    means, variances = [Fraction(1, 2)] * 5, [Fraction(2) ** 20] * 5
    fast = rounded_gaussian(means, variances, 0, source=source())
    assert fast == exact_rounded_gaussian(means, variances, 0, WordStream(source()))


def test_rounding_is_refined_until_it_is_decided():
    """Noise of 2^300 grid steps: more than four words of x are needed, and all bits of the result vary."""
    found = rounded_gaussian([Fraction(1, 3)], [Fraction(4) ** 300], 0, times=400)
    parity = sum(value & 1 for value in found)
    assert 120 < parity < 280  # alpha below 1e-14
    assert len({value % 2**64 for value in found}) == 400
    assert all(abs(value) < 2**304 for value in found)


def test_numbers_beyond_doubles_are_exact():
    huge = Fraction(10**400) + Fraction(1, 10**400)
    tiny = Fraction(1, 10**900)
    assert rounded_gaussian([huge, -huge], [tiny, tiny], 0) == [10**400, -(10**400)]
    assert rounded_gaussian([Fraction(1, 10**400)], [tiny], 0, times=3) == [0, 0, 0]


def test_the_exact_path_has_no_floating_point():
    tree = ast.parse(inspect.getsource(module))
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert not any(isinstance(value, float) for value in constants)
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {"float", "float64", "sqrt", "log", "exp", "random"}
    assert not any(isinstance(node, ast.Div) for node in ast.walk(tree))


def test_noise_of_the_system_is_new_each_time():
    one, two = (rounded_gaussian([Fraction(0)], [Fraction(1)], -50, times=20) for _ in range(2))
    assert one != two
    assert (system_words(8) != system_words(8)).any()


@pytest.mark.parametrize(
    ("mean", "variance", "rule"),
    [
        ([Fraction(1)], [Fraction(0)], r"variance \(Fraction\(0, 1\)\) must be above 0"),
        ([Fraction(1)], [Fraction(-1)], "must be above 0"),
        ([Fraction(1)], [], r"variances \(0\) must have the same number of entries as means \(1\)"),
        ([0.5], [Fraction(1)], r"mean \(0.5\) and variance .* must be exact rationals"),
        ([Fraction(1)], [2.0], "must be exact rationals"),
        ([math.nan], [Fraction(1)], "must be exact rationals"),
    ],
)
def test_what_is_not_exact_is_refused(mean, variance, rule):
    with pytest.raises(ValueError, match=rule):
        rounded_gaussian(mean, variance, 0)
