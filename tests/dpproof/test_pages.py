"""Generated pages and the findings: up to date, complete, with links that lead somewhere."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dpproof.proofs_check.registry import lookup, page_of, papers, statement_ids, statements
from dpproof.proofs_check.verdict import Verdict
from dpproof.report import graph, ledger, pages
from tests.rows import rows

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


@pytest.fixture(scope="module")
def site():
    """Every page of a statement. All certificates are checked, as `make check` does in the fast tier."""
    return ledger.site()


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_every_statement_has_its_row_and_its_page_and_links_lead_somewhere(site, paper):
    names = list(statement_ids(f"{paper.prefix}."))
    page = site[f"ledger/{paper.name}.md"]
    assert re.findall(r"^\| \[([^]]*)\]", page, re.MULTILINE) == names
    for file in (f"ledger/{paper.name}.md", *map(ledger.place, names)):
        for target in re.findall(r"\]\(([^)\s]*\.(?:md|svg))\)", site[file]):
            place = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
            assert place in site or (pages.DOCS / place).exists(), (file, target)


@pytest.mark.slow
def test_the_page_of_a_statement_is_that_of_the_repository_with_what_was_derived(site):
    for name in ("rlsvi.lemma6", "rlsvi.lemma7.densities", "classic.adaptive_renyi"):
        title, _, text = page_of(name).read_text(encoding="utf-8").partition("\n")
        assert site[ledger.place(name)].startswith(f"{title}\n")
        assert site[ledger.place(name)].endswith(text)
    assert "- corrected by rlsvi.lemma6.variance" in site["statements/rlsvi/lemma6.md"]
    assert "- corrects: [rlsvi.lemma6](" in site["statements/rlsvi/lemma6.variance.md"]
    box = site["statements/rlsvi/lemma7.densities.md"]
    for words in ('!!! note "rlsvi.lemma7.densities is PROVED', "certificates/rlsvi.jsonl#L", "Coq: "):
        assert words in box


def test_a_stale_page_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pages, "_plain_pages", lambda: {"parameters.md": "# Parameters\n"})
    monkeypatch.setattr(pages.deployments, "page", lambda: ("# Deployments\n", b"<svg/>"))
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    (tmp_path / pages.deployments.PICTURE).parent.mkdir()
    assert pages.main(["--check"]) == 1
    assert pages.main([]) == 0
    assert pages.main(["--check"]) == 0
    (tmp_path / "parameters.md").write_text("# Other\n", encoding="utf-8")
    capsys.readouterr()
    assert pages.main(["--check"]) == 1
    assert capsys.readouterr().err == "docs/parameters.md is out of date: make docs\n"


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_the_graph_is_drawn_from_left_to_right(site, paper):
    root = ElementTree.fromstring(site[f"ledger/{paper.name}.svg"])
    paths = [x for x in root.iter() if x.tag.endswith("path")]
    assert paths
    for path in paths:
        start, *_, end, _ = map(int, re.findall(r"-?\d+", path.get("d")))
        assert start < end


def test_products_on_pages_are_not_shown_in_italics():
    """K*H*S*A was: a browser takes two stars for emphasis."""
    markdown = pytest.importorskip("markdown")
    for page in (page_of(name) for name in statement_ids()):
        prose = re.sub(r"(?ms)^\$\$$.*?^\$\$$", "", page.read_text(encoding="utf-8"))
        shown = markdown.markdown(prose, extensions=["fenced_code"])
        assert re.findall(r"<(?:em|strong)>.*?</(?:em|strong)>", shown, re.DOTALL) == [], page.name


def test_a_part_that_others_rest_on_is_drawn_beside_its_refuted_whole():
    drawn = graph.edges("rlsvi")
    assert "rlsvi.lemma6.divergence" in drawn["rlsvi.lemma11"]
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


@pytest.mark.slow
def test_every_claim_can_be_shown():
    """The text is that of the page, from the first line to the claim."""
    for entry in statements():
        page = page_of(entry.id).read_text(encoding="utf-8").replace("\\\n", " ")
        for obligation in entry.obligations:
            assert any(line.startswith("show ") for line in obligation.text.splitlines())
            assert all(
                " ".join(line.split()) in " ".join(page.split()) for line in obligation.text.splitlines()
            )


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


def test_the_findings_state_the_verdicts_of_today():
    words = "|".join(sorted((x.value for x in Verdict), key=len, reverse=True))
    stated = re.findall(rf"`((?:{PREFIXES})\.[A-Za-z0-9_.]+)`,\s+`({words})`", FINDINGS)
    assert len(stated) > 20
    assert [(name, verdict) for name, verdict in stated if lookup(name).expected != verdict] == []


def test_a_missing_paragraph_would_be_noticed():
    assert not speaks_of("rlsvi.lemma6", NAMED - {"rlsvi.lemma6"})
    assert not speaks_of("ucb.lemma5_1.utility.printed", {"ucb.lemma5_1.privacy", "ucb"})
    assert len(WANTED) > 60


@rows("name", sorted(NAMED))
def test_what_is_named_is_registered(name):
    assert lookup(name).id == name
