"""Generated pages and the findings: up to date, complete, with links that lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dpproof.proofs_check.registry import lookup, papers, statement_ids, statements
from dpproof.proofs_check.statement import expression, make_goal
from dpproof.proofs_check.verdict import Verdict
from dpproof.report import graph, pages
from dpproof.report.formal import goal_text, infix
from tests.rows import rows, tiered

PAPERS = tuple(papers().values())


@pytest.fixture(scope="module")
def made():
    return pages.pages()


@pytest.mark.slow
def test_the_written_pages_are_up_to_date(made):
    stale = [
        name
        for name, text in made.items()
        if not (pages.DOCS / name).is_file() or (pages.DOCS / name).read_text(encoding="utf-8") != text
    ]
    assert stale == [], "make docs"


@pytest.mark.slow
def test_there_is_no_page_too_many(made):
    assert {f"ledger/{path.name}" for path in (pages.DOCS / "ledger").iterdir()} <= set(made)


@pytest.mark.parametrize("paper", tiered(PAPERS, fast=1), ids=lambda paper: paper.name)
def test_every_statement_has_its_block_and_links_lead_somewhere(made, paper):
    page = made[f"ledger/{paper.name}.md"]
    places = re.findall(r'<a id="([^"]*)">', page)
    assert places == list(statement_ids(f"{papers()[paper.name].prefix}."))
    for target in re.findall(r"\]\(([^)\s]*)\)", page):
        file, _, anchor = target.partition("#")
        name = f"ledger/{file}" if file else f"ledger/{paper.name}.md"
        if anchor and name in made:
            assert f'<a id="{anchor}">' in made[name]
        elif name not in made:
            assert (pages.DOCS / "ledger" / file).exists(), target


def test_a_correction_is_named_from_both_sides(made):
    page = made["ledger/rlsvi.md"]
    assert "- corrected by rlsvi.lemma6.variance" in page
    assert "- corrects: [rlsvi.lemma6](#rlsvi.lemma6)" in page


def test_a_block_has_everything(made):
    block = made["ledger/rlsvi.md"].split('<a id="rlsvi.lemma7.densities">')[1].split("<a id=")[0]
    for words in (
        "$$ E[",
        "- read as: ",
        "- not covered: ",
        "e1*e2 >= E(a*b)",
        "certificates/rlsvi.jsonl#L",
        "Coq",
    ):
        assert words in block


def test_a_stale_page_is_named(made, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pages, "pages", lambda: made)
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    assert pages.main(["--check"]) == 1
    assert pages.main([]) == 0
    assert pages.main(["--check"]) == 0
    (tmp_path / "ledger.md").write_text("# Other\n", encoding="utf-8")
    capsys.readouterr()
    assert pages.main(["--check"]) == 1
    assert capsys.readouterr().err == "docs/ledger.md is out of date: make docs\n"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_graph_is_drawn_from_left_to_right(made, paper):
    root = ElementTree.fromstring(made[f"ledger/{paper.name}.svg"])
    paths = [x for x in root.iter() if x.tag.endswith("path")]
    assert paths
    for path in paths:
        start, *_, end, _ = map(int, re.findall(r"-?\d+", path.get("d")))
        assert start < end


def test_a_part_that_others_rest_on_is_drawn_beside_its_refuted_whole():
    drawn = graph.edges("rlsvi")
    assert "rlsvi.lemma6.bound" in drawn["rlsvi.lemma11"]
    assert "rlsvi.lemma6" not in drawn["rlsvi.lemma11"]
    assert "rlsvi.lemma6.specifically" not in graph.names(drawn)


def test_merged_boxes_that_close_a_circle_are_drawn():
    assert graph.layers({"a": ["b"], "b": ["a", "c"]})


def test_nothing_to_draw_is_an_empty_drawing():
    assert "<rect" in graph.svg({"a": []}, {"a": "PROVED"}, "x")


def test_names_are_escaped_and_cut():
    text = graph.svg(
        {"x.<b>" + 40 * "a": ["x.c"]}, {"x.<b>" + 40 * "a": Verdict.PROVED, "x.c": Verdict.OPEN}, "x"
    )
    assert "<b>" not in text
    assert "…" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a - (b - c)", "a - (b - c)"),
        ("a/(b*c)", "a/(b*c)"),
        ("(a/b)*c", "a/b*c"),
        ("-(a + b)*c", "(-(a + b))*c"),
        ("(a + b)**2", "(a + b)^2"),
        ("exp(-x**2)", "exp(-x^2)"),
        ("2*(-3)", "2*(-3)"),
    ],
)
def test_formulas_keep_their_brackets(text, shown):
    assert infix(expression(text)) == shown


def test_a_claim_names_everything_it_depends_on():
    claim = make_goal(
        {"n": "[1, inf)", "p": "[0, 1]"}, "n*p >= E(u)", "E(x) == p", integers=["n"],
        random={"u": "[0, 1]", "x": "[0, 1]"}, independent=[["u"], ["x"]],
    )  # fmt: skip
    assert goal_text(claim) == (
        "n*p >= E(u); if E(x) = p; for n in [1, inf) (whole), p in [0, 1]; "
        "random u, x in [0, 1]; independent {u}, {x}"
    )


def test_every_claim_can_be_shown():
    for entry in statements():
        for obligation in entry.obligations:
            assert goal_text(obligation.goal)


FINDINGS = (Path(__file__).resolve().parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")
PREFIXES = "|".join(paper.prefix for paper in papers().values())
NAMED = set(re.findall(rf"`((?:{PREFIXES})\.[A-Za-z0-9_.]+)`", FINDINGS))
WANTED = sorted(
    entry.id
    for entry in statements()
    if entry.expected in ("REFUTED", "PROVED ON A SUBDOMAIN") and entry.kind != "project"
)


def speaks_of(name, named):
    """Whether a paragraph names the statement, or one that it is a part or a step of."""
    steps = name.split(".")
    return any(".".join(steps[:count]) in named for count in range(2, len(steps) + 1))


@rows("name", WANTED)
def test_what_is_refuted_or_restricted_has_its_paragraph(name):
    assert speaks_of(name, NAMED)


def test_a_missing_paragraph_would_be_noticed():
    assert not speaks_of("rlsvi.lemma6", NAMED - {"rlsvi.lemma6"})
    assert not speaks_of("ucb.lemma5_1.utility.printed", {"ucb.lemma5_1.privacy", "ucb"})
    assert len(WANTED) > 60


@rows("name", sorted(NAMED))
def test_what_is_named_is_registered(name):
    assert lookup(name).id == name
