"""Shuffled counts of SDP-PE: thresholds that certainly meet a target, and printed sums.

The shuffled count: both encodings enumerated, the printed numbers, calibration and refusals.

Printed sums of fair bits: every multiset and every data set of the others enumerated in fractions.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction

import pytest

from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import UnreachableTargetError
from dpproof.accountant.rl.sdp_pe.shuffled_count import (
    ACCOUNTANT,
    ShuffledCountParameters,
    _least_bits,
    account,
    view,
)
from dpproof.accountant.shuffling.printed_sums import AlikeSums, PrintedSums
from dpproof.accountant.shuffling.view import BinomialView
from tests.rows import rows, tiered

REPLACE = Adjacency.REPLACE


def found(users, threshold, encoding):
    return account(ShuffledCountParameters(users, threshold, encoding), REPLACE)


def multiset_law(bits, tau, encoding):
    """The law of what the shuffler shows, by enumerating every noise bit."""
    n = len(bits)
    tries, chance = (math.ceil(tau / n), Fraction(1, 2)) if n <= tau else (1, Fraction(tau) / (2 * n))
    law = Counter()
    for noise in itertools.product((0, 1), repeat=n * tries):
        weight = math.prod((chance if y else 1 - chance for y in noise), start=Fraction(1))
        sums = [sum(noise[i * tries : (i + 1) * tries]) for i in range(n)]
        if encoding == "bits":
            seen = sum(bits) + sum(noise)
        else:
            seen = tuple(sorted(d + z for d, z in zip(bits, sums, strict=True)))
        law[seen] += weight
    return law


def stick(one, other, scale):
    return sum(max(float(one[x] - Fraction(scale) * other[x]), 0.0) for x in one)


@pytest.mark.parametrize("encoding", ["bits", "sum"])
@pytest.mark.parametrize(("n", "tau"), [(3, 1.0), (4, 3.0), (2, 2.0), (3, 5.5), (1, 3.0)])
def test_the_guarantee_covers_every_pair_and_its_pair_attains_it(n, tau, encoding):
    accounted = found(n, tau, encoding)
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        worst = 0.0
        for others in itertools.product((0, 1), repeat=n - 1):
            zero, one = (multiset_law((bit, *others), tau, encoding) for bit in (0, 1))
            worst = max(worst, stick(zero, one, math.exp(epsilon)), stick(one, zero, math.exp(epsilon)))
        bound, attained = accounted.guarantee.delta(epsilon), accounted.attained.guarantee.delta(epsilon)
        assert worst <= bound.upper * (1 + 1e-12)
        assert attained.lower <= worst * (1 + 1e-12)
        if encoding == "bits" or n > tau:
            assert attained.lower == pytest.approx(worst, rel=1e-9)
            assert bound.upper == pytest.approx(worst, rel=1e-9)


def test_the_printed_encoding_leaks_three_quarters_at_twice_the_threshold():
    accounted = found(278566, 139283.0, "sum")
    for epsilon in ("0.1", "10", "700"):
        assert accounted.attained.guarantee.delta(epsilon).lower >= 0.75
        assert accounted.guarantee.delta(epsilon).upper == pytest.approx(0.75)
    assert found(278566, 139283.0, "bits").guarantee.delta("0.1").upper < 1e-100


@pytest.mark.parametrize(
    ("users", "epsilon", "tau"), [(278566, "0.1", 2829.7), (11142, "0.5", 180.5), (7274, "0.1", 3636.8)]
)
def test_the_smallest_threshold(users, epsilon, tau):
    start = ShuffledCountParameters(users, 1.0, "bits")
    meets, misses = ACCOUNTANT.calibrate(start, REPLACE, epsilon, "1e-6")
    assert meets.threshold == pytest.approx(tau, abs=0.06)
    assert 0 < meets.threshold - misses.threshold < 1e-8 * tau
    assert view(meets).delta(epsilon).upper <= 1e-6 < view(misses).delta(epsilon).lower
    for more in (1.0001, 1.001, 1.01, 1.1, 2.0):
        behind = ShuffledCountParameters(users, meets.threshold * more, "bits")
        assert view(behind).delta(epsilon).upper <= 1e-6


def test_delta_is_not_monotone_in_the_threshold():
    values = [view(ShuffledCountParameters(100, tau / 10, "bits")).delta(1).lower for tau in range(50, 300)]
    assert any(later > before for before, later in itertools.pairwise(values))


@pytest.mark.parametrize(("users", "encoding"), [(1000, "bits"), (7, "bits")])
def test_calibration_by_whole_fair_bits(users, encoding):
    start = ShuffledCountParameters(users, 3.0, encoding)
    meets, misses = ACCOUNTANT.calibrate(start, REPLACE, "0.1", "1e-6")
    assert meets.noise_bits == misses.noise_bits + 1
    assert view(meets).delta("0.1").upper <= 1e-6 < view(misses).delta("0.1").lower


MISSED_AGAIN = [
    (3, ".05", 0.4272152749627433, 1.934),
    (50, ".5", 0.006214285802161813, 48.117),
]


@pytest.mark.parametrize(("users", "epsilon", "delta", "again"), MISSED_AGAIN)
def test_no_threshold_behind_the_answer_misses(users, epsilon, delta, again):
    """The last peaks below tau = n count, and those of the other direction."""
    assert view(ShuffledCountParameters(users, again, "bits")).delta(epsilon).lower > delta
    start = ShuffledCountParameters(users, 1.0, "bits")
    meets, misses = ACCOUNTANT.calibrate(start, REPLACE, epsilon, delta)
    assert misses.threshold < meets.threshold
    assert meets.threshold > again
    for step in range(300):
        tau = meets.threshold + (users - meets.threshold) * step / 300
        assert view(ShuffledCountParameters(users, tau, "bits")).delta(epsilon).upper <= delta


@pytest.mark.parametrize("users", [1, 2, 3, 5, 12, 40])
@pytest.mark.parametrize("epsilon", ["0.05", "0.5", "2"])
def test_targets_at_the_waves_are_met_for_good(users, epsilon):
    taus = [users * i / 240 for i in range(1, 241)]
    deltas = [view(ShuffledCountParameters(users, tau, "bits")).delta(epsilon) for tau in taus]
    for target in {deltas[i].upper * 1.001 for i in range(7, 240, 19)}:
        if not deltas[-1].upper <= target < 1:
            continue
        start = ShuffledCountParameters(users, 1.0, "bits")
        meets = ACCOUNTANT.calibrate(start, REPLACE, epsilon, target)[0]
        assert all(d.lower <= target for tau, d in zip(taus, deltas, strict=True) if tau > meets.threshold)


@pytest.mark.parametrize("delta", ["0.5", "0.6", "0.9", "0.999999"])
def test_printed_sums_above_a_half(delta):
    start = ShuffledCountParameters(100, 50.0, "sum")
    meets, misses = ACCOUNTANT.calibrate(start, REPLACE, "1", delta)
    assert meets.threshold == pytest.approx(200 * (1 - float(delta)), rel=1e-9)
    assert misses.threshold == pytest.approx(meets.threshold, rel=1e-9)
    exact = Fraction(delta)
    assert 1 - Fraction(meets.threshold) / 200 <= exact < 1 - Fraction(misses.threshold) / 200
    assert exact < view(misses).delta(1).lower


def test_what_printed_sums_hide_is_said():
    assert "no more than" in found(50, 10.0, "sum").notes[1]
    few = found(3, 9.0, "sum")
    assert "half as many users" in few.notes[1]
    zero, one = (multiset_law((bit, 1, 0), 9.0, "sum") for bit in (0, 1))
    assert stick(zero, one, 1.0) < few.guarantee.delta(0).lower  # it does


def test_the_largest_number_of_fair_bits_is_tried():
    assert _least_bits(lambda m: m >= 1500, 1666) == 1500
    assert _least_bits(lambda m: m >= 1666, 1666) == 1666
    assert _least_bits(lambda m: True, 1) == 1
    with pytest.raises(UnreachableTargetError):
        _least_bits(lambda m: m >= 1667, 1666)


def test_extreme_targets_and_parameters():
    start = ShuffledCountParameters(1000, 1.0, "bits")
    for epsilon in (50, 1000, 1e6):
        meets, misses = ACCOUNTANT.calibrate(start, REPLACE, epsilon, "1e-3")
        assert view(meets).delta(epsilon).upper <= 1e-3 < view(misses).delta(epsilon).lower
    with pytest.raises(ValueError, match="threshold"):
        ShuffledCountParameters(10**12 - 1, 1e15, "bits")
    assert ShuffledCountParameters(1, 1e15, "sum").noise_bits == 10**15


def test_what_is_printed():
    published = found(278566, 139283.0, "bits").published
    assert published.epsilon("1e-6").upper == pytest.approx(0.1, rel=1e-6)
    assert published.epsilon(0).upper == math.inf
    assert found(50, 10.0, "bits").published.epsilon("1e-6").lower == math.inf  # the proof stops at 1
    assert found(50, 10.0, "sum").published.statement == "classic.printed_sums"


def test_refusals():
    with pytest.raises(UnprovedAdjacencyError, match="add-remove"):
        account(ShuffledCountParameters(5, 1.0, "bits"), Adjacency.ADD_REMOVE)
    for users, tau, encoding in ((0, 1.0, "bits"), (5, 0.0, "bits"), (5, math.nan, "sum"), (5, 1.0, "words")):
        with pytest.raises(ValueError, match=r"users|threshold|encoding"):
            ShuffledCountParameters(users, tau, encoding)
    start = ShuffledCountParameters(100, 1.0, "bits")
    with pytest.raises(UnreachableTargetError, match="delta"):
        ACCOUNTANT.calibrate(start, REPLACE, 1, 0)
    with pytest.raises(ValueError, match="epsilon"):
        ACCOUNTANT.calibrate(start, REPLACE, -1, "1e-6")


def test_a_verdict_shown_is_that_of_a_statement_which_covers_the_number():
    assert found(50, 10.0, "bits").statement == "classic.shuffled_bits"
    assert found(50, 10.0, "sum").statement == "classic.shuffled_sums"
    assert found(50, 100.0, "sum").statement == found(50, 100.0, "sum").published.exact_statement
    assert found(50, 100.0, "sum").statement == "classic.shuffled_sums.few"


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


@pytest.mark.slow
def test_epsilons_and_refusals():
    found = PrintedSums(50, 25).epsilon("1e-6")
    assert 0 < found.lower <= found.upper < 1
    assert PrintedSums(50, 25).epsilon("1e-8").lower == math.inf
    assert AlikeSums(50, 2000).delta(700).upper < 1e-300
    for bad in (-1, 1):
        with pytest.raises(ValueError, match="delta"):
            found = PrintedSums(50, 25).epsilon(bad)
