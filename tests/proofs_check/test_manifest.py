"""The manifest: every deletion and every change of what a statement consists of makes it open."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dpproof.proofs_check import manifest, registry
from dpproof.proofs_check.coq import record
from dpproof.proofs_check.kernel import goal_hash
from dpproof.proofs_check.laws import LAWS
from dpproof.proofs_check.registry import as_json, lookup, statements, verify
from dpproof.proofs_check.statement import Judgement, Severity
from dpproof.proofs_check.verdict import Verdict
from tests.proofs_check.hints import make_goal

LISTS = ("obligations", "rests_on", "parts", "reading", "rules", "laws")
TEXTS = ("title", "says", "latex", "domain", "reason", "not_covered", "corrected_by")
WEAKER = make_goal({"x": "[0, 1]"}, "x >= 0")


def without(entry, name):
    """The statement, once for each element of one of its lists, without that element."""
    held = () if name == "obligations" and entry.reason else getattr(entry, name)
    return (replace(entry, **{name: held[:k] + held[k + 1 :]}) for k in range(len(held)))


def put(monkeypatch, *changed):
    """Let the registry hold these statements in the place of those with their ids."""
    table = {x.id: x for x in statements()} | {x.id: x for x in changed}
    monkeypatch.setattr(registry, "_read", table.__getitem__)


def test_today_is_as_recorded(capsys):
    assert manifest.main([]) == 0
    assert "as the manifest records it" in capsys.readouterr().out
    assert manifest.recorded().keys() == {x.id for x in statements()}


@pytest.mark.parametrize("name", LISTS)
def test_every_single_deletion_is_noticed(name):
    tried = 0
    for entry in statements():
        for less in without(entry, name):
            tried += 1
            (line,) = [x for x in manifest.differences(less) if not x.startswith("conditions")]
            assert line.startswith("readings" if name == "reading" else name)
            assert "missing" in line or "number" in line
    assert tried >= {"obligations": 960, "rests_on": 250, "laws": 10}.get(name, 20)


def test_every_changed_claim_is_noticed():
    for entry in statements():
        for x in entry.obligations:
            kept = tuple(replace(y, goal=WEAKER) if y is x else y for y in entry.obligations)
            assert manifest.differences(replace(entry, obligations=kept)) == (
                f"obligations: {x.name} changed",
            )


def test_what_the_letters_of_an_obligation_stand_for_is_agreed_to():
    for entry in statements():
        for x in entry.obligations:
            kept = tuple(replace(y, note=f"{x.note}, nearly") if y is x else y for y in entry.obligations)
            assert manifest.differences(replace(entry, obligations=kept)) == (
                f"obligations: {x.name} changed",
            )


def test_a_law_that_reads_otherwise_opens_what_takes_it(monkeypatch):
    monkeypatch.setitem(LAWS, "laplace.tail", "a Laplace variable of scale b is above t with probability 0")
    for entry in statements():
        expected = ("laws: laplace.tail changed",) if "laplace.tail" in entry.laws else ()
        assert manifest.differences(entry) == expected
    taken = next(x.id for x in statements() if "laplace.tail" in x.laws)
    assert verify([taken])[0].verdict is Verdict.OPEN


def test_a_severity_that_nobody_agreed_to_is_noticed():
    refuted = [x for x in statements() if x.judgement]
    assert len(refuted) >= 80
    for entry in refuted:
        lighter = Severity.SLIP if entry.judgement.severity is not Severity.SLIP else Severity.REPAIRABLE
        changed = replace(entry, judgement=Judgement(lighter, entry.judgement.why))
        assert manifest.differences(changed) == ("severity: changed",)
        assert manifest.differences(replace(entry, judgement=None)) == ("severity: changed",)


@pytest.mark.parametrize("name", TEXTS)
def test_every_changed_condition_is_noticed(name):
    for entry in statements():
        if name == "reason" and not entry.reason:
            continue
        if name == "reason":
            changed = replace(entry, kind="quoted", reason="because")
        else:
            changed = replace(entry, **{name: f"{getattr(entry, name)}, nearly"})
        assert manifest.differences(changed)


def test_a_union_bound_that_is_deleted_opens_the_theorem_and_what_rests_on_it(monkeypatch):
    """With all obligations but the last one gone the theorem stood, and every test passed."""
    theorem = lookup("ucb.lemma5_1.utility.domain")
    assert theorem.obligations[-1].name == "union"
    put(monkeypatch, replace(theorem, obligations=theorem.obligations[-1:], rests_on=()))
    found, above = verify(["ucb.lemma5_1.utility.domain", "ucb.corollary5_2.regret"])
    assert (found.verdict, above.verdict) == (Verdict.OPEN, Verdict.OPEN)
    assert any("missing" in line for line in found.changed)
    assert not above.changed


def test_a_statement_that_nobody_agreed_to_is_open(monkeypatch):
    put(monkeypatch, replace(lookup("rlsvi.eq2"), id="rlsvi.eq22"))
    monkeypatch.setattr(
        registry, "_outcome", lambda *_: ("file", registry.Outcome("PROVED", frozenset(), None))
    )
    assert verify(["rlsvi.eq22"])[0].verdict is Verdict.OPEN


def test_another_place_in_the_paper_is_noticed():
    """A statement must not pass for another one's theorem."""
    for entry in statements():
        moved = replace(entry, source=replace(entry.source, item="Theorem 0"))
        assert manifest.differences(moved) == ("says: changed",)


def test_coq_checked_nothing_of_what_lost_a_claim(monkeypatch):
    """Without what it rests on and the claims that Coq does not have, a statement was cross-checked."""
    known = record.recorded()
    theorem = next(x for x in statements() if not x.goals and x.rests_on and not x.rules and not x.parts
                   and any(goal_hash(y.goal) in known for y in x.obligations))  # fmt: skip
    kept = tuple(x for x in theorem.obligations if goal_hash(x.goal) in known)
    assert len(kept) > 0
    less = replace(theorem, obligations=kept, rests_on=())
    put(monkeypatch, less)
    (found,) = verify([theorem.id])
    assert record.accepted(less, {less.id: less}.__getitem__)
    assert (found.verdict, as_json(found)["coq_all"]) == (Verdict.OPEN, False)


def test_one_command_lists_and_agrees_to_a_change(monkeypatch, tmp_path, capsys):
    entry = lookup("ucb.lemma4_1")
    put(monkeypatch, replace(entry, obligations=entry.obligations[:-1]))
    last = entry.obligations[-1].name
    monkeypatch.setattr(manifest, "RECORD", tmp_path / "manifest.json")
    (tmp_path / "manifest.json").write_text(json.dumps(dict(manifest.recorded())), encoding="utf-8")
    manifest.recorded.cache_clear()
    try:
        assert manifest.main([]) == 1
        assert capsys.readouterr().out == f"{entry.id}: obligations: {last} missing\n"
        assert verify([entry.id])[0].verdict is Verdict.OPEN
        assert manifest.main(["--update"]) == 0
        assert manifest.main([]) == 0
        assert verify([entry.id])[0].verdict is Verdict.STEPS
    finally:
        manifest.recorded.cache_clear()


def test_without_a_manifest_nothing_stands(monkeypatch, tmp_path):
    monkeypatch.setattr(manifest, "RECORD", tmp_path / "none.json")
    manifest.recorded.cache_clear()
    try:
        assert verify(["rlsvi.eq2"])[0].changed == ("the statement is not in the manifest",)
    finally:
        monkeypatch.undo()
        manifest.recorded.cache_clear()
