"""How much of the papers is decided, counted over the list of ids that ships with them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpproof.answers import coverage
from dpproof.answers.coverage import Share, items, line
from dpproof.proofs_check.registry import papers
from dpproof.proofs_check.verdict import Verdict
from tests.verified import results


@pytest.fixture(scope="module")
def found():
    return list(results().values())


def entry(name, verdict, kind="statement", assumptions=()):
    return replace(
        results()["rlsvi.eq2"], id=name, verdict=Verdict(verdict), kind=kind, assumptions=tuple(assumptions)
    )


def test_the_list_has_the_papers_rows():
    assert len(items()) == 89
    assert sum(item.kind == "statement" for item in items()) == 72
    assert {item.prefix for item in items()} == {paper.prefix for paper in papers().values()} - {"classic"}
    assert {"sdp.lemma7": ("lemma19",)}.items() <= {x.id: x.aliases for x in items()}.items()


def test_every_row_is_registered(found):
    known = {x.id for x in found}
    missing = [
        item.id
        for item in items()
        if item.id not in known and not any(name.startswith(f"{item.id}.") for name in known)
    ]
    assert missing == []


def test_enough_is_decided(found):
    share = coverage.coverage(found)
    assert len(share.decided) >= 0.85 * share.statements, share.undecided
    assert len(share.outright) >= 0.60 * share.statements


@pytest.mark.parametrize("name", [name for name in papers() if name != "classic"])
def test_the_shares_of_the_papers_add_up(found, name):
    prefix = f"{papers()[name].prefix}."
    share, total = coverage.coverage(found, prefix), coverage.coverage(found)
    assert set(share.outright) <= set(share.decided)
    assert not set(share.decided) & set(share.undecided)
    assert len(share.decided) + len(share.undecided) == share.statements
    assert set(share.decided) == {x for x in total.decided if x.startswith(prefix)}


ROW = "rlsvi.lemma6"


@pytest.mark.parametrize(
    ("entries", "decided", "outright"),
    [
        ([], False, False),
        ([(ROW, "PROVED")], True, True),
        ([(ROW, "REFUTED")], True, True),
        ([(ROW, "REFUTED", "statement", ["a rule"])], True, False),
        ([(ROW, "PROVED ON A SUBDOMAIN")], True, True),
        ([(ROW, "PROVED ON A SUBDOMAIN", "statement", ["a rule"])], True, False),
        ([(ROW, "PROVED GIVEN", "statement", ["a rule"])], True, False),
        ([(ROW, "ASSUMED", "statement", ["a reason"])], False, False),
        ([(ROW, "OPEN")], False, False),
        ([(ROW, "PROVED"), (f"{ROW}.part", "OPEN")], False, False),
        ([(ROW, "PROVED"), (f"{ROW}.part", "PROVED GIVEN", "statement", ["a rule"])], True, False),
        ([(ROW, "PROVED"), (f"{ROW}.corrected", "OPEN", "project")], True, True),
        ([(f"{ROW}.a", "PROVED"), (f"{ROW}.b", "REFUTED")], True, True),
        ([("rlsvi.lemma66", "PROVED")], False, False),
    ],
)
def test_what_counts(entries, decided, outright):
    share = coverage.coverage([entry(*row) for row in entries], "rlsvi.")
    assert (ROW in share.decided, ROW in share.outright) == (decided, outright)
    assert (ROW in share.undecided) is not decided


def test_another_row_is_no_part():
    """sdp.lemma10.privacy is a row of its own, though sdp.lemma10 is none."""
    share = coverage.coverage([entry("sdp.lemma10.privacy", "PROVED")], "sdp.")
    assert share.decided == ("sdp.lemma10.privacy",)


def test_nothing_is_divided_by_nothing():
    assert "(-)" in line(Share(0, (), (), (), 0, ()))
