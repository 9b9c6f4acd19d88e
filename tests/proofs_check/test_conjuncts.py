"""What a statement says has a verdict for each part; a refutation says how severe it is."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpproof.answers.coverage import coverage, items
from dpproof.proofs_check.registry import FORMER, lookup, statement_ids, statements, verify
from dpproof.proofs_check.statement import Severity
from tests.verified import answers, results

NUMBERED = [item.id for item in items() if item.kind == "statement"]
SLIPS = {
    "rlsvi.lemma6", "sdp.lemma20", "sdp.lemma21", "eval.lemma9", "expert.lemmaA_1", "expert.lemmaA_3",
    "expert.lemma5_4", "ucb.corollary5_5", "eval.lemma7",
}  # fmt: skip
SUBSTANTIVE = {
    "ucb.corollary5_2", "expert.theorem5_5",
    "ucb.lemma5_1.privacy", "ucb.lemma5_4.privacy", "sdp.lemma10.privacy", "sdp.lemma9", "sdp.corollary11",
    "sdp.theorem6.regret", "expert.amplification", "expert.theorem5_6",
}  # fmt: skip
PARTS = {
    "rlsvi.lemma6": {"divergence": "STEPS PROVED", "bound": "STEPS PROVED", "specifically": "REFUTED"},
    "sdp.corollary11": {"privacy": "REFUTED", "regret": "OPEN"},
    "ucb.corollary5_2": {
        "jdp": "REFUTED", "jdp_fixed_ties": "OPEN", "jdp_po": "OPEN", "regret": "PROVED ON A SUBDOMAIN",
    },
    "ucb.corollary5_5": {
        "po": "PROVED ON A SUBDOMAIN", "vi_printed": "REFUTED", "vi": "PROVED ON A SUBDOMAIN",
    },
    "eval.lemma7": {"bound": "STEPS PROVED", "main_text": "REFUTED"},
    "expert.theorem5_5": {"drawn": "PROVED ON A SUBDOMAIN", "expert.fixed_data": "REFUTED"},
    "expert.lemmaA_1": {"bound": "STEPS PROVED", "strict": "REFUTED"},
    "expert.lemmaA_3": {"bound": "STEPS PROVED", "strict": "REFUTED"},
}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_each_part_has_its_own_verdict(name):
    found = {part["id"].removeprefix(f"{name}."): part["verdict"] for part in answers()[name]["conjuncts"]}
    assert found == PARTS[name]


def test_lemma_6_is_a_slip_beside_a_bound_that_stands():
    parts = {part["id"]: part for part in answers()["rlsvi.lemma6"]["conjuncts"]}
    assert parts["rlsvi.lemma6.specifically"]["severity"] == "slip"
    assert parts["rlsvi.lemma6.bound"]["severity"] is None


def test_a_whole_is_no_milder_than_its_parts():
    order = [None, *(x.value for x in reversed(Severity))]
    for name, entry in answers().items():
        for part in entry["conjuncts"]:
            assert order.index(entry["severity"]) >= order.index(part["severity"]), (name, part["id"])


def test_every_refutation_has_a_severity_and_a_reason_and_nothing_else_has():
    for name, entry in answers().items():
        refuted = entry["verdict"] == "REFUTED"
        assert (entry["severity"] in {x.value for x in Severity}) == refuted, name
        assert not refuted or entry["severity_why"].endswith("."), name
        assert refuted or lookup(name).judgement is None, name


def test_the_severities_of_the_numbered_refutations():
    found = {
        name: answers()[name]["severity"] for name in NUMBERED if answers()[name]["verdict"] == "REFUTED"
    }
    assert len(found) == 37
    assert {name for name, severity in found.items() if severity == "slip"} == SLIPS
    assert {name for name, severity in found.items() if severity == "substantive"} == SUBSTANTIVE


def test_the_findings_begin_with_every_substantive_refutation():
    begin = (
        (Path(__file__).resolve().parents[2] / "docs/findings.md")
        .read_text(encoding="utf-8")
        .split("\n## ")[0]
    )
    assert [name for name in SUBSTANTIVE if f"`{name}`" not in begin] == []


def test_an_open_part_leaves_its_statement_open():
    share = coverage(results().values())
    assert share.undecided == ("ucb.corollary5_2", "sdp.corollary11")
    assert (len(share.decided), share.statements, share.verdicts["OPEN"]) == (70, 72, 2)
    assert sum(share.verdicts.values()) == 72


def test_the_strict_sign_fails_at_an_impossible_prefix_and_the_bound_does_not():
    for name in ("expert.lemmaA_1.strict", "expert.lemmaA_3.strict"):
        point = {key: Fraction(value) for key, value in answers()[name]["point"].items()}
        assert point["W"] * point["beta"] == point["a"] == 0
    intervals = [
        x.goal["vars"]["W"] for x in lookup("expert.lemmaA_1.bound").obligations if x.name != "below"
    ]
    assert intervals == ["[0, 1]", "(0, 1]"]


def test_nothing_rests_on_the_strict_sign():
    for entry in statements():
        assert not {"expert.lemma5_4", "expert.lemmaA_1", "expert.lemmaA_3"} & {*entry.rests_on}


@pytest.mark.parametrize("former", FORMER)
def test_former_ids_resolve(former):
    assert former not in statement_ids()
    assert lookup(former).id == verify([former])[0].id == FORMER[former]


def test_nothing_is_said_to_be_as_meant_that_changes_more_than_a_slip():
    assert not [name for name in statement_ids() if "as_meant" in name]
    says = lookup("sdp.corollary11.regret_as_meant").says
    assert "not the printed rate" in says
    assert "changed algorithm" in says.lower()
