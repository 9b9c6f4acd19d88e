"""What stands beside a verdict: parts with verdicts of their own, severity, readings and laws that are counted."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from dpproof.answers.coverage import coverage, items
from dpproof.proofs_check.kernel import Outcome
from dpproof.proofs_check.laws import LAWS
from dpproof.proofs_check.registry import FORMER, as_json, lookup, statement_ids, statements, verify
from dpproof.proofs_check.statement import Severity
from dpproof.proofs_check.verdict import Verdict, derive
from tests.rows import rows
from tests.verified import answers, results

STANDING = (Verdict.PROVED, Verdict.STEPS, Verdict.GIVEN, Verdict.SUBDOMAIN)
FAMILIES = {
    "laplace": r"Laplace variable|Laplace noise [A-Z]|Lap\(|exp\(-\|[a-z]\|\)/2",
    "gaussian": r"standard normal|\berfc\b|N\(0, v\)",
    "discrete-gaussian": r"N_Z\(",
    "student": r"Student",
}


STEPS = re.compile(
    r"\b(alike|likewise|similarly|analog\w*|symmetr\w*|mirror\w*|vice versa|conversely|without loss|wlog"
    r"|same (way|argument|proof|reason\w*|manner)|suffic\w*|induction|by \w+(ance|ence|city|ity|try|vity)"
    r"|hence|thus|therefore|so that|and so|because|since|also for|does not depend|simply|clearly|obvious\w*"
    r"|trivial\w*|evident\w*|impl(y|ies)|swap\w*|exchang\w*|change places|other (signs|cases))\b",
    re.IGNORECASE,
)
"""Words by which a person goes from one step to another: they belong into readings, which are counted."""


def closure(name):
    """A statement and all it rests on, found by another route than the derivation's. Goals leave nothing to read."""
    entry = lookup(name)
    if entry.goals:
        return {name}
    return {name}.union(*(closure(x) for x in (*entry.parts, *entry.rests_on)))


@rows("name", sorted(statement_ids()))
def test_readings_and_laws_are_those_of_everything_below(name):
    below = [lookup(x) for x in closure(name)]
    written = {text for entry in below for text in entry.reading}
    joined = {
        entry.id
        for entry in below
        if not entry.goals
        and not entry.reading
        and (len(entry.obligations) > 1 or entry.parts or entry.rests_on)
    }
    found = results()[name]
    assert len(found.readings) == len(written) + len(joined)
    assert written <= found.readings.keys()
    assert set(found.laws) == {law for entry in below for law in entry.laws}
    assert as_json(found)["readings_all"] == len(found.readings)


def test_proved_is_one_goal_and_nothing_else():
    """Goals that the kernel derives; or a single obligation, no reading, no part, nothing that it rests on."""
    for name, found in results().items():
        entry = lookup(name)
        alone = len(entry.obligations) == 1 and not (entry.parts or entry.rests_on)
        single = (alone or bool(entry.goals)) and not entry.reading
        if found.verdict in (Verdict.PROVED, Verdict.STEPS):
            assert (found.verdict is Verdict.PROVED) == single == (not found.readings)
    assert results()["sdp.lemma16.rare_pair"].verdict is Verdict.PROVED


def test_theorems_that_are_goals_leave_nothing_to_read():
    for name in (
        "rlsvi.theorem13",
        "rlsvi.corollary14",
        "ucb.theorem3_2.four_delta",
        "ucb.theorem4_2.four_delta",
        "sdp.lemma10.privacy.bits",
        "sdp.theorem6.regret.repaired",
        "eval.theorem32.corrected",
        "eval.theorem6.to_50",
        "expert.theorem5_3",
    ):
        found = results()[name]
        assert (found.verdict, found.assumptions, dict(found.readings)) == (Verdict.PROVED, (), {})


@pytest.mark.parametrize(
    "change", [{"reading": ("r",)}, {"rests_on": ("sdp.lemma12",)}, {"rules": ("a rule",)}]
)
def test_anything_beside_the_goal_lowers_it(change):
    entry = replace(lookup("sdp.lemma16.rare_pair"), **change)
    below = {name: results()[name] for name in entry.rests_on}
    found = derive(entry, [("file", Outcome("PROVED", frozenset({"positive"}), None))], below)
    assert found.verdict is (Verdict.GIVEN if "rules" in change else Verdict.STEPS)


def test_notes_name_what_is_claimed_and_leave_every_step_to_the_readings():
    """A note says what the letters of its claim stand for; a step that people take is counted."""
    taken = [
        f"{entry.id}.{x.name}: {x.note}"
        for entry in statements()
        for x in entry.obligations
        if STEPS.search(x.note) and x.name not in entry.goals and "vars" in x.goal
    ]
    assert not taken


@rows(
    "note",
    [
        "one coordinate; the other direction alike",
        "one more step, by induction over the steps",
        "Pr(nothing) >= Pr(V >= 0) Pr(U <= -1) by independence",
        "refined counts near their means (the same proof)",
        "no negative mass is left at loss 0. By symmetry b = Q(P > Q)",
        "never below the truth, so that it is within E on that side too",
    ],
)
def test_a_step_in_a_note_is_recognised(note):
    assert STEPS.search(note)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_law_is_named_where_one_is_used(family):
    for entry in (x for x in statements() if not x.goals):
        texts = [
            *entry.reading,
            *(x.note for x in entry.obligations),
            *(str(x.goal) for x in entry.obligations),
        ]
        used = any(re.search(FAMILIES[family], text) for text in texts)
        assert not used or family in {x.partition(".")[0] for x in results()[entry.id].laws}, entry.id


def test_every_law_of_the_table_is_taken_somewhere():
    assert {law for found in results().values() for law in found.laws} == LAWS.keys()


def test_an_unknown_law_is_refused():
    with pytest.raises(ValueError, match=r"laws \['uniform'\] are not in dpproof\.proofs_check\.laws"):
        replace(lookup("rlsvi.eq2"), laws=("uniform",))


def test_every_verdict_has_a_meaning():
    assert all(verdict.meaning for verdict in Verdict)
    assert {x for x in Verdict if x.decided} == {*STANDING, Verdict.REFUTED}


CITED = re.compile(r"\b(?:rlsvi|ucb|sdp|eval|expert|classic)\.\w+(?:\.\w+)*")


def test_what_an_argument_cites_is_rested_on():
    """Otherwise its readings, assumptions and domain are not counted. What is refuted supports nothing."""
    for entry in (x for x in statements() if not x.goals):
        texts = (*entry.reading, *entry.rules, *(x.note for x in entry.obligations))
        cited = {name for text in texts for name in CITED.findall(text) if name in results()}
        support = {name for name in cited if results()[name].verdict is not Verdict.REFUTED}
        assert support <= closure(entry.id), (entry.id, support - closure(entry.id))


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
    "rlsvi.lemma6": {"divergence": "PROVED", "bound": "PROVED", "specifically": "REFUTED"},
    "sdp.corollary11": {"privacy": "REFUTED", "regret": "REFUTED"},
    "ucb.corollary5_2": {
        "jdp": "REFUTED", "jdp_fixed_ties": "OPEN", "jdp_po": "OPEN", "regret": "PROVED ON A SUBDOMAIN",
    },
    "ucb.corollary5_5": {
        "po": "PROVED ON A SUBDOMAIN", "vi_printed": "REFUTED", "vi": "PROVED ON A SUBDOMAIN",
    },
    "eval.lemma7": {"bound": "PROVED", "main_text": "REFUTED"},
    "expert.theorem5_5": {"drawn": "PROVED ON A SUBDOMAIN", "expert.fixed_data": "REFUTED"},
    "expert.lemmaA_1": {"bound": "PROVED", "strict": "REFUTED"},
    "expert.lemmaA_3": {"bound": "PROVED", "strict": "REFUTED"},
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


def test_the_findings_count_the_numbered_statements():
    """The numbers of the first paragraph are those of today's verdicts."""
    text = " ".join((Path(__file__).resolve().parents[2] / "docs/findings.md").read_text("utf-8").split())
    counts = Counter(results()[name].verdict.value for name in NUMBERED)
    assert f"print {len(NUMBERED)} statements of their own. {counts['REFUTED']} of them are `REFUTED`" in text
    kept = [f"`{name}` ({counts[name]})" for name in ("PROVED", "STEPS PROVED", "PROVED ON A SUBDOMAIN")]
    assert f"are {kept[0]}, {kept[1]} or {kept[2]}" in text


def test_the_findings_begin_with_every_substantive_refutation():
    begin = (
        (Path(__file__).resolve().parents[2] / "docs/findings.md")
        .read_text(encoding="utf-8")
        .split("\n## ")[0]
    )
    assert [name for name in SUBSTANTIVE if f"`{name}`" not in begin] == []


def test_a_statement_that_is_refuted_in_part_counts_as_refuted_and_is_not_decided():
    share = coverage(results().values())
    assert share.undecided == share.in_part == ("ucb.corollary5_2",)
    assert (len(share.decided), share.statements, share.verdicts.get("OPEN")) == (71, 72, None)
    assert share.verdicts["REFUTED substantive"] == len(SUBSTANTIVE)
    assert sum(share.verdicts.values()) == 72


def test_the_strict_sign_fails_at_an_impossible_prefix_and_the_bound_does_not():
    for name in ("expert.lemmaA_1.strict", "expert.lemmaA_3.strict"):
        assert results()[name].verdict is Verdict.REFUTED
        (goal,) = (x for x in lookup(name).obligations if x.name in lookup(name).goals)
        assert goal.goal["goal"].get("then", goal.goal["goal"])[0] == ">"
    for name in ("expert.lemmaA_1.bound", "expert.lemmaA_3.bound"):
        assert results()[name].verdict is Verdict.PROVED


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
