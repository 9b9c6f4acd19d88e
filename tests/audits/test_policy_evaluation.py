"""The audit of policy evaluation by name. Alpha 0.01 an audit, 20,000 samples at most, fixed seeds."""

import math
from fractions import Fraction

import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.guarantees.notions import ApproxDP
from dpproof.accountant.rl.policy_evaluation.noise import printed, with_room
from dpproof.accountant.rl.policy_evaluation.policy_evaluation import PolicyEvaluationParameters
from dpproof.answers.audit import audit_mechanism
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.recording.replaying import replay
from dpproof.audits.targets.call import audit
from dpproof.audits.targets.rl.policy_evaluation.policy_evaluation import (
    PolicyEvaluationAudit,
    estimator,
    evaluation_pairs,
    pair_epsilon,
)
from tests.rows import tiered

ALLOWED = (Adjacency.REPLACE, Adjacency.REWARDS_ONLY)
FEW = {"seed": 1, "budget": 20_000}


def chosen(noise, dimension=4, **more):
    return PolicyEvaluationParameters(dimension, noise=noise.alpha, beta=noise.beta, **more)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", tiered([Adjacency.REPLACE, Adjacency.REWARDS_ONLY], fast=2))
@pytest.mark.parametrize("calibrate", [with_room, printed])
def test_both_calibrations_are_consistent_and_a_violation_would_have_been_seen(calibrate, adjacency):
    found = audit(PolicyEvaluationAudit(chosen(calibrate(2, "1e-3", 4)), adjacency), delta=1e-3, **FEW)
    assert found.verdict is Finding.CONSISTENT
    assert found.claimed_epsilon < found.would_have_seen < 2 * found.claimed_epsilon


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "epsilon"), tiered([("lsw", 1), ("lsl", 20)], fast=1))
def test_a_promise_that_the_pair_breaks_is_refuted_and_one_that_holds_is_not(algorithm, epsilon):
    """The stability bound of DP-LSL is loose: only little noise shows there."""
    parameters = chosen(with_room(epsilon, "1e-3", 4), algorithm=algorithm)
    model = estimator(parameters)
    pairs = list(evaluation_pairs(4, Adjacency.REPLACE))[:24]
    true = max(pair_epsilon(model, pair, Fraction(1, 1000)).upper for pair in pairs)
    few = {"delta": 1e-3, "replay": {}, **FEW}
    broken, kept = (
        audit(PolicyEvaluationAudit(parameters, Adjacency.REPLACE, ApproxDP(share * true, 1e-3)), **few)
        for share in (0.4, 1.5)
    )
    assert broken.verdict is Finding.VIOLATION
    assert kept.verdict is not Finding.VIOLATION


@pytest.mark.slow
def test_the_catalogue_leads_there_and_the_witness_replays():
    given = {"dimension": 3, "noise": 3.0, "beta": 0.01}
    found = audit_mechanism("policy-evaluation", given, Adjacency.REPLACE, seed=0, budget=4000)
    assert replay(found.witness()) == found
    assert "users" in found.pair


def test_pairs_stay_one_user_apart_and_under_rewards_only_in_rewards():
    states = {len({len(p.first.lengths) for p in evaluation_pairs(7, a)}) for a in ALLOWED}
    assert states == {math.floor(math.log2(200_000 / 7))}


def test_many_features_are_refused_by_name():
    with pytest.raises(NoAuditError, match=r"dimension \(201\) must be at most 200"):
        audit(PolicyEvaluationAudit(chosen(with_room(1, "1e-6", 4), 201), Adjacency.REPLACE), **FEW)
