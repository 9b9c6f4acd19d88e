"""Exact audits of floating-point noise: completeness against enumeration, witnesses that replay, our own releases.

Nothing here is statistical. Each search is compared with all numbers of a small floating-point format, or with all
words of a small generator.
"""

import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest

from dpproof.accountant.numbers.enclosures import arb_of
from dpproof.audits.corpus.floating_cases import box_muller, inverse_cdf, snapped
from dpproof.audits.floating.codes import MOST_WORDS, FloatCode
from dpproof.audits.floating.exact import ExactFinding, FloatWitness, Unreachable, audit_exactly
from dpproof.audits.floating.lines import Line, floor_sum, residues_below
from dpproof.audits.floating.numpy_codes import numpy_laplace, numpy_normal, raw, seeded, uniforms
from dpproof.audits.floating.sums import is_sum, lattice, needed
from dpproof.mechanisms.release.rounded_gaussian import rounded_gaussian
from dpproof.mechanisms.release.rounded_noise import RoundedLaplace, RoundedNormal
from tests.rows import tiered

VIOLATION, NO_ANSWER = ExactFinding.VIOLATION, ExactFinding.NO_ANSWER
EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
HALVES = EVERY[np.isfinite(EVERY)]
"""All finite numbers of half precision."""


@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, 0.1, 3.0, 2.0**-20, 1000.0, 65504.0, 2.0**-24])
def test_sums_are_found_among_all_numbers_of_half_precision(value):
    value = float(np.float16(value))
    with np.errstate(over="ignore"):
        sums = set((np.float16(value) + HALVES).tolist())
    assert is_sum(value, HALVES).tolist() == [one in sums for one in HALVES.tolist()]


@pytest.mark.parametrize("value", [1.0, -3.0, 0.1, 1e300, -1.1e-5])
def test_every_sum_is_a_multiple_of_half_a_last_place(value):
    rng = np.random.default_rng(0)
    noise = rng.choice([-1, 1], 500) * np.exp2(rng.uniform(-1000, 900, 500))
    near = value * (
        rng.choice([-1, 1], 500) + rng.choice([0, 1e-16, 1e-8, 0.1, 1], 500) * rng.normal(size=500)
    )
    places = [Fraction(one) / lattice(value) for one in (value + np.concatenate([noise, near])).tolist()]
    assert all(one.denominator == 1 for one in places)
    assert any(one % 2 == 1 for one in places), "a coarser lattice does not contain all sums"


def test_the_needed_noise_is_an_interval_around_all_noise_that_gives_an_output():
    rng = np.random.default_rng(0)
    for value, noise in zip(rng.normal(size=200).tolist(), rng.normal(size=200).tolist(), strict=True):
        low, high = needed(value, value + noise)
        assert low <= Fraction(noise) <= high
        outside = math.nextafter(float(low), -math.inf), math.nextafter(float(high), math.inf)
        assert all(value + one != value + noise or low <= Fraction(one) <= high for one in outside)


def wobbling(seed, error, *, bits=12):
    """Noise of a small generator: rising, then falling, with relative errors of random sign."""
    half = 1 << (bits - 1)
    uniform = (np.arange(half) + 0.5) / half
    size = -np.log(uniform)
    wobble = 1 + error * np.random.default_rng(seed).uniform(-1, 1, 2 * half)
    noise = np.concatenate([-size, size]) * wobble

    def release(value, words):
        return value + noise[words]

    return FloatCode(
        release=release, drawn=((0, 2 * half),), probability=Fraction(1, 2 * half),
        pieces=((0, half), (half, 2 * half)), error=error,
    )  # fmt: skip


@pytest.mark.parametrize("error", [0.0, 2.0**-49, 2.0**-10, 2.0**-4])
@pytest.mark.parametrize("value", [0.0, 1.0, 1000.0, 2.0**44])
def test_the_words_listed_are_all_words_that_give_an_output(error, value):
    code = wobbling(7, error)
    every = np.arange(code.words)
    outputs = code.release(value, every)
    neighbours = np.nextafter(outputs[::97], np.inf)
    for output in [*outputs[::61].tolist(), *neighbours.tolist()]:
        assert sorted(code.giving(value, output).tolist()) == every[outputs == output].tolist()


def test_a_search_that_ignored_the_error_would_miss_words():
    code = wobbling(7, 2.0**-4)
    ignoring = FloatCode(release=code.release, drawn=code.drawn, pieces=code.pieces, error=0.0)
    outputs = code.release(0.0, np.arange(code.words)).tolist()
    missed = [one for one in outputs[::31] if not ignoring.giving(0.0, one).size]
    assert missed


def delta_by_counting(code, first, second, epsilon):
    """The hockey-stick divergence from dictionaries of outputs, by mpmath."""
    every = np.arange(code.words)
    p, q = (Counter(code.release(value, every).tolist()) for value in (first, second))
    with mpmath.workprec(200):
        factor = mpmath.exp(mpmath.mpf(epsilon))
        return sum(max(n - factor * q[output], 0) for output, n in p.items()) / code.words


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0, 800.0])
def test_a_small_generator_is_enumerated(epsilon):
    half = wobbling(1, 0.0)
    code = FloatCode(
        release=lambda value, words: np.rint(4 * half.release(value, words)) / 4,
        drawn=half.drawn, probability=half.probability,
    )  # fmt: skip
    found = audit_exactly(code, (0.0, 1.0), epsilon=epsilon, delta="1e-9")
    truth = max(delta_by_counting(code, *pair, epsilon) for pair in ((0.0, 1.0), (1.0, 0.0)))
    assert found.finding is VIOLATION
    assert float(found.least_delta) == pytest.approx(float(truth), rel=1e-12)
    assert found.witness.why is Unreachable.COUNTED
    assert found.witness.replays(code)
    above = audit_exactly(code, (0.0, 1.0), epsilon=epsilon, delta=float(truth) * (1 + 1e-9))
    assert above.finding is NO_ANSWER


def test_floor_sums_count_remainders():
    rng = np.random.default_rng(0)
    for start, slope, modulus, count in rng.integers([-99, -99, 1, 0], [99, 99, 40, 60], (300, 4)).tolist():
        points = [start + slope * i for i in range(count)]
        assert floor_sum(start, slope, modulus, count) == sum(one // modulus for one in points)
        below = modulus // 3
        assert residues_below(start, slope, modulus, below, count) == sum(
            one % modulus < below for one in points
        )


def test_a_line_bounds_the_points_off_a_lattice_for_every_error():
    rng = np.random.default_rng(0)
    for _ in range(50):
        start, slope = (Fraction(int(one), 97) for one in rng.integers(-500, 500, 2))
        error = Fraction(int(rng.integers(0, 30)), 100)
        off = Line(200, start, slope, error, Fraction(1)).off(Fraction(1))
        distances = [abs(start + i * slope - round(start + i * slope)) for i in range(200)]
        certain = sum(one > error for one in distances)
        assert certain - 2 <= off <= certain


def test_the_lines_of_numpys_laplace_bound_what_its_code_returns():
    code, step, first = numpy_laplace(1.0), Fraction(1, 1 << 66), 1
    for line in itertools.islice(code.lines(step), 3):
        ks = np.arange(first, first + line.count)
        noise = -code.release(0.0, (1 << 52) - ks - 1)
        for i, one in zip(range(0, line.count, 997), noise[::997].tolist(), strict=True):
            assert abs(Fraction(one) - line.start - i * line.slope) <= line.error
        places = np.ldexp(noise, 66)
        really, bound = (places != np.rint(places)).sum(), line.off(step)
        assert bound <= really
        first += line.count
    assert bound >= 0.7 * really, "the first lines are close to multiples"


def test_the_lines_of_numpys_normal_bound_what_its_code_returns():
    code = numpy_normal(3.0)
    rng = np.random.default_rng(0)
    for line in [next(code.lines(Fraction(1, 1 << 53))), next(code.lines(Fraction(1, 1 << 44)))]:
        first = round(line.start / line.slope)
        at = rng.integers(0, line.count, 500)
        branch = next(
            b for b in range(2, 256)
            if Fraction(numpy_normal(1.0).release(0.0, np.array([2 * b << 52 | 1])).item()) * 3 == line.slope
        )  # fmt: skip
        noise = code.release(0.0, (2 * branch << 52) + first + at)
        for i, one in zip(at.tolist(), noise.tolist(), strict=True):
            assert abs(Fraction(one) - line.start - i * line.slope) <= line.error


def test_chosen_words_come_out_of_numpys_generator():
    rng = np.random.default_rng(3)
    words = rng.integers(0, 1 << 53, 700)
    halves = rng.integers(0, 1 << 32, 624)
    drawn = [one.random(312 if i < 2 else 76) for i, one in enumerate(uniforms(words))]
    assert (np.concatenate(drawn) == words * 2.0**-53).all()
    assert (raw(halves).bit_generator.random_raw(624) == halves.astype(np.uint64)).all()


def test_numpys_normal_is_its_table_times_a_word():
    code = numpy_normal(0.3)
    words = code.at(np.random.default_rng(0).integers(0, code.words, 300).tolist())
    edges = np.array([end - 1 for _, end in code.drawn])
    for word in [*words.tolist(), *edges.tolist()]:
        r, rest = word & ((1 << 52) - 1), word >> 52
        whole = r << 9 | (rest & 1) << 8 | rest >> 1
        rng = raw(np.array([whole >> 32, whole & 0xFFFFFFFF]))
        assert 5.0 + rng.normal(0, 0.3) == code.release(5.0, np.array([word])).item()
        assert rng.bit_generator.state["state"]["pos"] == 2, "one word was enough"


CLAIMS = [
    (numpy_laplace(1.0), (0.0, 1.0), 0, Unreachable.NO_SUM),
    (numpy_laplace(10.0), (4.0, 5.0), 0, Unreachable.NO_SUM),
    (numpy_laplace(1.0), (1000.0, 1001.0), 0, Unreachable.NO_WORD),
    (numpy_laplace(1.0), (0.0, 1.0), "1e-6", Unreachable.NO_SUM),
    (numpy_normal(4.0), (0.0, 1.0), "1e-3", Unreachable.NO_SUM),
    (seeded(partial(inverse_cdf, scale=1.0), 0, 1000), (0.0, 1.0), 0, Unreachable.NO_SUM),
    (seeded(partial(box_muller, sigma=1.0), 0, 1000), (0.0, 1.0), 0, Unreachable.NO_SUM),
]


@pytest.mark.parametrize(("code", "pair", "delta", "why"), CLAIMS, ids=range(len(CLAIMS)))
def test_noise_in_doubles_is_refuted_and_the_witness_replays(code, pair, delta, why):
    found = audit_exactly(code, pair, epsilon=50, delta=delta)
    assert found.finding is VIOLATION
    assert found.witness.why is why
    assert Fraction(found.delta) <= found.least_delta
    kept = FloatWitness.from_json(json.loads(json.dumps(found.as_json()))["witness"])
    assert kept == found.witness
    assert kept.replays(code)
    assert found.finding.value in repr(found)
    assert kept.output.hex() in repr(found)
    other = FloatWitness(**{**vars(kept), "second": kept.first})
    assert not other.replays(code), "the first input has the output"


def test_a_claim_that_is_not_refuted_gets_no_answer():
    assert audit_exactly(numpy_normal(1.0), (1000.0, 1001.0), epsilon=1).finding is NO_ANSWER
    assert audit_exactly(numpy_laplace(1.0), (4.0, 5.0), epsilon=1, delta="1e-6").finding is NO_ANSWER


def test_wrong_requests_are_refused():
    with pytest.raises(ValueError, match="must add the same double"):
        audit_exactly(seeded(partial(snapped, scale=1.0, limit=9.0), 0, 50), (0.0, 0.5), epsilon=1)
    with pytest.raises(ValueError, match="epsilon"):
        audit_exactly(numpy_laplace(1.0), (0.0, 1.0), epsilon=-1)
    with pytest.raises(ValueError, match=r"delta \(1\)"):
        audit_exactly(numpy_laplace(1.0), (0.0, 1.0), epsilon=1, delta=1)
    with pytest.raises(ValueError, match="error"):
        FloatCode(release=inverse_cdf, drawn=((0, 1),), error=2.0**-60)
    with pytest.raises(ValueError, match="nonempty"):
        FloatCode(release=inverse_cdf, drawn=((3, 3),))
    with pytest.raises(ValueError, match="finite"):
        is_sum(1.0, np.array([math.inf]))
    with pytest.raises(ValueError, match="float32"):
        is_sum(0.1, np.array([1.0], np.float32))


def fixed(words):
    """A source of the given 32-bit words; a draw that needs more digits gets the same ones each time."""
    packed = np.zeros(-(-len(words) // 2), np.uint64)
    packed.view(np.uint32)[: len(words)] = words
    left = [packed]
    return lambda count: left.pop() if left else np.full(count, 1 << 63, np.uint64)


def release_of(law, reach):
    """Our own rounded noise as a code: its first 32 random digits are the word, and its outputs are doubles."""

    def release(value, words):
        return value + law.draw(len(words), fixed(words)).astype(np.float64)

    half = 1 << 31
    return FloatCode(
        release=release, drawn=((1 << 12, half), (half + (1 << 12), 2 * half)),
        probability=Fraction(1, 2 * half), pieces=((0, half), (half, 2 * half)), error=0.0, reach=reach,
    )  # fmt: skip


RELEASES = [(RoundedLaplace(Fraction(5)), 60.0), (RoundedNormal(Fraction(7, 2)), 17.0)]


@pytest.mark.parametrize(("law", "reach"), RELEASES, ids=["laplace", "normal"])
def test_an_exact_audit_of_our_rounded_noise_has_no_answer(law, reach):
    assert audit_exactly(release_of(law, reach), (0.0, 1.0), epsilon=1).finding is NO_ANSWER


@pytest.mark.parametrize("output", tiered(range(-14, 16), fast=3))
@pytest.mark.parametrize(("law", "reach"), RELEASES, ids=["laplace", "normal"])
def test_both_inputs_have_every_output_of_our_rounded_noise(law, reach, output):
    code = release_of(law, reach)
    fewer, more = sorted(
        sum(end - first for first, end in code.window(value, float(output))) for value in (0.0, 1.0)
    )
    assert fewer > MOST_WORDS
    if isinstance(law, RoundedLaplace):
        factor = float(arb_of(1 / law.scale).exp().upper())
        assert more <= factor * fewer + 8, "a word at an end of a window may need more digits"


def test_a_rounded_release_on_a_grid_is_on_the_same_grid_for_both_inputs():
    grid = Fraction(1, 1 << 20)
    for mean in (Fraction(0), Fraction(1), Fraction(1, 3)):
        drawn = rounded_gaussian([mean], [Fraction(4)], -20, times=200)
        released = np.ldexp(np.array(drawn, np.float64), -20)
        assert all(isinstance(one, int) for one in drawn)
        assert all((Fraction(one) / grid).denominator == 1 for one in released.tolist())
        assert is_sum(1.0, released).all()
    known_bad = np.random.default_rng(0).normal(0, 2, 200)
    assert not is_sum(1.0, known_bad).all()
