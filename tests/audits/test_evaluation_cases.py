"""Policy evaluation in the corpus: verdicts, truths, neighbours. Alpha 0.01 an audit, fixed seeds."""

import numpy as np
import pytest

from audits.corpus.evaluation import Fault, one_trajectory_replaced
from audits.corpus.evaluation_cases import CASES, RARE, SHIFTED
from audits.evidence import Verdict
from audits.replaying import replay

NAMED = {"ids": lambda case: case.name}
FAULTY = [case for case in CASES if case.expected is Verdict.VIOLATION]


@pytest.mark.parametrize("case", CASES, **NAMED)
def test_the_truth_is_on_the_side_of_the_verdict(case):
    claimed, truth = case.claim.epsilon(case.delta), case.truth()
    if case.expected is Verdict.VIOLATION:
        assert truth.lower > claimed.upper
    else:
        assert truth.upper <= claimed.upper


@pytest.mark.parametrize("case", CASES, **NAMED)
def test_the_audit_comes_to_the_verdict(case):
    """40,000 samples at most; a sound case says which violation it would have seen."""
    found = case.audit(seed=3)
    assert found.verdict is case.expected
    assert (found.would_have_seen is None) == (case in FAULTY)


def test_a_violation_is_replayed():
    case = next(case for case in FAULTY if case.mechanism.fault is Fault.RANGE_FROM_DATA)
    found = case.audit(seed=5)
    assert replay(found.witness()) == found


def test_every_fault_has_a_case():
    assert {case.mechanism.fault for case in FAULTY} == set(Fault) - {Fault.NONE}


def test_more_than_one_trajectory_apart_is_refused():
    with pytest.raises(ValueError, match="only one may"):
        one_trajectory_replaced(SHIFTED.first, shifted_twice())
    with pytest.raises(ValueError, match="same users"):
        one_trajectory_replaced(SHIFTED.first, RARE.first)


def shifted_twice():
    batch = SHIFTED.second
    return type(batch)(batch.states, batch.actions, np.ones_like(batch.rewards), batch.lengths, batch.user)
