"""Statements, the derivation of verdicts, and the contract of the JSON answer."""

from dataclasses import replace

import pytest

import proofs_check
from accountant.published import published, published_ids
from accountant.sources import Source
from proofs_check import Obligation, Statement, Verdict, as_json, lookup, statement_ids, verify
from proofs_check.kernel import Outcome
from proofs_check.registry import statements
from proofs_check.statement import formula, make_claim
from proofs_check.verdict import derive

TWELVE = [
    "definition3", "definition4", "lemma6", "lemma7", "lemma8", "lemma9", "remark10", "eq2", "lemma11",
    "lemma12", "theorem13", "corollary14",
]  # fmt: skip
KEYS = {
    "id", "verdict", "method", "certificate", "depends_on", "assumptions", "domain", "point", "corrected_by",
    "not_covered", "coq", "kind", "title", "parts",
}  # fmt: skip
EXPECTED = {
    "rlsvi.definition3": "ASSUMED",
    "rlsvi.definition4": "ASSUMED",
    "rlsvi.lemma6": "REFUTED",
    "rlsvi.lemma6.divergence": "PROVED GIVEN",
    "rlsvi.lemma6.bound": "PROVED GIVEN",
    "rlsvi.lemma6.specifically": "REFUTED",
    "rlsvi.lemma6.variance": "PROVED GIVEN",
    "rlsvi.lemma6.printed_domain": "PROVED ON A SUBDOMAIN",
    "rlsvi.lemma7": "REFUTED",
    "rlsvi.lemma7.as_printed": "REFUTED",
    "rlsvi.lemma7.as_meant": "PROVED GIVEN",
    "rlsvi.lemma8": "PROVED GIVEN",
    "rlsvi.lemma9": "ASSUMED",
    "rlsvi.remark10": "PROVED GIVEN",
    "rlsvi.eq2": "PROVED",
    "rlsvi.lemma11": "PROVED GIVEN",
    "rlsvi.lemma11.equality": "REFUTED",
    "rlsvi.lemma12": "PROVED GIVEN",
    "rlsvi.theorem13": "PROVED GIVEN",
    "rlsvi.corollary14": "PROVED GIVEN",
    "rlsvi.tight": "PROVED GIVEN",
    "rlsvi.state_neighbours": "PROVED GIVEN",
}


def test_recorded_verdicts_come_out_again():
    assert {x.id: x.verdict.value for x in verify() if x.id.startswith("rlsvi.")} == EXPECTED


@pytest.mark.parametrize("name", TWELVE)
def test_every_item_of_the_paper_is_stated(name):
    assert f"rlsvi.{name}" in statement_ids("rlsvi.")


def test_answers_keep_the_contract():
    for result in verify():
        data = as_json(result)
        assert data.keys() == KEYS
        assert data["coq"] == "not cross-checked"
        assert data["not_covered"]
        assert (data["verdict"] == "REFUTED") == (data["point"] is not None)


def test_references_resolve():
    known = set(statement_ids())
    for entry in statements():
        assert {*entry.parts, *entry.rests_on, *([entry.corrected_by] if entry.corrected_by else [])} <= known
    assert {published(x).source.statement for x in published_ids() if x.startswith("rlsvi")} - {None} <= known


def test_nothing_proved_rests_on_something_refuted():
    results = {x.id: x for x in verify()}
    for entry in statements():
        if results[entry.id].verdict in (Verdict.PROVED, Verdict.GIVEN, Verdict.SUBDOMAIN):
            below = {results[x].verdict for x in entry.rests_on}
            assert not below & {Verdict.REFUTED, Verdict.OPEN}


def test_assumptions_are_inherited():
    assumptions = verify(["rlsvi.corollary14"])[0].assumptions
    assert any("billboard" in text for text in assumptions)
    assert any("Tonelli" in text for text in assumptions)


CLAIM = make_claim({"x": "[0, 1]"}, "x >= 0")
BASE = Statement(
    "t.a", "project", "t", Source("p", "v1", "i"), "s", obligations=(Obligation("o", CLAIM, "n"),)
)
DONE = [("file", Outcome("PROVED", frozenset({"range"}), None))]


def test_verdicts_follow_from_outcomes():
    assert derive(BASE, DONE, {}).verdict is Verdict.PROVED
    assert derive(BASE, [("file", None)], {}).verdict is Verdict.OPEN
    assert derive(replace(BASE, rules=("r",)), DONE, {}).verdict is Verdict.GIVEN
    assert derive(replace(BASE, domain="x < 1"), DONE, {}).verdict is Verdict.SUBDOMAIN
    assert derive(replace(BASE, obligations=()), [], {}).verdict is Verdict.OPEN
    assert derive(replace(BASE, obligations=(), reason="r"), [], {}).verdict is Verdict.ASSUMED
    refuted = derive(BASE, [("file", Outcome("REFUTED", frozenset({"point"}), {"x": "1"}))], {})
    assert refuted.verdict is Verdict.REFUTED
    assert refuted.point == {"x": "1"}
    assert derive(replace(BASE, rests_on=("t.b",)), DONE, {"t.b": refuted}).verdict is Verdict.OPEN
    whole = replace(BASE, obligations=(), parts=("t.b",))
    assert derive(whole, [], {"t.b": refuted}).point == {"x": "1"}


def test_bad_statements_are_refused():
    with pytest.raises(ValueError, match="kind 'theorem'"):
        replace(BASE, kind="theorem")
    with pytest.raises(ValueError, match="parts and obligations"):
        replace(BASE, parts=("t.b",))
    with pytest.raises(ValueError, match="has none of"):
        make_claim({}, "1 < 2")
    with pytest.raises(KeyError):
        lookup("rlsvi.lemma99")
    with pytest.raises(KeyError):
        verify(["rlsvi.lemma99"])


def test_public_names_load_on_demand():
    for name in proofs_check.__all__:
        assert getattr(proofs_check, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = proofs_check.nonsense


def test_formula_replaces_whole_names_only():
    assert "log(2*H*S*A)" in formula("rlsvi.lemma12", K="3")
    assert "(3)" in formula("rlsvi.lemma12", K="3")
