"""Printed sums of fair bits: every multiset and every data set of the others enumerated in fractions."""

import math
from collections import Counter
from fractions import Fraction

import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.sdp_pe.shuffled_count import ACCOUNTANT, ShuffledCountParameters
from dpproof.accountant.shuffling.printed_sums import AlikeSums, PrintedSums
from dpproof.accountant.shuffling.view import BinomialView
from tests.rows import rows, tiered


def multisets(held, m):
    """The law of the multiset of messages of users who hold these bits."""
    masses = [Fraction(math.comb(m, k), 2**m) for k in range(m + 1)]
    law = Counter({(): Fraction(1)})
    for bit in held:
        law, before = Counter(), law
        for seen, chance in before.items():
            for k, mass in enumerate(masses):
                law[tuple(sorted((*seen, bit + k)))] += chance * mass
    return law


def worst(others, m, epsilon):
    """The larger of both directions."""
    scale = Fraction(math.exp(epsilon))
    zero, one = (multisets((bit, *others), m) for bit in (0, 1))
    return max(float(sum(max(p[x] - scale * q[x], 0) for x in p)) for p, q in ((zero, one), (one, zero)))


@pytest.mark.parametrize(
    ("n", "m"), tiered([(1, 3), (2, 1), (2, 2), (2, 5), (3, 2), (3, 4), (4, 2), (5, 1)], fast=3)
)
@rows("epsilon", [0.0, 0.1, 0.5, 1.5])
def test_users_who_are_alike_and_all_data(n, m, epsilon):
    alike, every = (kind(n, m).delta(epsilon) for kind in (AlikeSums, PrintedSums))
    values = [worst([1] * k + [0] * (n - 1 - k), m, epsilon) for k in range(n)]
    assert values[0] == pytest.approx(values[-1], rel=1e-12)
    assert alike.lower * (1 - 1e-12) <= values[-1] <= alike.upper * (1 + 1e-12)
    assert alike.upper - alike.lower < 3e-3 * alike.upper
    assert every.lower * (1 - 1e-12) <= max(values) <= every.upper * (1 + 1e-12)


def test_known_bad_the_sum_of_all_messages_says_less_than_their_multiset():
    together = BinomialView(9, "1/2").delta("0.5").upper
    assert together < 0.9 * worst([1, 1], 3, 0.5)


@pytest.mark.parametrize(("n", "m", "epsilon"), [(1000, 20, 0.5), (10_000, 100, 0.1)])
def test_many_users_hide_all_but_the_message_that_only_one_can_send(n, m, epsilon):
    found = PrintedSums(n, m).delta(epsilon)
    assert 2.0**-m <= found.lower <= found.upper < 2.0**-m * (1 + 1e-6)
    assert found.upper < 1e-4 * BinomialView(m, "1/2").delta(epsilon).lower


def test_more_users_who_are_alike_hide_more():
    values = [AlikeSums(n, 30).delta("0.1").upper for n in (1, 3, 10, 30, 100)]
    assert values == sorted(values, reverse=True)


@pytest.mark.slow
def test_calibration_meets_and_misses():
    start = ShuffledCountParameters(100, 1.0, "sum")
    meets, misses = ACCOUNTANT.calibrate(start, Adjacency.REPLACE, 1, "1e-6")
    assert PrintedSums(100, meets.noise_bits).delta(1).upper <= 1e-6
    assert PrintedSums(100, misses.noise_bits).delta(1).lower > 1e-6
    assert (meets.noise_bits, misses.noise_bits) == (20, 19)


def test_epsilons_and_refusals():
    found = PrintedSums(50, 25).epsilon("1e-6")
    assert 0 < found.lower <= found.upper < 1
    assert PrintedSums(50, 25).epsilon("1e-8").lower == math.inf
    assert AlikeSums(50, 2000).delta(700).upper < 1e-300
    for bad in (-1, 1):
        with pytest.raises(ValueError, match="delta"):
            found = PrintedSums(50, 25).epsilon(bad)
