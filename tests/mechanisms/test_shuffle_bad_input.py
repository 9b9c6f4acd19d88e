"""Bad input to the shuffle model and to policy elimination: each line of the list has its named error."""

import numpy as np
import pytest

from dpproof.accountant.rl.sdp_pe.batches import ReleaseShape, batch_loss, printed_threshold
from dpproof.accountant.rl.sdp_pe.shuffled_batch import ShuffledBatchParameters
from dpproof.accountant.rl.sdp_pe.shuffled_count import ShuffledCountParameters
from dpproof.accountant.rl.sdp_pe.thresholds import batch_threshold
from dpproof.mechanisms.environments.river_swim import river_swim
from dpproof.mechanisms.rl.sdp_pe.coverage import EmptyActiveSetError, cover
from dpproof.mechanisms.rl.sdp_pe.policies import PolicySpace, UnreachableStateError
from dpproof.mechanisms.rl.sdp_pe.privatizer import BatchCounts
from dpproof.mechanisms.rl.sdp_pe.shuffle_privatizer import ShufflePrivatizer
from dpproof.mechanisms.rl.sdp_pe.shuffled_count import BitEncoder, SumEncoder
from dpproof.mechanisms.rl.sdp_pe.shuffled_count import sample as shuffled_count

SHAPE = ReleaseShape(1, 2, 2)
SIZES = {"states": 2, "actions": 2, "horizon": 1}


@pytest.mark.parametrize("encoding", ["bits", "sum"])
def test_no_users(encoding):
    with pytest.raises(ValueError, match=r"users \(0\) must be"):
        ShuffledCountParameters(0, 1.0, encoding)
    with pytest.raises(ValueError, match=r"users \(0\) must be"):
        ShuffledBatchParameters(0, 1.0, **SIZES)
    with pytest.raises(ValueError, match=r"users \(0\) must be"):
        batch_threshold(SHAPE, 0, 1, "1e-6")
    counts = BatchCounts(np.zeros((1, 2, 2), int), np.zeros((1, 2, 2, 2), int))
    with pytest.raises(ValueError, match=r"users \(0\) must be"):
        ShufflePrivatizer.calibrated(1, "1e-6").release(counts, 0, np.random.default_rng(0))


def test_a_threshold_beyond_what_an_encoding_carries():
    rule = r"threshold \(1000000000000000.0\) must be smaller, so that users \* ceil\(threshold / users\)"
    with pytest.raises(ValueError, match=rule):
        ShuffledCountParameters(10**12 - 1, 1e15, "bits")
    with pytest.raises(ValueError, match=rule):
        batch_loss(SHAPE, 10**12 - 1, 1e15)
    for bad in (0.0, -1.0, 2e15, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="threshold"):
            ShuffledCountParameters(10, bad, "sum")
    with pytest.raises(ValueError, match="at most 4094 noise bits"):
        shuffled_count(ShuffledCountParameters(2, 1e5, "sum"), 1, 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="messages are made"):
        BitEncoder(10, 1e10).encode(np.zeros(10, int), np.random.default_rng(0))


@pytest.mark.parametrize("kind", [BitEncoder, SumEncoder])
@pytest.mark.parametrize("bit", [2, -1])
def test_bits_that_are_none(kind, bit):
    with pytest.raises(ValueError, match="bits"):
        kind(3, 1.0).encode([0, bit, 1], np.random.default_rng(0))
    with pytest.raises(ValueError, match="counts"):
        BitEncoder(3, 1.0).counts([4], np.random.default_rng(0))


@pytest.mark.slow
def test_the_papers_epsilon_stops_at_one_and_the_exact_accountant_does_not():
    with pytest.raises(
        ValueError, match=r"epsilon \('1'\) must be in \(0, 1\), because the paper's Lemma 10"
    ):
        printed_threshold(6, 4, 2, "1", "1e-6")
    with pytest.raises(ValueError, match="Lemma 10 does not cover"):
        ShufflePrivatizer.printed(6, 4, 2, 3.0, 1e-6)
    meets, _ = batch_threshold(SHAPE, 1000, 3, "1e-6")
    assert batch_loss(SHAPE, 1000, meets).delta(3).upper <= 1e-6


def test_no_active_policy_and_a_state_where_nobody_is():
    space = PolicySpace.of(river_swim(3, 3))
    shape = (space.horizon, space.states, space.actions, space.states)
    law = space.reduced(np.broadcast_to(river_swim(3, 3).transitions, shape))
    with pytest.raises(EmptyActiveSetError, match="at least one policy"):
        cover(space, law, np.zeros(space.count, np.bool_))
    with pytest.raises(UnreachableStateError, match=r"state \(2\) must be reachable at step 0"):
        space.place(0, 2)
