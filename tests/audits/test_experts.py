"""Audits by name of the release and of selective DP-SGD. Alpha 0.01 an audit, fixed seeds, few samples."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.rl.expert.design import Rounds
from dpproof.accountant.rl.expert.release import ExpertReleaseParameters
from dpproof.accountant.rl.expert.selective_dpsgd import SelectiveDPSGDParameters, account
from dpproof.answers.audit import audit_mechanism
from dpproof.audits.engine.errors import NoAuditError
from dpproof.audits.recording.evidence import Finding
from dpproof.audits.recording.replaying import replay
from dpproof.audits.targets.call import audit
from dpproof.audits.targets.rl.expert.release import ReleaseAudit
from dpproof.audits.targets.rl.expert.selective_dpsgd import SelectiveAudit

TRAINING = SelectiveDPSGDParameters(0.1, 0.5, 1.0, 100)
RELEASE = ExpertReleaseParameters(5, 20, 0.05, 100, 5, scale=3.0, draws="fresh")
FEW = {"seed": 1, "budget": 20_000}


@pytest.mark.parametrize(
    "changes",
    [{}, {"coin": "hidden"}, {"coin": "independent"}, {"coin": "fixed"}, {"batch": "exact"}],
    ids=str,
)
def test_training_keeps_its_guarantee(changes):
    found = audit(SelectiveAudit(replace(TRAINING, **changes)), **FEW)
    assert found.verdict is Finding.CONSISTENT
    assert found.epsilon_lower > 0.5


def test_the_printed_rate_is_refuted():
    printed = account(replace(TRAINING, coin="independent"), Adjacency.EXPERT).guarantee
    assert audit(SelectiveAudit(TRAINING, printed), replay={}, **FEW).verdict is Finding.VIOLATION


def test_the_release_keeps_its_guarantee_and_not_much_less():
    found = audit(ReleaseAudit(RELEASE), **FEW)
    assert found.verdict is Finding.CONSISTENT
    less = Rounds(5, Fraction(1, 20), Fraction(1, 20), Fraction(0))
    assert audit(ReleaseAudit(RELEASE, less), replay={}, **FEW).verdict is Finding.VIOLATION


@pytest.mark.parametrize(("name", "parameters"), [("selective-dpsgd", TRAINING), ("expert-release", RELEASE)])
def test_the_catalogue_leads_there_and_the_witness_replays(name, parameters):
    found = audit_mechanism(name, parameters.as_json(), Adjacency.EXPERT, seed=0, budget=3000)
    assert replay(found.witness()) == found


def test_what_is_not_audited_is_named():
    with pytest.raises(NoAuditError, match="draws"):
        audit(ReleaseAudit(replace(RELEASE, draws="walk")), **FEW)
    with pytest.raises(NoAuditError, match="experts"):
        audit(ReleaseAudit(replace(RELEASE, experts=10**6)), **FEW)
    with pytest.raises(NoAuditError, match="steps"):
        audit(SelectiveAudit(replace(TRAINING, steps=0)), **FEW)
