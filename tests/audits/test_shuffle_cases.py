"""Shuffle cases of the corpus: verdicts, witnesses, full trajectories. Alpha 0.01, fixed seeds."""

import numpy as np
import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.accountant.rl.sdp_pe.shuffled_batch import ShuffledBatchParameters
from dpproof.accountant.rl.sdp_pe.shuffled_count import ShuffledCountParameters
from dpproof.audits.corpus.shuffle_cases import CASES, LEAST, PRINTED, SHAPE, SIZES, USERS
from dpproof.audits.data.pairs import InvalidNeighboursError, Neighbours
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.recording.replaying import replay
from dpproof.audits.target import Subject, mechanism_target
from dpproof.audits.targets.call import audit
from dpproof.audits.targets.rl.sdp_pe.shuffled_batch import batch_users
from dpproof.mechanisms.rl.sdp_pe.shuffled_batch import sample as shuffled_batch
from dpproof.mechanisms.rl.sdp_pe.shuffled_batch import true_counts
from dpproof.mechanisms.rl.trajectories import Trajectories
from tests.rows import tiered

FAST = [case for case in CASES if case.expected is Finding.VIOLATION]


@pytest.mark.parametrize("case", tiered(FAST, fast=1), ids=lambda case: case.name)
def test_a_violation_is_found_with_a_witness(case):
    found = case.audit(seed=11)
    assert found.verdict is Finding.VIOLATION
    assert found.epsilon_lower >= 0
    assert replay(found.witness()) == found


@pytest.mark.parametrize("case", [c for c in CASES if c.truth is not None], ids=lambda case: case.name)
def test_the_truth_is_on_the_side_of_the_verdict(case):
    claimed, truth = case.claim.epsilon(case.delta), case.truth()
    if case.expected is Finding.VIOLATION:
        assert truth.lower > claimed.upper
    else:
        assert truth.lower <= claimed.upper


def test_a_replaced_user_changes_what_the_shape_says():
    chosen = ShuffledBatchParameters(400, 60.0, **SIZES)
    pair = batch_users(chosen, Adjacency.REPLACE)
    one, other = (true_counts(chosen, data) for data in (pair.first, pair.second))
    assert ((other - one) == 1).sum() == ((other - one) == -1).sum() == SHAPE.changes
    assert len(one) == SHAPE.counters


@pytest.mark.parametrize("release", ["fine", "crude"])
@pytest.mark.parametrize("visits", ["released", "summed"])
def test_every_release_has_its_shape_and_is_unbiased(release, visits):
    """500 releases of all counters: each mean within 6 standard errors."""
    chosen = ShuffledBatchParameters(400, 60.0, **SIZES, release=release, visits=visits)
    pair = batch_users(chosen, Adjacency.REPLACE)
    one, other = (true_counts(chosen, data) for data in (pair.first, pair.second))
    assert ((other - one) == 1).sum() == ((other - one) == -1).sum() == chosen.shape.changes
    drawn = shuffled_batch(chosen, pair.first, 500, np.random.default_rng(0))
    assert drawn.shape == (500, chosen.shape.counters)
    assert (abs(drawn.mean(axis=0) - one) < 6 * np.sqrt(30 / 500)).all()


def test_refusals_of_a_batch():
    chosen = ShuffledBatchParameters(9, 4.0, states=2, actions=1, horizon=1)
    fewer = Trajectories(np.zeros((3, 2), int), np.zeros((3, 1), int), np.ones((3, 1)))
    with pytest.raises(ValueError, match="must have 9 users"):
        true_counts(chosen, fewer)
    halves = Trajectories(np.zeros((9, 2), int), np.zeros((9, 1), int), np.full((9, 1), 0.5))
    with pytest.raises(ValueError, match="rewards must be 0 or 1"):
        true_counts(chosen, halves)
    for few in ({"users": 9, "states": 1}, {"users": 10**8, "states": 2}):
        with pytest.raises(NoAuditError, match=r"states \(1\)|users \(100000000\)"):
            batch_users(
                ShuffledBatchParameters(threshold=4.0, actions=1, horizon=1, **few), Adjacency.REPLACE
            )
    pair = batch_users(chosen, Adjacency.REPLACE)
    two = pair.second.states.copy()
    two[1] = 1
    further = Trajectories(two, pair.second.actions, pair.second.costs)
    with pytest.raises(InvalidNeighboursError, match="more than one user"):
        Neighbours(pair.first, further, Adjacency.REPLACE, "two users", pair.validator)


def test_the_printed_encoding_is_audited_against_the_printed_claim_and_violates_it():
    """By default: the guarantee of the sums has no finite epsilon at 1e-6, the paper prints 0.1."""
    parameters = ShuffledCountParameters(USERS, PRINTED, "sum")
    found = audit(mechanism_target(Subject("shuffled-count", parameters, Adjacency.REPLACE)), seed=0)
    assert found.verdict is Finding.VIOLATION
    assert found.samples < 1000
    assert replay(found.witness()) == found


@pytest.mark.slow
def test_bits_are_consistent_with_the_same_claim():
    """At the printed threshold, and at the smallest one that keeps the claim. Budget 5 000 000."""
    for tau in (PRINTED, LEAST):
        parameters = ShuffledCountParameters(USERS, tau, "bits")
        subject = Subject("shuffled-count", parameters, Adjacency.REPLACE, ApproxDP(0.1, 1e-6))
        found = audit(mechanism_target(subject), seed=0, delta=1e-6)
        assert found.verdict is Finding.CONSISTENT
