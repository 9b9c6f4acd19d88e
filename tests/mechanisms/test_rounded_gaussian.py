"""The exact rounded Gaussian: its law against masses by Arb, and means and variances of any size.

The reference masses are normal tails enclosed by Arb, an independent route. Each chi-square test declares its
alpha and sample size, and a law with 5 % more noise, or moved by 5 % of it, is rejected at the same alpha.
test_rounded_noise.py compares the fast and the exact path of the sampler.
"""

import math
from fractions import Fraction
from itertools import pairwise

import flint
import numpy as np
import pytest
from scipy import stats

from dpproof.mechanisms.release import rounded_noise
from dpproof.mechanisms.release.rounded_gaussian import rounded_gaussian
from dpproof.mechanisms.release.words import seeded_words, system_words
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


def test_the_fast_path_decides_nearly_everything_and_the_exact_path_the_rest(monkeypatch):
    passed = []
    exactly = rounded_noise._exactly
    monkeypatch.setattr(rounded_noise, "_exactly", lambda *given: passed.append(1) or exactly(*given))
    source = seeded_words(np.random.default_rng(SEED))
    rounded_gaussian([Fraction(1, 3)], [Fraction(4)], -30, times=10_000, source=source)
    assert len(passed) <= 1
    rounded_gaussian([Fraction(1, 3)], [Fraction(4)], -46, times=10_000, source=source)
    assert 5 < len(passed) < 500


def test_the_size_of_blocks_does_not_change_the_integers(monkeypatch):
    def drawn():
        source = seeded_words(np.random.default_rng(SEED))
        return rounded_gaussian([Fraction(1, 3)] * 2, [Fraction(4)] * 2, -30, times=3_000, source=source)

    many = drawn()
    monkeypatch.setattr(rounded_noise, "_BLOCK", 64)
    assert drawn() == many


def test_draws_of_several_laws_stand_in_the_order_of_the_means():
    """Noise far below the grid step, so that each integer shows its mean. There are several blocks of laws."""
    means = [Fraction(k) for k in range(-1000, 1000)]
    found = rounded_gaussian(means, [Fraction(1, 10**6)] * len(means), 0, times=40)
    assert found == [int(mean) for mean in means] * 40
    assert (
        rounded_gaussian([], [], 0, times=3)
        == rounded_gaussian([Fraction(1)], [Fraction(1)], 0, times=0)
        == []
    )


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
