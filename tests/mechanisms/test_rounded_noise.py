"""Rounded noise: both paths on words around every threshold, and the law of the draws.

The reference is the tail of the noise by Arb's erfc and exp. The code uses inverse functions, so the routes differ.
Each chi-square test declares its alpha and its sample size. At the same alpha it rejects a scale that is 1 % larger.
"""

import ast
import inspect
import math
from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb
from scipy import stats

from dpproof.accountant.numbers.enclosures import arb_of, precision
from dpproof.mechanisms.release import rounded_noise as module
from dpproof.mechanisms.release._rounded_kernel import SEGMENTS, rounded
from dpproof.mechanisms.release.quantiles import LAPLACE, NORMAL, segment_start
from dpproof.mechanisms.release.rounded_noise import Law, RoundedLaplace, RoundedNormal, floors
from dpproof.mechanisms.release.words import seeded_words
from tests.rows import tiered

SEED, ALPHA, DRAWS = 31415, 1e-6, 1_000_000
KINDS = {NORMAL: RoundedNormal, LAPLACE: RoundedLaplace}
QUANTILES = pytest.mark.parametrize("quantile", KINDS, ids=lambda quantile: quantile.name)


def tail(quantile, size):
    """The probability that the noise of scale 1 is larger than the size, which is at least 0."""
    return (size / arb(2).sqrt()).erfc() / 2 if quantile is NORMAL else (-size).exp() / 2


def law_of(scale):
    return Law(1, 2, scale.numerator**2, scale.denominator**2)


def script(words):
    """A source that returns the given words first, and then random ones."""
    left, rng = [np.array(words, np.uint64)], np.random.default_rng(SEED)

    def draw(count):
        found, left[0] = left[0][:count], left[0][count:]
        return np.append(found, rng.integers(0, 2**64, count - len(found), np.uint64))

    return draw


def both_signs(tails):
    return [sign << 63 | u for u in tails for sign in (0, 1)]


# Both paths on chosen words.


def thresholds(quantile, scale):
    """The tail probabilities at which the size passes 1/2, 3/2, ..., times 2^64 and rounded down, until 0."""
    found = [2**63]
    with precision(160):
        while found[-1]:
            scaled = tail(quantile, arb(2 * len(found) - 1) / 2 / arb_of(scale)) * 2**64
            found.append(0 if scaled < 1 else int(scaled.floor().unique_fmpz()))
    return found[1:]


def sizes(cuts, first, cell):
    """The least and the greatest rounded size of a u in [first, first + cell) 2^-64."""
    rising = cuts[::-1]
    least, greatest = (len(cuts) - bisect_left(rising, edge) for edge in (first + cell, first))
    return least, greatest if first else math.inf


def packed(firsts, digits):
    """Both signs of these tail probabilities, as digits, and as words that the source gives."""
    chosen = [(sign << 63 | first) >> (64 - digits) for first in firsts for sign in (0, 1)]
    return chosen, np.array(chosen, np.uint32 if digits == 32 else np.uint64).view(np.uint64)


def check_both_paths(quantile, scale, digits, firsts):
    """Return how many of the words the fast path left undecided. Half of them have a negative sign."""
    cuts, cell, law = thresholds(quantile, scale), 1 << (64 - digits), law_of(scale)
    if len(firsts) > 10_000:  # the source must give the words in one block
        return sum(
            check_both_paths(quantile, scale, digits, firsts[k : k + 10_000])
            for k in range(0, len(firsts), 10_000)
        )
    chosen, words = packed(firsts, digits)
    found, exactly = floors(quantile, [law], len(chosen), script(words))
    for place, digit in enumerate(chosen):
        first = (digit << (64 - digits)) & ((1 << 63) - 1)
        least, greatest = sizes(cuts, first, cell)
        sign = -1 if digit >> (digits - 1) else 1
        given = [exactly.get(place, int(found[place])) * sign]
        if place % 7 == 0:
            given.append(module._exactly(quantile, law, digit, digits, script([])) * sign)
        assert all(least <= size <= greatest for size in given), (scale, digit)
        assert least == greatest or place in exactly
    return len(exactly)


SCALES = [Fraction(1, 5), Fraction(100), Fraction(5, 2), Fraction(1), Fraction(100, 7)]
NEAR = [0, 1, 2, 3, 5, 64, 2**10, 2**20]
FAR = [2**30, 2**40, 2**50]


@QUANTILES
@pytest.mark.parametrize("digits", [32, 64])
@pytest.mark.parametrize("scale", tiered(SCALES, fast=3))
def test_both_paths_around_every_threshold(quantile, digits, scale, monkeypatch):
    """Both paths give the integer on the right side of the threshold. The fast path is undecided at the threshold."""
    monkeypatch.setattr(module, "_NARROW", 12 if digits == 32 else -(10**6))
    cell = 1 << (64 - digits)
    for distances, share in ((NEAR, 1), (FAR, 0.1 if digits == 64 else 1)):
        near = [d * sign * (cell if distances is NEAR else 1) for d in distances for sign in (-1, 1)]
        around = [cut + d for cut in thresholds(quantile, scale) if cut >> 44 for d in near]
        firsts = [first // cell * cell for first in around if 0 <= first < 1 << 63]
        undecided = check_both_paths(quantile, scale, digits, firsts)
        assert undecided <= 2 * len(firsts) * share
        assert undecided or distances is FAR


@QUANTILES
@pytest.mark.parametrize("digits", [32, 64])
def test_both_paths_on_random_and_on_extreme_words(quantile, digits, monkeypatch):
    """Zeros, ones, powers of two and the numbers beside them, and random words with random leading zeros."""
    monkeypatch.setattr(module, "_NARROW", 12 if digits == 32 else -(10**6))
    rng = np.random.default_rng(SEED)
    powers = [(1 << k) + step for k in range(64) for step in (-2, -1, 0, 1, 2)]
    segments = [int(segment_start(k) * 2**64) + step for k in range(SEGMENTS + 1) for step in (-1, 0, 1)]
    random = [
        int(word) >> int(by)
        for word, by in zip(rng.integers(0, 2**63, 3000), rng.geometric(0.3, 3000), strict=True)
    ]
    cell = 1 << (64 - digits)
    firsts = [first // cell * cell for first in [*powers, *segments, *random] if 0 <= first < 1 << 63]
    for scale in (Fraction(1, 2**19), Fraction(3, 7), Fraction(9), Fraction(100)):
        assert check_both_paths(quantile, scale, digits, firsts) < len(firsts) / 2


@QUANTILES
@pytest.mark.parametrize("word", [0, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("length", [1, 7, 40])
def test_long_runs_of_one_word_are_resolved_by_further_words(quantile, word, length):
    """The source repeats one word, so that u is known to be very close to 0 or 1/2. Then it goes on at random."""
    law, scale = law_of(Fraction(1, 3)), Fraction(1, 3)
    value = module._exactly(quantile, law, word, 64, script([word] * length))
    digits = word & (2**63 - 1)
    for _ in range(length):
        digits = digits << 64 | word
    with precision(10_000):
        low, high = (arb(digits + step) / 2 ** (64 * (length + 1)) for step in (0, 1))
        most = tail(quantile, arb(2 * abs(value) - 1) / 2 / arb_of(scale)) if value else arb(1)
        assert low < most
        assert tail(quantile, arb(2 * abs(value) + 1) / 2 / arb_of(scale)) < high
    assert value == 0 or (value < 0) == (word >= 2**63)


@QUANTILES
def test_the_next_digits_decide_at_a_threshold(quantile):
    """u agrees with a threshold in 64 or 128 digits, and then lies below it or above it."""
    scale = Fraction(5, 2)
    for n in (1, 2, 9):
        with precision(400):
            edge = int((tail(quantile, arb(2 * n - 1) / 2 / arb_of(scale)) * 2**192).floor().unique_fmpz())
        words = [edge >> 128, (edge >> 64) % 2**64, edge % 2**64]
        for step, expected in ((-1, n), (1, n - 1)):
            source = script([words[1], words[2] + step])
            assert module._exactly(quantile, law_of(scale), words[0], 64, source) == expected
            assert module._exactly(quantile, law_of(scale), words[0] | 1 << 63, 64, script(words[1:2])) in (
                -n,
                1 - n,
            )


def means_and_scales(rng):
    """Laws of `rounded_gaussian`: any fractional part, scales whose squares are rational."""
    d = int(rng.integers(1, 2**30))
    top = int(rng.integers(1, 9)) * int(2.0 ** rng.uniform(0, 110))
    return Law(int(rng.integers(0, d)), d, top, int(2.0 ** rng.uniform(0, 40)))


def test_laws_with_a_mean_agree_with_the_tail_whatever_path_decides():
    """The real number c/d + s g(u) is enclosed from the tail: at integer n, u is compared with tail((n - c/d)/s)."""
    rng = np.random.default_rng(SEED)
    laws = [means_and_scales(rng) for _ in range(3000)]
    laws += [law._replace(c=0) for law in laws[:1000]]
    laws += [
        Law(2**46 - 1, 2**46, 1, 2**88)
    ] * 500  # the mean is as close to the next integer as the noise is wide
    words = rng.integers(0, 2**64, len(laws), np.uint64)
    found, exactly = floors(NORMAL, laws, 1, script(words))
    assert 5 < len(exactly) < len(laws) / 5
    with precision(400):
        for place, (law, word) in enumerate(zip(laws, words.tolist(), strict=True)):
            below, above = (distribution_at(law, found, exactly, place, step) for step in (0, 1))
            u = arb(word & (2**63 - 1)) / 2**64
            cell = arb(2) ** -64
            if word >> 63:
                assert below < u + cell
                assert u < above
            else:
                assert below < 1 - u
                assert 1 - u - cell < above


def distribution_at(law, found, exactly, place, step):
    """P(c/d + s Z < n + step) for the draw n."""
    n = exactly.get(place, int(found[place])) + step
    size = (n - arb(law.c) / law.d) / (arb(law.p) / law.q).sqrt()
    return (-size / arb(2).sqrt()).erfc() / 2


def test_scales_are_enclosed():
    rng = np.random.default_rng(SEED)
    for _ in range(2000):
        p, q = (int(rng.integers(1, 2**60)) << int(rng.integers(0, 60)) for _ in range(2))
        scale = module._scale(p, q)
        m = 62 - scale.exponent
        if scale.leading:
            assert 2**61 <= scale.leading < 2**63
            assert scale.leading**2 * q <= p << 2 * m < (scale.leading + 1) ** 2 * q
            assert scale.shift == min(m - 5, 127)
        assert math.isinf(scale.upper) or Fraction(scale.upper) ** 2 >= Fraction(p << 128, q)
        assert bool(scale.leading) == math.isfinite(scale.upper)


# The law of the draws.


def p_value(quantile, scale, draws):
    """The chi-square test of draws in up to 121 intervals of equal length."""
    step = max(1, math.floor(scale) // 12)
    edges = [step * k for k in range(61)]
    with precision(100):
        above = [tail(quantile, arb(2 * edge + 1) / 2 / arb_of(scale)) for edge in edges]
        upper = [float(a - b) for a, b in pairwise(above)] + [float(above[-1])]
        law = np.array([*upper[::-1], float(1 - 2 * above[0]), *upper]) * len(draws)
    cuts = np.array([-edge for edge in edges[::-1]] + [edge + 1 for edge in edges])
    counts = np.bincount(np.searchsorted(cuts, draws, "right"), minlength=len(law))
    kept = law >= 5
    counts, law = np.append(counts[kept], counts[~kept].sum()), np.append(law[kept], law[~kept].sum())
    if law[-1] < 1e-3:
        assert counts[-1] == 0
        counts, law = counts[:-1], law[:-1]
    return float(stats.chisquare(counts, law * (len(draws) / law.sum())).pvalue)


WIDE = [Fraction(1, 3), Fraction(5, 2), Fraction(1000), Fraction(2**30), Fraction(2**40)]


@QUANTILES
@pytest.mark.parametrize("scale", tiered(WIDE, fast=2))
def test_draws_have_the_exact_law(quantile, scale):
    """Alpha 1e-6, a million draws. The same draws are rejected for a scale that is 1 % larger."""
    draws = KINDS[quantile](scale).draw(DRAWS, seeded_words(np.random.default_rng([SEED, int(scale)])))
    assert p_value(quantile, scale, draws) > ALPHA
    assert p_value(quantile, scale * Fraction(101, 100), draws) < ALPHA
    if scale >= 2**30:
        low = np.bincount(draws & 255, minlength=256)
        assert stats.chisquare(low).pvalue > ALPHA


@QUANTILES
def test_the_exact_path_alone_has_the_law_and_gives_the_same_integers(quantile, monkeypatch):
    """Alpha 1e-6, 50,000 draws. A scale that is 10 % larger is rejected."""
    scale = Fraction(5, 2)
    fast = KINDS[quantile](scale).draw(50_000, seeded_words(np.random.default_rng(SEED)))

    def undecided(digits, *arguments):
        arguments[-1][:] = np.arange(len(digits))
        return len(digits)

    monkeypatch.setattr(module, "rounded", undecided)
    slow = KINDS[quantile](scale).draw(50_000, seeded_words(np.random.default_rng(SEED)))
    assert (fast == slow).all()
    assert p_value(quantile, scale, slow) > ALPHA
    assert p_value(quantile, scale * Fraction(110, 100), slow) < ALPHA


@QUANTILES
def test_the_exact_path_is_rare(quantile):
    for scale, most in (
        (Fraction(100), 1),
        (Fraction(2**12), 100),
        (Fraction(2**30), 10),
        (Fraction(2**40), 200),
    ):
        _, exactly = floors(quantile, [law_of(scale)], 200_000, seeded_words(np.random.default_rng(SEED)))
        assert len(exactly) <= most


def test_tiny_noise_is_nearly_always_zero():
    assert not RoundedNormal(Fraction(1, 2**19)).draw(10_000).any()
    assert not RoundedLaplace(Fraction(1, 2**19)).draw(10_000).any()


def test_the_compiled_code_keeps_the_order_of_operations():
    assert not rounded.targetoptions.get("fastmath", False)


def test_the_exact_path_has_no_floating_point():
    tree = ast.parse(inspect.getsource(module._exactly))
    assert not any(
        isinstance(node, ast.Constant) and isinstance(node.value, float) for node in ast.walk(tree)
    )
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {"float", "math", "np"}


# The interface.


def test_noise_of_the_system_is_new_each_time():
    one, two = (RoundedNormal(Fraction(2**40)).draw(20) for _ in range(2))
    assert (one != two).any()


@QUANTILES
def test_counts_of_draws(quantile):
    noise = KINDS[quantile](7)
    for count in (0, 1, 3, module._BLOCK + 1):
        drawn = noise.draw(count)
        assert drawn.shape == (count,)
        assert drawn.dtype == np.int64


@pytest.mark.parametrize("kind", [RoundedNormal, RoundedLaplace])
@pytest.mark.parametrize(
    "scale", [0.5, "1", True, Fraction(0), -1, Fraction(1, 2**20), 2**40 + 1, math.nan, None]
)
def test_a_scale_that_is_not_exact_or_too_far_out_is_refused(kind, scale):
    with pytest.raises(ValueError, match=r"must be a fractions.Fraction or an integer in \(2\^-20, 2\^40\]"):
        kind(scale)


@pytest.mark.parametrize("count", [-1, 2.0, True, "3"])
def test_a_count_that_is_no_integer_of_at_least_0_is_refused(count):
    with pytest.raises(ValueError, match=r"count \(.*\) must be an integer of at least 0"):
        RoundedNormal(Fraction(1)).draw(count)
