"""``dpproof verify``: the keys of the contract, verdicts, departures, and how much of the papers is decided."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from dpproof.answers import coverage
from dpproof.answers.coverage import Share, items, line
from dpproof.cli.verify import _letter
from dpproof.proofs_check import registry
from dpproof.proofs_check.registry import papers, statement_ids
from dpproof.proofs_check.search import satisfiable
from dpproof.proofs_check.statement import Obligation
from dpproof.proofs_check.verdict import Verdict
from dpproof.wording import result_words
from tests.proofs_check.hints import make_goal
from tests.rows import tiered
from tests.verified import results, share_certificates

KEYS = {
    "id", "verdict", "method", "certificate", "depends_on", "assumptions", "domain", "point", "corrected_by",
    "not_covered", "coq", "coq_own", "coq_all", "severity", "readings_own", "readings_all",
}  # fmt: skip
VERDICTS = {verdict.value for verdict in Verdict}


@pytest.mark.parametrize("name", [pytest.param("papers", marks=pytest.mark.slow), "rlsvi", "classic"])
def test_every_statement_is_listed_with_the_contracts_keys(run, name):
    share_certificates()
    ran = run("verify", name, "--json")
    answer = ran.json
    assert (ran.code, ran.err, answer["schema"]) == (0, "", 1)
    prefix = "" if name == "papers" else f"{name}."
    assert [entry["id"] for entry in answer["statements"]] == list(statement_ids(prefix))
    for entry in answer["statements"]:
        assert entry.keys() >= KEYS
        assert entry["verdict"] in VERDICTS
        for key in ("depends_on", "assumptions"):
            assert all(isinstance(text, str) for text in entry[key])
        for key in ("method", "certificate", "domain", "corrected_by"):
            assert entry[key] is None or isinstance(entry[key], str)
        assert entry["point"] is None or all(isinstance(x, str) for x in entry["point"].values())
        assert entry["not_covered"]


def test_a_proved_statement_stands(run):
    ran = run("verify", "rlsvi.eq2", "--json")
    (entry,) = ran.json["statements"]
    assert (ran.code, entry["verdict"], entry["point"]) == (0, "PROVED", None)


def test_a_refuted_statement_asked_for_by_id_has_its_point(run):
    ran = run("verify", "rlsvi.lemma6", "rlsvi.eq2", "--json")
    lemma, equation = ran.json["statements"]
    assert ran.code == 1
    assert ran.err == "dpproof: rlsvi.lemma6 is REFUTED\n"
    assert lemma["point"] == {"alpha": "2", "sigma": "1/2", "Delta": "1/5", "eps": "2/25", "x": "0", "z": "1"}
    assert equation["verdict"] == "PROVED"


def test_an_id_given_twice_is_answered_once(run):
    assert len(run("verify", "rlsvi.eq2", "rlsvi.eq2", "--json").json["statements"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", tiered(["papers", "rlsvi"], fast=1))
@pytest.mark.usefixtures("another_record")
def test_a_departure_from_the_record_is_an_error(run, name):
    share_certificates()
    ran = run("verify", name, "--json")
    assert ran.code == 1
    assert ran.err == "dpproof: rlsvi.eq2: recorded REFUTED, found PROVED\n"


def test_a_damaged_certificate_is_a_departure(run, monkeypatch):
    def unreadable(_identity):
        raise OSError("gone")

    monkeypatch.setattr("dpproof.proofs_check.registry.stored", unreadable)
    ran = run("verify", "rlsvi", "--json")
    assert ran.code == 1
    assert "rlsvi.eq2: recorded PROVED, found OPEN" in ran.err


@pytest.mark.parametrize("names", [["nosuch"], ["rlsvi.lemma99"], ["rlsvi", "nosuch"], ["papers", ""]])
def test_unknown_names_are_refused(refused, names):
    assert f"name ({names[-1]!r}) must be 'papers', a paper (rlsvi" in refused("verify", *names, "--json")


def test_nothing_named_is_refused(refused):
    assert "Missing argument" in refused("verify")


@pytest.mark.slow
def test_all_papers_end_with_what_is_decided(run):
    share_certificates()
    ran = run("verify", "papers")
    decided, proved = ran.out.splitlines()[-2:]
    assert "statements decided (" in decided
    assert "quoted theorems decided" in decided
    assert "statements proved from end to end without a reading" in proved
    assert "statements decided" not in run("verify", "rlsvi").out


@pytest.mark.parametrize("name", ["rlsvi", "classic"])
def test_people_see_every_id_and_every_assumption_once(run, name):
    ran = run("verify", name, "--verbose")
    assert ran.code == 0
    assert set(statement_ids(f"{name}.")) <= set(ran.out.split())
    assert ran.out.count("a  ") >= 1


def test_how_many_certificates_were_checked_where_they_are_and_what_is_trusted(run):
    lines = run("verify", "rlsvi.tight", "rlsvi.lemma7", "--verbose").out.splitlines()
    (checked,) = (line for line in lines if line.startswith("checked: "))
    (trusted,) = (line for line in lines if line.startswith("taken on trust: "))
    entries = run("verify", "rlsvi.tight", "rlsvi.lemma7", "--json").json["statements"]
    files = [file for entry in entries for file in entry["certificate"].split(", ")]
    assert checked.startswith(f"checked: {len(files)} certificates of 2 statements")
    folder = Path(checked.rpartition("the certificates are in ")[2].removesuffix("/*.jsonl"))
    places = [file.rpartition(":") for file in files]
    lines_of = {
        file: (folder.parents[1] / file).read_text(encoding="utf-8").splitlines() for file, _, _ in places
    }
    assert all(1 <= int(line) <= len(lines_of[file]) for file, _, line in places)
    assert trusted.startswith(
        "taken on trust: 2 assumptions (a to b above), 0 readings, 0 laws, 0 statements ASSUMED"
    )


def test_an_account_says_how_much_it_takes_on_trust(run):
    asked = ["--leaves", 6, "--scale", 4, "--sensitivity", 1, "--adjacency", "replace"]
    answer = run("account", "laplace-tree", *asked, "--delta", "1e-6", "--json").json
    shown = run("account", "laplace-tree", *asked, "--delta", "1e-6", "--verbose").out
    many = len(answer["assumptions"])
    assert many > 1
    assert (answer["readings_all"], answer["laws_all"]) == (1, ["laplace.density"])
    page = "classic.tree_laplace.exact"
    assert f"taken on trust: {many} assumptions, 1 reading, 1 law; see dpproof explain {page}" in shown
    assert run("explain", page).out.count("given: ") == many


@pytest.mark.slow
def test_nothing_is_said_to_be_taken_on_trust_alone_where_readings_are(run):
    """It said "0 assumptions" of a theorem that rested on 63 lines of prose."""
    ran = run("verify", "ucb.lemma4_1", "--json")
    (entry,) = ran.json["statements"]
    assert (entry["verdict"], entry["readings_own"], entry["assumptions"]) == ("STEPS PROVED", 4, [])
    assert ran.json["readings_all"] == entry["readings_all"] > entry["readings_own"]
    shown = run("verify", "ucb.lemma4_1").out
    assert f"{entry['readings_all']} readings" in shown
    assert "0 assumptions" not in shown


def test_explain_shows_every_reading_and_law(run):
    from dpproof.proofs_check.registry import verify

    found = verify(["classic.shuffled_sums.few"])[0]
    shown = " ".join(run("explain", "classic.shuffled_sums.few").out.split())
    own, many = len(found.own_readings), len(found.readings)
    assert own > 1
    assert f"verdict: STEPS PROVED ({many} readings)" in shown
    assert all(" ".join(text.split()) in shown for text in found.readings)
    assert f"readings: {own} of its own, {many} with all it rests on" in shown
    assert "law binomial.mass: Binomial(N, p) has the mass C(N, q) p^q (1-p)^(N-q) at q" in shown
    assert "Coq: not cross-checked" in shown


def test_lemma_6_is_shown_as_what_it_is(run):
    shown = " ".join(run("explain", "rlsvi.lemma6").out.split())
    assert "verdict: REFUTED (slip; 1 reading)" in shown
    assert "rlsvi.lemma6.bound is PROVED" in shown
    assert "rlsvi.lemma6.specifically is REFUTED (slip)" in shown


def test_an_open_statement_exits_with_3_and_a_former_id_resolves(run):
    share_certificates()
    assert run("verify", "ucb.corollary5_2.jdp_po", "--json").code == 3
    (entry,) = run("verify", "sdp.corollary11.regret_as_meant", "--json").json["statements"]
    assert entry["id"] == "sdp.corollary11.repaired"
    assert "neither proved nor refuted" in " ".join(run("explain", "ucb.corollary5_2.jdp_po").out.split())


def test_a_statement_that_lost_an_obligation_is_named(run, monkeypatch):
    from dataclasses import replace

    from dpproof.proofs_check import registry

    read, entry = registry._read, registry.lookup("rlsvi.eq2")
    less = replace(entry, obligations=(), goals=())
    monkeypatch.setattr(registry, "_read", lambda name: less if name == entry.id else read(name))
    ran = run("verify", "rlsvi")
    assert ran.code == 1
    assert "rlsvi.eq2: recorded PROVED, found OPEN" in ran.err
    assert "not as agreed: obligations: goal, change missing" in " ".join(ran.out.split())


def test_a_domain_does_not_hide_an_assumption():
    """Both stand beside the verdict."""
    found = registry.verify(["classic.advanced_corollary"])[0]
    assert (found.verdict, found.assumptions) == (Verdict.SUBDOMAIN, ())
    assert "given 1 assumption" not in result_words(found)
    assert "given 1 assumption" in result_words(replace(found, assumptions=("Hoeffding's inequality",)))


def test_every_assumption_has_a_letter_of_its_own():
    letters = [_letter(place) for place in range(1000)]
    assert letters[:2] + letters[24:29] == ["a", "b", "y", "z", "aa", "ab", "ac"]
    assert len(set(letters)) == 1000
    assert all(x.isalpha() for x in letters)


@pytest.fixture(scope="module")
def found():
    return list(results().values())


def entry(name, verdict, kind="statement", assumptions=()):
    return replace(
        results()["rlsvi.eq2"], id=name, verdict=Verdict(verdict), kind=kind, assumptions=tuple(assumptions)
    )


SIZES = {"rlsvi": (12, 7), "ucb": (15, 13), "sdp": (21, 16), "eval": (26, 25), "expert": (15, 11)}
"""Prefix of a paper's ids -> its rows in the list, and those of them that are statements."""


def test_the_list_has_the_papers_rows():
    counted = Counter(item.prefix for item in items())
    stated = Counter(item.prefix for item in items() if item.kind == "statement")
    assert {name: (counted[name], stated[name]) for name in SIZES} == SIZES
    assert {item.prefix for item in items()} == {paper.prefix for paper in papers().values()} - {"classic"}
    assert {"sdp.lemma7": ("lemma19",)}.items() <= {x.id: x.aliases for x in items()}.items()


@pytest.mark.slow
def test_every_row_is_registered(found):
    known = {x.id for x in found}
    missing = [
        item.id
        for item in items()
        if item.id not in known and not any(name.startswith(f"{item.id}.") for name in known)
    ]
    assert missing == []


@pytest.mark.slow
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


OWN = """# Every loss is small

## Statement

The loss is at most 0.

## Goals

### goal

x is the loss

```
{}
show 0 >= x + 5
proof
  positive
    impossible times 7
```
"""


@pytest.mark.parametrize(("interval", "code"), [("[1, 2]", 3), ("[-20, 2]", 0)])
def test_a_lemma_of_ones_own_with_impossible_hypotheses_is_open(run, tmp_path, interval, code):
    page = tmp_path / "lemma.md"
    page.write_text(
        OWN.format(f"for x in {interval}\ngiven impossible: -5 >= x").replace("times 7", "times 1")
    )
    ran = run("verify", page)
    told = "no values were found that satisfy all its hypotheses" in ran.out.replace("\n", " ")
    assert (ran.code, told) == (code, code == 3)


def test_constants_satisfy_the_hypotheses_about_random_variables():
    impossible = make_goal({}, "0 >= E(x)", "0 >= E(x)", random={"x": "[1, 2]"})
    possible = make_goal({}, "0 >= E(x)", "0 >= E(x)", random={"x": "[-1, 2]"})
    assert [satisfiable(Obligation("o", claim, "n")) for claim in (impossible, possible)] == [False, True]


def test_the_command_says_what_the_number_rests_on(run):
    ran = run("verify", "census-pl94-persons.rho.json")
    assert ran.code == 0
    assert "Epsilon is at most 17.1436 at delta 1e-10." in ran.out
    assert "rests on classic.zcdp_conversion (PROVED)" in ran.out
    assert run("verify", "no-such.json").code == 2
    assert run("verify", "census-pl94-persons.rho.json", "rlsvi").code == 2
