"""Policy evaluation in the corpus: verdicts, truths, neighbours. Alpha 0.01 an audit, fixed seeds."""

import pytest

from dpproof.audits.corpus.evaluation_cases import CASES, FAULTS
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.recording.replaying import replay
from dpproof.mechanisms.rl.policy_evaluation.estimator import DPLSL, DPLSW
from tests.rows import tiered

NAMED = {"ids": lambda case: case.name}
FAULTY = [case for case in CASES if case.expected is Finding.VIOLATION]


@pytest.mark.slow
@pytest.mark.parametrize("case", tiered(CASES, fast=3), **NAMED)
def test_the_truth_is_on_the_side_of_the_verdict(case):
    claimed, truth = case.claim.epsilon(case.delta), case.truth()
    if case.expected is Finding.VIOLATION:
        assert truth.lower > claimed.upper
    else:
        assert truth.upper <= claimed.upper


@pytest.mark.slow
@pytest.mark.parametrize("case", tiered(CASES, fast=3), **NAMED)
def test_the_audit_comes_to_the_verdict(case):
    """20,000 samples at most; a sound case says which violation it would have seen."""
    found = case.audit(seed=3)
    assert found.verdict is case.expected
    assert (found.would_have_seen is None) == (case in FAULTY)


@pytest.mark.slow
def test_a_violation_is_replayed():
    case = next(case for case in FAULTY if "range" in case.name)
    found = case.audit(seed=5)
    assert replay(found.witness()) == found


def test_every_fault_has_a_case_and_is_the_estimator_but_for_its_noise():
    assert {type(case.mechanism) for case in FAULTY} == set(FAULTS)
    for fault in FAULTS:
        assert set(vars(fault)) & set(vars(DPLSW) | vars(DPLSW.__bases__[0])) - {"__doc__", "__module__"} == {
            "_variance"
        }
    assert {type(case.mechanism) for case in CASES} == {*FAULTS, DPLSW, DPLSL}
