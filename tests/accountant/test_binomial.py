"""The binomial: masses and tails against exact rational arithmetic and Arb, error bounds and domains."""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpproof.accountant.numbers.binomial import (
    _gauss,
    _refined_ratio,
    log_masses,
    lower_tail,
    mass,
    tail_ratio,
)
from dpproof.accountant.numbers.enclosures import precision

CHANCES = st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=50)


def exact_mass(n, p, k):
    return Fraction(math.comb(n, k)) * p**k * (1 - p) ** (n - k)


def as_arb(value):
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


@given(st.integers(1, 60), CHANCES, st.data())
@settings(max_examples=80, deadline=None)
def test_masses_and_tails_enclose_the_rational_numbers(n, p, data):
    k = data.draw(st.integers(0, n))
    with precision(160):
        assert mass(n, p, k).overlaps(as_arb(exact_mass(n, p, k)))
        tail = lower_tail(n, p, k)
        assert tail.overlaps(as_arb(sum(exact_mass(n, p, j) for j in range(k + 1))))
        assert tail.rad() < 1e-30


@given(st.integers(2, 60), CHANCES, st.data())
@settings(max_examples=80, deadline=None)
def test_the_fraction_is_exact_with_all_terms_and_an_enclosure_with_fewer(n, p, data):
    k = data.draw(st.integers(0, math.floor((n + 1) * p)).filter(lambda x: x < n))
    ratio = sum(exact_mass(n, p, j) for j in range(k + 1)) / exact_mass(n, p, k)
    with precision(200):
        whole, cut = _gauss(n, p, k, k), _gauss(n, p, k, min(k, data.draw(st.integers(0, 5))))
        assert whole.overlaps(as_arb(ratio))
        assert whole.rad() < 1e-40
        assert cut.is_nan() or cut.overlaps(as_arb(ratio))
        assert tail_ratio(n, p, k).overlaps(as_arb(ratio))


@pytest.mark.parametrize("away", [0, 0.01, 0.3, 1, 3, 8, 30])
def test_a_tail_at_a_million_agrees_with_summation(away):
    n, p = 10**6, Fraction(1, 2)
    k = 500_000 - int(500 * away)
    with precision(200):
        term, total = flint.arb(1), flint.arb(1)
        for j in range(k, k - 12_000, -1):
            term = term * j / (n - j + 1)
            total += term
        assert abs(tail_ratio(n, p, k) - total) < flint.arb(total) * flint.arb("1e-29")
        assert tail_ratio(n, p, k).rel_accuracy_bits() > 120


LAWS = [
    (10**6, Fraction(1, 2)),
    (10**9, Fraction(1, 2)),
    (10**9, Fraction(1, 10**7)),
    (50, Fraction(1, 3)),
    (10**6, Fraction(1, 10**8)),
    (20, Fraction(999, 1000)),
    (10**12, Fraction(1, 7)),
    (1, Fraction(0.3)),
    (10**6, Fraction(math.exp(-1))),
]


@pytest.mark.parametrize(("n", "p"), LAWS)
def test_log_masses_are_within_their_proved_errors(n, p):
    spread = max(1.0, math.sqrt(n * p * (1 - p)))
    places = (-30, -10, -3, -1, -0.1, 0, 0.5, 2, 8, 25, 36)
    counts = {min(n, max(0, int(n * p + spread * z + j))) for z in places for j in range(6)} | {0, n}
    found = log_masses(n, p, np.array(sorted(counts)))
    with precision(256):
        for k, value, error in zip(sorted(counts), found.values, found.errors, strict=True):
            assert abs(mass(n, p, k).log() - flint.arb(value)) <= flint.arb(error)
    assert np.all(found.errors[found.values > -700] < 1e-10)


def test_log_masses_of_many_laws_at_once():
    trials = np.arange(1, 400)
    found = log_masses(trials, Fraction(1, 2), trials // 3)
    with precision(200):
        for n, value, error in zip(trials, found.values, found.errors, strict=True):
            assert abs(mass(int(n), Fraction(1, 2), int(n) // 3).log() - flint.arb(value)) <= error


@pytest.mark.parametrize(
    ("n", "p"), [(-1, Fraction(1, 2)), (True, Fraction(1, 2)), (10**16, Fraction(1, 2)), (5, Fraction(3, 2))]
)
def test_bad_laws_are_refused(n, p):
    with pytest.raises(ValueError, match=r"trials|probability"):
        log_masses(n, p, np.array([0]))


def test_certain_laws_and_counts_outside():
    assert float(mass(5, Fraction(1), 5)) == 1
    assert float(lower_tail(5, Fraction(0), 0)) == 1
    assert float(lower_tail(5, Fraction(1), 4)) == 0
    assert float(mass(5, Fraction(1, 2), 6)) == 0
    with pytest.raises(ValueError, match="probability"):
        log_masses(5, Fraction(0), np.array([0]))
    with pytest.raises(ValueError, match="count"):
        tail_ratio(10, Fraction(1, 2), 9)


NEAR = [(10**8, Fraction(1, 2), 0.0), (10**8, Fraction(1, 10), 0.3), (10**9, Fraction(1, 100), 1.4)]


@pytest.mark.parametrize(
    ("n", "p", "away"), [*NEAR, (10**9, Fraction(99, 100), 0.2), (10**8, Fraction(2, 3), 1.9)]
)
@pytest.mark.parametrize("bits", [128, 256])
def test_a_tail_moved_by_an_integral_is_the_fraction_carried_up_step_by_step(n, p, away, bits):
    spread = math.sqrt(n * p * (1 - p))
    k = math.floor(n * p - away * spread)
    with precision(bits):
        start = min(k, math.floor(n * p - 2 * spread))
        ratio = _refined_ratio(n, p, start)
        for j in range(start + 1, k + 1):
            ratio = 1 + ratio * (j * (1 - p).numerator) / ((n - j + 1) * p.numerator)
        found = tail_ratio(n, p, k)
        assert found.overlaps(ratio)
        assert min(found.rel_accuracy_bits(), ratio.rel_accuracy_bits()) > bits - 50
        assert not (found * (1 + flint.arb(2) ** -60)).overlaps(ratio)


def test_a_tail_of_the_most_trials_is_the_normal_one_to_the_order_of_edgeworth():
    """P[X <= n/2] = 1/2 + b(n/2)/2 exactly, by symmetry: S = 1/(2 b) + 1/2."""
    n = 10**15
    with precision(256):
        ratio = tail_ratio(n, Fraction(1, 2), n // 2)
        assert ratio.overlaps((1 / mass(n, Fraction(1, 2), n // 2) + 1) / 2)
        assert ratio.rel_accuracy_bits() > 200
