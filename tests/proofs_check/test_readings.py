"""What is left to readers is counted: readings and laws, through everything that a statement rests on."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dpproof.proofs_check.kernel import Outcome
from dpproof.proofs_check.laws import LAWS
from dpproof.proofs_check.registry import as_json, lookup, statement_ids, statements
from dpproof.proofs_check.verdict import Verdict, derive
from tests.rows import rows
from tests.verified import results

STANDING = (Verdict.PROVED, Verdict.STEPS, Verdict.GIVEN, Verdict.SUBDOMAIN)
FAMILIES = {
    "laplace": r"Laplace variable|Laplace noise [A-Z]|Lap\(|exp\(-\|[a-z]\|\)/2",
    "gaussian": r"standard normal|\berfc\b|N\(0, v\)",
    "chi-square": r"chi-square variable",
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
    """A statement and all it rests on, found by another route than the derivation's."""
    entry = lookup(name)
    return {name}.union(*(closure(x) for x in (*entry.parts, *entry.rests_on)))


@rows("name", sorted(statement_ids()))
def test_readings_and_laws_are_those_of_everything_below(name):
    below = [lookup(x) for x in closure(name)]
    written = {text for entry in below for text in entry.reading}
    joined = {
        entry.id
        for entry in below
        if not entry.reading and (len(entry.obligations) > 1 or entry.parts or entry.rests_on)
    }
    found = results()[name]
    assert len(found.readings) == len(written) + len(joined)
    assert written <= found.readings.keys()
    assert set(found.laws) == {law for entry in below for law in entry.laws}
    assert as_json(found)["readings_all"] == len(found.readings)


def test_proved_is_one_goal_and_nothing_else():
    """A single obligation, no reading, no part, nothing that it rests on."""
    for name, found in results().items():
        entry = lookup(name)
        single = len(entry.obligations) == 1 and not (entry.reading or entry.parts or entry.rests_on)
        if found.verdict in (Verdict.PROVED, Verdict.STEPS):
            assert (found.verdict is Verdict.PROVED) == single == (not found.readings)
    assert results()["sdp.lemma16.rare_pair"].verdict is Verdict.PROVED


def test_the_theorems_of_the_papers_are_steps():
    for name in (
        "rlsvi.theorem13",
        "ucb.theorem3_2.four_delta",
        "sdp.theorem6.regret.repaired",
        "expert.theorem5_3",
    ):
        assert results()[name].verdict is Verdict.STEPS
    assert len(results()["sdp.theorem6.regret.repaired"].readings) >= 63


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
        if STEPS.search(x.note)
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
    for entry in statements():
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
    for entry in statements():
        texts = (*entry.reading, *entry.rules, *(x.note for x in entry.obligations))
        cited = {name for text in texts for name in CITED.findall(text) if name in results()}
        support = {name for name in cited if results()[name].verdict is not Verdict.REFUTED}
        assert support <= closure(entry.id), (entry.id, support - closure(entry.id))
