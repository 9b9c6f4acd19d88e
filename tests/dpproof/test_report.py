"""The report: one page, everything from outside escaped, equal bytes for equal input."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dpproof.accountant.claims.adjacency import Adjacency
from dpproof.accountant.claims.claim import Claim
from dpproof.answers import as_json
from dpproof.answers import papers as ledger
from dpproof.answers.claims import ClaimLedger
from dpproof.answers.papers import check_paper
from dpproof.audits.recording.evidence import Evidence, Finding
from dpproof.audits.recording.words import Shown
from dpproof.claim_file import Refusal
from dpproof.glossary import GLOSSARY
from dpproof.outcome import Outcome
from dpproof.proofs_check import registry
from dpproof.proofs_check.registry import papers, statement_ids
from dpproof.proofs_check.statement import Severity
from dpproof.proofs_check.verdict import Verdict
from dpproof.report import html, overview
from dpproof.report.html import render, write_report
from dpproof.report.overview import Mark, Row
from dpproof.reproduction.experiments import experiments
from tests.rows import rows
from tests.verified import share_certificates

PAPERS = tuple(papers().values())
INCONCLUSIVE = Evidence(
    claim="a claim",
    verdict=Finding.INCONCLUSIVE,
    claimed_epsilon=1.0,
    epsilon_lower=0.0,
    delta=0.0,
    confidence=0.99,
    samples=10,
    would_have_seen=math.inf,
    e_value=1.0,
    alpha=0.01,
    seed=0,
    pair="0 or 1",
    event=None,
    counts=None,
    score=None,
)


@pytest.mark.parametrize("attack", ["<script>alert(1)</script>", "plain"])
def test_a_refused_claim_stands_in_the_report_as_refused(attack):
    page = render(refusals=[Refusal(Path("a<b.toml"), 7, 2, f"key ({attack!r}) must be one of: name")])
    outline = Outline(page)
    assert outline.tags.count("script") == 1
    text = " ".join(" ".join(outline.text).split())
    assert f"claim 2 refused a<b.toml:7: key ({attack!r}) must be one of: name" in text


VOID = {"meta", "link", "br", "img", "input", "hr"}
ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "</table></body></html>",
    "<!--",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt;",
    "javascript:alert(1)",
]


class Outline(HTMLParser):
    """Tags, attributes and text of a page; refuses a tag that is closed out of turn."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def papers():
    with pytest.MonkeyPatch.context() as patch:
        cases = ledger.corpus_cases("rlsvi")[:1]
        patch.setattr(ledger, "corpus_cases", lambda _paper: cases)
        return [check_paper(PAPERS[0])]


@pytest.fixture(scope="module")
def page(papers):
    return render(papers=papers)


def _claims(text):
    claim = Claim(text, f"{text}:{text}", {}, Adjacency.REPLACE, {"epsilon": 1.0}, text, text)
    audit = replace(INCONCLUSIVE, claim=text, pair=text)
    return [ClaimLedger(claim, Outcome.NOT_CERTIFIED, None, audit, [text, f"not audited: {text}"])]


def test_the_page_is_well_formed(page):
    outline = Outline(page)
    assert {"html", "main", "nav", "svg", "math"} <= set(outline.tags)
    assert outline.tags.count("html") == 1


def test_a_page_that_is_not_well_formed_would_be_noticed(page):
    with pytest.raises(AssertionError):
        Outline(page.replace("</ul>", "", 1))


def test_every_statement_is_shown_and_every_anchor_leads_somewhere(page):
    outline = Outline(page)
    places = {value for name, value in outline.attributes if name == "id"}
    anchors = {value[1:] for name, value in outline.attributes if name in ("href", "xlink:href")}
    assert set(statement_ids("rlsvi.")) <= places
    assert anchors <= places


def test_names_in_the_page_are_unique(page):
    places = [value for name, value in Outline(page).attributes if name == "id"]
    ours = [place for place in places if place in statement_ids()]
    assert len(ours) == len(set(ours)) == len(statement_ids("rlsvi."))
    assert len(places) == len(set(places))


def test_the_numbers_are_shown_rounded_towards_safety(page):
    text = " ".join(Outline(page).text)
    assert "1.633810" in text
    assert "11.08077" in text  # 11.080765..., from above


def test_nothing_is_loaded(page):
    outline = Outline(page)
    assert not {"link", "iframe", "object", "embed", "base", "form"} & set(outline.tags)
    sources = [value for name, value in outline.attributes if name == "src"]
    assert len(sources) == outline.tags.count("img") == len(experiments()["rlsvi"].figures)
    assert all(value.startswith("data:image/svg+xml;base64,") for value in sources)
    for name, value in outline.attributes:
        if name in ("href", "xlink:href", "action", "data", "srcset", "poster"):
            assert value.startswith("#")
        assert not name.startswith("on")
    assert "@import" not in page
    assert all(target.startswith("#") for target in re.findall(r"url\(['\"]?([^)]*)", page))
    (policy,) = (value for name, value in outline.attributes if name == "content" and "default-src" in value)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert policy.endswith(f"script-src 'sha256-{digest}'")
    assert outline.tags.count("script") == 1


def test_the_only_addresses_are_names_of_formats(page):
    found = set(re.findall(r"https?://[^\s\"'<>]*", page))
    spaces = (
        "http://www.w3.org/",
        "http://purl.org/dc/",
        "http://creativecommons.org/ns#",
    )
    assert all(address.startswith(spaces) for address in found)


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_a_claim_file_says_is_text(attack):
    harmless, outline = Outline(render(claims=_claims("plain"))), Outline(render(claims=_claims(attack)))
    assert outline.tags == harmless.tags
    assert outline.attributes == harmless.attributes
    assert "".join(outline.text).count(attack) == "".join(harmless.text).count("plain")


@pytest.mark.parametrize("attack", ATTACKS[:2])
def test_what_a_paper_ledger_says_is_text(papers, attack):
    (paper,) = papers
    (known,) = paper.audits
    audit = replace(known, evidence=replace(known.evidence, claim=attack), reason=attack)
    changed = replace(paper, audits=[audit], departures=[attack])
    usual = replace(known, evidence=replace(known.evidence, claim="plain"), reason="plain")
    harmless = replace(paper, audits=[usual], departures=["plain"])
    found, expected = Outline(render(papers=[changed])), Outline(render(papers=[harmless]))
    assert found.tags == expected.tags
    assert "".join(found.text).count(attack) == "".join(expected.text).count("plain")


@pytest.mark.slow
def test_equal_input_gives_equal_bytes(papers, page):
    html._drawn.cache_clear()
    assert render(papers=papers) == page


def test_the_page_says_nothing_of_the_machine_or_the_day(page):
    assert not re.search(r"/(home|root|tmp|work)/|\b20\d\d-\d\d-\d\d|\d\d:\d\d:\d\d", page)


def test_a_departure_is_shown_first(papers):
    (paper,) = papers
    changed = replace(paper, departures=["x: other"])
    assert "Not as recorded: x: other" in render(papers=[changed])
    kept = replace(paper, departures=[])
    assert "Not as recorded" not in render(papers=[kept])


def test_a_paper_without_an_accountant_shows_its_statements():
    (paper,) = (x for x in PAPERS if x.name == "classic")
    found = check_paper(paper)
    assert (found.account, found.audits) == (None, [])
    assert as_json.paper(found)["account"] is None
    page = Outline(render(papers=[found]))
    places = {value for name, value in page.attributes if name == "id"}
    assert set(statement_ids("classic.")) <= places
    anchors = {value[1:] for name, value in page.attributes if name == "href"}
    assert anchors <= places


def test_refutations_at_a_glance_are_those_of_numbered_statements(papers):
    row = overview.of_paper(papers[0])  # refuted parts and readings are no numbers of the paper
    assert dict(row.severities) == {Severity.SLIP: 1}
    assert row.worst is not None
    assert row.worst.id == "rlsvi.lemma6"
    assert row.word == overview.HOLDS
    assert row.terms == "delta 1e-6; neighbours: rewards-only"
    assert row.sentences == ("The certified epsilon is at least 6.78 times smaller: use rlsvi.tight.",)


def test_an_epsilon_that_rests_on_another_statement_holds_as_corrected(papers):
    (paper,) = papers
    assert paper.account is not None
    assert paper.account.published is not None
    for changes, word in (
        ({"id": "rlsvi.other"}, overview.CORRECTED),
        ({"id": "classic.other"}, overview.NOT_PRIVATE),
        ({"verdict": Verdict.REFUTED}, overview.FALSE),
        ({"verdict": Verdict.OPEN}, overview.UNSETTLED),
    ):
        rests = replace(paper.account.published.rests, **changes)
        published = replace(paper.account.published, rests=rests)
        row = overview.of_paper(replace(paper, account=replace(paper.account, published=published)))
        assert row.word == word
        assert any(mark.words.startswith("corrected algorithm") for mark in row.marks) == (
            word == overview.NOT_PRIVATE
        )


def test_a_claim_that_is_kept_says_what_is_assumed_and_that_its_audit_is_inconclusive(papers):
    (ledger,) = _claims("ward")
    account = papers[0].account
    given = replace(account, rests=replace(account.rests, assumptions=("one", "two")))
    row = overview.of_claim(replace(ledger, verdict=Outcome.KEPT, account=given), 1)
    assert (row.word, row.beside) == ("kept, under 2 assumptions", ("audit inconclusive",))
    assert row.sentences[-1].startswith("Check the 2 assumptions in the details.")


def test_a_refused_claim_has_its_name_its_entry_and_its_place_before_what_is_kept():
    refusal = Refusal(Path("dpproof.toml"), 7, 2, "epsilon (-1) must be at least 0", name="ward")
    kept = [replace(ledger, verdict=Outcome.KEPT) for ledger in _claims("kept")]
    assert [row.name for row in overview.rows_of((), kept, [refusal])] == ["ward", "kept"]
    page = render(claims=kept, refusals=[refusal], file="dpproof.toml", date="2026-11-23")
    assert '<details class="fold" id="refused-1" open><summary>ward' in page
    assert "<title>dpproof.toml - dpproof report</title>" in page
    assert "dpproof.toml, checked by dpproof" in page
    assert "on 2026-11-23" in page


@pytest.mark.slow
def test_a_statement_refuted_in_part_counts_as_refuted_and_planted_faults_stand_apart():
    share_certificates()
    (paper,) = (x for x in PAPERS if x.name == "private-ucb")
    known = [
        ledger.ExpectedAudit(replace(INCONCLUSIVE, verdict=verdict), verdict, reason)
        for verdict, reason in ((Finding.VIOLATION, "half the noise"), (Finding.VIOLATION, "printed noise"))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "corpus_cases", lambda _paper: ())
        patch.setattr(html, "_plots", lambda _deployment: [])
        page = render(papers=[replace(check_paper(paper), audits=known)])
    text = " ".join(" ".join(Outline(page).text).split())
    assert "Refuted in part, the rest is open: ucb.corollary5_2" in text
    assert "REFUTED in part" in text
    assert "3 substantive" in text
    assert "of which 3 with a numbered statement" in text
    assert "Not decided" not in text
    assert text.index("Algorithms as printed") < text.index("Planted faults")
    assert "half the noise found" in text
    assert "Not covered: nothing" not in text
    assert re.search(r"ucb\.jsonl:\d+", text)


@rows("values", ((0.03, 1.0, 40.0), (1.0,), (1e-9, 1e9), (5e-324, 1e300)))
def test_the_scale_keeps_the_order_and_holds_every_mark(values):
    marks = tuple(Mark("most", "", value, "") for value in values)
    scale = overview.scale_of([Row("", "", "", "", marks, (), {})])
    places = [scale.place(value) for value in (0.0, *values, math.inf)]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)
    assert all(0 < scale.place(value) < 100 for value in values if 1e-12 < value < 1e12)
    assert 2 <= len(scale.ticks) <= 8


def test_every_outcome_of_a_claim_says_what_to_do():
    assert set(Outcome) - {Outcome.RECORDED, Outcome.NOT_RECORDED} == set(overview.NEXT)


def test_what_is_broken_stands_first_and_what_is_trusted_stands_in_one_line():
    (kept,) = _claims("kept")
    rows = overview.rows_of((), [replace(kept, verdict=one) for one in Outcome if one in overview.NEXT], ())
    assert [row.colour for row in rows][:2] == ["red", "red"]
    assert rows[-1].colour != "red"
    assert "Taken on trust: 1 condition of the audits." in " ".join(Outline(render(claims=[kept])).text)


def test_a_violation_shows_its_words_its_picture_and_how_to_run_it_again():
    shown = Shown(50, "the output is large", 1, 40, "noise", "This looks like half the noise.", "the output",
                  (0.0, 1.0, 2.0), ((40, 10), (10, 40)), 1.0)  # fmt: skip
    (ledger,) = _claims("ward")
    audit = replace(INCONCLUSIVE, verdict=Finding.VIOLATION, epsilon_lower=2.0, shown=shown)
    page = render(claims=[replace(ledger, verdict=Outcome.BROKEN, audit=audit, remarks=audit.words)])
    text = " ".join(" ".join(Outline(page).text).split())
    assert audit.words[0] in text
    assert [text.count(sentence) for sentence in audit.words[1:]] == [
        1,
        2,
    ]  # what it looks like stands at a glance, too
    assert 'aria-label="histograms of the output on either input"' in page
    assert "dpproof audit --replay witness.json" in text
    assert json.dumps("a claim") in text


def test_every_book_has_its_row():
    assert [paper.name for paper in PAPERS] == list(registry.papers())


def test_definitions_unfolded_formal_claims_and_notes_are_shown(page):
    text = " ".join(" ".join(Outline(page).text).split())
    assert "visit(i) is 1 if user i visited the cell (s, a)" in text
    assert " ".join(registry.lookup("rlsvi.eq2").obligations[0].text.split()) in text
    assert "docs/notes/rlsvi_billboard.md" in text
    assert "7 of 7 statements decided (100%)" in text
    assert "corrects rlsvi.lemma6" in text
    assert "The rule that says which two data sets are neighbours." not in text  # words of the page only
    assert GLOSSARY["delta"] in text


def test_an_audit_after_a_violation_is_shown(papers):
    (paper,) = papers
    (known,) = paper.audits
    after = {"verdict": Finding.VIOLATION, "would_have_seen": None, "epsilon_lower": math.inf}
    audit = replace(known, evidence=replace(known.evidence, **after))
    changed = replace(paper, audits=[audit], departures=[])
    assert "Expected: consistent." in render(papers=[changed])


def test_the_page_is_written_whole(tmp_path):
    path = write_report(tmp_path / "new" / "folder", claims=_claims("ward"))
    assert path.read_text(encoding="utf-8") == render(claims=_claims("ward"))
    assert list(path.parent.iterdir()) == [path]


def test_a_page_that_fails_leaves_nothing_behind(tmp_path):
    (ledger,) = _claims("ward")
    with pytest.raises(AttributeError):
        write_report(tmp_path / "new", claims=[replace(ledger, audit={"frobs": 1})])
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_a_mechanism_without_plots_shows_its_account(monkeypatch):
    share_certificates()
    monkeypatch.setattr(ledger, "corpus_cases", lambda _paper: ())
    (paper,) = (x for x in PAPERS if x.name == "sdp-pe")
    text = " ".join(Outline(render(papers=[check_paper(paper)])).text)
    assert "0.5000146" in text  # the printed threshold's own epsilon, from above
    assert "0.07926989" in text
    assert "Epsilon against" not in text


def test_the_papers_console_shows_what_their_statements_rest_on(capsys):
    from rich.console import Console

    from dpproof.cli.check import _print_papers

    ledger = check_paper(next(paper for paper in PAPERS if paper.name == "classic"))
    assert len(ledger.verified.readings) > 20
    _print_papers([ledger], None, Console(), True)
    shown = capsys.readouterr().out
    assert f"{len(ledger.verified.readings)} readings, {len(ledger.verified.laws)} laws" in shown
