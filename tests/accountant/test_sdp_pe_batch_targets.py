"""Thresholds of batches at targets far out: closed forms where one outcome decides, and named errors."""

import math
from fractions import Fraction

import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.calibration import NoNoiseNeededError, UnreachableTargetError
from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape, batch_loss
from dpproof.accountant.rl.sdp_pe.shuffled_batch import ACCOUNTANT, ShuffledBatchParameters
from dpproof.accountant.rl.sdp_pe.thresholds import batch_threshold

LAYER = ReleaseShape(1, 4, 2, rewards=False)


def holds(users, meets, misses, epsilon, delta):
    target = Fraction(str(delta))
    met, missed = (batch_loss(LAYER, users, tau).delta(epsilon) for tau in (meets, misses))
    return met.upper <= target < missed.lower


@pytest.mark.parametrize("users", [5000, 10**6])
@pytest.mark.parametrize("epsilon", [20, 50, 100])
@pytest.mark.parametrize("delta", ["1e-6", "1e-3"])
def test_at_large_epsilons_a_counter_without_noise_is_all(users, epsilon, delta):
    """Delta is 1 - (1 - p0)^2, p0 the chance of a counter without noise; 100 was once 29% apart."""
    meets, misses = batch_threshold(LAYER, users, epsilon, delta)
    none = -math.expm1(math.log1p(-float(delta)) / 2)
    truth = -2 * users * math.expm1(math.log(none) / users)
    assert misses < truth * (1 + 1e-9) < meets * (1 + 2e-9)
    assert meets <= misses * 1.0011
    assert holds(users, meets, misses, epsilon, delta)


@pytest.mark.parametrize("users", [1, 2, 10, 1000])
@pytest.mark.parametrize("delta", ["0.5", "0.999", "0.99999999"])
def test_deltas_near_one_are_answered(users, delta):
    meets, misses = batch_threshold(LAYER, users, 1.0, delta)
    assert 0 < misses < meets
    assert holds(users, meets, misses, 1.0, delta)


@pytest.mark.slow
@pytest.mark.parametrize("users", [287, 288])
def test_where_one_fair_bit_a_user_is_next_to_enough(users):
    """288 fair bits are enough, 287 are not."""
    meets, misses = batch_threshold(LAYER, users, 1.0, "1e-6")
    assert holds(users, meets, misses, 1.0, "1e-6")
    assert (meets == 2 * users) is (users < 288)


def test_one_user_may_hold_more_fair_bits_than_there_can_be_users():
    meets, misses = batch_threshold(LAYER, 1, 1e-9, 1e-6)
    assert 1e12 < misses < meets < 1.001 * misses
    assert (
        batch_loss(LAYER, 1, meets).delta(1e-9).upper <= 1e-6 < batch_loss(LAYER, 1, misses).delta(1e-9).lower
    )


@pytest.mark.slow
def test_known_bad_a_target_is_not_met_by_the_double_next_above_it():
    """A delta is what was given, not the double nearest to it: 0.1 as a double exceeds 1/10."""
    meets, _ = batch_threshold(LAYER, 1000, 1.0, "0.1")
    assert batch_loss(LAYER, 1000, meets).delta(1.0).upper <= Fraction(1, 10) < 0.1


def test_targets_that_no_noise_or_any_noise_meets_are_named():
    with pytest.raises(NoNoiseNeededError, match=r"delta \('0\.9999999999'\) is met with next to no noise"):
        batch_threshold(LAYER, 1000, 1.0, "0.9999999999")
    with pytest.raises(UnreachableTargetError, match="fair bits of a counter are not enough"):
        batch_threshold(LAYER, 1000, 1e-9, 1e-30)
    for users in (0, 10**12 + 1, True):
        with pytest.raises(ValueError, match="users"):
            batch_threshold(LAYER, users, 1.0, 1e-6)


def test_one_user_at_a_delta_near_one_calibrates():
    start = ShuffledBatchParameters(1, 1.0, states=4, actions=2, horizon=1, release="crude")
    meets, misses = ACCOUNTANT.calibrate(start, Adjacency.REPLACE, 1, "0.999")
    assert 0 < misses.threshold < meets.threshold < 0.066
