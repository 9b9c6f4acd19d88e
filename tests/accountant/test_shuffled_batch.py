"""A whole release by name: what it promises over batches, its least noise, and the printed noise beside."""

import math

import pytest

from dpproof.accountant.catalogue import accountant_for
from dpproof.accountant.claims.adjacency import Adjacency, UnprovedAdjacencyError
from dpproof.accountant.claims.calibration import UnreachableTargetError
from dpproof.accountant.rl.sdp_pe.batches import batch_loss, printed_threshold
from dpproof.accountant.rl.sdp_pe.shuffled_batch import ACCOUNTANT, ShuffledBatchParameters, account
from tests.rows import tiered

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


def test_refusals():
    start = ShuffledBatchParameters(10, 1.0, **SIZES)
    with pytest.raises(UnreachableTargetError, match=r"delta \(0\) cannot be met"):
        ACCOUNTANT.least_noise(start, REPLACE, 1, 0)
    with pytest.raises(ValueError, match=r"delta \(1\) must be in \[0, 1\)"):
        account(start, REPLACE).published.epsilon(1)
    with pytest.raises(ValueError, match="release"):
        ShuffledBatchParameters(10, 1.0, **SIZES, release="both")
