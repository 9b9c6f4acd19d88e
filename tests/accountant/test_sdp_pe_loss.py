"""Routes beside the grid: fair and rare counters against enumeration in fractions, and against the grid."""

import itertools
import math
from fractions import Fraction

import pytest
from scipy.stats import binom

from dpproof.accountant.rl.sdp_pe.batches import BatchLoss, ReleaseShape, batch_loss
from dpproof.accountant.rl.sdp_pe.thresholds import batch_threshold
from dpproof.accountant.shuffling.counters import fair_counters, rare_counters
from tests.rows import tiered

ONE = ReleaseShape(1, 1, 1, rewards=False, own_visits=False)


def law(trials, p):
    return [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]


def enumerated(changes, trials, p, scale):
    """The hockey stick of counters that fall and rise, outcome by outcome in fractions; scale for e^eps."""
    masses = law(trials, p)
    low, high = [*masses, 0], [0, *masses]
    total = Fraction(0)
    for seen in itertools.product(range(trials + 2), repeat=2 * changes):
        one = math.prod((high if i < changes else low)[x] for i, x in enumerate(seen))
        other = math.prod((low if i < changes else high)[x] for i, x in enumerate(seen))
        total += max(one - scale * other, 0)
    return float(total)


@pytest.mark.parametrize(("changes", "bits"), [(1, 12), (1, 40), (2, 7), (2, 9)])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.7, 2.0])
def test_fair_counters_enclose_the_enumeration(changes, bits, epsilon):
    truth = enumerated(changes, bits, Fraction(1, 2), Fraction(math.exp(epsilon)))
    low, high = fair_counters(2 * changes, bits, Fraction(epsilon))
    assert low * (1 - 1e-12) <= truth <= high * (1 + 1e-12)


@pytest.mark.parametrize(
    ("changes", "bits", "epsilon"), [(1, 10**6, 0.01), (18, 10**7, 0.02), (1, 10**5, 0.02)]
)
def test_fair_counters_agree_with_the_grid_and_are_narrow(changes, bits, epsilon):
    low, high = fair_counters(2 * changes, bits, Fraction(epsilon))
    grid = BatchLoss(changes, bits, Fraction(1, 2)).composed.delta(epsilon)
    assert max(low, grid.lower) <= min(high, grid.upper)
    assert high - low < 0.02 * high


def test_many_fair_bits_are_next_to_gaussian_noise():
    """At 10^13 bits a counter the sum is normal to ten digits; the reference is the Gaussian profile."""
    from dpproof.accountant.guarantees.gaussian import gaussian_delta

    changes, bits = 36, 10**13
    mu = Fraction(2 * math.sqrt(changes / (bits + 1)))
    low, high = fair_counters(changes, bits, Fraction(1, 10**5))
    truth = float(gaussian_delta(mu, Fraction(1, 10**5)))
    assert truth == pytest.approx(low, rel=1e-4)
    assert truth == pytest.approx(high, rel=1e-4)


@pytest.mark.parametrize(
    ("changes", "trials", "p"), [(1, 9, "1/3"), (1, 30, "1/10"), (2, 5, "1/4"), (2, 8, "1/20")]
)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 6.0])
def test_rare_counters_enclose_the_enumeration(changes, trials, p, epsilon):
    truth = enumerated(changes, trials, Fraction(p), Fraction(math.exp(epsilon)))
    low, high = rare_counters(changes, trials, Fraction(p), Fraction(epsilon))
    assert low * (1 - 1e-12) <= truth <= high * (1 + 1e-12)


def test_known_bad_without_the_counters_far_out_the_linear_loss_is_too_small():
    """One counter of 12 bits: the certain outcome is worth more than the linear loss gives it."""
    truth = enumerated(1, 12, Fraction(1, 2), Fraction(math.exp(6.0)))
    assert truth > 2**-12
    assert fair_counters(2, 12, Fraction(6))[1] >= truth


def test_one_counter_at_epsilon_ten_is_answered():
    """The grid has no room there; nearly all of delta is a counter without noise."""
    with pytest.raises(MemoryError):
        BatchLoss(1, 4096, Fraction(15, 4096)).composed.delta(10)
    meets, misses = batch_threshold(ONE, 4096, 10, "1e-6")
    assert misses < meets < 1.001 * misses
    assert binom.pmf(0, 4096, meets / 8192) < 1e-6 < binom.pmf(0, 4096, misses / 8192)
    assert batch_loss(ONE, 4096, meets).delta(10).upper <= 1e-6
    assert batch_loss(ONE, 4096, misses).delta(10).lower > 1e-6


@pytest.mark.parametrize("epsilon", ["0.001", "1", "20"])
@pytest.mark.parametrize("changes", [1, 18, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("users", tiered([1, 100_000], fast=1))
def test_a_threshold_is_found_over_the_region(epsilon, changes, users):
    shape = ReleaseShape(changes, 1, 1, rewards=False, own_visits=False)
    meets, misses = batch_threshold(shape, users, epsilon, "1e-6")
    assert 0 < misses < meets
    assert batch_loss(shape, users, meets).delta(epsilon).upper <= 1e-6


@pytest.mark.parametrize(
    ("changes", "trials", "p"), tiered([(1, 4096, "15/4096"), (18, 5000, "1/8"), (18, 10**8, "1/2")], fast=1)
)
def test_epsilon_and_delta_agree(changes, trials, p):
    loss = BatchLoss(changes, trials, Fraction(p))
    found = loss.epsilon("1e-6")
    assert 0 < found.lower <= found.upper < 1.01 * found.lower
    assert loss.delta(found.upper).lower <= 1e-6 < loss.delta(found.lower * 0.999).upper
    assert loss.epsilon(0).lower == math.inf
    for bad in (-1, 1, "nan"):
        with pytest.raises(ValueError, match="delta"):
            loss.epsilon(bad)
    with pytest.raises(ValueError, match="epsilon"):
        loss.delta(-1)


def test_no_epsilon_below_the_chance_of_a_counter_without_noise():
    loss = BatchLoss(1, 4096, Fraction(15, 4096))
    assert loss.epsilon("1e-8").lower == math.inf
    assert loss.epsilon("1e-6").upper < 3
