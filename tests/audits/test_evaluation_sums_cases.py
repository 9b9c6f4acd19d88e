"""Noise on visits and sums of returns in the corpus: verdicts and truths. Alpha 0.01 an audit, fixed seeds."""

import pytest

from dpproof.audits.corpus.evaluation_sums_cases import CASES
from dpproof.audits.recording.evidence import Finding

NAMED = {"ids": lambda case: case.name}


@pytest.mark.parametrize("case", CASES, **NAMED)
def test_the_truth_is_on_the_side_of_the_verdict(case):
    claimed, truth = case.claim.epsilon(case.delta), case.truth()
    if case.expected is Finding.VIOLATION:
        assert truth.lower > claimed.upper
    else:
        assert truth.upper <= claimed.upper * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, **NAMED)
def test_the_audit_comes_to_the_verdict(case):
    """10,000 samples at most. The fault, noise for one state, is found."""
    assert case.audit(seed=3).verdict is case.expected
