"""Private offline learning in the corpus: verdicts and truths. Alpha 0.01 an audit, fixed seeds."""

import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.audits.corpus.offline_cases import CASES, SIZES, Counting
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.recording.replaying import replay
from dpproof.audits.targets.rl.offline.tables import TARGET

NAMED = {"ids": lambda case: case.name}


@pytest.mark.parametrize("case", CASES, **NAMED)
def test_the_truth_is_on_the_side_of_the_verdict(case):
    claimed, truth = case.claim.epsilon(case.delta), case.truth()
    if case.expected is Finding.VIOLATION:
        assert truth.lower > claimed.upper
    else:
        assert truth.upper <= claimed.upper * (1 + 1e-12)
        assert truth.upper > 0.999 * claimed.upper  # the pair attains the guarantee


@pytest.mark.parametrize("case", CASES, **NAMED)
def test_the_audit_comes_to_the_verdict(case):
    found = case.audit(seed=3)
    assert found.verdict is case.expected
    if case.expected is Finding.VIOLATION:
        assert replay(found.witness()) == found


def test_faults_change_the_noise_alone():
    for case in CASES:
        mechanism = case.mechanism
        assert isinstance(mechanism, Counting)
        assert (mechanism.drawn() == mechanism.parameters) == (case.expected is Finding.CONSISTENT)


def test_other_relations_have_no_pair():
    with pytest.raises(ValueError, match="two states"):
        TARGET.pair(SIZES, Adjacency.ADD_REMOVE)
