"""Privatizers of one batch: levels hold, laws are right, inputs are checked. Fixed seeds."""

import numpy as np
import pytest

from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape, printed_threshold
from dpproof.mechanisms.rl.sdp_pe.privatizer import BatchCounts, LaplaceCounts, NoPrivacy
from dpproof.mechanisms.rl.sdp_pe.shuffle_privatizer import ShufflePrivatizer
from tests.rows import tiered

USERS = 3000


def counts(runs, steps=1, rewards=False):
    """Users spread over the cells at random."""
    rng = np.random.default_rng(5)
    transitions = rng.multinomial(USERS, np.full(32, 1 / 32), (runs, steps)).reshape(runs, steps, 4, 2, 4)
    visits = transitions.sum(axis=-1)
    return BatchCounts(visits, transitions, rng.binomial(visits, 0.5) if rewards else None)


PRIVATIZERS = [
    ShufflePrivatizer.calibrated(1.0, 1e-6),
    ShufflePrivatizer.calibrated(1.0, 1e-6, own_visits=False),
    ShufflePrivatizer.printed(6, 4, 2, "0.9", "1e-6"),
    ShufflePrivatizer(lambda shape, users: 900.0, 0.05),
    LaplaceCounts(1.0),
    LaplaceCounts(1.0, local=True),
]


@pytest.mark.slow
@pytest.mark.parametrize("privatizer", tiered(PRIVATIZERS, fast=1))
def test_assumption_4_holds_as_often_as_promised(privatizer):
    """300 releases at failure 0.05: at most 33 fail but for chance 1e-5 (binomial tail)."""
    true = counts(300)
    found = privatizer.release(true, USERS, np.random.default_rng(8))
    level = privatizer.level(true.shape, USERS, privatizer.failure)
    off = np.maximum(
        abs(found.visits - true.visits).max(axis=(1, 2, 3)),
        abs(found.transitions - true.transitions).max(axis=(1, 2, 3, 4)),
    )
    below = (found.visits < true.visits - 1e-6).any(axis=(1, 2, 3))
    assert ((off > level + 1e-6) | below).sum() <= 33
    assert (found.transitions > 0).all()
    np.testing.assert_array_equal(found.visits, found.transitions.sum(axis=-1))


def test_known_bad_a_level_of_a_tenth_does_not_hold():
    true, privatizer = counts(300), PRIVATIZERS[3]
    found = privatizer.release(true, USERS, np.random.default_rng(8))
    level = privatizer.level(true.shape, USERS, 0.05) / 10
    assert (abs(found.visits - true.visits).max(axis=(1, 2, 3)) > level).all()


def test_the_noise_of_rewards_has_the_variance_of_its_bits():
    """40 * 48 rewards: the variance is within 20% (six standard deviations of its estimate)."""
    true, privatizer = counts(40, 6, rewards=True), ShufflePrivatizer(lambda shape, users: 900.0)
    noise = privatizer.release(true, USERS, np.random.default_rng(1)).rewards - true.rewards
    assert np.var(noise) == pytest.approx(450 * (1 - 450 / USERS), rel=0.2)
    assert abs(noise.mean()) < 6 * np.sqrt(450 / noise.size)


def test_calibrated_noise_is_ten_times_smaller_at_the_same_guarantee():
    shape, epsilon = ReleaseShape(6, 4, 2), "0.999"
    printed = printed_threshold(6, 4, 2, epsilon, "1e-6")
    privatizer = ShufflePrivatizer.calibrated(epsilon, "1e-6")
    assert privatizer.account(shape, 2048).delta(epsilon).upper <= 1e-6
    assert (printed / privatizer.threshold(shape, 2048)) ** 0.5 > 10


def test_no_privacy_is_the_truth():
    true = counts(3, 6, rewards=True)
    found = NoPrivacy().release(true, USERS, np.random.default_rng(0))
    np.testing.assert_array_equal(found.transitions, true.transitions)
    assert NoPrivacy().level(true.shape, USERS, 0.1) == 0


def test_refusals():
    true, rng = counts(1), np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"users \(0\)"):
        PRIVATIZERS[0].release(true, 0, rng)
    with pytest.raises(ValueError, match="must be one of 0"):
        PRIVATIZERS[3].release(true, 10, rng)
    with pytest.raises(ValueError, match=r"epsilon \('1'\) must be in \(0, 1\)"):
        ShufflePrivatizer.printed(6, 4, 2, "1", "1e-6")
    assert ShufflePrivatizer.printed(6, 4, 2, 1, "1e-6", beyond_proof=True).failure == 0.01
    with pytest.raises(ValueError, match="epsilon"):
        LaplaceCounts(0.0)
    with pytest.raises(ValueError, match="dtype of visits"):
        BatchCounts(np.zeros((1, 2, 1)), np.zeros((1, 2, 1, 2), int))
    with pytest.raises(ValueError, match="shape of transitions"):
        BatchCounts(np.zeros((1, 2, 1), int), np.zeros((1, 2, 1, 3), int))
