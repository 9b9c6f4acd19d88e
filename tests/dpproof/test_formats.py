"""What other tools read: SARIF against its schema, JUnit and Markdown against what could break them."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dpproof.formats import FORMATS, Reported, findings_of_papers, write_findings
from dpproof.outcome import Level, Outcome
from dpproof.proofs_check.verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "build" / "npm" / "@microsoft" / "jest-sarif" / "lib" / "schemas" / "sarif-2.1.0-rtm.5.json"
EVIL = "<script>alert(1)</script> | `x` ]]> & \x00\x1b[31m\nsecond line"
FINDINGS = [
    Reported("ward", Outcome.KEPT, "promised: epsilon = 3.0", "claims.toml", 1),
    Reported(EVIL, Outcome.BROKEN, EVIL, "a folder/claims.toml", 9),
    Reported("claim 3", Outcome.REFUSED, "epsilon (-1) must be at least 0", "claims.toml", None),
    Reported("rlsvi", Outcome.NOT_RECORDED, "rlsvi.eq2: expected PROVED, found REFUTED"),
    *(Reported(f"one {rule.value}", rule, "so it is", "/at/the/root.toml", 3) for rule in Outcome),
]
NAMES = st.text(max_size=20)
ANY = st.lists(
    st.builds(
        Reported,
        NAMES,
        st.sampled_from(list(Outcome)),
        NAMES,
        st.one_of(st.none(), st.text("ab/ %#?é", min_size=1)),
        st.one_of(st.none(), st.integers(1, 9)),
    ),
    max_size=3,
)


def text_of(name, findings):
    return FORMATS[name][1](findings)


@pytest.fixture(scope="module")
def sarif_schema():
    if not SCHEMA.is_file():
        pytest.skip("the schema of SARIF is not here: sh tools/peers_of_the_report.sh build/npm")
    return jsonschema.Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_sarif_keeps_to_its_schema(sarif_schema):
    document = json.loads(text_of("sarif", FINDINGS))
    assert list(sarif_schema.iter_errors(document)) == []
    document["runs"][0]["results"][0]["frobs"] = 1
    assert not sarif_schema.is_valid(document)


@given(ANY)
def test_sarif_keeps_to_its_schema_whatever_the_names(sarif_schema, findings):
    assert list(sarif_schema.iter_errors(json.loads(text_of("sarif", findings)))) == []


def test_sarif_says_where_and_how_bad():
    (run,) = json.loads(text_of("sarif", FINDINGS))["runs"]
    kept, broken, refused, paper, *_ = run["results"]
    assert (kept["kind"], kept["level"]) == ("pass", "none")
    assert (broken["kind"], broken["level"], broken["ruleId"]) == ("fail", "error", "broken")
    (place,) = broken["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20folder/claims.toml"},
        "region": {"startLine": 9},
    }
    assert "region" not in refused["locations"][0]["physicalLocation"]
    assert "locations" not in paper
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


@given(ANY)
def test_junit_is_xml_with_a_case_for_each_finding(findings):
    suites = ElementTree.fromstring(text_of("junit", findings))
    cases = list(suites.iter("testcase"))
    assert len(cases) == len(findings) == int(suites.get("tests"))
    for case, finding in zip(cases, findings, strict=True):
        (child,) = case
        assert child.tag == {
            Level.PASS: "system-out",
            Level.RECORDED: "system-out",
            Level.NOTHING: "skipped",
            Level.TOLERATED: "skipped",
        }.get(finding.rule.level, finding.rule.level.value)
    assert int(suites.get("failures")) == len(list(suites.iter("failure")))
    assert int(suites.get("errors")) == len(list(suites.iter("error")))


def test_markdown_shows_what_fails_first_and_escapes_the_rest():
    head, _, _, _, first, *_ = text_of("markdown", FINDINGS).splitlines()
    assert head == (
        f"**dpproof**: 2 of {len(FINDINGS)} kept; of 2 an audit found nothing, which is no proof; "
        "of 1 about real arithmetic only floating-point bits refute the claim; "
        "1 as recorded, refuted statements included"
    )
    assert first.startswith("| \N{BALLOT X} | \\<script\\>alert\\(1\\)\\</script\\> \\|")
    assert text_of("markdown", FINDINGS).count("\n| ") == len(FINDINGS) + 1


@pytest.mark.parametrize("rule", [Outcome.TOLERATED, Outcome.CONSISTENT, Outcome.INCONCLUSIVE])
def test_an_audit_that_found_nothing_has_no_tick(rule):
    finding = Reported("counter", rule, "so it is", "claims.toml", 3)
    assert finding.rule.level in (Level.NOTHING, Level.TOLERATED)
    assert "\N{CHECK MARK}" not in text_of("markdown", [finding])
    assert "**dpproof**: 0 of 1 kept" in text_of("markdown", [finding])
    (result,) = json.loads(text_of("sarif", [finding]))["runs"][0]["results"]
    assert (result["kind"], result["level"]) == ("open", "none")
    suites = ElementTree.fromstring(text_of("junit", [finding]))
    assert suites.get("skipped") == "1"
    assert suites.find(".//skipped").get("message") == rule.value
    proved = Reported("counter", Outcome.KEPT, "so it is")
    assert "\N{CHECK MARK}" in text_of("markdown", [proved])


def test_a_paper_that_came_out_as_recorded_is_not_called_proved():
    """Six papers with ninety refuted statements were "6 of 6 proved", each with a tick."""
    found = [
        SimpleNamespace(verdict=verdict) for verdict in (Verdict.REFUTED, Verdict.STEPS, Verdict.REFUTED)
    ]
    verified = SimpleNamespace(statements=found)
    paper = SimpleNamespace(paper=SimpleNamespace(name="ucb"), departures=[], verified=verified, audits=[])
    (finding,) = findings_of_papers([paper])
    assert finding.message == "3 statements: 2 REFUTED, 1 STEPS PROVED; 0 audits as recorded"
    text = text_of("markdown", [finding])
    assert "\N{CHECK MARK}" not in text
    assert "**dpproof**: 0 of 1 kept; 1 as recorded" in text
    (result,) = json.loads(text_of("sarif", [finding]))["runs"][0]["results"]
    assert (result["ruleId"], result["kind"]) == ("as-recorded", "informational")


def test_files_are_written_whole(tmp_path):
    files = {name: tmp_path / f"found{FORMATS[name][0][0]}" for name in FORMATS}
    write_findings(FINDINGS, {**files, "sarif": None})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["found.md", "found.xml"]
    for name in ("junit", "markdown"):
        assert files[name].read_text(encoding="utf-8") == text_of(name, FINDINGS)


LIVE = [
    "[x](javascript:alert(1))",
    "{0} {{1}} }{",
    r"\[x](y)",
    "https://example.org/a?b=c",
    "HTTP://example.org",
    "www.example.org WWW.example.org",
    "$x$ and $$y^2$$",
    "somebody@example.org @somebody",
    "![x](y) <https://example.org> [x]: y",
    "#1 owner/name#2 GH-3 gh-4",
]


@pytest.mark.parametrize("live", LIVE)
def test_no_text_from_outside_is_live_in_sarif(live):
    (run,) = json.loads(text_of("sarif", [Reported(live, Outcome.BROKEN, live)]))["runs"]
    said = run["results"][0]["message"]["text"]
    assert not re.search(r"(?<!\\)(\\\\)*[\[\]]", said)  # no bracket without an escape
    assert re.sub(r"\{\{|\}\}", "", said).count("{") == re.sub(r"\{\{|\}\}", "", said).count("}") == 0
    read = re.sub(r"\\(.)", r"\1", said).replace("{{", "{").replace("}}", "}")
    assert read == f"{live}: {live}"


@pytest.mark.parametrize("live", LIVE)
def test_no_text_from_outside_is_live_in_markdown(live):
    text = text_of("markdown", [Reported(live, Outcome.BROKEN, live)])
    assert not re.search(r"(?i)://|www\.|(?<!\\)\$|@\w|#\d|gh-\d", text)
    shown = MarkdownIt("commonmark").enable("table").render(text)
    assert not re.search("<(a|img|em|sup|script)", shown)
    cells = [html.unescape(re.sub("<!-- -->", "", cell)) for cell in re.findall("<td>(.*?)</td>", shown)]
    assert cells == ["\N{BALLOT X}", live, Outcome.BROKEN.value, live]
