"""What a promise speaks of: a pair of neighbours in the released tables refutes no promise about actions."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.accountant.claims.trust import TrustModel
from dpproof.answers.audit import NoAuditError, audit_claim
from dpproof.answers.claims import check_claim
from dpproof.answers.verify import Verified, departures, verify
from dpproof.claim_file import claim_from, entry_of
from dpproof.proofs_check.registry import statement_ids
from dpproof.proofs_check.verdict import Verdict

ONE_ACTION = {"states": 2, "actions": 1, "horizon": 5, "episodes": 10_000}


def one_action(trust, epsilon=0.01):
    """A promise about a problem with one action, where the actions reveal nothing at all."""
    return Claim(
        "one action",
        "rlsvi",
        ONE_ACTION,
        Adjacency.REWARDS_ONLY,
        {"epsilon": epsilon, "delta": 1e-6},
        trust=trust,
    )


def test_a_true_joint_promise_is_not_broken_by_what_the_tables_reveal():
    ledger = check_claim(one_action(TrustModel.JOINT))
    assert ledger.verdict.value == "not certified"
    assert ledger.audit is None
    assert any("central" in remark for remark in ledger.remarks)


def test_a_joint_promise_is_kept_where_the_tables_keep_it():
    assert check_claim(one_action(TrustModel.JOINT, epsilon=100.0)).verdict.value == "kept"


def test_the_same_promise_about_the_tables_is_broken(monkeypatch):
    monkeypatch.setattr("dpproof.answers.audit.audit_claim", _unaudited)
    assert check_claim(one_action(TrustModel.CENTRAL)).verdict.value == "broken"


def shuffled(trust, promise):
    """A promise about one private sum in the shuffle model, certified at 0.224 there."""
    parameters = {"users": 2000, "threshold": 800.0, "encoding": "bits"}
    return Claim("sum", "shuffled-count", parameters, Adjacency.REPLACE, promise, trust=trust)


@pytest.mark.parametrize(
    ("trust", "verdict"),
    [
        (TrustModel.LOCAL, "not certified"),
        *((other, "kept") for other in TrustModel if other.value != "local"),
    ],
)
def test_a_proof_covers_the_weaker_trust_models_only(trust, verdict):
    ledger = check_claim(shuffled(trust, {"epsilon": 1.0, "delta": 1e-6}), audited=False)
    assert ledger.verdict.value == verdict
    assert any("not in the local model" in remark for remark in ledger.remarks) == (trust.value == "local")


@pytest.mark.parametrize("trust", [TrustModel.LOCAL, TrustModel.SHUFFLE, TrustModel.CENTRAL])
def test_what_breaks_a_promise_breaks_the_stronger_ones(trust):
    parameters = {"sigma": 5.0, "compositions": 1}
    claim = Claim("noise", "gaussian", parameters, Adjacency.BY_SENSITIVITY, {"mu": 0.1}, trust=trust)
    assert check_claim(claim, audited=False).verdict.value == "broken"


@pytest.mark.parametrize(
    ("trust", "verdict"),
    [
        (TrustModel.LOCAL, "broken"),
        (TrustModel.SHUFFLE, "not certified"),
        (TrustModel.CENTRAL, "not certified"),
    ],
)
def test_what_tells_users_messages_apart_breaks_no_promise_about_what_is_published(trust, verdict):
    """The sums of 10,000 users' counts have 100 times the noise of each: an audit sees one user's."""
    sizes = {"states": 2, "actions": 1, "horizon": 1, "episodes": 10_000, "noise": "gaussian", "scale": 1.0}
    promise = {"epsilon": 0.5, "delta": 1e-3}
    claim = Claim("counts", "local-counts", sizes, Adjacency.REPLACE, promise, trust=trust)
    ledger = check_claim(claim, seed=0, alpha=0.01, budget=5000)
    assert ledger.verdict.value == verdict
    assert any("must be 'local' for an audit" in said for said in ledger.remarks) == (verdict != "broken")


def _unaudited(claim, **_options):
    raise NoAuditError(claim.name)


def test_an_audit_of_a_joint_promise_is_refused():
    with pytest.raises(NoAuditError, match="central"):
        audit_claim(one_action(TrustModel.JOINT), seed=0)


def test_the_claim_file_names_the_trust_model(run, claim_file):
    path = claim_file({"name": "a", "trust": "everybody"})
    ran = run("check", path)
    assert (ran.code, ran.out) == (2, "")
    assert "trust ('everybody') must be one of: central, joint" in ran.err


def test_an_entry_and_its_claim_are_each_other():
    claim = one_action(TrustModel.JOINT)
    assert claim_from(entry_of(claim)) == claim


def test_a_witness_of_a_claim_replays(run, claims_with_a_violation, tmp_path):
    folder = tmp_path / "witnesses"
    assert run("audit", claims_with_a_violation, "--witnesses", folder).code == 1
    witnesses = sorted(folder.glob("*.json"))
    assert len(witnesses) == 2
    for witness in witnesses:
        again = run("audit", "--replay", witness, "--json")
        assert again.code == 1
        assert again.json["audits"][0]["witness"] == json.loads(witness.read_text())


@pytest.fixture
def claims_with_a_violation(claim_file, user_module):
    """Two claims that do not hold: one on a callable, one far below RLSVI's epsilon."""
    own = {"parameters": None, "adjacency": "replace", "neighbours": f"{user_module}:pairs"}
    own |= {"epsilon": 1.0, "delta": None, "mechanism": f"{user_module}:bad"}
    return claim_file({"name": "tables", "epsilon": 0.2}, {"name": "noise", **own})


def test_an_open_statement_is_not_a_success(run, monkeypatch):
    def opened(ids):
        return Verified(tuple(replace(result, verdict=Verdict.OPEN) for result in verify(ids).statements))

    monkeypatch.setattr("dpproof.cli.verify.verified", opened)
    assert run("verify", "rlsvi.tight").code == 3


def test_a_statement_without_a_verdict_is_noticed():
    assert len(departures([], "rlsvi.")) == len(statement_ids("rlsvi.")) > 0
    assert departures([], "no such paper.") == []
