"""Batches of SDP-PE: the loss of shuffled counters, thresholds for a target, and the accountant.

One batch of counters: the composed loss against enumeration, thresholds, levels, printed figures.

Thresholds of batches at targets far out: closed forms where one outcome decides, and named errors.

Routes beside the grid: fair and rare counters against enumeration in fractions, and against the grid.

A whole release by name: what it promises over batches, its least noise, and the printed noise beside.
"""

import itertools
import math
from fractions import Fraction

import pytest
from scipy.stats import binom

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import NoNoiseNeededError, UnreachableTargetError
from dpproof.accountant.rl.sdp_pe.batches import (
    BatchLoss,
    ReleaseShape,
    batch_loss,
    printed_budget,
    printed_threshold,
)
from dpproof.accountant.rl.sdp_pe.shuffled_batch import ACCOUNTANT, ShuffledBatchParameters, account
from dpproof.accountant.rl.sdp_pe.thresholds import batch_threshold, precision_level, printed_level
from dpproof.accountant.shuffling.counters import fair_counters, rare_counters
from tests.rows import tiered

FULL, LAYER = ReleaseShape(6, 4, 2), ReleaseShape(1, 4, 2, rewards=False)


def enumerated(users, chance, falls, rises, epsilon):
    """The hockey stick of all counters that one user changes, each outcome by itself."""
    law = binom.pmf(range(users + 1), users, chance)
    low, high = [*law, 0.0], [0.0, *law]
    total = 0.0
    for seen in itertools.product(range(users + 2), repeat=falls + rises):
        one = math.prod((high if i < falls else low)[x] for i, x in enumerate(seen))
        other = math.prod((low if i < falls else high)[x] for i, x in enumerate(seen))
        total += max(one - math.exp(epsilon) * other, 0.0)
    return total


@pytest.mark.parametrize(("users", "tau", "changes"), [(6, 3.0, 1), (4, 4.0, 2), (3, 1.5, 2)])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.5])
def test_the_composed_loss_is_that_of_all_changed_counters(users, tau, changes, epsilon):
    shape = ReleaseShape(changes, 1, 2, rewards=False, own_visits=False)
    found = batch_loss(shape, users, tau).delta(epsilon)
    truth = enumerated(users, tau / (2 * users), changes, changes, epsilon)
    assert found.lower * (1 - 1e-9) <= truth <= found.upper * (1 + 1e-9)
    assert found.upper - found.lower < 0.05 * truth + 1e-9


def test_known_bad_one_change_a_step_is_too_few():
    truth = enumerated(6, 0.25, 1, 1, 0.4)
    assert enumerated(6, 0.25, 1, 0, 0.4) < 0.9 * truth


@pytest.mark.parametrize(
    ("shape", "users"), tiered([(FULL, 3), (FULL, 4096), (LAYER, 3), (LAYER, 4096)], fast=1)
)
def test_a_batch_threshold_meets_and_the_one_below_misses(shape, users):
    meets, misses = batch_threshold(shape, users, 1.0, 1e-6)
    assert batch_loss(shape, users, meets).delta(1.0).upper <= 1e-6
    assert misses < meets
    assert batch_loss(shape, users, misses).delta(1.0).lower > 1e-6


@pytest.mark.slow
def test_a_user_is_in_one_batch_so_that_every_batch_may_spend_all():
    """The weakest of several batches is what all of them promise."""
    users = (64, 1024, 8192)
    deltas = [batch_loss(LAYER, n, batch_threshold(LAYER, n, 1.0, 1e-6)[0]).delta(1.0).upper for n in users]
    assert max(deltas) <= 1e-6


@pytest.mark.slow
def test_noise_at_the_same_guarantee_is_at_least_ten_times_smaller():
    """H = 6, X = 4, A = 2, a full release under replacement: standard deviations of one counter."""
    for epsilon, factor in (("0.1", 17), ("0.5", 13), ("0.999", 18)):
        printed = printed_threshold(6, 4, 2, epsilon, "1e-6")
        own = batch_threshold(FULL, 4096, epsilon, "1e-6")[0]
        assert math.sqrt(printed / own) > factor


@pytest.mark.parametrize("own_visits", [True, False])
@pytest.mark.parametrize(("users", "tau"), [(5000, 900.0), (16, 400.0), (1, 3.0)])
def test_a_level_is_the_least_quarter_that_the_tails_allow(users, tau, own_visits):
    shape = ReleaseShape(6, 4, 2, own_visits=own_visits)
    found = precision_level(shape, users, tau, "0.05") / 4
    trials, chance = (users, tau / 2 / users) if users > tau else (users * math.ceil(tau / users), 0.5)

    def outside(away):
        laws = {trials: shape.counters}
        if not own_visits:
            laws[trials * 4] = shape.cells
        return sum(
            count * (binom.cdf(math.ceil(n * chance - away) - 1, n, chance)
                     + binom.sf(math.floor(n * chance + away), n, chance))
            for n, count in laws.items()
        )  # fmt: skip

    assert outside(found) <= 0.05
    assert outside(found - 0.25) > 0.05


def test_printed_figures():
    one, failure = printed_budget(6, 4, 2, "0.9", "1e-6")
    tau = 96 * math.log(2 / float(failure)) / float(one) ** 2
    assert printed_threshold(6, 4, 2, "0.9", "1e-6") == pytest.approx(tau, rel=1e-12)
    sides = math.log(2 * FULL.counters / 0.05)
    assert printed_level(FULL, 900.0, "0.05") == pytest.approx(4 * math.sqrt(2700 * sides), rel=1e-12)
    assert printed_level(FULL, 900.0, "0.05") > 2 * precision_level(FULL, 5000, 900.0, "0.05")


def test_refusals():
    for epsilon in ("1", "2", "0", "-1"):
        with pytest.raises(ValueError, match=r"epsilon .* must be in \(0, 1\), because the paper's Lemma 10"):
            printed_threshold(6, 4, 2, epsilon, "1e-6")
    assert printed_threshold(6, 4, 2, "2", "1e-6", beyond_proof=True) > 0
    with pytest.raises(ValueError, match="beta"):
        printed_threshold(6, 4, 2, "0.5", "1")
    for bad in ((0, 1.0, 1e-6), (10, 0, 1e-6), (10, 1.0, 0), (10, 1.0, 1)):
        with pytest.raises(ValueError, match=r"users|epsilon|delta"):
            batch_threshold(LAYER, *bad)
    with pytest.raises(ValueError, match=r"steps \(0\)"):
        ReleaseShape(0, 4, 2)
    with pytest.raises(ValueError, match="failure"):
        precision_level(LAYER, 10, 5.0, 0)
    with pytest.raises(ValueError, match="threshold"):
        printed_level(LAYER, 0.0, "0.1")


LAYER_TARGETS = ReleaseShape(1, 4, 2, rewards=False)


def holds(users, meets, misses, epsilon, delta):
    target = Fraction(str(delta))
    met, missed = (batch_loss(LAYER_TARGETS, users, tau).delta(epsilon) for tau in (meets, misses))
    return met.upper <= target < missed.lower


@pytest.mark.parametrize("users", [5000, 10**6])
@pytest.mark.parametrize("epsilon", [20, 50, 100])
@pytest.mark.parametrize("delta", ["1e-6", "1e-3"])
def test_at_large_epsilons_a_counter_without_noise_is_all(users, epsilon, delta):
    """Delta is 1 - (1 - p0)^2, p0 the chance of a counter without noise; 100 was once 29% apart."""
    meets, misses = batch_threshold(LAYER_TARGETS, users, epsilon, delta)
    none = -math.expm1(math.log1p(-float(delta)) / 2)
    truth = -2 * users * math.expm1(math.log(none) / users)
    assert misses < truth * (1 + 1e-9) < meets * (1 + 2e-9)
    assert meets <= misses * 1.0011
    assert holds(users, meets, misses, epsilon, delta)


@pytest.mark.slow
@pytest.mark.parametrize("users", [1, 2, 10, 1000])
@pytest.mark.parametrize("delta", ["0.5", "0.999", "0.99999999"])
def test_deltas_near_one_are_answered(users, delta):
    meets, misses = batch_threshold(LAYER_TARGETS, users, 1.0, delta)
    assert 0 < misses < meets
    assert holds(users, meets, misses, 1.0, delta)


@pytest.mark.slow
@pytest.mark.parametrize("users", [287, 288])
def test_where_one_fair_bit_a_user_is_next_to_enough(users):
    """288 fair bits are enough, 287 are not."""
    meets, misses = batch_threshold(LAYER_TARGETS, users, 1.0, "1e-6")
    assert holds(users, meets, misses, 1.0, "1e-6")
    assert (meets == 2 * users) is (users < 288)


def test_one_user_may_hold_more_fair_bits_than_there_can_be_users():
    meets, misses = batch_threshold(LAYER_TARGETS, 1, 1e-9, 1e-6)
    assert 1e12 < misses < meets < 1.001 * misses
    assert (
        batch_loss(LAYER_TARGETS, 1, meets).delta(1e-9).upper
        <= 1e-6
        < batch_loss(LAYER_TARGETS, 1, misses).delta(1e-9).lower
    )


@pytest.mark.slow
def test_known_bad_a_target_is_not_met_by_the_double_next_above_it():
    """A delta is what was given, not the double nearest to it: 0.1 as a double exceeds 1/10."""
    meets, _ = batch_threshold(LAYER_TARGETS, 1000, 1.0, "0.1")
    assert batch_loss(LAYER_TARGETS, 1000, meets).delta(1.0).upper <= Fraction(1, 10) < 0.1


def test_targets_that_no_noise_or_any_noise_meets_are_named():
    with pytest.raises(
        NoNoiseNeededError, match=r"delta \('0\.9999999999'\) is so large that almost no noise"
    ):
        batch_threshold(LAYER_TARGETS, 1000, 1.0, "0.9999999999")
    with pytest.raises(UnreachableTargetError, match="fair noise bits for a counter are not enough"):
        batch_threshold(LAYER_TARGETS, 1000, 1e-9, 1e-30)
    for users in (0, 10**12 + 1, True):
        with pytest.raises(ValueError, match="users"):
            batch_threshold(LAYER_TARGETS, users, 1.0, 1e-6)


def test_one_user_at_a_delta_near_one_calibrates():
    start = ShuffledBatchParameters(1, 1.0, states=4, actions=2, horizon=1, release="crude")
    meets, misses = ACCOUNTANT.calibrate(start, Adjacency.REPLACE, 1, "0.999")
    assert 0 < misses.threshold < meets.threshold < 0.066


ONE = ReleaseShape(1, 1, 1, rewards=False, own_visits=False)


def law(trials, p):
    return [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]


def enumerated_loss(changes, trials, p, scale):
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
    truth = enumerated_loss(changes, bits, Fraction(1, 2), Fraction(math.exp(epsilon)))
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
    truth = enumerated_loss(changes, trials, Fraction(p), Fraction(math.exp(epsilon)))
    low, high = rare_counters(changes, trials, Fraction(p), Fraction(epsilon))
    assert low * (1 - 1e-12) <= truth <= high * (1 + 1e-12)


def test_known_bad_without_the_counters_far_out_the_linear_loss_is_too_small():
    """One counter of 12 bits: the certain outcome is worth more than the linear loss gives it."""
    truth = enumerated_loss(1, 12, Fraction(1, 2), Fraction(math.exp(6.0)))
    assert truth > 2**-12
    assert fair_counters(2, 12, Fraction(6))[1] >= truth


def test_one_counter_at_epsilon_ten_is_answered():
    """Nearly all of delta is a counter without noise."""
    meets, misses = batch_threshold(ONE, 4096, 10, "1e-6")
    assert misses < meets < 1.001 * misses
    assert binom.pmf(0, 4096, meets / 8192) < 1e-6 < binom.pmf(0, 4096, misses / 8192)
    assert batch_loss(ONE, 4096, meets).delta(10).upper <= 1e-6
    assert batch_loss(ONE, 4096, misses).delta(10).lower > 1e-6


@pytest.mark.slow
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


SIZES = {"states": 4, "actions": 2, "horizon": 6}
REPLACE = Adjacency.REPLACE


@pytest.mark.parametrize(
    ("release", "visits", "changes"),
    [("fine", "released", 18), ("fine", "summed", 12), ("crude", "released", 2), ("crude", "summed", 1)],
)
def test_every_release_has_the_loss_of_its_changed_counters(release, visits, changes):
    chosen = ShuffledBatchParameters(5000, 900.0, **SIZES, release=release, visits=visits)
    assert chosen.shape.changes == changes
    found = account(chosen, REPLACE)
    assert found.statement == found.published.exact_statement == "classic.shuffled_counters"
    assert found.guarantee == batch_loss(chosen.shape, 5000, 900.0)
    assert f"changes {2 * changes} counters" in found.notes[0]


def test_batches_do_not_add_up_and_one_cell_changes_nothing_for_certain():
    one, many = (account(ShuffledBatchParameters(5000, 900.0, **SIZES, batches=b), REPLACE) for b in (1, 12))
    assert one.guarantee == many.guarantee
    assert one.attained is not None
    cell = ShuffledBatchParameters(50, 9.0, states=1, actions=1, horizon=1)
    assert account(cell, REPLACE).attained is None
    with pytest.raises(UnprovedAdjacencyError, match="how many users"):
        account(cell, Adjacency.ADD_REMOVE)


@pytest.mark.parametrize("epsilon", tiered(["0.1", "0.9"], fast=1))
def test_the_least_noise_is_more_than_ten_times_smaller_than_the_printed_one(epsilon):
    start = ShuffledBatchParameters(4096, 1.0, **SIZES)
    meets, misses = accountant_for("shuffled-batch").least_noise(start, REPLACE, epsilon, "1e-6")
    assert account(meets, REPLACE).guarantee.delta(epsilon).upper <= 1e-6
    assert account(misses, REPLACE).guarantee.delta(epsilon).lower > 1e-6
    beside = ACCOUNTANT.compare(meets, epsilon, "1e-6")
    assert beside["threshold"]["printed"] == printed_threshold(6, 4, 2, epsilon, "1e-6")
    assert beside["deviation"]["ratio"] > 10


def test_the_printed_threshold_solved_for_epsilon_is_the_printed_epsilon():
    tau = printed_threshold(6, 4, 2, "0.5", "1e-6")
    found = account(ShuffledBatchParameters(4096, tau, **SIZES), REPLACE)
    assert found.published.epsilon("1e-6").upper == pytest.approx(0.5, rel=1e-9)
    assert found.guarantee.epsilon("1e-6").upper < 0.05
    assert found.published.epsilon(0).lower == math.inf


def test_refusals_batch():
    start = ShuffledBatchParameters(10, 1.0, **SIZES)
    with pytest.raises(UnreachableTargetError, match=r"delta \(0\) cannot be met"):
        ACCOUNTANT.least_noise(start, REPLACE, 1, 0)
    with pytest.raises(ValueError, match=r"delta \(1\) must be in \[0, 1\)"):
        account(start, REPLACE).published.epsilon(1)
    with pytest.raises(ValueError, match="release"):
        ShuffledBatchParameters(10, 1.0, **SIZES, release="both")
